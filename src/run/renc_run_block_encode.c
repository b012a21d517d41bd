/*
 * renc_run_block_encode.c
 *		Choosing one of two codings of a block of entries, and writing it.
 */
#include "renc_run_block.h"

/* Composites stay below, so that sums of them do not overflow. */
#define MAX_COMPOSITE	(UINT64_C(1) << 62)

static void
encode_bits(uint8_t *data, size_t at, uint64_t v, int n)
{
	uint8_t    *p = data + (at >> 3);
	int			shift = (int) (at & 7);

	renc_store64(p, renc_load64(p) | v << shift);
	if (shift + n > 64)
		p[8] |= (uint8_t) (v >> (64 - shift));
}

/* ---- Choice ---- */

/* Bits that gaps of composites take above the lowest "low" ones, and one and two bits higher up. */
static void
encoded_rice_high_bits(const renc_run_entry *entry, uint32_t n, uint32_t npages, int low,
					   uint64_t *bits)
{
	uint64_t	next = 0;
	uint64_t	sum[3] = {0, 0, 0};

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	v = entry[i].cell * npages + entry[i].page;
		uint64_t	high = (v - next) >> low;

		sum[0] += high;
		sum[1] += high >> 1;
		sum[2] += high >> 2;
		next = v + 1;
	}
	memcpy(bits, sum, sizeof(sum));
}

/* Three parameters around the one for evenly spread composites. */
static renc_run_code
choose_rice(const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	renc_run_code best = {CODING_RICE, 0, UINT64_MAX};
	uint64_t	high_bits[3];
	uint64_t	mean;
	int			middle;
	int			least;

	if (entry[n - 1].cell >= MAX_COMPOSITE / npages)
		return best;
	mean = (entry[n - 1].cell * npages + entry[n - 1].page + 1) / n / 16 * 11;
	if (mean == 0)
		mean = (entry[n - 1].cell * npages + entry[n - 1].page + 1) * 11 / 16 / n;
	middle = mean > 1 ? renc_run_log2(mean) : 0;
	least = middle > 0 ? middle - 1 : 0;
	encoded_rice_high_bits(entry, n, npages, least, high_bits);
	for (int low = least; low <= middle + 1 && low <= MAX_LOW_BITS; low++)
	{
		uint64_t	bits = (uint64_t) n * (low + 1) + high_bits[low - least];

		if (bits < best.bits)
		{
			best.bits = bits;
			best.parameter = low;
		}
	}
	return best;
}

/* Entries from i on that are in the cell of entry i. */
static uint32_t
encoded_cell_size(const renc_run_entry *entry, uint32_t i, uint32_t n)
{
	uint32_t	end = i + 1;

	while (end < n && entry[end].cell == entry[i].cell)
		end++;
	return end - i;
}

static int
encoded_gamma_bits(uint64_t q)
{
	return 2 * renc_run_log2(q) + 1;
}

/* Bits of the pages of a cell. */
static uint64_t
encoded_cell_pages_bits(const renc_run_entry *entry, uint32_t m, uint32_t npages)
{
	int			low = renc_run_page_parameter(npages, m);
	uint64_t	bits = (uint64_t) m * (low + 1);
	uint32_t	next = 0;

	if (m < 3)
		return (uint64_t) m * renc_run_page_bits(npages);
	for (uint32_t i = 0; i < m; i++)
	{
		bits += (entry[i].page - next) >> low;
		next = entry[i].page + 1;
	}
	return bits;
}

int
renc_run_best_gap_parameter(const uint32_t *gaps, uint64_t total)
{
	uint64_t	below = 0;
	int			k = 0;

	while (k < 63 && 2 * (below += gaps[k]) < total)
		k++;
	return k;
}

static renc_run_code
choose_gaps(const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	renc_run_code code = {CODING_GAPS, 0, 0};
	uint32_t	gaps[64] = {0};
	uint32_t	ncells = 0;
	uint64_t	next = 0;
	uint32_t	m;

	for (uint32_t i = 0; i < n; i += encoded_cell_size(entry, i, n))
	{
		gaps[renc_run_log2(entry[i].cell - next + 1)]++;
		next = entry[i].cell + 1;
		ncells++;
	}
	code.parameter = renc_run_best_gap_parameter(gaps, ncells);
	next = 0;
	for (uint32_t i = 0; i < n; i += m)
	{
		m = encoded_cell_size(entry, i, n);
		code.bits += encoded_gamma_bits(((entry[i].cell - next) >> code.parameter) + 1) +
			code.parameter + encoded_gamma_bits(m) + encoded_cell_pages_bits(entry + i, m, npages);
		next = entry[i].cell + 1;
	}
	return code;
}

renc_run_code
renc_run_choose_code(const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	renc_run_code rice = choose_rice(entry, n, npages);
	renc_run_code gaps = choose_gaps(entry, n, npages);

	/* The first is faster to read. */
	return gaps.bits < rice.bits ? gaps : rice;
}

/* ---- Writing ---- */

/* Gathers bits, in the order of memory, until eight bytes are full. */
typedef struct bit_writer
{
	uint8_t    *to;
	uint64_t	bits;
	int			n;				/* that are gathered */
} bit_writer;

static inline void
flush_encoded_bits(bit_writer *w)
{
	renc_store64(w->to, renc_load64(w->to) | w->bits);
	w->to += 8;
	w->bits = 0;
}

/* Low parts and high parts lie in different bytes but for one, where both are or'ed. */
static void
encode_rice(uint8_t *to, int low, const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	size_t		start = (size_t) n * low;
	bit_writer	lows = {to, 0, 0};
	bit_writer	highs = {to + (start >> 3), 0, (int) (start & 7)};
	uint64_t	next = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	v = entry[i].cell * npages + entry[i].page;
		uint64_t	high = (v - next) >> low;
		uint64_t	rest = renc_run_low_bits(v - next, low);

		lows.bits |= rest << lows.n;
		lows.n += low;
		if (lows.n >= 64)
		{
			flush_encoded_bits(&lows);
			lows.n -= 64;
			lows.bits = lows.n > 0 ? rest >> (low - lows.n) : 0;
		}
		for (high += (uint64_t) highs.n; high >= 64; high -= 64)
			flush_encoded_bits(&highs);
		highs.bits |= UINT64_C(1) << high;
		highs.n = (int) high + 1;
		next = v + 1;
	}
	flush_encoded_bits(&lows);
	flush_encoded_bits(&highs);
}

static size_t
encode_gamma(uint8_t *to, size_t at, uint64_t q)
{
	int			high = renc_run_log2(q);

	at += high;
	encode_bits(to, at++, 1, 1);
	encode_bits(to, at, renc_run_low_bits(q, high), high);
	return at + high;
}

static size_t
encode_cell_pages(uint8_t *to, size_t at, const renc_run_entry *entry, uint32_t m, uint32_t npages)
{
	int			bits = renc_run_page_bits(npages);
	int			low = renc_run_page_parameter(npages, m);
	uint32_t	next = 0;

	at = encode_gamma(to, at, m);
	for (uint32_t i = 0; i < m; i++)
	{
		if (m < 3)
		{
			encode_bits(to, at, entry[i].page, bits);
			at += bits;
			continue;
		}
		encode_bits(to, at, renc_run_low_bits(entry[i].page - next, low), low);
		at += low + ((entry[i].page - next) >> low);
		encode_bits(to, at++, 1, 1);
		next = entry[i].page + 1;
	}
	return at;
}

static void
encode_gaps(uint8_t *to, int k, const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	size_t		at = 0;
	uint64_t	next = 0;

	for (uint32_t i = 0; i < n;)
	{
		uint32_t	m = encoded_cell_size(entry, i, n);
		uint64_t	x = entry[i].cell - next;

		at = encode_gamma(to, at, (x >> k) + 1);
		encode_bits(to, at, renc_run_low_bits(x, k), k);
		at = encode_cell_pages(to, at + k, entry + i, m, npages);
		next = entry[i].cell + 1;
		i += m;
	}
}

void
renc_run_write_block(uint8_t *to, const renc_run_code *code, const renc_run_entry *entry,
					 uint32_t n, uint32_t npages)
{
	if (code->coding == CODING_RICE)
		encode_rice(to, code->parameter, entry, n, npages);
	else
		encode_gaps(to, code->parameter, entry, n, npages);
}
