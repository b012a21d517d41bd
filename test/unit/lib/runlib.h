/*
 * runlib.h
 *		Runs in memory, and the truth, for the unit programs of the run core.
 */
#ifndef RUNLIB_H
#define RUNLIB_H

#include "testlib.h"

#include "renc_run.h"

typedef struct test_pair
{
	uint64_t	key;
	uint32_t	page;
	uint32_t	rows;
} test_pair;

/* A run whose pages are pieces of memory of their own, so that no read goes astray. */
typedef struct test_run
{
	renc_run	run;
	double		false_pages;	/* expected by the encoder */
	uint8_t   **page;
	uint32_t   *reads;			/* of each page */
	uint32_t	n;
	uint32_t	capacity;
	uint8_t    *shown[RENC_RUN_MAX_LEVEL + 1];	/* if "strict" */
	bool		strict;			/* a page is gone when the next of its level is read */
	uint8_t    *memory;			/* the encoder's */
	size_t		nmemory;
} test_run;

/* Sorts by (key, page) and adds up the rows of equal pairs; returns how many are left. */
extern size_t sort_pairs(test_pair *pair, size_t n);

/* Encodes sorted pairs; the options' writer is filled in.  What was there is freed. */
extern bool test_run_build(test_run *t, const renc_run_options *options, const test_pair *pair, size_t n);
extern void test_run_free(test_run *t);

/* Numbers of pages are not in the order in which they were written. */
extern const uint8_t *test_run_read(void *arg, uint32_t page, int level);
extern uint8_t *test_run_page(const test_run *t, uint32_t page);

/* Are the entries that a search of all keys finds those that are selected one by one? */
extern bool test_run_selects(test_run *t);

/* The first pair with a key >= "key". */
extern size_t find_pair(const test_pair *pair, size_t n, uint64_t key);

/* Options with a random target and block. */
extern renc_run_options random_run_options(size_t payload, uint32_t first_page, uint32_t npages);

/* A number of random length. */
extern uint64_t rnd_short(void);

#endif							/* RUNLIB_H */
