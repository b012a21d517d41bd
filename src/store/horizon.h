/*
 * horizon.h
 *		Trust horizons: which snapshots may trust a summary (INV-9).
 */
#ifndef RENCODER_HORIZON_H
#define RENCODER_HORIZON_H

#include "base/compat.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * To be called before a scan of the heap: the oldest transaction id in use in
 * any database, or the next one.
 */
extern uint64 rencoder_horizon_before(Relation heap);

/*
 * The trust horizon for a scan that has just ended: "oldest_before" is
 * rencoder_horizon_before() from before it; a snapshot that was active then,
 * if any, is so still.  With a broken HOT chain, or a scan that used an MVCC
 * snapshot, only snapshots yet to come may trust it.
 */
extern uint64 rencoder_horizon(Relation heap, uint64 oldest_before,
							   bool broken_hot_chain);

/*
 * The horizon of what was read without a version that transaction "deleter", which has committed,
 * took away: a snapshot that needs the version takes that for running.  0 for an invalid id.
 */
extern uint64 rencoder_horizon_behind(TransactionId deleter);

/*
 * The xmin of a snapshot as a 64-bit transaction id.  The largest (trusts
 * everything) for SnapshotDirty and SnapshotSelf, 0 (trusts nothing) for others
 * that are not MVCC ones, and for none.
 */
extern uint64 rencoder_horizon_of_snapshot(Snapshot snapshot);

#endif							/* RENCODER_HORIZON_H */
