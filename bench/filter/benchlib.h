/*
 * benchlib.h
 *		What the programs of bench/filter share: random numbers, groups of
 *		filters in memory, the truth, and measuring a shape against it.
 */
#ifndef BENCHLIB_H
#define BENCHLIB_H

#include "basics.h"

#include "renc_trial.h"
#include "renc_program.h"
#include "renc_shape_search.h"
#include "renc_window.h"

/*
 * What reading a window costs, in heap pages, for those who say nothing else.  From shared
 * buffers it takes 60 .. 90 ns, and visiting a heap page 3.5 us at 35 rows a page and 8.5 us
 * at 185: 0.01 .. 0.025.  Cold, one is as good as the other: 1.  In between, a third window
 * buys a tenth less false positives.
 */
#define BENCH_WINDOW_COST	0.1

/* Rows of a window on a page of 8192 bytes. */
#define BENCH_ROWS	510

/* 0 <= bench_below(n) < n, without the bias of a remainder. */
extern uint64_t bench_below(uint64_t n);

/* Seconds of processor time: what else the machine does matters less. */
extern double bench_seconds(void);

/* Keys of a text file, one per line in decimal; exits on error. */
extern uint64_t *bench_read_column(const char *file, size_t *n);

/* Up to 128 ranges with a filter each. */
typedef struct bench_group
{
	int			nranges;
	renc_keys	ranges[RENC_GROUP_RANGES];
	uint64_t	least;			/* of all keys */
	uint64_t	greatest;
	double		bits_per_key;
	double		capacity;
	uint32_t	nwindows;
	int			width;			/* 1 for up to 8 ranges, else 16 */
	uint8_t    *image;			/* of the last shape filled */
} bench_group;

/*
 * Makes ranges of "per_range" of the "n" keys each (the last may have fewer),
 * which are sorted in place, and sizes the filters.
 */
extern void bench_group_init(bench_group *g, uint64_t *keys, size_t n, size_t per_range,
							 double bits_per_key);
extern void bench_group_free(bench_group *g);

/* Input of a trial for a group and samples. */
extern renc_trial_input bench_input(const bench_group *g, const renc_sample *sample,
									size_t nsamples);

typedef struct bench_queries
{
	size_t		n;
	renc_interval *interval;
	renc_mask  *truth;			/* ranges with a key in it */
} bench_queries;

/* Truth of "n" intervals, which the result refers to. */
extern bench_queries bench_queries_make(const bench_group *g, renc_interval *interval,
										size_t n);
extern void bench_queries_free(bench_queries *q);

typedef struct bench_result
{
	double		empty;			/* pairs without a match */
	double		passed;			/* of them, passed */
	double		missed;			/* pairs with a match not found: must be 0 */
	double		fpr;
} bench_result;

/* Builds the first "nranges" filters of a shape and probes all queries. */
extern bench_result bench_measure(bench_group *g, int nranges, const renc_shape *shape,
								  const bench_queries *q, size_t nqueries);

/* The windows of what was filled last. */
extern renc_windows bench_windows(const bench_group *g);

/* Only fills / only probes. */
extern void bench_fill(bench_group *g, int nranges, const renc_shape *shape);
extern bench_result bench_probe(const bench_group *g, int nranges,
								const renc_shape *shape, const bench_queries *q,
								size_t nqueries);

/* Room for trials of an input, and a search in it.  Both valid until the next call. */
extern renc_trial *bench_room(void);
extern renc_trial *bench_search(const renc_trial_input *in, double bits_per_key,
								 const renc_shape *from, renc_choice *choice);

/* The shape as text; valid until the next call. */
extern const char *bench_describe(const renc_shape *shape);

#endif							/* BENCHLIB_H */
