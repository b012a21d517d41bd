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

/* What a scan of our indexes finds is counted there, too (scan_instrument.h), until it ends. */
extern void rencoder_scan_instrument(IndexScanDesc scan, RencoderNodeCounts *instrument);

/* Heap pages that a plain scan, or NULL, has handed out rows of, and how many times it began. */
extern int64 rencoder_scan_plain_pages(IndexScanDesc scan);
extern int64 rencoder_scan_plain_scans(IndexScanDesc scan);

/*
 * May the user of the session be told what the scan, or NULL, skipped?  That was decided when it
 * began, by the rights it runs with.
 */
extern bool rencoder_scan_is_reportable(IndexScanDesc scan);

#endif							/* RENCODER_SCAN_H */
