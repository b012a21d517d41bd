/*
 * renc_run_tally.c
 *		What cells of some width make of pairs: false pages, and what decides the bits.
 *
 * Whether a pair begins a cell is as good as random where keys are, and such a branch costs
 * more than the work that it would spare.  So cells are found first, without one.
 */
#include "renc_run_tally.h"

#include <math.h>

/* Sums stay in registers if all that adds to them is in one place. */
#define ALWAYS_INLINE	static inline __attribute__((always_inline))

/*
 * Sums of whole numbers in one: entries; from NUMBER_BITS on, those coded in order; behind them,
 * bits for the numbers of pages.  None is more than twice the number of pairs.
 */
#define NUMBER_BITS		20
#define NUMBER(numbers, i)	((uint32_t) ((numbers) >> (i) * NUMBER_BITS & ((1 << NUMBER_BITS) - 1)))

/* Of one cell. */
typedef struct tallied_cell
{
	uint64_t	matches;		/* its keys times its pages */
	double		between;
	double		absent;
	double		saved;
	uint64_t	numbers;
} tallied_cell;

/* Pairs that are tallied as if there were no others. */
typedef struct tallied_part
{
	uint32_t	first;
	uint32_t	end;
	uint64_t	mask;			/* of a cell's values */
} tallied_part;

static renc_run_size
tally_size_of_pages(uint32_t pages)
{
	renc_run_size size = {0, pages + ((uint64_t) (2 * renc_run_log2(pages) + 1) << 2 * NUMBER_BITS)};

	if (pages < 3)
		return size;
	size.saved = fmax(pages * (log2(pages) - RICE_BITS), 0);
	size.numbers += (uint64_t) pages << NUMBER_BITS;
	return size;
}

void
renc_run_tally_init(renc_run_tallier *t)
{
	memset(t, 0, sizeof(*t));
	for (uint32_t pages = 1; pages < TALLY_SIZES; pages++)
		t->size[pages] = tally_size_of_pages(pages);
}

void
renc_run_tally_begin(renc_run_tallier *t, const renc_run_pair *pair, uint32_t n)
{
	uint32_t	begun = 0;

	t->pair = pair;
	t->differ[0] = 0;
	t->begun[0] = 0;
	t->same[0] = 0;
	t->turned[0] = 0;
	for (uint32_t i = 1; i < n; i++)
	{
		uint64_t	differ = pair[i].key ^ pair[i - 1].key;

		begun += (uint32_t) (differ != 0) + ((uint32_t) (pair[i].share > 0) << 16);
		t->differ[i] = differ == 0 ? 0 : (uint8_t) (renc_run_log2(differ) + 1);
		t->begun[i] = begun;
		t->turned[i] = t->turned[i - 1] + (uint32_t) (pair[i].page != pair[i - 1].page) +
			((uint32_t) (pair[i].page < pair[i - 1].page) << 16);
		t->same[i] = (uint16_t) (t->same[i - 1] + (differ == 0 && pair[i].page == pair[i - 1].page));
	}
}

/* ---- One cell ---- */

/* Is this the first time that the cell has the page?  Now and then says yes again. */
static inline bool
first_seen(renc_run_tallier *t, uint32_t page)
{
	uint32_t	i = page % TALLY_SEEN;

	if (t->seen_cell[i] == t->cells && t->seen_page[i] == page)
		return false;
	t->seen_cell[i] = t->cells;
	t->seen_page[i] = page;
	return true;
}

static uint32_t
pages_seen(renc_run_tallier *t, uint32_t start, uint32_t end)
{
	uint32_t	turned = t->turned[end - 1] - t->turned[start];
	uint32_t	pages = 0;

	if (turned >> 16 == 0)
		return turned + 1;
	t->cells++;
	for (uint32_t i = start; i < end; i++)
		pages += first_seen(t, t->pair[i].page);
	return pages;
}

/*
 * The cell of pairs start .. end - 1, or what of it lies in the part.  Of the gap before it and the
 * one behind it, it has what lies in it.  The gaps in it come between these two, each by itself,
 * since sums are rounded.
 */
ALWAYS_INLINE tallied_cell
look_at_cell(renc_run_tallier *t, const tallied_part *part, uint32_t start, uint32_t end)
{
	static const double one[3] = {0, 1, 1};
	static const double another[3] = {0, 0, 1};
	const renc_run_pair *pair = t->pair + start;
	uint32_t	n = end - start;
	uint32_t	pages = t->repeats ? pages_seen(t, start, end) : n;
	uint32_t	begun = renc_run_tally_begun(t, start, end);
	uint32_t	keys = (begun & UINT16_MAX) + 1;
	uint32_t	gaps = begun >> 16;
	uint64_t	below = pair[0].key & part->mask;
	uint64_t	above = ~pair[n - 1].key & part->mask;
	uint64_t	values = part->mask + 1;	/* from the first to the last key
											 * of the part that lie in it */
	double		held = 0;
	renc_run_size size = pages < TALLY_SIZES ? t->size[pages] : tally_size_of_pages(pages);
	tallied_cell cell = {(uint64_t) keys * pages, 0, 0, size.saved, size.numbers};

	if (start > part->first)
		held = (double) (int64_t) below * pair[0].share;
	else
		values -= below;

	/* Most cells have few: without a branch. */
	held += one[gaps < 2 ? gaps : 2];
	held += another[gaps < 2 ? gaps : 2];
	for (uint32_t i = 2; i < gaps; i++)
		held += 1;
	if (end < part->end)
		held += (double) (int64_t) above * pair[n].share;
	else
		values -= above;
	cell.between = pages * held;
	cell.absent = pages * (double) (int64_t) (values - keys);
	return cell;
}

ALWAYS_INLINE void
add_cell(tallied_cell *sum, tallied_cell cell)
{
	sum->matches += cell.matches;
	sum->between += cell.between;
	sum->absent += cell.absent;
	sum->saved += cell.saved;
	sum->numbers += cell.numbers;
}

/* ---- Many cells ---- */

void
renc_run_tally_part(renc_run_tallier *t, uint32_t first, uint32_t end, int width, renc_run_tally *tally)
{
	const tallied_part part = {first, end, (UINT64_C(1) << width) - 1};
	uint32_t	same = (uint32_t) (t->same[end - 1] - t->same[first]);
	tallied_cell sum = {0};
	uint32_t	ncells = 1;

	t->start[0] = (uint16_t) first;
	for (uint32_t i = first + 1; i < end; i++)
	{
		t->start[ncells] = (uint16_t) i;
		ncells += t->differ[i] > width;
	}
	t->start[ncells] = (uint16_t) end;
	memset(tally, 0, sizeof(*tally));
	add_cell(&sum, look_at_cell(t, &part, first, t->start[1]));
	for (uint32_t j = 1; j < ncells; j++)
	{
		const renc_run_pair *pair = &t->pair[t->start[j]];

		tally->distance[renc_run_log2((pair[0].key >> width) - (pair[-1].key >> width))]++;
		add_cell(&sum, look_at_cell(t, &part, t->start[j], t->start[j + 1]));
	}
	tally->own = sum.matches - (end - first - same);
	tally->between = sum.between;
	tally->absent = sum.absent;
	tally->saved = sum.saved;
	tally->entries = NUMBER(sum.numbers, 0);
	tally->ordered = NUMBER(sum.numbers, 1);
	tally->counts = NUMBER(sum.numbers, 2);
	tally->distances = ncells - 1;
}
