/*
 * format_filter.h
 *		Storage of the keys of a column of a block: bit-sliced range filters.
 *
 * Lays out matrices and asks them; nothing outside format/ does.  What it
 * wants to know is in the configuration, which the designer makes (design/).
 *
 * Locks: functions that read a matrix take its pages' content locks
 * themselves, one at a time, while the caller knows that the extent stays (scans: INV-7).
 */
#ifndef RENCODER_FORMAT_FILTER_H
#define RENCODER_FORMAT_FILTER_H

#include "filter/renc_query.h"
#include "key/key.h"
#include "key/range_keys.h"
#include "store/matrix_pages.h"

/*
 *		width 16: page i is window i		| band 0: 510 B | band 1 | .. | band 15 |
 *		width w: page i has 16 / w windows	| w bands of the first | w bands of the next | ..
 *
 * A window has 510 rows of 8 w bits, one bit for each range.  A band is byte s of
 * all rows: what the window says of slice s.  Every key sets kw * kr * |L| bits
 * (src/filter/renc_shape.h); those of all ranges are in one page, so
 * that one page read tests them all.
 */

/* Windows in a page of a matrix, and bytes of a window. */
#define WINDOWS_PER_PAGE(width)		(RENC_MATRIX_WIDTH / (width))
#define WINDOW_SIZE(width)			((size_t) RENCODER_ROWS * (width))

/* Probing one column of an index with one query. */
typedef struct RencoderProbe
{
	Relation	index;
	const renc_interval_set *set;	/* what the query asks for */
	int64		npages;			/* index pages read so far */

	/*
	 * The first page that could not be read as what it should be.  Counts as
	 * "may match"; an error only if the run is LIVE yet (INV-7).
	 */
	const char *fault;
	BlockNumber fault_blkno;

	/* Private. */
	struct FilterPrograms *programs;	/* the query's, from matrix to matrix */
	Buffer		buffer;			/* a page that is looked at, or invalid */
	BlockNumber blkno;			/* its block */
} RencoderProbe;

/* The configuration. */

/* What is wrong with it, or NULL; a palloc'd sentence.  Then *shape, unless NULL, is its filters'. */
extern const char *rencoder_filter_config_fault(const RencoderConfig *config, renc_shape *shape);

/* Pages of a matrix. */
extern uint32 rencoder_filter_npages(const RencoderConfig *config);

/* The least width that has room for a slice of the group, and those before it. */
extern uint32 rencoder_filter_width(int slice);

/*
 * The keys of these slots of a column of the collector, as far as they fit the
 * configuration; of all other slots none.  Returns those that do not, whose ranges are
 * "always".  ranges[] has room for all slots of the collector.
 */
extern renc_mask rencoder_filter_keys(const RencoderConfig *config, const RencoderRangeKeys *c,
									  int col, renc_mask slots, renc_keys *ranges);

/* Making storage. */

/*
 * Payloads of the pages of a new matrix for the keys of 8 * width ranges, one after the other, palloc'd
 * (possibly huge), without a key.
 */
extern char *rencoder_filter_create_image(const RencoderConfig *config);

/* Sets the keys of ranges.  Those to leave out have none. */
extern void rencoder_filter_fill_image(const RencoderConfig *config, const renc_keys *ranges, char *image);

/* Asking it. */

/* "set", the intervals that are the query, must live on. */
extern RencoderProbe *rencoder_filter_probe_begin(Relation index, const renc_interval_set *set);
extern void rencoder_filter_probe_end(RencoderProbe *probe);

/* Which of "candidates" may hold a key that satisfies the probe's query? */
extern renc_mask rencoder_filter_probe(RencoderProbe *probe, const RencoderMatrixEntry *entry,
									   renc_mask candidates);

/* Verification. */

/*
 * Has a range all bits of a key?  A page that cannot be read is no error here, as it may have been
 * freed: *fault says what is wrong with block *blkno.
 */
extern bool rencoder_filter_has_key(Relation index, const RencoderMatrixEntry *entry, unsigned int slot,
									uint64 key, BlockNumber *blkno, const char **fault);

#endif							/* RENCODER_FORMAT_FILTER_H */
