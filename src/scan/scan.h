/*
 * scan.h
 *		Scanning an index: candidates into a bitmap, or row by row.
 */
#ifndef RENCODER_SCAN_H
#define RENCODER_SCAN_H

#include "base/compat.h"

#include "access/amapi.h"

/*
 * When the library is loaded: from then on the recheck of a scan of ours looks lists up in hash
 * tables, where it is certain that they stay as they are.  Evaluates no expression, and raises no
 * error.
 */
extern void rencoder_scan_recheck_init(void);

/* Callbacks of the access method. */
extern IndexScanDesc rencoderbeginscan(Relation index, int nkeys, int norderbys);
extern void rencoderrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
						   ScanKey orderbys, int norderbys);
extern int64 rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern bool rencodergettuple(IndexScanDesc scan, ScanDirection direction);
extern void rencoderendscan(IndexScanDesc scan);

#endif							/* RENCODER_SCAN_H */
