/*
 * summarize_group.h
 *		What the parts of summarizing share.
 */
#ifndef RENCODER_SUMMARIZE_GROUP_H
#define RENCODER_SUMMARIZE_GROUP_H

#include "plan/design.h"
#include "store/group.h"
#include "table/range_scan.h"

/* Ranges of one group that are being summarized: of one slice, or all at once. */
typedef struct RencoderSummarizing
{
	RencoderRangeScan scan;
	RencoderGroup group;
	bool		names_run;		/* the group: other ranges of it may be
								 * covered */
	bool		whole;			/* all at once, into a matrix */
	int			slice;			/* of the group, unless "whole" */
	renc_mask	todo;			/* ranges of the group to summarize */
	bool		completes;		/* with them the group is full */
	bool		no_dead_toast;	/* an inserting session is at work; see
								 * RencoderCollector */
	bool		too_large;		/* keys of a whole group are too many */
	bool		trained;		/* coders have been asked for, as far as there
								 * can be any */
	uint64		cut;			/* what was read has the keys of pending pages
								 * up to it */
	uint64		horizon;
	MemoryContext context;		/* of what outlives a group: */
	RencoderDesigner *designer; /* of whole groups, NULL until needed */
} RencoderSummarizing;

/* Slot of the group that the collector's first one is. */
static inline int
rencoder_summarize_group_first(const RencoderSummarizing *s)
{
	return s->whole ? 0 : s->slice * RENC_SLICE_RANGES;
}

/*
 * Takes away what a former life left of the ranges to do, except of those that
 * are "summarizing", which have writers; then makes them all so.  WAL: for each
 * column the header, and the pages that had bits; then the header.
 */
extern void rencoder_summarize_group_begin(RencoderSummarizing *s);

/*
 * For a new group, before it gets keys: trains coders anew if the table has grown much
 * since (coder_columns.h).  WAL: of the coders.
 */
extern void rencoder_summarize_group_renew_coders(RencoderSummarizing *s);

/*
 * Reads the keys of "nslots" ranges from "first" on, as rencoder_range_scan() does into
 * the collector, with the coders of the group.  The first ranges with values of a column
 * that wants a coder and has none have one trained, and are read again, if the group may still get
 * it.  False if the keys are larger than max_size.  WAL: of the coders.
 */
extern bool rencoder_summarize_group_scan(RencoderSummarizing *s, uint64 first, int nslots,
										  renc_mask todo, Size max_size);

/* Chooses the configuration of a column of a new group from the keys collected. */
extern void rencoder_summarize_group_plan(RencoderSummarizing *s, int col, RencoderHeader copy);

/*
 * Links a column's storage, as "copy" says, and publishes its ranges, s->todo; for the
 * first column, which must come last, also the states.  Locks: directory page, first
 * header page, the column's.  WAL: directory and header, one record.
 */
extern void rencoder_summarize_group_publish(RencoderSummarizing *s, int col,
											 const RencoderHeaderData *copy, renc_mask always);

/*
 * Summarizes all 128 ranges of a group that has no storage yet, and publishes its
 * matrices; returns how many.  None if their keys do not fit into memory
 * (s->too_large is set, and ranges may be "summarizing") or the group has
 * storage.
 */
extern int	rencoder_summarize_whole(RencoderSummarizing *s);

#endif							/* RENCODER_SUMMARIZE_GROUP_H */
