/*
 * fuzz.h
 *		What the fuzz target and its two drivers share.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdlib.h>

#include "renc_program.h"
#include "renc_window.h"

/* Bytes of a page. */
#define PAYLOAD		8160

/* What is left of the input. */
typedef struct fuzz_input
{
	const uint8_t *data;
	size_t		size;
} fuzz_input;

/* One input: any bytes.  Calls fuzz_failed() for what must not be. */
extern void fuzz_filter(const uint8_t *data, size_t size);

/* Of the driver; does not return. */
extern void fuzz_failed(const char *what) __attribute__((noreturn));

extern void fuzz_expect(bool holds, const char *what);

/* Takes from the input, which ends in zeros without end. */
extern uint8_t fuzz_take8(fuzz_input *in);
extern uint32_t fuzz_take_below(fuzz_input *in, uint32_t n);
extern uint64_t fuzz_take64(fuzz_input *in);

/* Fills "out" with input, then with what a small generator makes of the last of it. */
extern void fuzz_take_bytes(fuzz_input *in, uint8_t *out, size_t n);

/* A key: any, near one that there is, or at the ends of the domain. */
extern uint64_t fuzz_take_key(fuzz_input *in, const uint64_t *known, size_t nknown);

/* Sorted disjoint intervals; "interval" has room for 4. */
extern renc_interval_set fuzz_take_intervals(fuzz_input *in, const uint64_t *known,
											 size_t nknown, renc_interval *interval);

static inline bool
fuzz_in_query(const renc_interval_set *query, uint64_t key)
{
	return renc_interval_set_overlap(query, key, key) != RENC_DISJOINT;
}

/* Targets. */
extern void fuzz_strings(fuzz_input *in);
extern void fuzz_run(fuzz_input *in);

#endif							/* FUZZ_H */
