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
 * context.  The column (0-based) is one of the table, or, unless "model" is NULL, of that index, of
 * any access method; its values may be those of an expression.  If the type has no default operator
 * class, or the collation is not deterministic: NULL, and *problem says so.
 */
extern Relation rencoder_hypothetical_index(Relation heap, Relation model, int col, const char **problem);

#endif							/* RENCODER_HYPOTHETICAL_INDEX_H */
