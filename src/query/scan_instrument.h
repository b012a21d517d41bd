/*
 * scan_instrument.h
 *		What scans count for EXPLAIN (ANALYZE), by node of a plan.
 *
 * PostgreSQL keeps counters of each node that is instrumented, and brings those of parallel
 * workers to the leader, where they are added up over all rescans.  Some have no use at a
 * bitmap index scan, or at a bitmap heap scan or an index scan without a condition of its own; ours
 * are there.
 */
#ifndef RENCODER_SCAN_INSTRUMENT_H
#define RENCODER_SCAN_INSTRUMENT_H

#include "executor/instrument.h"

/*
 * Of a bitmap index scan: pages of the table that passed, block ranges, those without one.  Of an
 * index scan, also with a condition of its own: pages that rows were handed out of.
 */
#define RencoderScanPages(instrument)			((instrument)->ntuples2)
#define RencoderScanRanges(instrument)			((instrument)->nfiltered2)
#define RencoderScanSkipped(instrument)			((instrument)->nfiltered1)

/* Of a bitmap heap scan that is observed: pages that were read, and those with a row. */
#define RencoderScanPagesRead(instrument)		((instrument)->nfiltered1)
#define RencoderScanPagesFound(instrument)		((instrument)->ntuples2)

/* Of an index scan that is observed: pages with a row. */
#define RencoderPlainPagesFound(instrument)		((instrument)->nfiltered1)

#endif							/* RENCODER_SCAN_INSTRUMENT_H */
