/*
 * test_dict.c
 *		The exact dictionary against a straightforward truth.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_dict.h"

#define MAX_KEYS	4000

/* A dictionary in memory, and beside it what it should hold. */
typedef struct dict
{
	size_t		payload;
	int			width;
	uint32_t	npages;			/* with the fence page */
	uint8_t    *image;
	size_t		n;
	uint64_t	key[MAX_KEYS];
	renc_mask	mask[MAX_KEYS];
} dict;

static uint32_t
data_pages(const dict *d)
{
	return d->npages > 1 ? d->npages - 1 : 1;
}

static uint8_t *
data_page(const dict *d, uint32_t i)
{
	return d->image + (d->npages > 1 ? i + 1 : 0) * d->payload;
}

static renc_mask
random_mask(int width)
{
	renc_mask	m = {{rnd() & rnd(), rnd() & rnd()}};

	if (width == RENC_SLICE_WIDTH)
	{
		m.w[0] &= 0xff;
		m.w[1] = 0;
	}
	return m;
}

static void
dict_new(dict *d, size_t payload, int width, size_t n, int shift)
{
	d->payload = payload;
	d->width = width;
	do
	{
		for (size_t i = 0; i < n; i++)
			d->key[i] = rnd() >> shift;
		/* The greatest and the least key are keys like others. */
		if (n > 2 && rnd_below(2))
		{
			d->key[0] = 0;
			d->key[1] = ~UINT64_C(0);
		}
		d->n = sort_keys(d->key, n);
	} while (d->n < n && n == 1);
	for (size_t i = 0; i < d->n; i++)
		d->mask[i] = random_mask(width);
	d->npages = renc_dict_npages(d->n, payload, width);
	d->image = (uint8_t *) test_alloc(d->npages * payload);
	/* Old contents must not matter. */
	memset(d->image, 0xee, d->npages * payload);
	renc_dict_build(d->image, payload, width, d->key, d->mask, d->n);
}

/* Asks all pages that the interval may touch, as a scan does. */
static renc_mask
dict_query(const dict *d, uint64_t lo, uint64_t hi)
{
	renc_interval interval = {lo, hi};
	renc_interval_set set = {&interval, 1};
	renc_query	query = renc_query_intervals(&set);
	uint32_t	first = d->npages > 1 ? renc_dict_route(d->image, lo) : 0;
	uint32_t	last = d->npages > 1 ? renc_dict_route(d->image, hi) : 0;
	renc_mask	m = renc_mask_none();

	for (uint32_t p = first; p <= last; p++)
		m = renc_mask_or(m, renc_dict_probe(data_page(d, p), d->payload, d->width, &query));
	return m;
}

static renc_mask
truth(const dict *d, uint64_t lo, uint64_t hi)
{
	renc_mask	m = renc_mask_none();

	for (size_t i = 0; i < d->n; i++)
		if (d->key[i] >= lo && d->key[i] <= hi)
			m = renc_mask_or(m, d->mask[i]);
	return m;
}

static int
wrong_answers(const dict *d, int queries)
{
	int			wrong = !mask_equal(dict_query(d, 0, ~UINT64_C(0)), truth(d, 0, ~UINT64_C(0)));

	for (int q = 0; q < queries; q++)
	{
		uint64_t	lo = d->n > 0 ? d->key[rnd_below(d->n)] + rnd_below(3) - 1 : rnd();
		uint64_t	hi = rnd_below(3) == 0 ? lo : rnd_below(2) ? lo + (rnd() >> rnd_below(64)) :
			d->n > 0 ? d->key[rnd_below(d->n)] + rnd_below(3) - 1 : rnd();

		if (hi < lo)
		{
			uint64_t	swap = lo;

			lo = hi;
			hi = swap;
		}
		wrong += !mask_equal(dict_query(d, lo, hi), truth(d, lo, hi));
	}
	return wrong;
}

/* Sets of intervals: what the hull covers between them must not be found. */
static int
wrong_sets(const dict *d, int queries)
{
	int			wrong = 0;

	for (int q = 0; q < queries; q++)
	{
		renc_interval intervals[3];
		renc_interval_set set = {intervals, 3};
		renc_query	query = {0};
		uint64_t	bound[6];
		renc_mask	found = renc_mask_none();
		renc_mask	expected = renc_mask_none();

		do
		{
			for (int b = 0; b < 6; b++)
				bound[b] = d->key[rnd_below(d->n)] + rnd_below(3) - 1;
		} while (sort_keys(bound, 6) < 6);
		for (int i = 0; i < 3; i++)
		{
			intervals[i].lo = bound[2 * i];
			intervals[i].hi = bound[2 * i + 1];
			expected = renc_mask_or(expected, truth(d, intervals[i].lo, intervals[i].hi));
		}
		query = renc_query_intervals(&set);
		for (uint32_t p = 0; p < data_pages(d); p++)
			found = renc_mask_or(found, renc_dict_probe(data_page(d, p), d->payload,
														d->width, &query));
		wrong += !mask_equal(found, expected);
	}
	return wrong;
}

static bool
well_formed(const dict *d)
{
	const char *reason = NULL;
	bool		good = d->npages < 2 ||
		(renc_dict_check_fence(d->image, d->payload, data_pages(d), &reason) &&
		 renc_dict_check_fence_keys(d->image, &reason));

	for (uint32_t p = 0; good && p < data_pages(d); p++)
	{
		uint64_t	lo = 0;
		uint64_t	hi = UINT64_MAX;

		if (d->npages > 1)
			renc_dict_page_bounds(d->image, data_pages(d), p, &lo, &hi);
		good = renc_dict_check_page(data_page(d, p), d->payload, d->width, &reason) &&
			renc_dict_check_keys(data_page(d, p), lo, hi, &reason);
	}
	if (!good)
		tap_diag("%s", reason);
	return good;
}

/* Each entry stands in the page that the fence names for it. */
static int
misrouted(const dict *d)
{
	int			wrong = 0;

	for (uint32_t p = 0; p < data_pages(d); p++)
	{
		for (uint32_t i = 0; i < renc_dict_nentries(data_page(d, p)); i++)
		{
			renc_mask	mask;
			uint64_t	key = renc_dict_entry(data_page(d, p), d->payload, d->width, i, &mask);

			if (d->npages > 1 && renc_dict_route(d->image, key) != p)
				wrong++;
		}
	}
	return wrong;
}

/* The bits of the pages against those of the truth. */
static int
miscounted(const dict *d)
{
	uint64_t	nbits = 0;
	uint64_t	expected = 0;

	for (uint32_t p = 0; p < data_pages(d); p++)
		nbits += renc_dict_nbits(data_page(d, p), d->payload, d->width);
	for (size_t i = 0; i < d->n; i++)
		expected += renc_mask_count(d->mask[i]);
	return nbits != expected;
}

static void
test_build(size_t payload, int width, size_t n, int shift)
{
	static dict d;
	int			wrong;
	bool		good;

	dict_new(&d, payload, width, n, shift);
	wrong = wrong_answers(&d, 3000) + miscounted(&d);
	good = well_formed(&d) && misrouted(&d) == 0;
	tap_ok(wrong == 0 && good, "payload %d, width %d, %d keys on %d pages: %d wrong answers%s",
		   (int) payload, width, (int) d.n, (int) d.npages, wrong, good ? "" : ", malformed");
	free(d.image);
}

/* Records a key in the truth. */
static bool
truth_add(dict *d, uint64_t key, unsigned int slot)
{
	bool		had;

	for (size_t i = 0; i < d->n; i++)
	{
		if (d->key[i] == key)
		{
			had = renc_mask_test(d->mask[i], slot);
			renc_mask_set(&d->mask[i], slot);
			return had;
		}
	}
	d->key[d->n] = key;
	d->mask[d->n] = renc_mask_none();
	renc_mask_set(&d->mask[d->n++], slot);
	return false;
}

/* Later inserts: of new and known keys, until pages are full and beyond. */
static void
test_set(size_t payload, int width, size_t n)
{
	static dict d;
	int			wrong = 0;
	int			full = 0;
	int			added = 0;

	dict_new(&d, payload, width, n, 0);
	for (int i = 0; full < 50 && d.n < MAX_KEYS; i++)
	{
		uint64_t	key = d.n > 0 && rnd_below(4) == 0 ? d.key[rnd_below(d.n)] : rnd();
		unsigned int slot = (unsigned int) rnd_below(8 * width);
		uint32_t	p = d.npages > 1 ? renc_dict_route(d.image, key) : 0;
		uint8_t    *page = data_page(&d, p);
		uint8_t    *before = (uint8_t *) test_alloc(payload);
		uint32_t	nentries = renc_dict_nentries(page);

		memcpy(before, page, payload);
		switch (renc_dict_set(page, payload, width, key, slot))
		{
			case RENC_DICT_FULL:
				/* Refused rightly, and nothing touched. */
				full++;
				wrong += nentries < renc_dict_capacity(payload, width) ||
					memcmp(before, page, payload) != 0 ||
					!renc_mask_empty(truth(&d, key, key));
				break;
			case RENC_DICT_ADDED:
				added++;
				wrong += truth_add(&d, key, slot);
				break;
			case RENC_DICT_PRESENT:
				wrong += !truth_add(&d, key, slot) || memcmp(before, page, payload) != 0;
				break;
		}
		free(before);
		if (i % 16 == 0)
			wrong += wrong_answers(&d, 3);
	}
	wrong += wrong_answers(&d, 1000) + wrong_sets(&d, 1000);
	wrong += !well_formed(&d) + misrouted(&d) + miscounted(&d);
	tap_ok(wrong == 0 && full > 0 && added > 0,
		   "payload %d, width %d, %d keys at first: %d added, %d refused, %d wrong",
		   (int) payload, width, (int) n, added, full, wrong);
	free(d.image);
}

static void
test_clear(size_t payload, int width, size_t n)
{
	static dict d;
	int			wrong = 0;

	dict_new(&d, payload, width, n, 0);
	for (int i = 0; i < 20; i++)
	{
		renc_mask	slots = renc_mask_and(random_mask(width), random_mask(width));
		bool		changed = false;
		bool		expected = false;

		for (uint32_t p = 0; p < data_pages(&d); p++)
			changed |= renc_dict_clear(data_page(&d, p), payload, width, slots);
		for (size_t k = 0; k < d.n; k++)
		{
			expected |= !renc_mask_empty(renc_mask_and(d.mask[k], slots));
			d.mask[k] = renc_mask_andnot(d.mask[k], slots);
		}
		wrong += changed != expected;
		wrong += wrong_answers(&d, 100);
		for (int k = 0; k < 5; k++)
		{
			size_t		e = rnd_below(d.n);
			unsigned int slot = (unsigned int) rnd_below(8 * width);
			uint32_t	p = d.npages > 1 ? renc_dict_route(d.image, d.key[e]) : 0;

			(void) renc_dict_set(data_page(&d, p), payload, width, d.key[e], slot);
			renc_mask_set(&d.mask[e], slot);
		}
		wrong += wrong_answers(&d, 100);
	}
	wrong += !well_formed(&d) + miscounted(&d);
	tap_ok(wrong == 0, "width %d: clearing slots of %d keys, and setting them again, %d wrong",
		   width, (int) n, wrong);
	free(d.image);
}

static void
broken(const char *what, bool accepted, const char *reason)
{
	tap_ok(!accepted && reason != NULL, "%s: %s", what, accepted ? "accepted" : reason);
}

/* Writes a 64-bit little-endian value over a page, and puts the old one back. */
static bool
check_with(dict *d, bool fence, size_t offset, uint64_t value, const char **reason)
{
	uint8_t    *page = fence ? d->image : data_page(d, 0);
	uint64_t	old = renc_load64(page + offset);
	uint64_t	lo;
	uint64_t	hi;
	bool		good;

	*reason = NULL;
	renc_dict_page_bounds(d->image, data_pages(d), 0, &lo, &hi);
	renc_store64(page + offset, value);
	good = fence ? renc_dict_check_fence(page, d->payload, data_pages(d), reason) &&
		renc_dict_check_fence_keys(page, reason) :
		renc_dict_check_page(page, d->payload, d->width, reason) &&
		renc_dict_check_keys(page, lo, hi, reason);
	renc_store64(page + offset, old);
	return good;
}

static void
test_broken(int width)
{
	static dict d;
	const char *reason = NULL;
	uint32_t	cap = renc_dict_capacity(8160, width);
	size_t		tail;
	bool		good;

	dict_new(&d, 8160, width, 2000, 1);
	tap_ok(well_formed(&d), "width %d: a new dictionary passes the checks", width);
	good = check_with(&d, false, 0, (uint64_t) (cap + 1) << 16 | 1, &reason);
	broken("more entries than fit", good, reason);
	good = check_with(&d, false, 0, (uint64_t) 10 << 16 | 11, &reason);
	broken("more sorted entries than entries", good, reason);
	good = check_with(&d, false, 8 + 5 * 8, ~UINT64_C(0), &reason);
	broken("a key out of order", good, reason);
	good = check_with(&d, false, 8 + 5 * 8, d.key[4], &reason);
	broken("a key twice", good, reason);
	good = check_with(&d, false, 8, d.key[d.n - 1], &reason);
	broken("a key of another page", good, reason);

	/* Entries added later, behind the sorted ones. */
	for (int i = 0; i < 2; i++)
		(void) renc_dict_set(data_page(&d, 0), d.payload, width, d.key[i] + 1, 0);
	tail = renc_dict_nentries(data_page(&d, 0)) - 1;
	tap_ok(well_formed(&d), "width %d: with a tail, too", width);
	good = check_with(&d, false, 8 + tail * 8, d.key[d.n - 1], &reason);
	broken("a key of another page in the tail", good, reason);
	good = check_with(&d, false, 8 + tail * 8, d.key[3], &reason);
	broken("a sorted key again in the tail", good, reason);
	good = check_with(&d, false, 8 + tail * 8, d.key[0] + 1, &reason);
	broken("a key twice in the tail", good, reason);
	good = check_with(&d, true, 0, data_pages(&d) + 1, &reason);
	broken("a fence of another number of pages", good, reason);
	good = check_with(&d, true, 8, ~UINT64_C(0), &reason);
	broken("a fence out of order", good, reason);
	renc_store64(d.image, 1);
	good = renc_dict_check_fence(d.image, d.payload, 1, &reason);
	broken("a fence of one page", good, reason);
	renc_store64(d.image, renc_dict_max_pages(d.payload) + 1);
	good = renc_dict_check_fence(d.image, d.payload, renc_dict_max_pages(d.payload) + 1, &reason);
	broken("a fence of too many pages", good, reason);
	free(d.image);
}

static void
test_sizes(void)
{
	int			wrong = 0;

	tap_ok(renc_dict_capacity(8160, 16) == 339 && renc_dict_capacity(8160, 1) == 905,
		   "entries of a page of 8160 bytes: %u, %u",
		   (unsigned) renc_dict_capacity(8160, 16), (unsigned) renc_dict_capacity(8160, 1));
	for (size_t payload = 100; payload < 9000; payload += 133)
	{
		for (int width = 1; width <= 16; width += 15)
		{
			uint32_t	cap = renc_dict_capacity(payload, width);
			uint32_t	previous = 0;

			/* What is said to fit does; a page's arrays end within it. */
			wrong += 8 + (size_t) cap * (8 + width) > payload;
			wrong += 8 + ((size_t) renc_dict_max_pages(payload) - 1) * 8 > payload;
			for (size_t n = 0; n < 5 * cap; n++)
			{
				uint32_t	pages = renc_dict_npages(n, payload, width);

				wrong += pages < previous || pages == 0;
				wrong += n > (size_t) cap * (pages > 1 ? pages - 1 : 1);
				previous = pages;
			}
		}
	}
	tap_ok(wrong == 0, "sizes for many payloads, %d wrong", wrong);
	tap_ok(renc_dict_npages(SIZE_MAX, 8160, 16) == 0, "too many keys are refused");
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_dict");
	test_sizes();
	for (int width = RENC_SLICE_WIDTH; width <= RENC_MATRIX_WIDTH; width += 15)
	{
		size_t		cap = renc_dict_capacity(8160, width);
		size_t		fill = cap - cap / 10;

		test_build(8160, width, 0, 0);
		test_build(8160, width, 1, 0);
		test_build(8160, width, 2, 0);
		test_build(8160, width, 20, 56);
		test_build(8160, width, fill, 0);
		test_build(8160, width, fill + 1, 0);
		test_build(8160, width, cap, 0);
		test_build(8160, width, 3 * fill, 0);
		test_build(8160, width, 3 * fill + 1, 0);
		test_build(8160, width, 3500, 50);
		test_build(4064, width, 3500, 0);
		test_set(8160, width, 0);
		test_set(8160, width, fill);
		test_set(8160, width, 1100);
		test_set(500, width, 100);
		test_clear(8160, width, 100);
		test_clear(8160, width, 1500);
		test_broken(width);
	}
	return tap_finish();
}
