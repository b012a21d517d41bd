/*
 * choose.h
 *		What an index needs next: for VACUUM, the worker, inserting sessions and SQL functions.
 *
 * Locks of all: the caller has at least AccessShareLock on table and index, and no content lock; they
 * take the maintainer lock for each run.  User code of expression indexes is run: the caller sets the
 * table owner's user id.
 */
#ifndef RENCODER_CHOOSE_H
#define RENCODER_CHOOSE_H

#include "make/look.h"
#include "make/make_run.h"

/* Tables of fewer pages are read sooner than an index. */
#define RENCODER_WORTH_PAGES	8

/* Is a table of so many pages worth an index, or did the owner say so? */
extern bool rencoder_choose_is_worth(Relation index, BlockNumber nblocks);

/* Makes one run of all of the table, unless the index is that (0 then); returns its pages. */
extern BlockNumber rencoder_choose_all(Relation index, Relation heap);

/*
 * Makes a run of the pages [from, to), of those before the frontier anew, and of all between that and
 * "from".  False: the catalog is full.
 */
extern bool rencoder_choose_pages(Relation index, Relation heap, BlockNumber from, BlockNumber to);

/* All that VACUUM does.  "urgent": only what cannot wait. */
extern void rencoder_choose_in_vacuum(Relation index, Relation heap, bool urgent);

/* Why somebody asks, who has looked. */
typedef struct RencoderDemand
{
	BlockNumber tail_to;		/* pages behind the frontier and before this
								 * one are to be read; 0: none */
	bool		quiet;			/* no rows come */
	bool		read;			/* scans come */
	bool		renew;			/* pages may be read again that many rows came
								 * to */
	bool		gives_way;		/* to others who wait for a lock on the table */
	bool		tries;			/* does not wait for other maintainers */
} RencoderDemand;

/* One step of what is worth doing. */
extern RencoderMade rencoder_choose_step(Relation index, Relation heap, const RencoderDemand *demand);

#endif							/* RENCODER_CHOOSE_H */
