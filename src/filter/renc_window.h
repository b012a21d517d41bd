/*
 * renc_window.h
 *		The bit matrix of a group: windows of rows, in memory.
 *
 * A filter image is nwindows windows of "rows" rows of "width" bytes, one
 * after the other.  Bit j of a row belongs to the slot j of the matrix
 * (width 16: the 128 ranges of a group) or slice (width 1: 8 ranges):
 *
 *		window 0                     window 1
 *		| row 0 | row 1 | .. | row R-1 | row 0 | ..
 *		   |
 *		   +-- width bytes: byte 0 has slots 0 .. 7, byte 1 slots 8 .. 15, ..
 *
 * On disk one page holds one window of a matrix or 16 windows of a slice; the
 * payloads of the pages in a row are this image.
 */
#ifndef RENC_WINDOW_H
#define RENC_WINDOW_H

#include "renc_shape.h"

/* Bytes of an image. */
static inline size_t
renc_image_size(uint32_t nwindows, uint32_t rows, int width)
{
	return (size_t) nwindows * rows * width;
}

/* Windows for "nkeys" distinct keys a range at "bits_per_key"; at least 1. */
extern uint32_t renc_windows_for(double nkeys, double bits_per_key, uint32_t rows);

/*
 * Sets the bits of "n" keys for one slot of an image.  The keys must be
 * sorted; equal keys are allowed.
 */
extern void renc_fill(uint8_t *image, int width, unsigned int slot,
					  const renc_shape *shape, uint32_t nwindows, uint32_t rows,
					  const uint64_t *keys, size_t n);

/* Where in a window the bit of (row, slot) is: the byte, and the bit in it. */
static inline size_t
renc_window_byte(int width, uint32_t row, unsigned int slot)
{
	return (size_t) row * width + slot / 8;
}

static inline uint8_t
renc_window_bit(unsigned int slot)
{
	return (uint8_t) (1 << (slot % 8));
}

/* Is the bit of (row, slot) set in a window?  Sets it; true if it was not. */
static inline bool
renc_window_test(const uint8_t *window, int width, uint32_t row, unsigned int slot)
{
	return (window[renc_window_byte(width, row, slot)] & renc_window_bit(slot)) != 0;
}

static inline bool
renc_window_set(uint8_t *window, int width, uint32_t row, unsigned int slot)
{
	uint8_t    *byte = &window[renc_window_byte(width, row, slot)];

	if (*byte & renc_window_bit(slot))
		return false;
	*byte |= renc_window_bit(slot);
	return true;
}

/* ORs a window of slice "slice_no" into the same window of the matrix. */
extern void renc_window_interleave(uint8_t *matrix_window,
								   const uint8_t *slice_window,
								   unsigned int slice_no, uint32_t rows);

/* Clears the columns of the slots in "slots"; true if a bit was set. */
extern bool renc_window_clear(uint8_t *window, int width, uint32_t rows,
							  renc_mask slots);

/* Adds the set bits of each slot to counts[0 .. 8 * width - 1]. */
extern void renc_window_count(const uint8_t *window, int width, uint32_t rows,
							  uint32_t *counts);

#endif							/* RENC_WINDOW_H */
