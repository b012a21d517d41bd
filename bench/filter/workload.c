/*
 * workload.c
 *		Keys and queries of the accuracy table.
 */
#include "workload.h"

#include <math.h>

#define HALF		(UINT64_C(1) << 63)
#define SECOND		UINT64_C(1000000)
#define YEAR		(365 * 86400 * SECOND)

static uint64_t
uniform_key(size_t i)
{
	(void) i;
	return rnd();
}

/* Mean 2^63, standard deviation 0.01 * 2^64, as in the Proteus paper. */
static uint64_t
normal_key(size_t i)
{
	double		radius = sqrt(-2 * log(1 - rnd_unit()));
	double		x = 0.5 + 0.01 * radius * cos(2 * 3.14159265358979 * rnd_unit());

	(void) i;
	x = x < 0 ? 0 : x > 1 ? 1 : x;
	/* A double has fewer bits than a key. */
	return (uint64_t) (x * 0x1p53) << 11 | rnd() >> 53;
}

/* 99 % of the keys in 1 % of the domain. */
static uint64_t
skewed_key(size_t i)
{
	(void) i;
	return bench_below(100) == 0 ? rnd() : HALF / 3 + bench_below(~UINT64_C(0) / 100);
}

/* Bursts of 80 within ten minutes, anywhere in a year; microseconds. */
static uint64_t
burst_key(size_t i)
{
	static uint64_t start;

	if (i % 80 == 0)
		start = HALF + bench_below(YEAR);
	return start + bench_below(600 * SECOND);
}

/* Integers from a domain of 2^31. */
static uint64_t
dense_key(size_t i)
{
	(void) i;
	return HALF + bench_below(UINT64_C(1) << 31);
}

const key_kind key_kinds[] = {
	{"uniform", uniform_key, 1},
	{"normal", normal_key, 1},
	{"zipf-like", skewed_key, 1},
	{"bursts", burst_key, 1},
	{"integers", dense_key, 1},
	{NULL, NULL, 0}
};

static uint64_t
some_key(const bench_group *g)
{
	const renc_keys *r = &g->ranges[bench_below(g->nranges)];

	return r->key[bench_below(r->n)];
}

/* "Uniform" queries: anywhere between the least and the greatest key. */
static void
place(const bench_group *g, uint64_t length, uint64_t *lo, uint64_t *hi)
{
	uint64_t	least = g->least;
	uint64_t	most = g->greatest;

	*lo = most - least > length ? least + bench_below(most - least - length) : least;
	*hi = *lo + (length - 1);
}

static void
near_key(const bench_group *g, uint64_t distance, uint64_t length, uint64_t *lo,
		 uint64_t *hi)
{
	*lo = some_key(g) + distance;
	if (*lo < distance)
		*lo = ~UINT64_C(0);
	*hi = *lo + (length - 1);
	if (*hi < *lo)
		*hi = ~UINT64_C(0);
}

static void
points(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	(void) unit;
	place(g, 1, lo, hi);
}

static void
lengths_32(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	place(g, (2 + bench_below(31)) * unit, lo, hi);
}

static void
lengths_1024(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	place(g, (2 + bench_below(1023)) * unit, lo, hi);
}

static void
lengths_2_20(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	place(g, (2 + bench_below((1 << 20) - 1)) * unit, lo, hi);
}

static void
key_32(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	near_key(g, 32 * unit, (2 + bench_below(31)) * unit, lo, hi);
}

static void
key_1024(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	near_key(g, (1 + bench_below(1024)) * unit, (2 + bench_below(31)) * unit, lo, hi);
}

static void
split(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	if (bench_below(2))
		lengths_2_20(g, unit, lo, hi);
	else
		key_1024(g, unit, lo, hi);
}

/* Values of the column itself, and a little beyond: what people look for. */
static void
own_values(const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi)
{
	near_key(g, 0, (1 + bench_below(bench_below(2) ? 1 : 64)) * unit, lo, hi);
}

const query_kind query_kinds[] = {
	{"point", points, false},
	{"2..32", lengths_32, false},
	{"2..1024", lengths_1024, false},
	{"2..2^20", lengths_2_20, false},
	{"key+32", key_32, true},
	{"key+1..1024", key_1024, true},
	{"split", split, true},
	{"own values", own_values, false},
	{NULL, NULL, false}
};
