/*
 * renc_window.h
 *		The bit matrix of a group: windows of rows, in memory.
 *
 * A filter image is nwindows windows of "rows" rows, one after the other.  A
 * row has a bit for each slot of the matrix (width 16: the 128 ranges of a
 * group) or slice (width 1: 8 ranges).  The bits of eight slots, a byte of each
 * row, stand together as a band; a window is "width" bands of "rows" bytes:
 *
 *		window 0                                                window 1
 *		| band 0: slots 0 .. 7    | band 1: slots 8 .. 15 | .. | band 0 ..
 *		| row 0 | row 1 | .. R-1  | row 0 | row 1 | .. R-1| .. | row 0 ..
 *
 * So a slice is band by band what the matrix has of its ranges, a matrix can
 * grow by one band after the other, and filling the slots of a band stays
 * within a sixteenth of the matrix.  A test reads one byte of each band that
 * still has a candidate.
 *
 * On disk one page holds one window of a matrix or 16 windows of a slice; the
 * payloads of the pages in a row are this image.
 */
#ifndef RENC_WINDOW_H
#define RENC_WINDOW_H

#include "renc_mask.h"
#include "renc_shape.h"

/* Bytes of an image. */
static inline size_t
renc_image_size(uint32_t nwindows, uint32_t rows, int width)
{
	return (size_t) nwindows * rows * width;
}

/* Windows for "nkeys" distinct keys a range at "bits_per_key"; at least 1. */
extern uint32_t renc_window_count_for_keys(double nkeys, double bits_per_key, uint32_t rows);

/*
 * Sets the bits of "n" keys for one slot of an image.  The keys must be
 * sorted; equal keys are allowed.
 */
extern void renc_window_fill(uint8_t *image, int width, unsigned int slot,
							 const renc_shape *shape, uint32_t nwindows, uint32_t rows,
							 const uint64_t *keys, size_t n);

/* Where in a window the bit of (row, slot) is: the byte, and the bit in it. */
static inline size_t
renc_window_byte(uint32_t rows, uint32_t row, unsigned int slot)
{
	return (size_t) (slot / 8) * rows + row;
}

static inline uint8_t
renc_window_bit(unsigned int slot)
{
	return (uint8_t) (1 << (slot % 8));
}

/*
 * Half a row: those of "among" that are set in eight bands from "byte" on.  Unless "whole", the
 * window has fewer: nothing is read behind those that "among" has slots of.
 */
static inline uint64_t
renc_window_half_row(const uint8_t *byte, uint32_t rows, uint64_t among, bool whole)
{
	uint64_t	row = 0;
	uint64_t	left = among;

	/* Few candidates, few bands: each is a cache line of its own. */
	if (!whole || __builtin_popcountll(among) <= 6)
	{
		while (left != 0)
		{
			int			shift = __builtin_ctzll(left) & ~7;

			row |= (uint64_t) byte[(size_t) (shift / 8) * rows] << shift;
			left &= ~(UINT64_C(0xFF) << shift);
		}
	}
	else
	{
		for (int band = 0; band < 8; band++)
			row |= (uint64_t) byte[(size_t) band * rows] << (8 * band);
	}
	return row & among;
}

/* Which of the slots in "among", which the window has, are set in a row? */
static inline renc_mask
renc_window_row(const uint8_t *window, int width, uint32_t rows, uint32_t row,
				renc_mask among)
{
	if (width == RENC_SLICE_WIDTH)
	{
		among.w[0] &= window[row];
		among.w[1] = 0;
	}
	else
	{
		among.w[0] = renc_window_half_row(window + row, rows, among.w[0], width >= 8);
		among.w[1] = renc_window_half_row(window + (size_t) 8 * rows + row, rows, among.w[1],
										  width == RENC_MATRIX_WIDTH);
	}
	return among;
}

/* Set bits of the slot in bit "bit" of a band. */
extern uint32_t renc_band_count_bits(const uint8_t *band, uint32_t rows, int bit);

#endif							/* RENC_WINDOW_H */
