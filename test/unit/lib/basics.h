/*
 * basics.h
 *		What unit programs and benchmarks share: random numbers, memory, sorted keys.
 */
#ifndef BASICS_H
#define BASICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same seed gives the same numbers again; it is 1 at first. */
extern void rnd_seed(uint64_t seed);
extern uint64_t rnd(void);
extern uint64_t rnd_below(uint64_t n);
extern double rnd_unit(void);	/* [0, 1) */

/* Memory (zeroed), or exit. */
extern void *test_alloc(size_t size);

/* Sorts keys and removes the equal ones; returns how many are left. */
extern size_t sort_keys(uint64_t *keys, size_t n);

/* Sorts, ascending. */
extern void sort_doubles(double *values, size_t n);

/* Does one of the n sorted keys lie in [lo, hi]? */
extern bool keys_meet(const uint64_t *keys, size_t n, uint64_t lo, uint64_t hi);

#endif							/* BASICS_H */
