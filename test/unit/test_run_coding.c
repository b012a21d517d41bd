/*
 * test_run_coding.c
 *		Blocks of entries: the shorter coding is taken, its bits are those of renc_run.h, put
 *		one after the other, and reading gives the entries back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "renc_run_block.h"
#include "runlib.h"

#define MOST_BYTES	(1 << 16)
#define SPARE		9
#define TOO_LONG	UINT64_MAX

static renc_run_entry *entry;
static uint8_t *truth;
static uint8_t *written;
static uint64_t at;				/* bits of the truth */

/* ---- By the letter ---- */

static void
put(uint64_t v, int n)
{
	for (int i = 0; i < n; i++, at++)
		truth[at / 8] |= (uint8_t) ((v >> i & 1) << at % 8);
}

static void
put_gamma(uint64_t q)
{
	int			high = renc_run_log2(q);

	at += (uint64_t) high;
	put(1, 1);
	put(q, high);
}

static uint64_t
composite(uint32_t i, uint32_t npages)
{
	return entry[i].cell * npages + entry[i].page;
}

/* From the composite before it; of the first, from 0. */
static uint64_t
distance(uint32_t i, uint32_t npages)
{
	return i == 0 ? composite(0, npages) : composite(i, npages) - composite(i - 1, npages) - 1;
}

static uint64_t
rice_length(uint32_t n, uint32_t npages, int low)
{
	uint64_t	bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits += (uint64_t) low + 1 + (distance(i, npages) >> low);
	return bits;
}

static void
put_rice(uint32_t n, uint32_t npages, int low)
{
	for (uint32_t i = 0; i < n; i++)
		put(distance(i, npages), low);
	for (uint32_t i = 0; i < n; i++)
	{
		at += distance(i, npages) >> low;
		put(1, 1);
	}
}

static void
put_pages(const renc_run_entry *cell, uint32_t m, uint32_t npages)
{
	int			low = renc_run_page_parameter(npages, m);

	for (uint32_t i = 0; i < m; i++)
	{
		uint32_t	gap = i == 0 ? cell[0].page : cell[i].page - cell[i - 1].page - 1;

		if (m < 3)
			put(cell[i].page, renc_run_page_bits(npages));
		else
		{
			put(gap, low);
			at += gap >> low;
			put(1, 1);
		}
	}
}

static void
put_gaps(uint32_t n, uint32_t npages, int k)
{
	for (uint32_t i = 0; i < n;)
	{
		uint64_t	x = i == 0 ? entry[0].cell : entry[i].cell - entry[i - 1].cell - 1;
		uint32_t	m = 1;

		while (i + m < n && entry[i + m].cell == entry[i].cell)
			m++;
		put_gamma((x >> k) + 1);
		put(x, k);
		put_gamma(m);
		put_pages(entry + i, m, npages);
		i += m;
	}
}

static void
begin_truth(void)
{
	memset(truth, 0, MOST_BYTES);
	at = 0;
}

static uint64_t
gaps_length(uint32_t n, uint32_t npages, int k)
{
	begin_truth();
	put_gaps(n, npages, k);
	return at;
}

/* ---- Blocks ---- */

static int
compare_entries(const void *a, const void *b)
{
	const renc_run_entry *x = (const renc_run_entry *) a;
	const renc_run_entry *y = (const renc_run_entry *) b;

	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

/* Some entries, ascending and distinct; returns how many. */
static uint32_t
draw_entries(uint32_t n, uint32_t npages, uint64_t cells)
{
	uint32_t	kept = 0;
	bool		crowded = rnd_below(4) == 0;

	for (uint32_t i = 0; i < n; i++)
	{
		entry[i].cell = rnd_below(cells) >> (crowded ? rnd_below(64) : 0);
		entry[i].page = (uint32_t) rnd_below(npages);
	}
	qsort(entry, n, sizeof(*entry), compare_entries);
	for (uint32_t i = 1; i < n; i++)
		if (compare_entries(&entry[i], &entry[kept]) != 0)
			entry[++kept] = entry[i];
	return kept + 1;
}

/* The shortest Rice code that is tried, as parameter; its length in *bits. */
static int
best_rice(uint32_t n, uint32_t npages, uint64_t *bits)
{
	uint64_t	end = composite(n - 1, npages) + 1;
	uint64_t	mean = end / n / 16 * 11 > 0 ? end / n / 16 * 11 : end * 11 / 16 / n;
	int			middle = mean > 1 ? renc_run_log2(mean) : 0;
	int			best = 0;

	*bits = TOO_LONG;
	for (int low = middle - 1; low <= middle + 1; low++)
		if (low >= 0 && low <= MAX_LOW_BITS && rice_length(n, npages, low) < *bits)
		{
			best = low;
			*bits = rice_length(n, npages, low);
		}
	return best;
}

/* Half of the gaps have fewer bits than the one in the middle, by their number + 1. */
static int
gap_parameter(uint32_t n)
{
	uint32_t	count[64] = {0};
	uint32_t	cells = 0;
	uint32_t	below = 0;
	int			k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || entry[i].cell != entry[i - 1].cell)
		{
			count[renc_run_log2(i == 0 ? entry[0].cell + 1 : entry[i].cell - entry[i - 1].cell)]++;
			cells++;
		}
	for (; k < 63; k++)
	{
		below += count[k];
		if (2 * below >= cells)
			break;
	}
	return k;
}

static bool
is_read_back(const renc_run_code *code, uint32_t n, uint32_t npages)
{
	static uint64_t cell[RENC_RUN_MAX_BLOCK];
	static uint32_t page[RENC_RUN_MAX_BLOCK];
	renc_interval all = {0, UINT64_MAX};
	renc_run_found found = {.cell = cell,.page = page};
	renc_run_block block = {0};

	block.data = written;
	block.end = written + (code->bits + 7) / 8;
	block.n = n;
	block.npages = npages;
	block.parameter = code->parameter;
	block.coding = code->coding;
	if (renc_run_scan_block(&block, &all, 1, &found) != NULL || found.n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (cell[i] != entry[i].cell || page[i] != entry[i].page)
			return false;
	return true;
}

/* Is it coded as it should be? */
static bool
is_coded_well(uint32_t n, uint32_t npages)
{
	bool		fits = entry[n - 1].cell < (UINT64_C(1) << 62) / npages;
	uint64_t	rice_bits = TOO_LONG;
	int			low = fits ? best_rice(n, npages, &rice_bits) : 0;
	int			k = gap_parameter(n);
	uint64_t	gaps_bits = gaps_length(n, npages, k);
	renc_run_code code = renc_run_choose_code(entry, n, npages);

	begin_truth();
	if (gaps_bits < rice_bits)
		put_gaps(n, npages, k);
	else
		put_rice(n, npages, low);
	if (code.coding != (gaps_bits < rice_bits ? CODING_GAPS : CODING_RICE) || code.bits != at ||
		code.parameter != (code.coding == CODING_GAPS ? k : low))
		return false;
	memset(written, 0, code.bits / 8 + 1 + SPARE);
	renc_run_write_block(written, &code, entry, n, npages);
	return memcmp(written, truth, code.bits / 8 + 1 + SPARE) == 0 && is_read_back(&code, n, npages);
}

int
main(int argc, char **argv)
{
	int			wrong = 0;
	int			gaps = 0;
	int			blocks = 0;

	tap_start(argc, argv, argv[0]);
	entry = (renc_run_entry *) test_alloc(RENC_RUN_MAX_BLOCK * sizeof(renc_run_entry));
	truth = (uint8_t *) test_alloc(MOST_BYTES);
	written = (uint8_t *) test_alloc(MOST_BYTES);
	for (; blocks < 3000; blocks++)
	{
		uint32_t	npages = 1 + (uint32_t) (rnd_below(UINT32_MAX) >> rnd_below(32));
		uint64_t	cells = 1 + (rnd() >> 1 >> rnd_below(62));
		uint32_t	n = draw_entries(1 + (uint32_t) (rnd_below(RENC_RUN_MAX_BLOCK) >> rnd_below(10)),
									 npages, cells);

		wrong += !is_coded_well(n, npages);
		gaps += renc_run_choose_code(entry, n, npages).coding == CODING_GAPS;
	}
	tap_ok(wrong == 0, "%d of %d blocks are not coded as they should be", wrong, blocks);
	tap_ok(gaps > blocks / 10 && gaps < blocks * 9 / 10, "%d have gaps, the others composites", gaps);
	free(entry);
	free(truth);
	free(written);
	return tap_finish();
}
