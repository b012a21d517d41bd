/*
 * format_filter.h
 *		Storage of the keys of a column of a group: bit-sliced range filters.
 *
 * Lays out slabs, asks and changes them; nothing outside format/ does.  What it
 * wants to know is in the configuration, which the designer makes (design/).
 *
 * Locks: functions that read or change a slab take its pages' content locks
 * themselves, ascending, while the caller holds the header's lock or knows
 * otherwise that the extent stays (scans: INV-7).
 */
#ifndef RENCODER_FORMAT_FILTER_H
#define RENCODER_FORMAT_FILTER_H

#include "filter/renc_query.h"
#include "filter/renc_zorder.h"
#include "key/collect.h"
#include "key/key.h"
#include "store/group.h"

/*
 * The matrix of one column of a group, for the first ranges of the group or all.  Extent and
 * configuration are what header and directory entry say of it.
 */
typedef struct RencoderSlab
{
	Relation	index;
	const RencoderConfig *config;
	RencoderExtent extent;
} RencoderSlab;

/* *config must live as long as the slab. */
static inline RencoderSlab
rencoder_slab(Relation index, const RencoderConfig *config, RencoderExtent extent)
{
	RencoderSlab slab = {index, config, extent};

	return slab;
}

/* That of a column, whose header, a copy or a locked page, must live as long as the slab. */
static inline RencoderSlab
rencoder_slab_of(Relation index, const RencoderHeaderData *header)
{
	return rencoder_slab(index, &header->config, header->matrix);
}

/* Has it bytes for all ranges of a group in each row? */
static inline bool
rencoder_slab_is_whole(const RencoderSlab *slab)
{
	return slab->config->width == RENC_MATRIX_WIDTH;
}

/* What is to be expected of probing storage of all ranges. */
typedef struct RencoderEstimate
{
	double		fpr;			/* share of the ranges without a match that
								 * pass */
	double		pages;			/* read */
} RencoderEstimate;

/* Probing one column of an index with one query. */
typedef struct RencoderProbe
{
	Relation	index;
	const renc_interval_set *set;	/* what the query asks for: intervals, */
	const renc_box_set *boxes;	/* or boxes, the other one is NULL */
	int64		npages;			/* index pages read so far */

	/*
	 * The first page that could not be read as what it should be.  Counts as
	 * "may match"; an error only if the epoch did not change (INV-7).
	 */
	const char *fault;
	BlockNumber fault_blkno;

	/* Private. */
	struct FilterPrograms *programs;	/* the query's, from slab to slab */
	Buffer		buffer;			/* a page that is looked at, or invalid */
	BlockNumber blkno;			/* its block */
} RencoderProbe;

/* A slab that is made range by range. */
typedef struct RencoderFilling RencoderFilling;

/* The configuration. */

/* What is wrong with it, or NULL; a palloc'd sentence. */
extern const char *rencoder_filter_config_fault(const RencoderConfig *config);

/* Its shape for people, palloc'd. */
extern char *rencoder_filter_describe(const RencoderConfig *config);

/* Pages of a slab. */
extern uint32 rencoder_filter_npages(const RencoderConfig *config);

/* The least width that has room for a slice of the group, and those before it. */
extern uint32 rencoder_filter_width(int slice);

/*
 * The keys of these slots of a column of the collector, as far as they fit the
 * configuration; of all other slots none.  Returns those that do not, whose ranges are
 * "always".  ranges[] has room for all slots of the collector.
 */
extern renc_mask rencoder_filter_keys(const RencoderConfig *config, const RencoderCollector *c,
									  int col, renc_mask slots, renc_keys *ranges);

/*
 * What is to be expected of it; of none, what filters of the best number of hashes would
 * do.  "keys": what the query asks for, NULL if that is not known.
 */
extern RencoderEstimate rencoder_filter_estimate(const RencoderConfig *config,
												 double bits_per_key,
												 const RencoderKeySet *keys);

/* Making storage. */

/*
 * Payloads of the pages of a new slab for the keys of 8 * width ranges,
 * one after the other, palloc'd (possibly huge).  Ranges to leave out
 * have no keys.
 */
extern char *rencoder_filter_make_image(const RencoderConfig *config, const renc_keys *ranges);

/*
 * The same range by range, for keys that do not fit into memory together: begin, add for each
 * slot, finish, which frees the filling and returns the image.
 */
extern RencoderFilling *rencoder_filling_begin(const RencoderConfig *config);
extern void rencoder_filling_add(RencoderFilling *f, unsigned int slot, const renc_keys *keys);
extern char *rencoder_filling_finish(RencoderFilling *f);

/*
 * Writes the pages of a slab by an image of it.  Nothing refers to them yet.  Locks, WAL and
 * errors: as rencoder_wal_write_fresh().  Can be cancelled unless interrupts are held.
 */
extern void rencoder_filter_write(const RencoderSlab *slab, const char *image, bool log);

/*
 * Makes the pages of a slab, to which nothing refers yet, with the keys of a slice, or, if that is
 * -1, of all ranges.  Further slices come by rencoder_filter_add_keys().  WAL: each page as far as
 * it is in use.
 */
extern void rencoder_filter_make_pages(const RencoderSlab *slab, int slice, const renc_keys *ranges);

/* Makes the pages of a wider slab, to which nothing refers yet, with what this one has. */
extern void rencoder_filter_copy_to_wider(const RencoderSlab *slab, const RencoderSlab *wider);

/* Asking and changing it. */

/*
 * "set", the intervals that are the query, or "boxes" must live on; the other one is
 * NULL.
 */
extern RencoderProbe *rencoder_filter_probe_begin(Relation index, const renc_interval_set *set,
												  const renc_box_set *boxes);
extern void rencoder_filter_probe_end(RencoderProbe *probe);

/* Which of "candidates" may hold a key that satisfies the probe's query? */
extern renc_mask rencoder_filter_probe(RencoderProbe *probe, const RencoderSlab *slab,
									   renc_mask candidates);

/*
 * Adds the keys of ranges that nobody asks for yet (those with n > 0).  WAL: the changes of each
 * page, of several pages in one record.
 */
extern void rencoder_filter_add_keys(const RencoderSlab *slab, const renc_keys *ranges);

/* Takes the bits of these slots, for which nobody asks, away.  WAL: one record per page changed. */
extern void rencoder_filter_clear(const RencoderSlab *slab, renc_mask slots);

/* Verification. */

/*
 * Raises ERRCODE_INDEX_CORRUPTED unless the configuration is well-formed and has that many pages.
 */
extern void rencoder_filter_check_extent(const RencoderSlab *slab);

/* The same unless all pages are well-formed, too. */
extern void rencoder_filter_check(const RencoderSlab *slab);

/*
 * Has a range all bits of a key?  A page that cannot be read is no error here, as it may have been
 * freed: *fault says what is wrong with block *blkno.
 */
extern bool rencoder_filter_has_key(const RencoderSlab *slab, unsigned int slot, uint64 key,
									BlockNumber *blkno, const char **fault);

#endif							/* RENCODER_FORMAT_FILTER_H */
