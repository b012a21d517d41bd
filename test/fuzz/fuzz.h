/*
 * fuzz.h
 *		What the fuzz target and its two drivers share.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdlib.h>

#include "renc_program.h"
#include "renc_window.h"

/* One input: any bytes.  Calls fuzz_failed() for what must not be. */
extern void fuzz_filter(const uint8_t *data, size_t size);

/* Of the driver; does not return. */
extern void fuzz_failed(const char *what) __attribute__((noreturn));

extern void fuzz_expect(bool holds, const char *what);

#endif							/* FUZZ_H */
