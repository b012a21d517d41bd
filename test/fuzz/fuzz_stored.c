/*
 * fuzz_stored.c
 *		Any bytes as pages of dictionaries and as coders of strings.
 */
#include "fuzz.h"

#include "renc_dict.h"
#include "renc_strings.h"

/*
 * A data page of any bytes.  If its counts are good, nothing goes wrong; if its
 * keys are where they should be, too, the answer is that of all its entries.
 */
void
fuzz_dict_page(fuzz_input *in)
{
	static uint8_t page[PAYLOAD];
	renc_interval interval[4];
	renc_interval_set set;
	renc_query	query;
	renc_mask	found;
	renc_mask	expected = renc_mask_none();
	const char *reason = NULL;
	uint64_t	known[8];
	uint8_t		how = fuzz_take8(in);
	int			width = how & 1 ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH;
	size_t		payload = how & 2 ? PAYLOAD : 64 + fuzz_take_below(in, PAYLOAD - 64 + 1);
	uint32_t	n;
	bool		good;

	fuzz_take_bytes(in, page, payload);
	if (how & 4)
	{
		/* Counts and an order that are mostly right. */
		uint32_t	capacity = renc_dict_capacity(payload, width);
		uint32_t	entries = fuzz_take_below(in, capacity + 2);
		uint32_t	sorted = fuzz_take_below(in, entries + 1);
		uint64_t	key = fuzz_take64(in) >> (how % 64);

		page[0] = (uint8_t) sorted, page[1] = (uint8_t) (sorted >> 8);
		page[2] = (uint8_t) entries, page[3] = (uint8_t) (entries >> 8);
		for (uint32_t i = 0; i < entries && i < capacity; i++)
			renc_store64(page + 8 + (size_t) i * 8, i < sorted ? key += 1 + i * 7 % 5 : ~key + i * (how & 8 ? 3 : 0));
	}
	if (!renc_dict_check_page(page, payload, width, &reason))
	{
		fuzz_expect(reason != NULL, "a dictionary page is refused without a reason");
		return;
	}
	good = renc_dict_check_keys(page, 0, UINT64_MAX, &reason);
	n = renc_dict_nentries(page);
	for (uint32_t i = 0; i < 8; i++)
	{
		renc_mask	mask;

		known[i] = n > 0 ? renc_dict_entry(page, payload, width, i * 31 % n, &mask) : i;
	}
	set = fuzz_take_intervals(in, known, 8, interval);
	query = renc_query_intervals(&set);
	found = renc_dict_probe(page, payload, width, &query);
	for (uint32_t i = 0; i < n; i++)
	{
		renc_mask	mask;

		if (fuzz_in_query(&query, renc_dict_entry(page, payload, width, i, &mask)))
			expected = renc_mask_or(expected, mask);
	}
	if (good)
		fuzz_expect(renc_mask_empty(renc_mask_andnot(expected, found)) &&
					renc_mask_empty(renc_mask_andnot(found, expected)), "a dictionary answers wrongly");
	(void) renc_dict_nbits(page, payload, width);

	/* Writing keeps a good page good, and the key is found then. */
	for (int i = 0; i < 4; i++)
	{
		uint64_t	key = fuzz_take_key(in, known, 8);
		unsigned int slot = fuzz_take8(in) % (8 * (unsigned int) width);
		renc_interval one = {key, key};
		renc_interval_set ones = {&one, 1};

		query = renc_query_intervals(&ones);
		if (renc_dict_set(page, payload, width, key, slot) == RENC_DICT_FULL)
			continue;
		fuzz_expect(renc_dict_check_page(page, payload, width, &reason), "a page is damaged by a key");
		if (good)
			fuzz_expect(renc_mask_test(renc_dict_probe(page, payload, width, &query), slot), "a new key is not found");
	}
	if (good)
		fuzz_expect(renc_dict_check_keys(page, 0, UINT64_MAX, &reason), "a page loses its order by a key");
	(void) renc_dict_clear(page, payload, width, renc_mask_all());
	fuzz_expect(renc_dict_nbits(page, payload, width) == 0, "bits are left");
}

/* A fence page of any bytes; if in order, each page is found that may hold a key. */
void
fuzz_fence(fuzz_input *in)
{
	static uint8_t page[PAYLOAD];
	renc_interval interval[4];
	renc_interval_set set;
	renc_query	query;
	const char *reason = NULL;
	uint64_t	known[4];
	uint8_t		how = fuzz_take8(in);
	uint32_t	npages = 1 + fuzz_take_below(in, renc_dict_max_pages(PAYLOAD) + 20);
	uint32_t	route;
	uint64_t	key;
	uint64_t	lo;
	uint64_t	hi;

	fuzz_take_bytes(in, page, PAYLOAD);
	if (how & 1)
		renc_store64(page, npages);
	if (how & 2)
	{
		key = fuzz_take64(in) >> 16;
		for (uint32_t i = 0; i + 1 < npages && i + 1 < renc_dict_max_pages(PAYLOAD); i++)
			renc_store64(page + 8 + (size_t) i * 8, key += 1 + i % 3);
	}
	if (!renc_dict_check_fence(page, PAYLOAD, npages, &reason))
	{
		fuzz_expect(reason != NULL, "a fence page is refused without a reason");
		return;
	}
	for (int i = 0; i < 4; i++)
		known[i] = renc_load64(page + 8 + (size_t) (npages - 2) / 4 * i * 8);
	key = fuzz_take_key(in, known, 4);
	route = renc_dict_route(page, key);
	fuzz_expect(route < npages, "a key has no page");
	set = fuzz_take_intervals(in, known, 4, interval);
	query = renc_query_intervals(&set);
	for (uint32_t p = renc_dict_route(page, query.hull_lo); p <= renc_dict_route(page, query.hull_hi) && p < npages; p++)
		(void) renc_dict_page_meets(page, npages, p, &query);
	if (!renc_dict_check_fence_keys(page, &reason))
		return;
	renc_dict_page_bounds(page, npages, route, &lo, &hi);
	fuzz_expect(lo <= key && key <= hi, "a key has the wrong page");
	if (fuzz_in_query(&query, key))
		fuzz_expect(renc_dict_page_meets(page, npages, route, &query) &&
					route >= renc_dict_route(page, query.hull_lo) && route <= renc_dict_route(page, query.hull_hi),
					"a page is left out");
}

/* Strings with much in common, now and then. */
static size_t
take_string(fuzz_input *in, uint8_t *s, size_t most)
{
	size_t		n = fuzz_take_below(in, (uint32_t) most + 1);

	if (fuzz_take8(in) % 4 > 0)
		n %= 24;
	fuzz_take_bytes(in, s, n);
	if (fuzz_take8(in) % 2)
		for (size_t i = 0; i < n; i++)
			s[i] = (uint8_t) ("ab/\xFF"[s[i] % 4]);
	return n;
}

/* As large as it is, so that the sanitizers notice a read behind it. */
static void *
exact_copy(const void *data, size_t size)
{
	void	   *copy = malloc(size > 0 ? size : 1);

	if (copy == NULL)
		fuzz_failed("out of memory");
	memcpy(copy, data, size);
	return copy;
}

static void
check_order(const renc_strings *d, const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	uint64_t	ka = renc_strings_key(d, a, na);
	uint64_t	kb = renc_strings_key(d, b, nb);
	int			cmp = memcmp(a, b, na < nb ? na : nb);

	if (cmp < 0 || (cmp == 0 && na <= nb))
		fuzz_expect(ka <= kb, "keys of strings are not in order");
	if (cmp > 0 || (cmp == 0 && na >= nb))
		fuzz_expect(ka >= kb, "keys of strings are not in order");
	if (cmp == 0 && na <= nb)
		fuzz_expect(kb <= renc_strings_last(d, a, na), "a string is above the last that begins like it");
}

/* Keys of strings of the sample and others, by a coder if it is valid. */
static void
check_strings(fuzz_input *in, const uint8_t *bytes, size_t size, const renc_string *sample, int n,
			  bool unchanged)
{
	uint8_t		any[400];
	renc_strings *d = (renc_strings *) exact_copy(bytes, size);

	for (int i = 0; i < 8 && renc_strings_valid(d, size); i++)
	{
		bool		known = i < 4 && n > 0;
		size_t		na = known ? sample[i % n].length : take_string(in, any, sizeof(any));
		uint8_t    *a = (uint8_t *) exact_copy(known ? sample[i % n].data : any, na);
		size_t		nb = take_string(in, any, sizeof(any));
		uint8_t    *b = (uint8_t *) exact_copy(any, nb);

		(void) renc_strings_key(d, a, na);
		(void) renc_strings_key(d, b, nb);
		(void) renc_strings_last(d, a, na);
		if (unchanged)
			check_order(d, a, na, b, nb);
		free(a);
		free(b);
	}
	free(d);
}

/*
 * A coder of any bytes, or a trained one with some of them changed.  If it is
 * valid, all strings have keys; an unchanged one keeps their order.
 */
void
fuzz_strings(fuzz_input *in)
{
	static uint64_t aligned[8192];
	static uint8_t text[64][400];
	renc_string sample[64];
	uint8_t    *bytes = (uint8_t *) aligned;
	size_t		size = fuzz_take_below(in, sizeof(aligned));
	uint8_t		how = fuzz_take8(in);
	int			n = 0;

	if (how < 32)
		fuzz_take_bytes(in, bytes, size);
	else
	{
		for (int i = 0; i < 1 + how % 32; i++)
		{
			renc_string s = {text[i], take_string(in, text[i], 300)};
			int			at = n;

			while (at > 0)
			{
				size_t		common = sample[at - 1].length < s.length ? sample[at - 1].length : s.length;
				int			cmp = memcmp(sample[at - 1].data, s.data, common);

				if (cmp == 0 && sample[at - 1].length == s.length)
					break;
				if (cmp < 0 || (cmp == 0 && sample[at - 1].length < s.length))
					break;
				at--;
			}
			if (at > 0 && sample[at - 1].length == s.length && memcmp(sample[at - 1].data, s.data, s.length) == 0)
				continue;
			memmove(sample + at + 1, sample + at, (size_t) (n - at) * sizeof(renc_string));
			sample[at] = s;
			n++;
		}
		size = renc_strings_train(sample, (size_t) n, bytes, 1024 + fuzz_take_below(in, 30000));
		if (size == 0)
			return;
		fuzz_expect(renc_strings_valid(bytes, size), "a trained coder is not valid");
	}
	if (how >= 64)
	{
		/* In the fixed part, the offsets and lengths behind it, or anywhere. */
		for (int i = 0; i < 1 + how % 4; i++)
		{
			uint8_t		where = fuzz_take8(in) % 3;
			size_t		at = where == 0 ? fuzz_take_below(in, 560) :
				where == 1 ? 556 + fuzz_take_below(in, (uint32_t) (7 * n + 8)) :
				fuzz_take_below(in, (uint32_t) size);

			bytes[at % size] ^= fuzz_take8(in);
		}
		if (fuzz_take8(in) % 8 == 0)
			size -= fuzz_take_below(in, (uint32_t) size);
	}
	check_strings(in, bytes, size, sample, how < 32 ? 0 : n, how >= 32 && how < 64);
}
