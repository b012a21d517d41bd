/*
 * row_fetch.h
 *		Rows that must be looked at before they are handed out.
 *
 * PostgreSQL takes each row that an index hands out for one that is in the index.  What it rechecks is
 * the conditions alone: not the predicate of a partial index, and in an index-only scan not even whether
 * there is a row.  A bitmap is rechecked by the predicate, too.
 */
#ifndef RENCODER_ROW_FETCH_H
#define RENCODER_ROW_FETCH_H

#include "base/compat.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "utils/snapshot.h"

typedef struct RencoderRowFetch
{
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;		/* NULL: none */
	TupleTableSlot *slot;
	struct IndexFetchTableData *fetch;
} RencoderRowFetch;

/* In the current memory context and for the current resource owner. */
extern RencoderRowFetch *rencoder_row_fetch_begin(Relation heap, Relation index);

/*
 * Does the snapshot see a row there that satisfies the index's predicate?  It is in the slot until the next
 * one is fetched or rencoder_row_fetch_release().  Locks: its page share, released; it stays pinned.
 * Errors: those of the predicate.
 */
extern bool rencoder_row_fetch(RencoderRowFetch *fetch, Snapshot snapshot, const ItemPointerData *tid);

extern void rencoder_row_fetch_release(RencoderRowFetch *fetch);
extern void rencoder_row_fetch_end(RencoderRowFetch *fetch);

#endif							/* RENCODER_ROW_FETCH_H */
