/*
 * scan.h
 *		Scanning an index: candidates into a bitmap.
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
extern void rencoderendscan(IndexScanDesc scan);

/* Scans that this process has begun, ever. */
extern uint64 rencoder_scans_begun;

/* What a scan of our indexes finds is counted there, too (scan_instrument.h), until it ends. */
extern void rencoder_scan_instrument(IndexScanDesc scan, RencoderNodeCounts *instrument);

/*
 * May the user of the session be told what the scan, or NULL, skipped?  That was decided when it
 * began, by the rights it runs with.
 */
extern bool rencoder_scan_is_reportable(IndexScanDesc scan);

#endif							/* RENCODER_SCAN_H */
