/*
 * design_share.h
 *		What the processes of a parallel build tell each other of shapes.
 *
 * A search from nothing costs as much as building several groups does, one from a
 * neighbour's shape next to nothing.  So only one process searches from nothing,
 * for each column; the others wait for it if they need a shape meanwhile.  Later
 * on, each process starts from the shape that any of them has found last.
 */
#ifndef RENCODER_DESIGN_SHARE_H
#define RENCODER_DESIGN_SHARE_H

#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "filter/renc_search.h"

typedef struct RencoderSharedSearch
{
	bool		claimed;		/* a process searches from nothing */
	uint32		version;		/* searches that ended with a shape; 0: none
								 * yet */
	renc_search search;			/* the last of them */
} RencoderSharedSearch;

/* Lives in shared memory. */
typedef struct RencoderDesignShare
{
	ConditionVariable changed;	/* a claim has ended */
	slock_t		mutex;			/* protects what follows */
	RencoderSharedSearch column[INDEX_MAX_KEYS];
} RencoderDesignShare;

extern void rencoder_design_share_init(RencoderDesignShare *share);

/*
 * Before a search for a column: takes over the shape that another process has
 * found since "*version" (0 at first; what this process knows of).  If there is
 * none, and *search has none, waits for the process that searches for one.  True
 * if there is no such process: it is this one, and rencoder_design_share_end() must
 * follow.
 *
 * Locks: the caller must hold none that a search needs, as it may sleep here.  An
 * error of the process waited for ends the whole parallel operation, this wait
 * with it.
 */
extern bool rencoder_design_share_begin(RencoderDesignShare *share, int col,
										renc_search *search, uint32 *version);

/*
 * After it: publishes the shape if "searched".  "claimed" is what _begin() has
 * returned; without a shape the next process will search from nothing.
 */
extern void rencoder_design_share_end(RencoderDesignShare *share, int col,
									  const renc_search *search, bool claimed,
									  bool searched, uint32 *version);

#endif							/* RENCODER_DESIGN_SHARE_H */
