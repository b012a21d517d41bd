/*
 * hypothetical_index.h
 *		An index on a column that nobody has created: enough of one to make keys.
 */
#ifndef RENCODER_HYPOTHETICAL_INDEX_H
#define RENCODER_HYPOTHETICAL_INDEX_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * What CREATE INDEX .. USING rencoder (column) would make, without options, as far as
 * the functions of key.h look at it: type, operator class, collation, support functions,
 * a name for messages.  It has no pages, and is in no cache.  Palloc'd in the current
 * context.  Errors: the type has no default operator class, the collation is not
 * deterministic.
 */
extern Relation rencoder_imagine_index(Relation heap, AttrNumber attnum);

/*
 * The same of a column of an index that exists, of any access method; its values may be those of
 * an expression.  NULL, and *problem says why, if rencoder could not index it.
 */
extern Relation rencoder_imagine_index_like(Relation heap, Relation model, int col,
											const char **problem);

#endif							/* RENCODER_HYPOTHETICAL_INDEX_H */
