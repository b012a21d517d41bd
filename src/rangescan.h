/*
 * rangescan.h
 *		Reading the keys of block ranges of a table in use.
 */
#ifndef RENCODER_RANGESCAN_H
#define RENCODER_RANGESCAN_H

#include "collect.h"
#include "meta.h"
#include "train.h"

#include "nodes/execnodes.h"

typedef struct RencoderRangeScan
{
	Relation	index;
	Relation	heap;
	RencoderMeta meta;
	IndexInfo  *indexInfo;
	RencoderCollector *collector;	/* slots 0 .. 7 */
	RencoderColumnCoders coders;
	BlockNumber last_block;		/* of the table, that gave a tuple */
} RencoderRangeScan;

/* Collector and coders are the caller's to set. */
extern void rencoder_rangescan_init(RencoderRangeScan *scan, Relation index,
									Relation heap);

/*
 * Collects the keys of those of the 8 ranges from "first" on whose bits are
 * set in "todo"; the other slots stay empty.  Any row version counts that may
 * be visible to anyone.  The table's size is read in here, so whatever lies
 * within it when the call begins is scanned (INV-3).
 *
 * Returns the trust horizon of the ranges (INV-9).  Sleeps as VACUUM's cost
 * settings say.  The caller has at least RowExclusiveLock on the table.
 */
extern uint64 rencoder_rangescan(RencoderRangeScan *scan, uint64 first, uint8 todo);

#endif							/* RENCODER_RANGESCAN_H */
