/*
 * scan.h
 *		Scanning an index: candidates into a bitmap, or row by row.
 */
#ifndef RENCODER_SCAN_H
#define RENCODER_SCAN_H

#include "base/compat.h"

#include "access/amapi.h"
#include "executor/instrument.h"

/* Callbacks of the access method. */
extern IndexScanDesc rencoderbeginscan(Relation index, int nkeys, int norderbys);
extern void rencoderrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
						   ScanKey orderbys, int norderbys);
extern int64 rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern bool rencodergettuple(IndexScanDesc scan, ScanDirection direction);
extern void rencoderendscan(IndexScanDesc scan);

/* What a scan of our indexes finds is counted there, too, until it ends. */
extern void rencoder_scan_instrument(IndexScanDesc scan, RencoderNodeCounts *instrument);

/*
 * How many times a plain scan, or NULL, has begun; *npages, if not NULL, is of how many heap pages it has
 * handed out rows.
 */
extern int64 rencoder_scan_plain_counts(IndexScanDesc scan, int64 *npages);

/* ---- What scans count for EXPLAIN (ANALYZE), by node of a plan ---- */

/*
 * PostgreSQL keeps counters of each node that is instrumented, and brings those of parallel
 * workers to the leader, where they are added up over all rescans.  Some have no use at a
 * bitmap index scan, or at a bitmap heap scan or an index scan without a condition of its own; ours
 * are there.
 *
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

#endif							/* RENCODER_SCAN_H */
