/*
 * window_bits.h
 *		Single bits of a window, which the filter core never looks at one by one.
 */
#ifndef WINDOW_BITS_H
#define WINDOW_BITS_H

#include "renc_window.h"

/* Is the bit of (row, slot) set in a window?  Sets it; true if it was not. */
static inline bool
window_test(const uint8_t *window, uint32_t rows, uint32_t row, unsigned int slot)
{
	return (window[renc_window_byte(rows, row, slot)] & renc_window_bit(slot)) != 0;
}

static inline bool
window_set(uint8_t *window, uint32_t rows, uint32_t row, unsigned int slot)
{
	uint8_t    *byte = &window[renc_window_byte(rows, row, slot)];

	if (*byte & renc_window_bit(slot))
		return false;
	*byte |= renc_window_bit(slot);
	return true;
}

#endif							/* WINDOW_BITS_H */
