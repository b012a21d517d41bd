/*
 * format.h
 *		The interface of formats: how the keys of a column of a group are stored.
 *
 * A format knows how to lay out a slab (slab.h), how to ask it and how to change
 * it; nothing outside format/ does.  What it wants to know is in the configuration,
 * which the designer makes (plan/).
 *
 * Locks: functions that read or change a slab take its pages' content locks
 * themselves, ascending, while the caller holds the header's lock or knows
 * otherwise that the extent stays (scans: INV-7).
 *
 * A format has all functions but these, which may be NULL: begin, fill and end
 * together; grow_image and grow_start together; seal_page, if seal_read and
 * seal_catch_up are there, or these two, if seal_page is; missing.
 */
#ifndef RENCODER_FORMAT_H
#define RENCODER_FORMAT_H

#include "format/probe.h"
#include "format/slab.h"
#include "key/collect.h"
#include "key/key.h"

typedef enum RencoderInsertResult
{
	RENCODER_INSERT_PRESENT,	/* nothing changed */
	RENCODER_INSERT_ADDED,
	RENCODER_INSERT_REFUSED		/* no room: the range must become "always" */
} RencoderInsertResult;

/* What a format asks for the keys of a column. */
typedef struct RencoderOffer
{
	double		bits;			/* in all; see offer */
	double		fpr;			/* false positive rate; -1: not known before
								 * the design is made */
} RencoderOffer;

/* What is to be expected of probing storage of all ranges. */
typedef struct RencoderEstimate
{
	double		fpr;			/* share of the ranges without a match that
								 * pass */
	double		pages;			/* read */
} RencoderEstimate;

/* A key that a slab lacks, or a page that cannot be read. */
typedef struct RencoderMissing
{
	BlockNumber blkno;
	const char *fault;			/* of the page, or NULL: */
	unsigned int slot;			/* the slab's range that lacks something there */
} RencoderMissing;

/* Up to where slices have been read; a format's own matter. */
typedef struct RencoderSealMarks RencoderSealMarks;

typedef struct RencoderFormat
{
	const char *name;

	/* The configuration. */

	/*
	 * Offers to store the keys of a column, as collected, in slabs of this
	 * width, in "limit" bits at most; false: it does not.  Slices may count
	 * less than they take, for the sake of what they become when the group is
	 * full.
	 */
	bool		(*offer) (const RencoderCollector *c, int col, int width,
						  double bits_per_key, double limit, RencoderOffer *offer);

	/* What is wrong with it, or NULL; a palloc'd sentence. */
	const char *(*check_config) (const RencoderConfig *config);

	/* Text about it for people, palloc'd. */
	char	   *(*describe) (const RencoderConfig *config);

	/* Distinct keys a range that it is made for; 0: any number. */
	uint32		(*capacity) (const RencoderConfig *config);

	/* Is there room for a range of so many distinct keys? */
	bool		(*fits) (const RencoderConfig *config, uint32 distinct);

	/* Entries that a range can have, 0: that depends; see count. */
	uint64		(*max_entries) (const RencoderConfig *config);

	/* Pages of a slab, if the configuration alone says it, else 0. */
	uint32		(*npages) (const RencoderConfig *config, int width);

	/* "keys": what the query asks for, NULL if that is not known. */
	void		(*estimate) (const RencoderConfig *config, const RencoderKeySet *keys,
							 RencoderEstimate *estimate);

	/* Making storage. */

	/* Type of a page (page.h) of a slab of so many pages. */
	uint16		(*page_id) (uint32 npages, uint32 pageno);

	/*
	 * Payloads of the pages of a new slab for the keys of 8 * width ranges,
	 * one after the other, palloc'd (possibly huge).  Ranges to leave out
	 * have no keys.
	 */
	char	   *(*build) (const RencoderConfig *config, int width,
						  const renc_keys *ranges, uint32 *npages);

	/*
	 * The same range by range, for keys that do not fit into memory together:
	 * begin, fill for each slot, end, which returns what build does.  NULL:
	 * the format must see all keys at once.
	 */
	void	   *(*begin) (const RencoderConfig *config, int width);
	void		(*fill) (void *filling, unsigned int slot, const renc_keys *keys);
	char	   *(*end) (void *filling, uint32 *npages);

	/*
	 * Storage of all ranges that takes slice after slice: grow_image makes
	 * the first slice, *npages is what all of it needs, grow_start makes the
	 * pages, to which nothing refers yet, with that slice's part.  Further
	 * slices come by merge.  WAL: each page as far as it is in use, several a
	 * record.  NULL: it cannot grow.
	 */
	char	   *(*grow_image) (const RencoderConfig *config, const renc_keys *ranges,
							   uint32 *npages);
	void		(*grow_start) (const RencoderSlab *whole, int slice, const char *image);

	/*
	 * Making one slab of a full group's 16 slices, in one of two ways; where
	 * a format has both, the first is taken.
	 *
	 * By copying, while inserters set bits in the slices first and in the new
	 * slab after: under the exclusive lock of page "pageno" of "whole", makes
	 * it of what the slices have and logs it whole.  The configuration stays.
	 */
	void		(*seal_page) (const RencoderSlab *whole, const RencoderExtent *slices,
							  uint32 pageno);

	/*
	 * Or by reading all keys and making storage anew, in any format, while
	 * inserters add to the slices only: all keys, and the marks, palloc'd.
	 * Then what has come since the marks, which move on, is added to "new",
	 * to which nobody else refers yet.  Ranges in *skip are left out; those
	 * that "new" has no room for are added to it.  Returns the pages that had
	 * changed.  Nothing is missing if nobody can insert meanwhile, that is,
	 * under the header's exclusive lock; else call again.
	 */
	RencoderCollector *(*seal_read) (Relation index, const RencoderConfig *config,
									 const RencoderExtent *slices, RencoderSealMarks **marks);
	int			(*seal_catch_up) (const RencoderConfig *config, const RencoderExtent *slices,
								  RencoderSealMarks *marks, const RencoderSlab *new,
								  renc_mask *skip);

	/* Asking and changing it. */

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

	/*
	 * Takes the entries of these slots away.  WAL: one record per page
	 * changed.
	 */
	void		(*clear) (const RencoderSlab *slab, renc_mask slots);

	/*
	 * Adds the entries of each of these slots to counts[]; those of other
	 * slots may be added or not.  An entry is what inserting a key may add:
	 * how many there are more than at first says how far the storage has
	 * outgrown its design.
	 */
	void		(*count) (const RencoderSlab *slab, renc_mask slots, uint32 *counts);

	/* Verification. */

	/* Raises ERRCODE_INDEX_CORRUPTED unless all pages are well-formed. */
	void		(*check) (const RencoderSlab *slab);

	/*
	 * Does the slab lack anything of these keys?  NULL: only probing for each
	 * key can tell.  A page that cannot be read is no error here: it may have
	 * been freed.
	 */
	bool		(*missing) (const RencoderSlab *slab, const renc_keys *ranges,
							RencoderMissing *missing);
} RencoderFormat;

/* The format of a configuration, or NULL: none yet, or this version does not know it. */
extern const RencoderFormat *rencoder_format_of(const RencoderConfig *config);

/* The same for those who cannot do without: raises ERRCODE_FEATURE_NOT_SUPPORTED. */
extern const RencoderFormat *rencoder_format_require(Relation index, const RencoderConfig *config);

/* A format by its number, or NULL. */
extern const RencoderFormat *rencoder_format_number(uint8 number);

/*
 * The keys of these slots of a column of the collector, as far as they fit the
 * configuration; of all other slots none.  Returns those that do not, whose ranges are
 * "always".  ranges[] has room for all slots of the collector.
 */
extern renc_mask rencoder_format_keys(const RencoderConfig *config, const RencoderCollector *c,
									  int col, renc_mask slots, renc_keys *ranges);

/* Distinct keys a range that a configuration is made for; 0: any number, or none yet. */
extern uint32 rencoder_format_capacity(const RencoderConfig *config);

/* Pages of storage of all ranges; 0: not known by the configuration. */
extern uint32 rencoder_format_npages(const RencoderConfig *config);

/*
 * What is to be expected of a configuration.  Of one that is not there yet, or that
 * this version does not know: what filters of the best number of hashes would do.
 */
extern RencoderEstimate rencoder_format_estimate(const RencoderConfig *config,
												 double bits_per_key,
												 const RencoderKeySet *keys);

/*
 * Writes the pages of a slab that build, or end, has made an image of.  Nothing refers
 * to them yet.  Locks, WAL and errors: as rencoder_wal_write_fresh().  Can be
 * cancelled unless interrupts are held.
 */
extern void rencoder_format_write(const RencoderSlab *slab, const char *image, bool log);

/* The formats, for format.c. */
extern const RencoderFormat rencoder_format_filter;
extern const RencoderFormat rencoder_format_dict;

#endif							/* RENCODER_FORMAT_H */
