/*
 * scan_stats.h
 *		Counts of this session's scans, on their way to the page of the index.
 */
#ifndef RENCODER_SCAN_STATS_H
#define RENCODER_SCAN_STATS_H

#include "store/stats_page.h"

/* When the library is loaded. */
extern void rencoder_scan_stats_init(void);

/* Adds to what is kept of an index.  Locks: none.  Nothing on a standby. */
extern void rencoder_scan_stats_add(Oid indexoid, const RencoderStats *stats);

/* Writes what is kept of an index, which is open and locked, waiting for the page if need be. */
extern void rencoder_scan_stats_flush(Relation index);

#endif							/* RENCODER_SCAN_STATS_H */
