/*
 * check_keys.h
 *		rencoder_index_check(heapallindexed): does the index find the keys of all rows?
 */
#ifndef RENCODER_CHECK_KEYS_H
#define RENCODER_CHECK_KEYS_H

#include "store/group_copy.h"
#include "table/coder_columns.h"

typedef struct RencoderKeyCheck RencoderKeyCheck;

/* "xmin" is the snapshot's: it trusts horizons up to it.  palloc'd. */
extern RencoderKeyCheck *rencoder_check_keys_begin(Relation index, const RencoderMeta *meta,
												   uint64 xmin);

/*
 * Collects a row, with the root of its HOT chain; pages come in order.  Raises
 * ERRCODE_INDEX_CORRUPTED if keys collected before are not found.  Locks: content locks, released.
 */
extern void rencoder_check_keys_add_row(RencoderKeyCheck *check, ItemPointer tid,
										const RencoderColumnCoders *coders,
										const Datum *values, const bool *isnull);

/*
 * Holds what was collected against the index.  Also to be called when the coders change,
 * "coders" being those that were in use.
 */
extern void rencoder_check_keys_compare(RencoderKeyCheck *check,
										const RencoderColumnCoders *coders);

#endif							/* RENCODER_CHECK_KEYS_H */
