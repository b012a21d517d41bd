/*
 * row_sort.h
 *		Rows of an index's columns, sorted by a number and then by the columns.
 *
 * The number is compared fast, and mostly tells two rows apart; columns, which are unpacked for each
 * comparison, rarely have to be.
 */
#ifndef RENCODER_ROW_SORT_H
#define RENCODER_ROW_SORT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

typedef struct RencoderRowSort
{
	int			n;				/* columns */
	bool		backward;
	TupleTableSlot *values;		/* the next row: the caller fills the columns */

	/* Private. */
	TupleTableSlot *sorted;
	Tuplesortstate *sort;		/* NULL: not begun */
	Oid			less[INDEX_MAX_KEYS];	/* operators */
	Oid			greater[INDEX_MAX_KEYS];
} RencoderRowSort;

/* In the current context.  The columns, all keys of the index, have the order of families of btree. */
extern void rencoder_row_sort_init(RencoderRowSort *sort, Relation index, const Oid *family);

/* Begins, in the current context, which is to live until rencoder_row_sort_end(), in work_mem. */
extern void rencoder_row_sort_begin(RencoderRowSort *sort, Relation index, bool backward);

/* Adds the row, whose number falls if it is backward. */
extern void rencoder_row_sort_put(RencoderRowSort *sort, uint64 number, ItemPointer tid);

/* The next row; false: there is none, or nothing was sorted. */
extern bool rencoder_row_sort_next(RencoderRowSort *sort, ItemPointer tid);

/* The rows are over. */
extern void rencoder_row_sort_end(RencoderRowSort *sort);
extern void rencoder_row_sort_free(RencoderRowSort *sort);

#endif							/* RENCODER_ROW_SORT_H */
