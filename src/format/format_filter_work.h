/*
 * format_filter_work.h
 *		What the files of filters share.
 *
 *		width 16: page i is window i		| band 0: 510 B | band 1 | .. | band 15 |
 *		width w: page i has 16 / w windows	| w bands of the first | w bands of the next | ..
 *
 * A window has 510 rows of 8 w bits, one bit for each range.  A band is byte s of
 * all rows: what the window says of slice s.  Every key sets kw * kr * |L| bits
 * (src/filter/renc_shape.h); those of all ranges are in one page, so
 * that one page read tests them all.
 */
#ifndef RENCODER_FORMAT_FILTER_WORK_H
#define RENCODER_FORMAT_FILTER_WORK_H

#include "format/format_filter.h"

/* Windows in a page of a slab. */
#define WINDOWS_PER_PAGE(width)		(RENC_MATRIX_WIDTH / (width))

/* Bytes of a window. */
#define WINDOW_SIZE(width)			((size_t) RENCODER_ROWS * (width))

#endif							/* RENCODER_FORMAT_FILTER_WORK_H */
