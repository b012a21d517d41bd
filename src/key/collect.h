/*
 * collect.h
 *		Collecting the distinct keys of block ranges during a heap scan.
 *
 * Heap scans deliver tuples in block order, so ranges ("slots", numbered from
 * 0) come one after the other.
 */
#ifndef RENCODER_COLLECT_H
#define RENCODER_COLLECT_H

#include "postgres.h"

#include "filter/renc_rule.h"
#include "key/key.h"

/* What is known of the keys of one column of one range. */
typedef struct RencoderRangeSummary
{
	uint64		min;			/* min > max: no key */
	uint64		max;
	uint32		distinct;
	bool		has_null;
	bool		keyless;		/* some value has no key, or none was read */
} RencoderRangeSummary;

static inline bool
rencoder_range_has_value(const RencoderRangeSummary *range)
{
	return range->min <= range->max || range->keyless;
}

typedef struct RencoderCollectedColumn
{
	RencoderKeyFunction function;	/* of whoever makes keys; none until the
									 * first value */
	uint64	   *key;			/* sorted and distinct within each closed slot */
	size_t		nkeys;
	size_t		allocated;
	size_t		start[RENC_GROUP_RANGES + 1];	/* first key of each slot */
	RencoderRangeSummary range[RENC_GROUP_RANGES];
} RencoderCollectedColumn;

/*
 * Takes what is for a tree of a run (store/run_format.h) instead of the collector, which keeps min and
 * max of the keys, but none of them and no count.  A value without a key matches whatever is asked, so
 * min and max are the widest then.
 */
typedef void (*RencoderKeySink) (void *arg, int tree, uint64 key);

typedef struct RencoderCollector
{
	int			natts;
	int			nslots;			/* slots begun */
	bool		open;			/* is the last of them still being filled? */
	MemoryContext row_context;	/* for whoever makes keys; reset with each row */
	bool		in_use;			/* others may change the table meanwhile */
	bool		no_dead_toast;	/* do not fetch values of dead rows from TOAST */
	RencoderKeySink sink;		/* where keys go, the creator's to set; NULL:
								 * they are kept */
	void	   *sink_arg;
	uint32		place;			/* for the sink: of the row that is collected */
	RencoderCollectedColumn *column;
} RencoderCollector;

/* Memory comes from the current context. */
extern RencoderCollector *rencoder_collect_create(int natts);

/* Forgets everything; a new group begins. */
extern void rencoder_collect_reset(RencoderCollector *c);

/*
 * Closes the open slot, if another, and opens "slot"; slots skipped are empty.
 * Slots must not decrease.
 */
extern void rencoder_collect_open(RencoderCollector *c, int slot);
extern void rencoder_collect_add(RencoderCollector *c, int col, uint64 key);
extern void rencoder_collect_add_null(RencoderCollector *c, int col);

/* A value for which no single key stands. */
extern void rencoder_collect_add_keyless(RencoderCollector *c, int col);

/* Closes the open slot and makes it "nslots" slots in all. */
extern void rencoder_collect_close(RencoderCollector *c, int nslots);

/* Drops the keys, not the summaries, of the closed slots (to save memory). */
extern void rencoder_collect_drop_keys(RencoderCollector *c);

/* Keys of a closed slot. */
extern renc_keys rencoder_collect_keys(const RencoderCollector *c, int col, int slot);

/* Bytes of keys held. */
extern Size rencoder_collect_size(const RencoderCollector *c);

#endif							/* RENCODER_COLLECT_H */
