/*
 * run_list.h
 *		The list of runs, and changes of it.
 *
 * The metapage has the first RENCODER_META_RUNS entries (run_format.h), and how many there are.
 * The others stand on a page of their own, which is made when it is first needed:
 *
 *		 0
 *		 | entry[RENCODER_MAX_RUNS - RENCODER_META_RUNS] |
 *
 * src/README.md (section 6) has the states of a run, INV-12 what scans rely on: a LIVE run never
 * changes, and goes, like pending pages, in a record that raises run_changes of the metapage.
 */
#ifndef RENCODER_RUN_LIST_H
#define RENCODER_RUN_LIST_H

#include "store/space.h"

/* A copy of the list. */
typedef struct RencoderRunList
{
	uint32		n;
	RencoderRunEntry entry[RENCODER_MAX_RUNS];
} RencoderRunList;

/* Runs and pending pages at one moment. */
typedef struct RencoderRuns
{
	uint64		changes;		/* run_changes of the metapage */
	RencoderPendingList pending;
	RencoderRunList list;
} RencoderRuns;

/*
 * Copies it all.  Locks: metapage share and, while it is held, the list share; released.
 * *npages, if not NULL, is increased by the pages read.  Error if the list is damaged.
 */
extern void rencoder_runs_copy(Relation index, RencoderRuns *runs, int64 *npages);

/*
 * The same, and a copy of the metapage's data, of the same moment.  *pinned, if "pinned" is not
 * NULL, is the metapage's buffer, or becomes it: the pin is left to the caller.
 */
extern void rencoder_runs_copy_with_meta(Relation index, RencoderRuns *runs,
										 RencoderMetaPageData *metadata, Buffer *pinned, int64 *npages);

/* The entry of a run, or NULL. */
extern const RencoderRunEntry *rencoder_runs_find(const RencoderRuns *runs, uint32 number);

/*
 * Puts a run into the list, BUILDING, its info page made and empty, and returns its
 * number; *info is that page.  The caller is a maintainer or a build ("log" false).
 * 0: the list is full.  WAL: info page whole; a new list: the page whole; metapage and list.
 */
extern uint32 rencoder_run_list_add(Relation index, uint16 kind, uint32 first_group,
									uint32 ngroups, bool log, BlockNumber *info);

/* A run that is complete (rencoder_run_writer_finish). */
typedef struct RencoderNewRun
{
	uint32		number;
	uint32		npages;
	RencoderRunColumn first;
	bool		keyless;
	uint64		upto;			/* as in RencoderRunEntry; deltas: if it is
								 * later than that of what they take the place
								 * of */
} RencoderNewRun;

/*
 * Makes runs LIVE.  Deltas take the place of the pending pages up to number "upto" (0: of
 * none; if not 0, all these are closed), which become spare, and of "nreplaced" LIVE runs,
 * which become FREEING.  With no run made, nothing may name such a base run, and storage has all that
 * is needed of such deltas and pages.  One record: metapage, list, and the last of the pending pages.
 * The caller is a maintainer or a build ("log" false).
 */
extern void rencoder_run_list_publish(Relation index, const RencoderNewRun *made, int nmade,
									  uint64 upto, const uint32 *replaced, int nreplaced, bool log);

/*
 * Frees the pages of all runs that are FREEING, and of those BUILDING that are not "keep"
 * (0: none is to be kept), and takes them off the list.  Maintainer.  WAL: for each extent a
 * record of info page and free list; at last metapage, list and free list.
 */
extern void rencoder_run_list_free(Relation index, uint32 keep);

#endif							/* RENCODER_RUN_LIST_H */
