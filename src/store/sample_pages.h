/*
 * sample_pages.h
 *		Query samples: what was asked of a column, kept in the index.
 *
 * Each key column has a ring of sample entries on pages of hints of its own:
 *
 *		 0      4        8
 *		 | next | unused | entry[339]: lo, hi, coder, source, check |
 *
 * Each page is a ring by itself: a new entry takes the first slot from "next" on that is empty or
 * holds keys of another coder, or else the one at "next", which is the oldest (FIFO, as in section 6.1
 * of the Proteus paper).  Which page: a random one.
 *
 * Scans write entries as hints (hint_pages.h), under a lock obtained at once or not at all.
 */
#ifndef RENCODER_SAMPLE_PAGES_H
#define RENCODER_SAMPLE_PAGES_H

#include "store/hint_pages.h"

typedef enum RencoderSampleSource
{
	RENCODER_SAMPLE_SCAN = 1,	/* recorded by a scan; 0: an empty slot */
	RENCODER_SAMPLE_ADDED		/* rencoder_add_query_sample() */
} RencoderSampleSource;

typedef struct RencoderSample
{
	uint64		lo;				/* keys from lo to hi; lo <= hi */
	uint64		hi;
	uint32		coder;			/* generation of the coder that made the keys */
	uint16		source;			/* RencoderSampleSource */
	uint16		check;			/* of all bytes before (private) */
} RencoderSample;

StaticAssertDecl(sizeof(RencoderSample) == 24, "RencoderSample is on disk");

typedef struct RencoderSamplePageData
{
	uint32		next;			/* slot; any number will do */
	uint32		unused;			/* zero */
	RencoderSample entry[FLEXIBLE_ARRAY_MEMBER];
} RencoderSamplePageData;

#define RENCODER_SAMPLE_SLOTS \
	((RENCODER_PAYLOAD_SIZE - offsetof(RencoderSamplePageData, entry)) / sizeof(RencoderSample))

/* The most samples that a column can have. */
#define RENCODER_SAMPLES_MAX	(RENCODER_SAMPLE_PAGES * RENCODER_SAMPLE_SLOTS)

#define RencoderPageGetSamples(page) \
	((RencoderSamplePageData *) RencoderPageGetPayload(page))

/* An interval of keys as a sample. */
extern RencoderSample rencoder_sample_interval(uint64 lo, uint64 hi, uint32 coder,
											   RencoderSampleSource source);

/*
 * The samples of a column (0-based) whose keys were made by this generation of
 * its coder (0: by none; NULL: by any), palloc'd; *n is their number, which may be 0.
 * Entries and pages that are not valid are skipped.  Locks: metapage and
 * sample pages share, one at a time, released.  Works on a standby.
 */
extern RencoderSample *rencoder_samples_read(Relation index, int col,
											 const uint32 *coder, int *n);

/*
 * Stores a sample of a column for good; nothing if there are no pages for it.  A page that is not
 * valid is made anew.  Locks: the page exclusive, released; no others are needed.  WAL: the page
 * whole.
 */
extern void rencoder_samples_store(Relation index, int col, const RencoderSample *sample);

/*
 * Stores a sample of a column as a hint: it may be lost, without notice, at once
 * or in a crash.  Never on a standby, never waits for a lock, never an
 * error but one of the operating system.  WAL: with data checksums or
 * wal_log_hints, the page whole, once after each checkpoint.
 */
extern void rencoder_samples_store_as_hint(Relation index, int col,
										   const RencoderSample *sample);

#endif							/* RENCODER_SAMPLE_PAGES_H */
