/*
 * insert_late.h
 *		Keys of rows that come to ranges that are summarizing or summarized.
 */
#ifndef RENCODER_INSERT_LATE_H
#define RENCODER_INSERT_LATE_H

#include "rencoder.h"

#include "store/group.h"
#include "store/pending.h"
#include "store/run_pages.h"

/* What a statement remembers between its rows; zeroed at first. */
typedef struct RencoderLateCache
{
	BlockNumber tail;			/* of the pending list: a guess, or
								 * RENCODER_NO_BLOCK */
	uint32		run;			/* looked up last, 0: none */
	RencoderRunInfo info;		/* of it; NULL: it cannot be read */
} RencoderLateCache;

/* A row's keys. */
typedef struct RencoderLateRow
{
	RencoderPendingEntry *entry;	/* palloc'd with the first key */
	int			nkeys;			/* columns that have one */
	uint32		nulls;			/* columns whose null is to be found by the
								 * entry */
	bool		may_be_indexed; /* its keys may stand in the run with its
								 * place */
	uint32		searched;		/* the run that was searched for them, 0: none */
	bool		indexed;		/* all of them were found there */

	/* Of a page that had to be linked; 0 if none was. */
	uint64		npages;			/* of the list since */
} RencoderLateRow;

typedef enum RencoderLateStep
{
	RENCODER_LATE_DONE,
	RENCODER_LATE_SEARCH,		/* rencoder_late_search() */
	RENCODER_LATE_TAIL			/* rencoder_late_find_tail() */
} RencoderLateStep;

/*
 * Begins the row's entry, or begins it anew: all columns are null, as flags say.  "offset" is that of the root
 * of its HOT chain, or InvalidOffsetNumber.
 */
extern void rencoder_late_row_begin(RencoderLateRow *row, BlockNumber page, OffsetNumber offset,
									int natts);

/* Adds the key of a column, made by that generation of its coder. */
extern void rencoder_late_add(RencoderLateRow *row, int natts, int col, uint64 key, uint32 coder);

/*
 * Puts the row's keys and nulls on the pending list, unless they need not stand there; or says what has to
 * be done, without any content lock, before it is tried again.  "run" is that of the first
 * header, whose share lock is held.  Locks: the tail
 * exclusive, released.  WAL: one record.
 */
extern RencoderLateStep rencoder_late_put(Relation index, RencoderLateRow *row, uint32 run,
										  const RencoderLateCache *cache);

/* Looks whether the run has the row's keys and nulls.  Locks: no content lock on entry and exit. */
extern void rencoder_late_search(Relation index, RencoderLateRow *row, int natts, uint32 run,
								 RencoderLateCache *cache, MemoryContext statement);

/* Finds the tail.  Locks and WAL as rencoder_pending_find_tail(). */
extern void rencoder_late_find_tail(Relation index, RencoderLateRow *row, RencoderLateCache *cache);

#endif							/* RENCODER_INSERT_LATE_H */
