/*
 * range_scan.h
 *		Reading the keys of block ranges of a table in use.
 */
#ifndef RENCODER_RANGE_SCAN_H
#define RENCODER_RANGE_SCAN_H

#include "filter/renc_mask.h"
#include "key/collect.h"
#include "run/renc_place.h"
#include "store/meta.h"
#include "table/coder_columns.h"

#include "nodes/execnodes.h"

typedef struct RencoderRangeScan
{
	Relation	index;
	Relation	heap;
	RencoderMeta meta;
	IndexInfo  *indexInfo;
	RencoderCollector *collector;
	RencoderColumnCoders coders;
	uint64		first;			/* range of the collector's first slot */
	renc_places places;			/* how the collector's sinks name rows; "most"
								 * rises */
	BlockNumber last_block;		/* of the table, that gave a tuple */
	uint32		rows[RENC_GROUP_RANGES];	/* of each of the collector's
											 * slots */
} RencoderRangeScan;

/* Collector and coders are the caller's to set. */
extern void rencoder_range_scan_init(RencoderRangeScan *scan, Relation index,
									 Relation heap);

/*
 * Collects the keys of those of the "nslots" ranges from "first" on that are in
 * "todo"; the other slots stay empty.  Any row version counts that may be
 * visible to anyone.  The table's size is read in here, so whatever lies
 * within it when the call begins is scanned (INV-3).
 *
 * *horizon is the trust horizon of the ranges (INV-9).  False, with nothing to be
 * trusted, if the keys take more than "max_size" bytes (0: no limit); this is
 * looked at after every 8 ranges.  Sleeps as VACUUM's cost settings say.  The
 * caller has at least RowExclusiveLock on the table.
 */
extern bool rencoder_range_scan(RencoderRangeScan *scan, uint64 first, int nslots,
								renc_mask todo, Size max_size, uint64 *horizon);

/*
 * Distinct keys that a range will hold when it is full, as the fullest of a slice that was read
 * tells: as many more as pages will come, or rows.  Of a column without a key yet, each row may get
 * one.
 */
extern double rencoder_range_scan_full_keys(const RencoderRangeScan *scan, int col);

#endif							/* RENCODER_RANGE_SCAN_H */
