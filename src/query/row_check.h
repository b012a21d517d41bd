/*
 * row_check.h
 *		Rows that a plain scan must look at itself, before it hands them out.
 *
 * PostgreSQL takes each row that an index hands out for one that is in the index.  What it rechecks is
 * the conditions alone: not the predicate of a partial index, and in an index-only scan not even
 * whether there is a row.  A bitmap is rechecked by the predicate, too.
 */
#ifndef RENCODER_ROW_CHECK_H
#define RENCODER_ROW_CHECK_H

#include "base/compat.h"

#include "executor/executor.h"
#include "utils/snapshot.h"

typedef struct RencoderRowCheck
{
	EState	   *estate;
	ExprState  *predicate;		/* NULL: none */
	TupleTableSlot *slot;
	struct IndexFetchTableData *fetch;
} RencoderRowCheck;

/* In the current memory context and for the current resource owner. */
extern RencoderRowCheck *rencoder_row_check_begin(Relation heap, Relation index);

/*
 * Does the snapshot see a row there that satisfies the index's predicate?  Locks: its page share,
 * released; no pin is kept.  Errors: those of the predicate.
 */
extern bool rencoder_row_check_passes(RencoderRowCheck *check, Snapshot snapshot, ItemPointer tid);

extern void rencoder_row_check_end(RencoderRowCheck *check);

#endif							/* RENCODER_ROW_CHECK_H */
