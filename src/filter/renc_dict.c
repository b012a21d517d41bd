/*
 * renc_dict.c
 *		Exact dictionary of a low-cardinality group.
 */
#include "renc_dict.h"

#define HEADER_SIZE		8
#define KEY_SIZE		8

static uint32_t
get16(const uint8_t *p)
{
	return (uint32_t) p[0] | (uint32_t) p[1] << 8;
}

static void
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t) v;
	p[1] = (uint8_t) (v >> 8);
}

static uint32_t
nsorted(const uint8_t *page)
{
	return get16(page);
}

static uint64_t
key_at(const uint8_t *page, uint32_t i)
{
	return renc_load64(page + HEADER_SIZE + (size_t) i * KEY_SIZE);
}

static size_t
mask_offset(size_t payload, int width, uint32_t i)
{
	return HEADER_SIZE + (size_t) renc_dict_capacity(payload, width) * KEY_SIZE +
		(size_t) i * width;
}

uint32_t
renc_dict_capacity(size_t payload, int width)
{
	return (uint32_t) ((payload - HEADER_SIZE) / (KEY_SIZE + width));
}

uint32_t
renc_dict_max_pages(size_t payload)
{
	return (uint32_t) ((payload - HEADER_SIZE) / KEY_SIZE) + 1;
}

/* Entries put into a page at build; the rest is room for later keys. */
static uint32_t
build_fill(size_t payload, int width)
{
	uint32_t	capacity = renc_dict_capacity(payload, width);

	return capacity - capacity / 10;
}

static uint32_t
data_pages(size_t nkeys, size_t payload, int width)
{
	size_t		fill = build_fill(payload, width);

	if (nkeys > fill * renc_dict_max_pages(payload))
		return 0;
	return nkeys == 0 ? 1 : (uint32_t) ((nkeys + fill - 1) / fill);
}

uint32_t
renc_dict_npages(size_t nkeys, size_t payload, int width)
{
	uint32_t	n = data_pages(nkeys, payload, width);

	return n > 1 ? n + 1 : n;
}

void
renc_dict_build(uint8_t *image, size_t payload, int width,
				const uint64_t *keys, const renc_mask *masks, size_t nkeys)
{
	uint32_t	npages = data_pages(nkeys, payload, width);
	uint8_t    *fence = image;
	uint8_t    *page = image;
	size_t		done = 0;

	memset(image, 0, payload * renc_dict_npages(nkeys, payload, width));
	if (npages > 1)
	{
		renc_store64(fence, npages);
		page += payload;
	}
	for (uint32_t p = 0; p < npages; p++, page += payload)
	{
		/* Spread the keys evenly, so that no page is born full. */
		size_t		end = (uint64_t) nkeys * (p + 1) / npages;
		uint32_t	n = (uint32_t) (end - done);

		put16(page, n);
		put16(page + 2, n);
		for (uint32_t i = 0; i < n; i++)
		{
			renc_store64(page + HEADER_SIZE + (size_t) i * KEY_SIZE, keys[done + i]);
			renc_mask_store(page + mask_offset(payload, width, i), width,
							masks[done + i]);
		}
		if (p > 0)
			renc_store64(fence + HEADER_SIZE + (size_t) (p - 1) * KEY_SIZE,
						 keys[done]);
		done = end;
	}
}

uint32_t
renc_dict_route(const uint8_t *fence, uint64_t key)
{
	uint32_t	left = 0;
	uint32_t	right = (uint32_t) renc_load64(fence) - 1;

	/* Counts the fences that are not greater than the key. */
	while (left < right)
	{
		uint32_t	mid = left + (right - left) / 2;

		if (key_at(fence, mid) <= key)
			left = mid + 1;
		else
			right = mid;
	}
	return left;
}

void
renc_dict_page_bounds(const uint8_t *fence, uint32_t npages, uint32_t page,
					  uint64_t *lo, uint64_t *hi)
{
	*lo = page == 0 ? 0 : key_at(fence, page - 1);
	*hi = page == npages - 1 ? UINT64_MAX : key_at(fence, page) - 1;
}

bool
renc_dict_page_meets(const uint8_t *fence, uint32_t npages, uint32_t page,
					 const renc_query *query)
{
	uint64_t	lo;
	uint64_t	hi;

	renc_dict_page_bounds(fence, npages, page, &lo, &hi);
	return query->overlap(query->arg, lo, hi) != RENC_DISJOINT;
}

/* The first sorted entry that is not less than "key". */
static uint32_t
lower_bound(const uint8_t *page, uint64_t key)
{
	uint32_t	left = 0;
	uint32_t	right = nsorted(page);

	while (left < right)
	{
		uint32_t	mid = left + (right - left) / 2;

		if (key_at(page, mid) < key)
			left = mid + 1;
		else
			right = mid;
	}
	return left;
}

renc_mask
renc_dict_probe(const uint8_t *page, size_t payload, int width,
				const renc_query *query)
{
	renc_mask	result = renc_mask_none();
	uint32_t	n = renc_dict_nentries(page);
	uint32_t	ns = nsorted(page);

	for (uint32_t i = lower_bound(page, query->hull_lo); i < n; i++)
	{
		uint64_t	key = key_at(page, i);

		if (key > query->hull_hi && i < ns)
		{
			i = ns - 1;			/* on to the unsorted entries */
			continue;
		}
		if (query->overlap(query->arg, key, key) != RENC_DISJOINT)
			result = renc_mask_or(result,
								  renc_mask_load(page + mask_offset(payload, width, i),
												 width));
	}
	return result;
}

renc_dict_result
renc_dict_set(uint8_t *page, size_t payload, int width, uint64_t key,
			  unsigned int slot)
{
	uint32_t	n = renc_dict_nentries(page);
	uint32_t	i = lower_bound(page, key);
	uint8_t    *mask;

	if (i == nsorted(page) || key_at(page, i) != key)
	{
		for (i = nsorted(page); i < n; i++)
			if (key_at(page, i) == key)
				break;
	}
	if (i == n)
	{
		if (n >= renc_dict_capacity(payload, width))
			return RENC_DICT_FULL;
		renc_store64(page + HEADER_SIZE + (size_t) n * KEY_SIZE, key);
		renc_mask_store(page + mask_offset(payload, width, n), width, renc_mask_none());
		put16(page + 2, n + 1);
	}
	mask = page + mask_offset(payload, width, i) + slot / 8;
	if (*mask & (1 << (slot % 8)))
		return RENC_DICT_PRESENT;
	*mask |= (uint8_t) (1 << (slot % 8));
	return RENC_DICT_ADDED;
}

bool
renc_dict_clear(uint8_t *page, size_t payload, int width, renc_mask slots)
{
	bool		changed = false;

	for (uint32_t i = 0; i < renc_dict_nentries(page); i++)
	{
		uint8_t    *p = page + mask_offset(payload, width, i);
		renc_mask	m = renc_mask_load(p, width);

		if (!renc_mask_empty(renc_mask_and(m, slots)))
		{
			renc_mask_store(p, width, renc_mask_andnot(m, slots));
			changed = true;
		}
	}
	return changed;
}

uint32_t
renc_dict_nbits(const uint8_t *page, size_t payload, int width)
{
	const uint8_t *p = page + mask_offset(payload, width, 0);
	size_t		n = (size_t) renc_dict_nentries(page) * width;
	uint32_t	count = 0;

	for (; n >= 8; n -= 8, p += 8)
		count += (uint32_t) __builtin_popcountll(renc_load64(p));
	for (; n > 0; n--, p++)
		count += (uint32_t) __builtin_popcount(*p);
	return count;
}

uint32_t
renc_dict_nentries(const uint8_t *page)
{
	return get16(page + 2);
}

uint64_t
renc_dict_entry(const uint8_t *page, size_t payload, int width, uint32_t i,
				renc_mask *mask)
{
	*mask = renc_mask_load(page + mask_offset(payload, width, i), width);
	return key_at(page, i);
}

bool
renc_dict_check_page(const uint8_t *page, size_t payload, int width,
					 const char **reason)
{
	uint32_t	n = renc_dict_nentries(page);

	if (n > renc_dict_capacity(payload, width) || nsorted(page) > n)
	{
		*reason = "dictionary page has an impossible number of entries";
		return false;
	}
	return true;
}

bool
renc_dict_check_fence(const uint8_t *page, size_t payload, uint32_t npages,
					  const char **reason)
{
	if (renc_load64(page) != npages || npages < 2 ||
		npages > renc_dict_max_pages(payload))
	{
		*reason = "dictionary fence page has a wrong number of pages";
		return false;
	}
	return true;
}

/* Does entry i of the tail repeat the key of an entry before it? */
static bool
repeats(const uint8_t *page, uint32_t i)
{
	uint64_t	key = key_at(page, i);
	uint32_t	sorted = lower_bound(page, key);

	if (sorted < nsorted(page) && key_at(page, sorted) == key)
		return true;
	for (uint32_t j = nsorted(page); j < i; j++)
		if (key_at(page, j) == key)
			return true;
	return false;
}

bool
renc_dict_check_keys(const uint8_t *page, uint64_t lo, uint64_t hi,
					 const char **reason)
{
	for (uint32_t i = 0; i < renc_dict_nentries(page); i++)
	{
		uint64_t	key = key_at(page, i);

		if (key < lo || key > hi)
		{
			*reason = "dictionary page has a key of another page";
			return false;
		}
		if (i > 0 && i < nsorted(page) && key_at(page, i - 1) >= key)
		{
			*reason = "dictionary page is not in key order";
			return false;
		}
		if (i >= nsorted(page) && repeats(page, i))
		{
			*reason = "dictionary page has a key twice";
			return false;
		}
	}
	return true;
}

bool
renc_dict_check_fence_keys(const uint8_t *page, const char **reason)
{
	for (uint32_t i = 1; i + 1 < renc_load64(page); i++)
	{
		if (key_at(page, i - 1) >= key_at(page, i))
		{
			*reason = "dictionary fence page is not in key order";
			return false;
		}
	}
	return true;
}
