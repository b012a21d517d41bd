/*
 * open_index.h
 *		The index that an SQL function was called for.
 *
 * Every SQL function of the extension, and the worker, opens its index here, so that kind,
 * privileges and locks are checked in one order: what needs no lock first,
 * and all of it again once the locks are held.
 */
#ifndef RENCODER_OPEN_INDEX_H
#define RENCODER_OPEN_INDEX_H

#include "base/compat.h"

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* What the caller must be allowed. */
typedef enum RencoderPrivilege
{
	RENCODER_PRIVILEGE_OWNER,	/* owner of the index */
	RENCODER_PRIVILEGE_READ,	/* owner, or may read all rows of the table */
	RENCODER_PRIVILEGE_INSPECT	/* the same, or member of pg_stat_scan_tables */
} RencoderPrivilege;

typedef struct RencoderOpenIndex
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	bool		may_read;		/* may the caller see values of the table? */

	/* The caller's, put back by close (and by an error). */
	Oid			save_userid;
	int			save_sec_context;
	int			save_nestlevel;
} RencoderOpenIndex;

/* May "userid" read every row of a table, which is InvalidOid if there is none? */
extern bool rencoder_open_index_may_read(Oid heapoid, Oid userid);

/*
 * Opens table and index, in this order, with the lock, and switches to the
 * table owner's user id with a safe search path, because expressions of the
 * index may be evaluated.  Errors: not an index of this access method, not
 * allowed, temporary table of another session, unlogged index on a standby,
 * a standby where the lock is of one who changes the index.
 */
extern void rencoder_open_index(RencoderOpenIndex *target, Oid indexoid,
								LOCKMODE lockmode, RencoderPrivilege privilege);

/* What became of an attempt to open. */
typedef enum RencoderTry
{
	RENCODER_TRY_OPENED,
	RENCODER_TRY_LOCKED,		/* by another session */
	RENCODER_TRY_GONE			/* no valid index of ours, or not to be had
								 * here */
} RencoderTry;

/*
 * The same for the worker: waits for no lock, asks for no privileges, and what
 * is wrong with the index is an answer, not an error.  "any": an index of any access method, in
 * whatever state.
 */
extern RencoderTry rencoder_open_index_try(RencoderOpenIndex *target, Oid indexoid,
										   LOCKMODE lockmode, bool any);

/* As rencoder_open_index() with AccessShareLock, but waits for no lock. */
extern RencoderTry rencoder_open_index_now(RencoderOpenIndex *target, Oid indexoid,
										   RencoderPrivilege privilege);

/* Between opening and closing, after something that was done as the caller.  An error puts back all. */
extern void rencoder_open_index_switch_to_owner(const RencoderOpenIndex *target);

/* Switches back and closes both, releasing the locks. */
extern void rencoder_open_index_close(RencoderOpenIndex *target);

/* Error unless the index is valid. */
extern void rencoder_open_index_require_valid(Relation index);

#endif							/* RENCODER_OPEN_INDEX_H */
