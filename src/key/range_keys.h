/*
 * range_keys.h
 *		The distinct keys of block ranges, collected while their rows are read.
 *
 * Heap scans deliver tuples in block order, so ranges ("slots", numbered from
 * 0) come one after the other.
 */
#ifndef RENCODER_RANGE_KEYS_H
#define RENCODER_RANGE_KEYS_H

#include "postgres.h"

#include "filter/renc_mask.h"
#include "filter/renc_rule.h"

/* What is known of the keys of one column of one range. */
typedef struct RencoderRangeSummary
{
	uint64		min;			/* min > max: no key */
	uint64		max;
	uint32		distinct;
	bool		has_null;
	bool		keyless;		/* some value has no key */
} RencoderRangeSummary;

static inline bool
rencoder_range_has_value(const RencoderRangeSummary *range)
{
	return range->min <= range->max || range->keyless;
}

typedef struct RencoderRangeColumn
{
	uint64	   *key;			/* sorted and distinct within each closed slot */
	size_t		nkeys;
	size_t		allocated;
	size_t		start[RENC_GROUP_RANGES + 1];	/* first key of each slot */
	RencoderRangeSummary range[RENC_GROUP_RANGES];
} RencoderRangeColumn;

typedef struct RencoderRangeKeys
{
	int			natts;
	int			nslots;			/* slots begun */
	bool		open;			/* is the last of them still being filled? */
	RencoderRangeColumn *column;
} RencoderRangeKeys;

/* Memory comes from the current context. */
extern RencoderRangeKeys *rencoder_range_keys_create(int natts);

/* Forgets everything; a new block begins. */
extern void rencoder_range_keys_reset(RencoderRangeKeys *c);

/* Closes slots before "slot", and opens it; slots skipped are empty.  Slots must not decrease. */
extern void rencoder_range_keys_open(RencoderRangeKeys *c, int slot);

/* Takes what a row has for a tree (store/run_format.h). */
extern void rencoder_range_keys_add(RencoderRangeKeys *c, int tree, uint64 key);

/* Closes the open slot and makes it "nslots" slots in all. */
extern void rencoder_range_keys_close(RencoderRangeKeys *c, int nslots);

/* Forgets the keys of all slots, which are closed, but not what else is known of them. */
extern void rencoder_range_keys_drop(RencoderRangeKeys *c);

/* Bytes that the keys take. */
extern Size rencoder_range_keys_memory(const RencoderRangeKeys *c);

/* Keys of a closed slot: none if they were dropped. */
extern renc_keys rencoder_range_keys_get(const RencoderRangeKeys *c, int col, int slot);

#endif							/* RENCODER_RANGE_KEYS_H */
