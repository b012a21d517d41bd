/*
 * check_covered.h
 *		rencoder_index_check(heapallindexed): are the rows of covered ranges in runs?
 */
#ifndef RENCODER_CHECK_COVERED_H
#define RENCODER_CHECK_COVERED_H

#include "store/group_copy.h"
#include "table/coder_columns.h"

typedef struct RencoderCoveredCheck RencoderCoveredCheck;

/* "xmin" is the snapshot's: it trusts horizons up to it.  palloc'd. */
extern RencoderCoveredCheck *rencoder_check_covered_begin(Relation index, const RencoderMeta *meta,
														  uint64 xmin);

/*
 * Collects a row of a heap page; pages come in order.  Raises ERRCODE_INDEX_CORRUPTED if keys
 * collected before are not found.  Locks: content locks, released.
 */
extern void rencoder_check_covered_row(RencoderCoveredCheck *check, BlockNumber page,
									   const RencoderColumnCoders *coders,
									   const Datum *values, const bool *isnull);

/*
 * Holds what was collected against the index.  Also to be called when the coders change,
 * "coders" being those that were in use.
 */
extern void rencoder_check_covered_flush(RencoderCoveredCheck *check,
										 const RencoderColumnCoders *coders);

#endif							/* RENCODER_CHECK_COVERED_H */
