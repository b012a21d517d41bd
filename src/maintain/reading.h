/*
 * reading.h
 *		Reading the table for new storage of ranges: those that have none, or whose present one is
 *		in use.
 *
 * A flush makes a run so (flush.c), a rebuild a matrix (retune.c): begin; the table is read; a switch,
 * column by column; the end.  src/README.md (section 7) has the records, and INV-13 says why no row is
 * lost.  Summarizing begins alike (summarize.c).  The caller has the maintainer lock.
 */
#ifndef RENCODER_READING_H
#define RENCODER_READING_H

#include "key/collect.h"
#include "make/run_sorter.h"
#include "store/group_edit.h"
#include "table/range_scan.h"

/*
 * Finds a group, whose directory page and headers are made if they are not there.  WAL: of these.
 */
extern void rencoder_reading_group(RencoderGroup *group, Relation index, const RencoderMeta *meta,
								   uint32 number);

/*
 * Makes those of the ranges "todo" that are not summarized summarizing.  If they are "flushing",
 * sets that for them and all that are summarized, and returns these: a run with this number is made
 * of them, which has the keys of pending pages up to "cut"; 0: matrices are.  Locks: headers, and
 * the directory page, exclusive.  WAL: for each column, where something is to be forgotten, the
 * header; then directory page and first header.
 */
extern renc_mask rencoder_reading_begin(const RencoderGroup *group, renc_mask todo, bool flushing,
										uint32 run, uint64 cut);

/*
 * Before a matrix gets bits of ranges that are not summarized: clears those that a former summary
 * has left.  WAL: its pages that have any.
 */
extern void rencoder_reading_clear_filters(const RencoderGroup *group, renc_mask ranges);

/* The trees of a run, while the table is read. */
typedef struct RencoderReadTrees
{
	RencoderRangeScan *scan;
	uint64		npairs;			/* keys, and rows without one */
	RencoderRunSorter *sorter[RENCODER_MAX_TREES];
} RencoderReadTrees;

/*
 * Gives the scan a collector that puts what is read into a sorter for each tree, within
 * maintenance_work_mem: of heap pages before "end", by the scan's places.
 */
extern void rencoder_reading_into_trees(RencoderReadTrees *trees, RencoderRangeScan *scan, uint64 end);

/*
 * In the records of storage that all columns have by now: the ranges "done" are summarized, with that
 * horizon.  What was read has the keys of pending pages up to "cut".
 */
extern void rencoder_reading_set_summarized(RencoderHeader first, RencoderEntry entry, renc_mask done,
											uint64 horizon, uint64 cut);

/*
 * Takes back "flushing", if it is for this run, and what is summarizing for it is unsummarized
 * again. Locks: directory page and first header.  WAL: one record of both.
 */
extern void rencoder_reading_give_up(const RencoderGroup *group, uint32 run);

/* Adds what was read of a range to what header and entry say of a column. */
extern void rencoder_reading_add_range(RencoderHeader header, RencoderEntry entry, int slot,
									   const RencoderRangeSummary *r);

/*
 * In the switch of the first column, of a matrix after those of all others: all of the group's
 * storage has the keys up to the cut.
 */
extern void rencoder_reading_set_cut(RencoderHeader first, RencoderEntry entry, uint64 cut);

/*
 * After the last switch: takes back "flushing", and the entry's mark ALWAYS, if no column needs it.
 * Locks: directory page and headers.  WAL: one record of directory page and header.
 */
extern void rencoder_reading_end_flushing(const RencoderGroup *group);

#endif							/* RENCODER_READING_H */
