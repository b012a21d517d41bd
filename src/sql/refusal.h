/*
 * refusal.h
 *		Why an index cannot answer a condition.
 */
#ifndef RENCODER_SQL_REFUSAL_H
#define RENCODER_SQL_REFUSAL_H

#include "base/compat.h"

#include "nodes/parsenodes.h"

/*
 * Error: the planner found no scan of the index for the WHERE of "query", whose only table is
 * the index's, and which has not been planned itself.  The error names the first cause that is
 * found: the predicate of a partial index, or the first comparison of a column of the index, by
 * its types, its operator, or its collation.
 */
rencoder_noreturn extern void rencoder_refusal_report(Oid indexoid, const Query *query);

#endif							/* RENCODER_SQL_REFUSAL_H */
