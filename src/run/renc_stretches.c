/*
 * renc_stretches.c
 *		Lists of rows of a table within a bound of memory: in the order of the table, each row once.
 */
#include "renc_stretches.h"

#include <assert.h>
#include <string.h>

#include "renc_sort.h"

/* Stretches that there is room for at first. */
#define FIRST_ROOM	32

/* More are sorted by digits of so many bits. */
#define FEW_STRETCHES	128
#define DIGIT_BITS		11
#define DIGITS			(1 << DIGIT_BITS)

/* Pages of one stretch, at most; and between two that are united. */
#define MAX_PAGES	UINT16_MAX

static inline uint64_t
make_stretch(uint32_t page, uint32_t first, uint32_t n)
{
	return (uint64_t) page << 32 | (uint64_t) first << 16 | n;
}

static inline uint32_t
stretch_page(uint64_t stretch)
{
	return (uint32_t) (stretch >> 32);
}

/* The first line pointer; 0: it is of pages. */
static inline uint32_t
stretch_first(uint64_t stretch)
{
	return (uint32_t) (stretch >> 16) & UINT16_MAX;
}

static inline uint32_t
stretch_number(uint64_t stretch)
{
	return (uint32_t) stretch & UINT16_MAX;
}

/* The page behind the last one. */
static inline uint64_t
stretch_end(uint64_t stretch)
{
	return (uint64_t) stretch_page(stretch) +
		(stretch_first(stretch) == 0 ? stretch_number(stretch) : 1);
}

void
renc_stretches_begin(renc_stretches *list, size_t limit, void *(*alloc) (size_t size),
					 void (*release) (void *memory))
{
	size_t		room = limit / sizeof(uint64_t);

	memset(list, 0, sizeof(*list));
	list->limit = room > FIRST_ROOM ? (uint32_t) (room < UINT32_MAX / 2 ? room : UINT32_MAX / 2) :
		FIRST_ROOM;
	list->sorted = true;
	list->alloc = alloc;
	list->release = release;
}

void
renc_stretches_end(renc_stretches *list)
{
	if (list->stretch != NULL)
		list->release(list->stretch);
	list->stretch = NULL;
	list->room = 0;
	renc_stretches_clear(list);
}

/* Unites "next" with the last stretch of pages, if less than "gap" pages are between. */
static bool
unite_page_stretches(uint64_t *last, uint64_t next, uint32_t gap)
{
	uint64_t	end = stretch_end(*last) > stretch_end(next) ? stretch_end(*last) :
		stretch_end(next);

	if (stretch_page(next) > stretch_end(*last) + gap || end - stretch_page(*last) > MAX_PAGES)
		return false;
	*last = make_stretch(stretch_page(*last), 0, (uint32_t) (end - stretch_page(*last)));
	return true;
}

/* The same for line pointers of one page. */
static bool
unite_row_stretches(uint64_t *last, uint64_t next)
{
	uint32_t	end = stretch_first(*last) + stretch_number(*last);
	uint32_t	next_end = stretch_first(next) + stretch_number(next);

	if (stretch_first(*last) == 0 || stretch_page(*last) != stretch_page(next) ||
		stretch_first(next) > end)
		return false;
	*last = make_stretch(stretch_page(*last), stretch_first(*last),
						 (next_end > end ? next_end : end) - stretch_first(*last));
	return true;
}

/* Puts stretches in the order of one digit of pages and line pointers. */
static void
sort_stretches_by_digit(const uint64_t *from, uint64_t *to, uint32_t n, int shift)
{
	uint32_t	next[DIGITS] = {0};
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < n; i++)
		next[from[i] >> shift & (DIGITS - 1)]++;
	for (int i = 0; i < DIGITS; i++)
	{
		uint32_t	before = sum;

		sum += next[i];
		next[i] = before;
	}
	for (uint32_t i = 0; i < n; i++)
		to[next[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* By page, then line pointer. */
static void
sort_stretches(renc_stretches *list)
{
	uint64_t	differ = 0;
	uint64_t   *spare;

	if (list->n <= FEW_STRETCHES)
	{
		RENC_SORT(uint64_t, list->stretch, list->n,);
		return;
	}
	for (uint32_t i = 1; i < list->n; i++)
		differ |= list->stretch[i] ^ list->stretch[0];
	spare = list->alloc(list->room * sizeof(uint64_t));
	for (int shift = 16; shift < 64; shift += DIGIT_BITS)
	{
		uint64_t   *from = list->stretch;

		if ((differ >> shift & (DIGITS - 1)) == 0)
			continue;
		sort_stretches_by_digit(from, spare, list->n, shift);
		list->stretch = spare;
		spare = from;
	}
	list->release(spare);
}

/* Sorts, and unites what overlaps, or has less than "gap" pages in between. */
static void
put_stretches_in_order(renc_stretches *list, uint32_t gap)
{
	uint64_t   *stretch;
	uint64_t	end = 0;		/* of the last stretch of pages, which is */
	uint32_t	pages = 0;		/* this one */
	uint32_t	n = 0;

	if (!list->sorted)
		sort_stretches(list);
	stretch = list->stretch;
	for (uint32_t i = 0; i < list->n; i++)
	{
		uint64_t	next = stretch[i];

		if (stretch_first(next) > 0)
		{
			if (stretch_page(next) >= end &&
				(n == 0 || !unite_row_stretches(&stretch[n - 1], next)))
				stretch[n++] = next;
			continue;
		}
		if (stretch_end(next) <= end)
			continue;
		if (end > stretch_page(next))	/* the rest of it */
			next = make_stretch((uint32_t) end, 0, (uint32_t) (stretch_end(next) - end));
		if (end == 0 || pages + 1 != n || !unite_page_stretches(&stretch[pages], next, gap))
		{
			pages = n;
			stretch[n++] = next;
		}
		end = stretch_end(stretch[pages]);
	}
	list->n = n;
	list->sorted = true;
}

/* Makes stretches fewer: half of the room, if that can be. */
static void
make_stretches_coarser(renc_stretches *list)
{
	put_stretches_in_order(list, 0);
	if (list->n <= list->room / 2)
		return;
	for (uint32_t i = 0; i < list->n; i++)
	{
		if (stretch_first(list->stretch[i]) > 0)
			list->stretch[i] = make_stretch(stretch_page(list->stretch[i]), 0, 1);
	}
	for (uint32_t gap = 0; list->n > list->room / 2 && gap < MAX_PAGES; gap = 2 * gap + 1)
		put_stretches_in_order(list, gap);
}

/* A list that stays nearly full would be made coarser for each few stretches that come. */
static void
make_stretch_room(renc_stretches *list)
{
	uint32_t	room = list->room == 0 ? FIRST_ROOM : list->room * 2;
	uint64_t   *old;

	if (list->room >= list->limit)
	{
		make_stretches_coarser(list);
		if (list->n <= list->room / 2)
			return;
	}
	list->room = room > list->limit && list->room < list->limit ? list->limit : room;
	old = list->stretch;		/* another one than before it was sorted */
	list->stretch = list->alloc(list->room * sizeof(uint64_t));
	if (old == NULL)
		return;
	memcpy(list->stretch, old, list->n * sizeof(uint64_t));
	list->release(old);
}

/* Is the last stretch wholly before this one? */
static bool
is_behind_stretch(const renc_stretches *list, uint64_t stretch)
{
	uint64_t	last;

	if (list->n == 0)
		return true;
	last = list->stretch[list->n - 1];
	return stretch_first(last) > 0 ? last < stretch : stretch_end(last) <= stretch_page(stretch);
}

static inline void
add(renc_stretches *list, uint64_t stretch)
{
	uint64_t   *last = list->n > 0 ? &list->stretch[list->n - 1] : NULL;

	if (last != NULL && *last <= stretch &&
		(stretch_first(*last) > 0) == (stretch_first(stretch) > 0) &&
		(stretch_first(stretch) > 0 ? unite_row_stretches(last, stretch) :
		 unite_page_stretches(last, stretch, 0)))
		return;
	if (list->n == list->room)
		make_stretch_room(list);
	list->sorted = list->sorted && is_behind_stretch(list, stretch);
	list->stretch[list->n++] = stretch;
}

void
renc_stretches_add_rows(renc_stretches *list, uint32_t page, uint32_t first, uint32_t last)
{
	assert(first > 0 && first <= last && last <= UINT16_MAX);
	add(list, make_stretch(page, first, last - first + 1));
}

void
renc_stretches_add_pages(renc_stretches *list, uint32_t page, uint32_t n)
{
	while (n > 0)
	{
		uint32_t	part = n < MAX_PAGES ? n : MAX_PAGES;

		add(list, make_stretch(page, 0, part));
		page += part;
		n -= part;
	}
}

void
renc_stretches_add_all(renc_stretches *list, const renc_stretches *other)
{
	for (uint32_t i = 0; i < other->n; i++)
		add(list, other->stretch[i]);
}

void
renc_stretches_finish(renc_stretches *list)
{
	if (!list->sorted)
		put_stretches_in_order(list, 0);
}

/* Sets the bits of a stretch of line pointers. */
static void
set_rows_of_stretch(uint64_t stretch, uint64_t *row)
{
	uint32_t	end = stretch_first(stretch) - 1 + stretch_number(stretch);

	for (uint32_t i = stretch_first(stretch) - 1; i < end && i < RENC_MAX_PAGE_ROWS; i++)
		row[i / 64] |= UINT64_C(1) << i % 64;
}

/* Sets the bits of a page, of which "cursor" stands at the first stretch, and passes all of them. */
static void
set_stretch_page_rows(const renc_stretches *list, renc_stretches_cursor *cursor, uint32_t page,
					  uint64_t *row)
{
	memset(row, 0, RENC_ROW_WORDS * sizeof(*row));
	for (; cursor->at < list->n && stretch_page(list->stretch[cursor->at]) == page &&
		 stretch_first(list->stretch[cursor->at]) > 0; cursor->at++)
		set_rows_of_stretch(list->stretch[cursor->at], row);
}

bool
renc_stretches_next(const renc_stretches *list, renc_stretches_cursor *cursor, uint32_t *page,
					uint64_t *row)
{
	uint64_t	stretch;

	assert(list->sorted);
	if (cursor->at >= list->n)
		return false;
	stretch = list->stretch[cursor->at];
	*page = stretch_page(stretch) + cursor->pages;
	if (stretch_first(stretch) > 0)
	{
		set_stretch_page_rows(list, cursor, *page, row);
		return true;
	}
	memset(row, 0xFF, RENC_ROW_WORDS * sizeof(*row));
	if (++cursor->pages == stretch_number(stretch))
	{
		cursor->at++;
		cursor->pages = 0;
	}
	return true;
}

uint32_t
renc_stretches_seek(const renc_stretches *list, renc_stretches_cursor *cursor, uint32_t page)
{
	uint64_t	stretch;

	assert(list->sorted);
	while (cursor->at < list->n && stretch_end(list->stretch[cursor->at]) <= page)
	{
		cursor->at++;
		cursor->pages = 0;
	}
	if (cursor->at == list->n)
		return RENC_NO_PAGE;
	stretch = list->stretch[cursor->at];
	if (stretch_page(stretch) + cursor->pages < page)
		cursor->pages = page - stretch_page(stretch);
	return stretch_page(stretch) + cursor->pages;
}

void
renc_stretches_rows(const renc_stretches *list, renc_stretches_cursor *cursor, uint32_t page,
					uint64_t *row)
{
	memset(row, 0, RENC_ROW_WORDS * sizeof(*row));
	if (renc_stretches_seek(list, cursor, page) == page)
		(void) renc_stretches_next(list, cursor, &page, row);
}

bool
renc_stretches_meet(const renc_stretches *list, uint32_t page, uint32_t first, uint32_t last)
{
	uint64_t	behind = make_stretch(page, first == 0 ? UINT16_MAX : last, UINT16_MAX);
	uint32_t	lo = 0;
	uint32_t	hi = list->n;
	uint64_t	stretch;

	assert(list->sorted);
	while (lo < hi)
	{
		uint32_t	middle = lo + (hi - lo) / 2;

		if (list->stretch[middle] <= behind)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo == 0)
		return false;

	/* Those before it end before it. */
	stretch = list->stretch[lo - 1];
	return stretch_end(stretch) > page &&
		(stretch_first(stretch) == 0 || stretch_first(stretch) + stretch_number(stretch) > first);
}

/* Where a stretch begins, as page << 16 | line pointer. */
static inline uint64_t
stretch_begin(uint64_t stretch)
{
	return stretch >> 16;
}

/* And what is behind it, likewise. */
static inline uint64_t
stretch_behind(uint64_t stretch)
{
	return stretch_first(stretch) == 0 ? stretch_end(stretch) << 16 :
		stretch_begin(stretch) + stretch_number(stretch);
}

void
renc_stretches_keep(renc_stretches *list, const renc_stretches *other)
{
	renc_stretches both;
	uint32_t	i = 0;
	uint32_t	j = 0;

	assert(list->sorted && other->sorted);
	renc_stretches_begin(&both, (size_t) list->limit * sizeof(uint64_t), list->alloc, list->release);
	while (i < list->n && j < other->n)
	{
		uint64_t	a = list->stretch[i];
		uint64_t	b = other->stretch[j];
		uint64_t	begin = stretch_begin(a) > stretch_begin(b) ? stretch_begin(a) : stretch_begin(b);
		uint64_t	end = stretch_behind(a) < stretch_behind(b) ? stretch_behind(a) : stretch_behind(b);

		/* Line pointers are of one page, which is that of both. */
		if (begin < end)
			add(&both, begin << 16 |
				((begin & UINT16_MAX) > 0 ? end - begin : (end >> 16) - (begin >> 16)));
		if (stretch_behind(a) <= stretch_behind(b))
			i++;
		else
			j++;
	}

	/*
	 * At its bound it is made coarser, and what comes then is not behind all
	 * of it.
	 */
	renc_stretches_finish(&both);
	renc_stretches_end(list);
	*list = both;
}

uint64_t
renc_stretches_count_pages(const renc_stretches *list)
{
	uint64_t	n = 0;
	uint64_t	end = 0;		/* of those that were counted */

	assert(list->sorted);
	for (uint32_t i = 0; i < list->n; i++)
	{
		uint64_t	next = stretch_end(list->stretch[i]);

		n += next - (end > stretch_page(list->stretch[i]) ? end : stretch_page(list->stretch[i]));
		end = next;
	}
	return n;
}
