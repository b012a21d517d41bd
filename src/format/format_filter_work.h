/*
 * format_filter_work.h
 *		What the files of filters share.
 *
 *		matrix: page i is window i			| band 0: 510 B | band 1 | .. | band 15 |
 *		slice:	page i is windows 16 i ..	| window 16 i: 510 B | window 16 i + 1 | ..
 *
 * A window has 510 rows of 128 bits, one bit for each range.  A band is byte s of
 * all rows: what the window says of slice s.  Every key sets kw * kr * |L| bits
 * (src/filter/renc_shape.h); those of the 128 ranges of a group are in one page, so
 * that one page read tests them all.
 */
#ifndef RENCODER_FORMAT_FILTER_WORK_H
#define RENCODER_FORMAT_FILTER_WORK_H

#include "format/format_filter.h"

/* Windows in a page of a slab. */
#define WINDOWS_PER_PAGE(width)		(RENC_MATRIX_WIDTH / (width))

/* Bytes of a window. */
#define WINDOW_SIZE(width)			((size_t) RENCODER_ROWS * (width))

/*
 * The image of some bands of a matrix: windows of "nbands" bands, for the keys
 * of 8 * nbands ranges; palloc'd, possibly huge.
 */
extern char *rencoder_filter_bands(const RencoderConfig *config, const renc_keys *ranges,
								   int nbands);

/* Raises ERRCODE_INDEX_CORRUPTED if the slab has not the pages that its configuration needs. */
extern void rencoder_filter_check_extent(const RencoderSlab *slab);

#endif							/* RENCODER_FORMAT_FILTER_WORK_H */
