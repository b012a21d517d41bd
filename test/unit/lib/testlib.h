/*
 * testlib.h
 *		What the unit programs share: TAP output, random keys, filters in
 *		memory, and the truth.
 *
 * Every program takes a seed as its first argument, prints the one it uses and
 * gives the same result again when it is given the same seed.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include "basics.h"

#include "renc_program.h"
#include "renc_rule.h"
#include "renc_shape.h"
#include "renc_trial.h"
#include "renc_window.h"

/* Rows of a window on a page of 8192 bytes. */
#define TEST_ROWS	510

/* Reads the seed (argument 1; else a new one) and prints it. */
extern void tap_start(int argc, char **argv, const char *program);

/* Prints one result line; returns "pass". */
extern bool tap_ok(bool pass, const char *fmt,...)
			__attribute__((format(printf, 2, 3)));

/* Prints a comment line. */
extern void tap_diag(const char *fmt,...) __attribute__((format(printf, 1, 2)));

/* Prints the plan; the exit status of the program. */
extern int	tap_finish(void);

/* Ranges (at most 128) with a key in [lo, hi]. */
extern renc_mask true_ranges(const renc_keys *ranges, int nranges,
							 uint64_t lo, uint64_t hi);

/* A random valid shape whose levels lie between "first" and "last". */
extern void random_shape(renc_shape *shape, int first, int last);

/* A shape of one stage with levels from "deepest" upwards, "gap" apart. */
extern renc_shape make_shape(int root, int kw, int kr, int deepest, int gap,
							 int nlevels);

/* A filter image in memory. */
typedef struct test_filter
{
	uint8_t    *image;
	uint32_t	nwindows;
	uint32_t	rows;
	int			width;
} test_filter;

extern test_filter filter_new(uint32_t nwindows, uint32_t rows, int width);
extern void filter_free(test_filter *f);
extern size_t filter_size(const test_filter *f);

/* Fills slot i with ranges[i], for all of them. */
extern void filter_fill(test_filter *f, const renc_shape *shape,
						const renc_keys *ranges, int nranges);

/* How renc_program_execute() reads it. */
extern renc_windows filter_windows(const test_filter *f);

/* Room for a trial of this input, in place of an old one (or NULL). */
extern renc_trial *trial_room(renc_trial *old);

/* Memory that is counted: bytes in use, and the most of them since that was set to 0. */
extern size_t counted;
extern size_t most_counted;
extern void *count_alloc(size_t size);
extern void count_release(void *memory);

/* Is the mask empty but for the bits of "in"? */
static inline bool
mask_subset(renc_mask m, renc_mask in)
{
	return renc_mask_empty(renc_mask_andnot(m, in));
}

static inline bool
mask_equal(renc_mask a, renc_mask b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

#endif							/* TESTLIB_H */
