/*
 * horizon.c
 *		Trust horizons: which snapshots may trust a summary (INV-9).
 */
#include "horizon.h"

#include "access/transam.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

uint64
rencoder_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	TransactionId next_xid = XidFromFullTransactionId(next);

	if (!TransactionIdIsNormal(xid))
		return 0;
	return U64FromFullTransactionId(next) - (uint32) (next_xid - xid);
}

uint64
rencoder_horizon_now(Relation heap)
{
	/*
	 * Rows of a temporary table are seen by this session only, and what the
	 * scan skips as dead is dead to all its snapshots.
	 */
	if (RelationUsesLocalBuffers(heap))
		return 0;
	return rencoder_full_xid(GetOldestNonRemovableTransactionId(heap));
}

uint64
rencoder_horizon(Relation heap, uint64 oldest_before, bool broken_hot_chain)
{
	if (broken_hot_chain)
		return U64FromFullTransactionId(ReadNextFullTransactionId());

	/* The horizon of the scan itself lay in between. */
	return Max(oldest_before, rencoder_horizon_now(heap));
}

uint64
rencoder_snapshot_xmin(Snapshot snapshot)
{
	if (snapshot == NULL || !IsMVCCSnapshot(snapshot))
		return 0;
	return rencoder_full_xid(snapshot->xmin);
}
