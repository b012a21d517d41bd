/*
 * horizon.c
 *		Trust horizons: which snapshots may trust a summary (INV-9).
 */
#include "store/horizon.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

/* A transaction id as a 64-bit one; it must not be in the future. */
static uint64
horizon_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	TransactionId next_xid = XidFromFullTransactionId(next);

	if (!TransactionIdIsNormal(xid))
		return 0;
	return U64FromFullTransactionId(next) - (uint32) (next_xid - xid);
}

uint64
rencoder_horizon_before(Relation heap)
{
	/*
	 * Rows of a temporary table are seen by this session only, and what the
	 * scan skips as dead is dead to all its snapshots.
	 */
	if (RelationUsesLocalBuffers(heap))
		return 0;
	return horizon_full_xid(rencoder_oldest_active_xid());
}

/*
 * Does a transaction of this database, one that holds back what may be
 * removed, run with this id?
 */
static bool
holds_back_horizon(TransactionId xid)
{
	int			pid = BackendXidGetPid(xid);
	PGPROC	   *proc = pid == 0 ? NULL : BackendPidGetProc(pid);

	if (proc == NULL || proc->databaseId != MyDatabaseId ||
		(proc->statusFlags & (PROC_IN_VACUUM | PROC_IN_LOGICAL_DECODING)) != 0)
		return false;

	/* The same process has it still, so what we have read was its own. */
	return BackendXidGetPid(xid) == pid;
}

/*
 * The scan took for dead what was deleted before D, the oldest id that the
 * heap was needed by as GetOldestNonRemovableTransactionId() computed it for
 * the scan, for each of its parts anew.  On this server nobody needs what is
 * dead: a snapshot older than D would have held D back, a later one sees the
 * deletion.  But a snapshot on a standby, taken before the deletion's commit
 * is replayed, needs it, and has an xmin of at most the deleting id, that is,
 * below D.  So whatever is not less than D is a safe horizon.
 *
 * D cannot be asked for.  Readings before and after the scan prove nothing,
 * because the value may go backwards: sessions of other databases count only
 * through snapshots taken in this one, and walsenders move their xmin as they
 * like; D may have been above both readings.  But every reading is at most
 *
 * (1) our own xmin at that time, if we have one, and we have one all the time
 *	   while a snapshot is active; except in VACUUM, which is not counted;
 * (2) an id of a transaction of this database that runs at that time, if it
 *	   is not that of a VACUUM, nor decoding;
 * (3) the latest completed id plus one, so the next one.
 *
 * Our xmin never goes backwards, so (1) gives our xmin after the scan.  (2)
 * is tried with the id that was the oldest in all databases before the scan:
 * only that one is of use, because as long as it runs new snapshots have it
 * as their xmin and would not trust a horizon above it.  If it was the next
 * one, not in use yet, and is in use now, then (3) says the same for the time
 * before it was.  (3) is always true, and stops being a hindrance when the
 * transactions of the present have ended.
 */
uint64
rencoder_horizon(Relation heap, uint64 oldest_before, bool broken_hot_chain)
{
	if (!broken_hot_chain)
	{
		if (RelationUsesLocalBuffers(heap))
			return 0;
		if (ActiveSnapshotSet() && TransactionIdIsNormal(MyProc->xmin) &&
			!(MyProc->statusFlags & PROC_IN_VACUUM))
			return horizon_full_xid(MyProc->xmin);
		if (holds_back_horizon((TransactionId) oldest_before))
			return oldest_before;
	}
	return U64FromFullTransactionId(ReadNextFullTransactionId());
}

uint64
rencoder_horizon_behind(TransactionId deleter)
{
	return TransactionIdIsNormal(deleter) ? horizon_full_xid(deleter) + 1 : 0;
}

uint64
rencoder_horizon_of_snapshot(Snapshot snapshot)
{
	/*
	 * These see what nobody has deleted, or whoever deleted it has not
	 * committed.  So it was not dead when the table was read.
	 */
	if (snapshot != NULL &&
		(snapshot->snapshot_type == SNAPSHOT_DIRTY || snapshot->snapshot_type == SNAPSHOT_SELF))
		return PG_UINT64_MAX;
	if (snapshot == NULL || !IsMVCCSnapshot(snapshot))
		return 0;
	return horizon_full_xid(snapshot->xmin);
}
