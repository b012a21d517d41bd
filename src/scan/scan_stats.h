/*
 * scan_stats.h
 *		Counts of this session's scans, on their way to the page of the index.
 */
#ifndef RENCODER_SCAN_STATS_H
#define RENCODER_SCAN_STATS_H

#include "store/stats_page.h"

/*
 * Adds to what is kept of an index; of the pages that were visited, "tail" lie behind the
 * frontier.  Locks: none.  Nothing on a standby.
 */
extern void rencoder_scan_stats_add(Oid indexoid, const RencoderStats *stats, int64 tail);

/*
 * At the end of a scan of an index, which is open: writes what is kept of it, if that is due and
 * nobody has its page.  If much of the tail was read, the worker is told.  Errors: those of
 * cancellation; what else fails is forgotten.
 */
extern void rencoder_scan_stats_write_if_due(Relation index);

/* Writes what is kept of an index, which is open and locked, waiting for the page if need be. */
extern void rencoder_scan_stats_write(Relation index);

#endif							/* RENCODER_SCAN_STATS_H */
