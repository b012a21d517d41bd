/*
 * make_run.h
 *		Reading pages of a table in use for a base run: the one verb of maintenance.
 */
#ifndef RENCODER_MAKE_RUN_H
#define RENCODER_MAKE_RUN_H

#include "store/catalog.h"

typedef enum RencoderMade
{
	RENCODER_MADE_NOTHING,		/* nothing was to do, or the catalog is full */
	RENCODER_MADE_DONE,			/* one run; there may be more to do */
	RENCODER_MADE_WAITED_FOR	/* given up: somebody wants a lock on the
								 * table, or the database */
} RencoderMade;

/*
 * Makes a base run of the heap pages [from, to), which may be beyond the table's end, or have runs; "from"
 * is at most the frontier (src/README.md, section 7; INV-3).  "cut": rencoder_pending_close(), asked for
 * before the maintainer lock.  "gives_way": to others who wait for a lock on the table, or who want the
 * database.  Meanwhile deltas are made, and where scans come ("read", or they are counted) runs of the tail.
 *
 * Locks: the caller has the maintainer lock, at least AccessShareLock on table and index, no content lock.
 * Runs user code of expression indexes: the caller sets the table owner's user id.  Memory:
 * maintenance_work_mem.  WAL: rencoder_catalog_begin(), the run (run_pages.h), rencoder_catalog_publish()
 * and rencoder_catalog_free().  An error gives the run up (rencoder_catalog_lower()).
 */
extern RencoderMade rencoder_make_run(Relation index, Relation heap, BlockNumber from, BlockNumber to,
									  uint64 cut, bool gives_way, bool read);

/*
 * Does nobody want the database without sessions?  DROP DATABASE, ALTER DATABASE .. RENAME or SET
 * TABLESPACE, and CREATE DATABASE with it as template lock it, in a mode that conflicts with that of
 * starting sessions, before they wait 5 seconds for the others to leave.
 */
extern bool rencoder_may_stay_in_database(void);

#endif							/* RENCODER_MAKE_RUN_H */
