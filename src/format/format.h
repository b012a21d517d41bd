/*
 * format.h
 *		The interface of group formats: how the keys of a column are stored.
 *
 * A slab is the storage of 8 ranges (slice, width 1) or 128 ranges (matrix,
 * width 16) of one column of a group.  A format knows how to lay out a slab
 * and how to ask it; nothing outside format_*.c does.
 *
 * Locks: functions that read or change a slab take its pages' content locks
 * themselves, ascending, while the caller holds the header's lock or knows
 * otherwise that the extent stays (scans: INV-7).
 */
#ifndef RENCODER_FORMAT_H
#define RENCODER_FORMAT_H

#include "format/filter_config.h"
#include "format/probe.h"
#include "key/collect.h"

typedef struct RencoderSlab
{
	Relation	index;
	const RencoderConfig *config;
	RencoderExtent extent;
	int			width;			/* RENC_SLICE_WIDTH or RENC_MATRIX_WIDTH */

	/*
	 * Under construction: pages may not have been written yet.  An insert
	 * skips those; the maintainer copies its bits from the slices.
	 */
	bool		unfinished;
} RencoderSlab;

typedef enum RencoderInsertResult
{
	RENCODER_INSERT_PRESENT,	/* nothing changed */
	RENCODER_INSERT_ADDED,
	RENCODER_INSERT_REFUSED		/* no room: the range must become "always" */
} RencoderInsertResult;

typedef struct RencoderFormat
{
	const char *name;
	uint16		page_id;

	/*
	 * Payloads of the pages of a new slab for the keys of 8 * width ranges,
	 * one after the other, palloc'd (possibly huge).  Ranges to leave out
	 * have no keys.
	 */
	char	   *(*build) (const RencoderConfig *config, int width,
						  const renc_keys *ranges, uint32 *npages);

	/* Which of "candidates" may hold a key that satisfies the probe's query? */
	renc_mask	(*probe) (RencoderProbe *probe, const RencoderSlab *slab,
						  renc_mask candidates);

	/* Adds a key of one range.  WAL: one or more records; none if present. */
	RencoderInsertResult (*insert) (const RencoderSlab *slab, unsigned int slot,
									uint64 key);

	/*
	 * Adds the keys of several ranges (those with n > 0); returns the slots
	 * that were refused.  WAL: the changes of each page, in one record or of
	 * several pages in one.
	 */
	renc_mask	(*merge) (const RencoderSlab *slab, const renc_keys *ranges);

	/* Takes the bits of these slots away.  WAL: one record per page changed. */
	void		(*clear) (const RencoderSlab *slab, renc_mask slots);

	/*
	 * Adds the set bits (or entries) of each of these slots to counts[8 *
	 * width]; those of other slots may be added or not.
	 */
	void		(*count) (const RencoderSlab *slab, renc_mask slots, uint32 *counts);

	/* Raises ERRCODE_INDEX_CORRUPTED unless all pages are well-formed. */
	void		(*check) (const RencoderSlab *slab);

	/* Text about the configuration for people, palloc'd. */
	char	   *(*describe) (const RencoderConfig *config);
} RencoderFormat;

extern const RencoderFormat rencoder_format_filter;
extern const RencoderFormat rencoder_format_dict;

/* The format of a configuration, or NULL if this version does not know it. */
extern const RencoderFormat *rencoder_format_of(const RencoderConfig *config);

/* The same for those who cannot do without: raises ERRCODE_FEATURE_NOT_SUPPORTED. */
extern const RencoderFormat *rencoder_format_require(Relation index, const RencoderConfig *config);

/*
 * Does a range of so many distinct keys fit the configuration?  If not, its
 * keys are left out and it is marked "always".
 */
extern bool rencoder_format_fits(const RencoderConfig *config, uint32 distinct);

/* Distinct keys a range that a configuration is made for; 0: it does not matter. */
extern uint32 rencoder_format_capacity(const RencoderConfig *config);

/* Pages of a slab of filters. */
extern uint32 rencoder_filter_npages(const RencoderConfig *config, int width);

/* Filter image of some slots at once, used by builds that run out of memory. */
extern char *rencoder_filter_image(const RencoderConfig *config, int width,
								   uint32 *npages);
extern void rencoder_filter_fill(char *image, const RencoderConfig *config,
								 int width, unsigned int slot,
								 const renc_keys *keys);

/*
 * The band of a slice, as an image of windows of width 1, for the keys of its
 * eight ranges; palloc'd, possibly huge.
 */
extern char *rencoder_filter_band_image(const RencoderConfig *config,
										const renc_keys *ranges);

/*
 * Makes the pages of a matrix that is to grow, to which nothing refers yet, with
 * the band of one slice.  Further bands come by merge.  WAL: each page as far as
 * it is in use, several a record.
 */
extern void rencoder_filter_start_matrix(const RencoderSlab *matrix, int slice,
										 const char *image);

/*
 * One page of interleaving: under the exclusive lock of the matrix page
 * "pageno" of "matrix", ORs the 16 slices' windows and logs the page whole.
 */
extern void rencoder_filter_interleave_page(const RencoderSlab *matrix,
											const RencoderExtent *slices,
											uint32 pageno);

/*
 * Turning the slices of a dictionary group, which is exact, into something
 * else while inserters go on adding keys to them; nothing takes any away.
 * The marks say up to where the slices' pages have been read: the bits set in
 * each.
 */
typedef struct RencoderDictMarks
{
	uint32	   *nbits[RENC_GROUP_SLICES];	/* of each data page */
} RencoderDictMarks;

/*
 * All keys of the 16 slices, as collected from the heap, and the marks.
 * Locks: a slice's page, share.
 */
extern RencoderCollector *rencoder_dict_read_slices(Relation index,
													const RencoderConfig *config,
													const RencoderExtent *slices,
													RencoderDictMarks *marks);

/*
 * Adds to the matrix "new", to which nobody else refers yet, what has come into
 * the slices since the marks, which move on.  Ranges in *skip are left out;
 * those that the matrix has no room for are added to it.  Returns the pages
 * that had changed.  Nothing is missing if nobody can insert meanwhile, that
 * is, under the header's exclusive lock; else call again.
 */
extern int	rencoder_dict_catch_up(const RencoderConfig *config,
								   const RencoderExtent *slices,
								   RencoderDictMarks *marks,
								   const RencoderSlab *new, renc_mask *skip);

#endif							/* RENCODER_FORMAT_H */
