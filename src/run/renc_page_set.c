/*
 * renc_page_set.c
 *		Sets of heap pages within one bound of memory: added in any order, taken in ascending order.
 */
#include "renc_page_set.h"

#include <assert.h>
#include <string.h>

#include "filter/renc_hash.h"
#include "renc_sort.h"

#define UNITS			64
#define FIRST_SLOTS		64
#define MAX_SHIFT		26		/* one chunk holds every page */

void
renc_page_sets_begin(renc_page_sets *sets, size_t limit,
					 void *(*alloc) (size_t size), void (*release) (void *memory))
{
	assert(limit >= RENC_PAGE_SETS_MIN);
	memset(sets, 0, sizeof(*sets));
	sets->limit = limit;
	sets->alloc = alloc;
	sets->release = release;
}

void
renc_page_sets_end(renc_page_sets *sets)
{
	if (sets->chunk != NULL)
		sets->release(sets->chunk);
	sets->chunk = NULL;
}

static inline uint64_t
chunk_key(const renc_page_set *set, uint32_t unit)
{
	return (uint64_t) set->number << 32 | unit / UNITS;
}

/* Where a chunk stands in the hashed table, or would. */
static inline renc_page_chunk *
chunk_of_key(const renc_page_sets *sets, uint64_t key)
{
	uint32_t	mask = sets->nslots - 1;
	uint32_t	slot = (uint32_t) renc_hash_number(key) & mask;

	while (sets->chunk[slot].units != 0 && sets->chunk[slot].key != key)
		slot = (slot + 1) & mask;
	return &sets->chunk[slot];
}

/* Adds units of a chunk to the hashed table; false if that is full. */
static inline bool
put_units(renc_page_sets *sets, uint64_t key, uint64_t units)
{
	renc_page_chunk *chunk = chunk_of_key(sets, key);

	if (chunk->units == 0)
	{
		if (sets->nchunks == sets->nslots / 4 * 3)
			return false;
		sets->nchunks++;
		chunk->key = key;
	}
	chunk->units |= units;
	return true;
}

/* Units twice as large as those of a chunk: a half of them. */
static uint64_t
halve_units(uint64_t units)
{
	units = (units | units >> 1) & UINT64_C(0x5555555555555555);
	units = (units | units >> 1) & UINT64_C(0x3333333333333333);
	units = (units | units >> 2) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	units = (units | units >> 4) & UINT64_C(0x00FF00FF00FF00FF);
	units = (units | units >> 8) & UINT64_C(0x0000FFFF0000FFFF);
	return (units | units >> 16) & UINT64_C(0x00000000FFFFFFFF);
}

/* Makes the table anew and hashed, of so many slots, with units as large or twice as large. */
static void
rehash(renc_page_sets *sets, uint32_t nslots, bool coarser)
{
	renc_page_chunk *old = sets->chunk;
	uint32_t	n = sets->hashed ? sets->nslots : sets->nchunks;

	sets->chunk = sets->alloc(nslots * sizeof(renc_page_chunk));
	memset(sets->chunk, 0, nslots * sizeof(renc_page_chunk));
	sets->nslots = nslots;
	sets->nchunks = 0;
	sets->hashed = true;
	sets->shift += coarser;
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	key = old[i].key;

		if (old[i].units == 0)
			continue;
		if (coarser)
			(void) put_units(sets, (key & ~(uint64_t) UINT32_MAX) | (uint32_t) key >> 1,
							 halve_units(old[i].units) << (key & 1) * (UNITS / 2));
		else
			(void) put_units(sets, key, old[i].units);
	}
	if (old != NULL)
		sets->release(old);
}

/* Makes the table larger, or its units; false if that cannot be. */
static bool
make_chunk_room(renc_page_sets *sets)
{
	/*
	 * Of a table twice as large there must be room for two, to make units
	 * larger.
	 */
	if (sets->nslots * sizeof(renc_page_chunk) <= sets->limit / 4)
		rehash(sets, sets->nslots * 2, false);
	else if (sets->shift < MAX_SHIFT)
		rehash(sets, sets->nslots, true);
	else
		return false;
	return true;
}

/* Adds "n" pages of one chunk, the last of which is "page". */
static inline void
add_units(renc_page_sets *sets, renc_page_set *set, uint32_t page, uint32_t n)
{
	set->last = page;
	if (set->all)
		return;
	if (!sets->hashed)
		rehash(sets, sets->nslots > 0 ? sets->nslots : FIRST_SLOTS, false);
	if (set->number == 0)
		set->number = ++sets->nsets;
	for (;;)
	{
		uint32_t	unit = page >> sets->shift;
		uint32_t	first = (page - (n - 1)) >> sets->shift;

		if (put_units(sets, chunk_key(set, unit),
					  (UINT64_MAX >> (UNITS - 1 - (unit - first))) << first % UNITS))
			return;
		if (!make_chunk_room(sets))
		{
			set->all = true;
			return;
		}
	}
}

void
renc_page_set_add(renc_page_sets *sets, renc_page_set *set, uint32_t page)
{
	assert(!set->begun && page != RENC_NO_PAGE);
	if (set->number != 0 && set->last == page)
		return;
	add_units(sets, set, page, 1);
}

void
renc_page_set_add_span(renc_page_sets *sets, renc_page_set *set, uint32_t first, uint32_t n)
{
	assert(!set->begun && n <= RENC_NO_PAGE - first);
	while (n > 0)
	{
		uint32_t	part = UNITS - first % UNITS < n ? UNITS - first % UNITS : n;

		/* Pages of a chunk stay in one when units get larger. */
		add_units(sets, set, first + part - 1, part);
		first += part;
		n -= part;
	}
}

/* Puts the chunks in order, in front. */
static void
sort_chunks(renc_page_sets *sets)
{
	renc_page_chunk *chunk = sets->chunk;
	uint32_t	n = 0;

	for (uint32_t slot = 0; slot < sets->nslots; slot++)
	{
		if (chunk[slot].units != 0)
			chunk[n++] = chunk[slot];
	}
	RENC_SORT(renc_page_chunk, chunk, n,.key)
		sets->hashed = false;
	sets->sorted++;
}

/* The first chunk in order that is not below a key. */
static uint32_t
find_chunk(const renc_page_sets *sets, uint64_t key)
{
	uint32_t	lo = 0;
	uint32_t	hi = sets->nchunks;

	while (lo < hi)
	{
		uint32_t	middle = lo + (hi - lo) / 2;

		if (sets->chunk[middle].key < key)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* The first page from "from" on of a chunk and the one behind it. */
static uint32_t
first_page(const renc_page_sets *sets, const renc_page_set *set, uint32_t from)
{
	uint32_t	unit = from >> sets->shift;
	uint64_t	wanted = chunk_key(set, unit);

	for (uint32_t i = set->at; i < sets->nchunks; i++)
	{
		const renc_page_chunk *chunk = &sets->chunk[i];
		uint64_t	units = chunk->units;
		uint32_t	page;

		if (chunk->key >> 32 != set->number)
			break;
		if (chunk->key == wanted)
			units &= UINT64_MAX << unit % UNITS;
		if (units == 0)
			continue;
		page = ((uint32_t) chunk->key * UNITS + (uint32_t) __builtin_ctzll(units)) << sets->shift;
		return page > from ? page : from;
	}
	return RENC_NO_PAGE;
}

uint32_t
renc_page_set_seek_slow(renc_page_sets *sets, renc_page_set *set, uint32_t from)
{
	uint64_t	wanted = chunk_key(set, from >> sets->shift);

	if (sets->hashed)
		sort_chunks(sets);
	if (!set->begun || set->sorted != sets->sorted)
		set->at = find_chunk(sets, wanted);
	while (set->at < sets->nchunks && sets->chunk[set->at].key < wanted)
		set->at++;
	set->begun = true;
	set->sorted = sets->sorted;
	set->next = first_page(sets, set, from);
	return set->next;
}
