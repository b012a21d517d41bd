/*
 * run_groups.h
 *		Which groups of an index name which runs, and what has to be cleaned up.
 */
#ifndef RENCODER_RUN_GROUPS_H
#define RENCODER_RUN_GROUPS_H

#include "store/group.h"
#include "store/run_list.h"

typedef enum RencoderGroupsKind
{
	RENCODER_GROUPS_OTHER,		/* not full, nothing is in a run */
	RENCODER_GROUPS_UNREAD,		/* the table fills it, but less than half of
								 * its ranges are summarized */
	RENCODER_GROUPS_WAITING,	/* full, but ranges are in matrices, or noted */
	RENCODER_GROUPS_COVERED,	/* full, and all in the run */
	RENCODER_GROUPS_PARTIAL		/* not full, but some ranges are in the run */
} RencoderGroupsKind;

/* Neighbouring groups that are alike. */
typedef struct RencoderAlikeGroups
{
	uint32		first;
	uint32		n;
	RencoderGroupsKind kind;
	uint32		run;			/* that they name, 0: none */
	uint64		cut;			/* the least of their summarized ranges;
								 * PG_UINT64_MAX: there are none */
	bool		old_coder;		/* keys of a column are not by its newest one */
	bool		filtered;		/* ranges are in matrices */
	bool		noted;			/* ranges are noted */
	bool		lacking;		/* ranges of the table are not in the run */
	bool		uncovered;		/* ranges that are summarized, or of the
								 * table, are not in the run */
} RencoderAlikeGroups;

typedef struct RencoderRunGroups
{
	int			n;
	int			allocated;
	RencoderAlikeGroups *alike; /* palloc'd */
} RencoderRunGroups;

/*
 * Looks at all groups of the index, and those of the table, of which "nranges" ranges count.  What
 * it says may be old when it returns, unless the caller has the maintainer lock.  Locks: directory
 * pages share, one at a time, and first headers of groups that are neither sealed nor covered;
 * released.
 */
extern void rencoder_run_groups_look(Relation index, uint64 nranges, RencoderRunGroups *groups);

/* How many pages base runs and deltas have that are LIVE. */
extern void rencoder_run_groups_count_pages(Relation index, uint64 *base, uint64 *delta);

/*
 * Takes back and frees what crashes and cancelled commands left of runs, and what is not needed
 * any more:
 *
 *	- "flushing" of ranges whose run was never finished, or whose group was not switched to it, and
 *	  which are unsummarized again if they had no storage;
 *	- base runs that no group names;
 *	- deltas and pending pages all of whose entries are needless (INV-13);
 *	- pages of runs that are BUILDING or FREEING.
 *
 * Maintainer.  WAL: for each entry and header a record; then as rencoder_run_list_publish() and
 * rencoder_run_list_free().
 */
extern void rencoder_run_groups_clean_up(Relation index);

#endif							/* RENCODER_RUN_GROUPS_H */
