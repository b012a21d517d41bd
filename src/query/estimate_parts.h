/*
 * estimate_parts.h
 *		Which part of the keys between two bounds a query asks for, for many pairs of bounds at
 *		once: as the keys of the base runs lie.
 */
#ifndef RENCODER_ESTIMATE_PARTS_H
#define RENCODER_ESTIMATE_PARTS_H

#include "key/key.h"
#include "store/run_list.h"

/* Keys of rows that are in no run. */
typedef struct RencoderKeyPart
{
	uint32		coder;			/* generation that made them */
	uint64		min;			/* least and greatest key */
	uint64		max;
	double		pages;			/* heap pages that have them: the caller's */
	double		part;			/* out: 0 .. 1 */
} RencoderKeyPart;

/*
 * Sets "part" of all of them, which the query asks for by intervals, not by boxes, in the first
 * column.  Reads each page of a base run at most once for each generation that it meets.
 * Returns NULL, or what is wrong with *blkno, which is corruption only if run_changes is what it
 * was when "runs" was read.
 */
extern const char *rencoder_key_parts_ask(Relation index, const RencoderRuns *runs,
										  RencoderQuery *query, RencoderKeyPart *parts, int n,
										  BlockNumber *blkno);

#endif							/* RENCODER_ESTIMATE_PARTS_H */
