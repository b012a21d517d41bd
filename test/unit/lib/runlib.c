/*
 * runlib.c
 *		Runs in memory, for the unit programs of the run core.
 */
#include "runlib.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int
compare_pairs(const void *a, const void *b)
{
	const test_pair *x = (const test_pair *) a;
	const test_pair *y = (const test_pair *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

size_t
sort_pairs(test_pair *pair, size_t n)
{
	size_t		kept = 0;

	qsort(pair, n, sizeof(*pair), compare_pairs);
	for (size_t i = 0; i < n; i++)
	{
		if (kept > 0 && compare_pairs(&pair[kept - 1], &pair[i]) == 0)
			pair[kept - 1].rows += pair[i].rows;
		else
			pair[kept++] = pair[i];
	}
	return kept;
}

/* Its own inverse, as long as the number of pages is not known. */
static uint32_t
scramble(uint32_t number)
{
	return number ^ 5;
}

static uint32_t
write_page(void *arg, const renc_run_page *page)
{
	test_run   *t = (test_run *) arg;

	if (t->n == t->capacity)
	{
		t->capacity = t->capacity * 2 + 16;
		t->page = (uint8_t **) realloc(t->page, t->capacity * sizeof(uint8_t *));
	}
	t->page[t->n] = (uint8_t *) malloc(t->run.payload);
	memcpy(t->page[t->n], page->payload, t->run.payload);
	return scramble(t->n++);
}

bool
test_run_build(test_run *t, const renc_run_options *options, const test_pair *pair, size_t n)
{
	renc_run_options full = *options;
	size_t		size = renc_run_encoder_size(options->payload);
	renc_run_encoder *encoder;
	bool		good = true;

	test_run_free(t);
	if (t->nmemory < size)
	{
		free(t->memory);
		t->memory = (uint8_t *) test_alloc(size);
		t->nmemory = size;
	}
	full.write = write_page;
	full.arg = t;
	t->run.payload = options->payload;
	encoder = renc_run_encoder_init(t->memory, &full);
	if (encoder == NULL)
		return false;
	for (size_t i = 0; i < n && good; i++)
		good = renc_run_encoder_push(encoder, pair[i].key, pair[i].page, pair[i].rows);
	good = renc_run_encoder_finish(encoder, &t->run, &t->false_pages) && good;
	t->reads = (uint32_t *) test_alloc((t->n + 8) * sizeof(uint32_t));
	return good;
}

void
test_run_free(test_run *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->page[i]);
	for (int level = 0; level <= RENC_RUN_MAX_LEVEL; level++)
	{
		free(t->shown[level]);
		t->shown[level] = NULL;
	}
	free(t->reads);
	t->reads = NULL;
	t->n = 0;
}

uint8_t *
test_run_page(const test_run *t, uint32_t page)
{
	page = scramble(page);
	return page < t->n ? t->page[page] : NULL;
}

const uint8_t *
test_run_read(void *arg, uint32_t page, int level)
{
	test_run   *t = (test_run *) arg;
	uint8_t    *stored = test_run_page(t, page);

	if (stored == NULL)
		return NULL;
	t->reads[scramble(page)]++;
	if (!t->strict)
		return stored;
	free(t->shown[level]);
	t->shown[level] = (uint8_t *) malloc(t->run.payload);
	memcpy(t->shown[level], stored, t->run.payload);
	return t->shown[level];
}

size_t
find_pair(const test_pair *pair, size_t n, uint64_t key)
{
	size_t		left = 0;
	size_t		right = n;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (pair[mid].key < key)
			left = mid + 1;
		else
			right = mid;
	}
	return left;
}

bool
test_run_selects(test_run *t)
{
	static renc_run_search search;
	renc_interval *cell = (renc_interval *) malloc((size_t) t->run.entries * sizeof(renc_interval));
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	uint64_t	n = 0;
	uint64_t	i = 0;

	renc_run_search_begin(&search, &t->run, test_run_read, t, &set);
	while (renc_run_search_next(&search))
	{
		for (uint32_t e = 0; e < search.n && n < t->run.entries; e++, n++)
		{
			cell[n].lo = renc_run_entry_lo(&search, e);
			cell[n].hi = renc_run_entry_hi(&search, e);
		}
	}
	for (; i < n; i++)
	{
		renc_run_selected one;
		renc_run_selected same;
		renc_interval only = {cell[i].lo, cell[i].lo};
		renc_interval above = {cell[i].hi + 1, UINT64_MAX};
		uint64_t	first;
		uint64_t	last;

		if (renc_run_select(&t->run, test_run_read, t, i, all, &one) != NULL || !one.is_there ||
			one.lo != cell[i].lo || one.hi != cell[i].hi || one.before > i || one.behind >= n - i)
			break;
		first = i - one.before;
		last = i + one.behind;
		if (cell[first].hi != one.hi || cell[last].hi != one.hi ||
			(one.whole && (first == 0 || last + 1 == n || cell[first - 1].hi == one.hi || cell[last + 1].hi == one.hi)))
			break;
		if (renc_run_select(&t->run, test_run_read, t, i, only, &same) != NULL || !same.is_there ||
			memcmp(&one, &same, sizeof(one)) != 0)
			break;
		if (one.hi < UINT64_MAX && (renc_run_select(&t->run, test_run_read, t, i, above, &same) != NULL || same.is_there))
			break;
	}
	free(cell);
	if (search.failure != NULL || n != t->run.entries || i < n)
		return tap_ok(false, "entry %llu of %llu, in all %llu, is another one", (unsigned long long) i,
					  (unsigned long long) n, (unsigned long long) t->run.entries);
	return true;
}

renc_run_options
random_run_options(size_t payload, uint32_t first_page, uint32_t npages)
{
	renc_run_options options;

	memset(&options, 0, sizeof(options));
	options.payload = payload;
	options.first_page = first_page;
	options.npages = npages;
	options.target = (renc_run_target) rnd_below(2);
	/* One in four has few bits, so that pages are named, and spans of them. */
	options.wanted = rnd_below(4) == 0 ? npages / 2.0 : exp((double) rnd_below(160) / 10 - 10);
	options.block = rnd_below(4) == 0 ? 0 : 4 + (uint32_t) rnd_below(200);

	/* Not drawn, so that a seed makes the runs that it made before. */
	options.coarse = options.block % 2 == 1;
	return options;
}

uint64_t
rnd_short(void)
{
	return rnd() >> rnd_below(64);
}
