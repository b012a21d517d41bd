/*
 * heap_read.h
 *		Reading the rows of a table's blocks for an index.
 */
#ifndef RENCODER_HEAP_READ_H
#define RENCODER_HEAP_READ_H

#include "base/compat.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "nodes/execnodes.h"

#include "key/key.h"
#include "run/renc_place.h"

/* Is it of PostgreSQL's heap?  Of other tables nobody knows what a line pointer stands for. */
static inline bool
rencoder_is_heap(Relation table)
{
	return table->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * Calls "callback" for each row version in "nblocks" blocks from "first" on
 * that may be visible to anyone, block by block in ascending order, and
 * returns the number of rows that ANALYZE would count as live.  While it is
 * called the block is pinned at most, never locked.  The values are valid until
 * it returns.
 *
 * It does what table_index_build_range_scan() does with the same arguments,
 * and calls that for what is not a plain column of a heap table, and with a
 * snapshot (ii_Concurrent).  Like that, it gives each version with the line pointer of its
 * chain's root.  Where it does not call it, it also gives the recently dead
 * versions in HOT chains, but for those that have a value in TOAST, which may be gone.
 * pg_stat_all_tables counts blocks read, but neither scans nor rows.
 *
 * *horizon, unless it is NULL, rises to the trust horizon of what was read (INV-9).
 *
 * Sleeps as VACUUM's cost settings say.
 *
 * The caller has at least AccessShareLock on the table; with "anyvisible" false
 * at least ShareLock (then concurrent insertions are warned of).
 */
extern double rencoder_heap_read(Relation heap, Relation index, IndexInfo *indexInfo,
								 bool anyvisible, BlockNumber first, BlockNumber nblocks,
								 IndexBuildCallback callback, void *state, uint64 *horizon);

/*
 * Does that run functions of users: of an expression or a predicate?  They may fail for versions that others
 * see, or are about to.
 */
extern bool rencoder_heap_runs_functions(Relation index);

/*
 * The last line pointer that a block of a heap table has, used or not; InvalidOffsetNumber: none.
 * "strategy" may be NULL.  Locks: the block share, released.
 */
extern OffsetNumber rencoder_heap_last_line_pointer(Relation heap, BlockNumber block,
													BufferAccessStrategy strategy);

/*
 * The line pointer of the root of the HOT chain of a row that the caller's transaction has just put
 * into a heap table; InvalidOffsetNumber: not known, or it is none.  Locks: the row's block share,
 * released.
 */
extern OffsetNumber rencoder_heap_find_root(Relation heap, ItemPointer tid);

/*
 * How a run of the blocks from "first" to before "end" divides them (run/renc_place.h): so that the
 * option "resolution" of the index is met in nine of ten of those that there are.  Of other tables
 * than heaps a run names whole blocks.  Reads some blocks.
 */
extern renc_places rencoder_heap_choose_places(Relation heap, Relation index, BlockNumber first,
											   uint64 end);

#endif							/* RENCODER_HEAP_READ_H */
