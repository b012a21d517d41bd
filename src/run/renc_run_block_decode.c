/*
 * renc_run_block_decode.c
 *		Reading blocks of entries, of either coding.
 */
#include "renc_run_block.h"

#define TOO_SHORT	"a block ends too early"

/* As many of the next bits as a load has from anywhere in a byte on, if so many are left. */
#define NEAR_BITS		57

/* The interval that entries are compared with, as cells of the block. */
typedef struct matcher
{
	const renc_interval *next;
	const renc_interval *end;
	uint64_t	lo;
	uint64_t	hi;
} block_matcher;

/* Goes on to the next interval; false if there is none that may meet a cell of the block. */
static bool
match_next_decoded(block_matcher *m, const renc_run_block *block)
{
	uint64_t	base = block->separator >> block->width;

	if (m->next == m->end || m->next->lo > block->last)
		return false;
	m->lo = m->next->lo > block->separator ? (m->next->lo >> block->width) - base : 0;
	m->hi = (m->next->hi >> block->width) - base;
	m->next++;
	return true;
}

/* The same as composites lo <= v < end, of at most "limit" cells; none if lo = end. */
static bool
match_decoded_composite(block_matcher *m, const renc_run_block *block, uint64_t limit)
{
	if (!match_next_decoded(m, block) || m->lo >= limit)
		return false;
	m->lo *= block->npages;
	m->hi = m->hi + 1 >= limit || m->hi == UINT64_MAX ? UINT64_MAX : (m->hi + 1) * block->npages;
	return true;
}

/* Where the reading of a block of coding 0 is. */
typedef struct rice_reader
{
	const uint8_t *p;			/* of "bits" */
	uint64_t	bits;			/* high parts that are not read yet */
	uint64_t	before;			/* bits of high parts before these */
	size_t		at;				/* of the next low part */
	uint64_t	lows;			/* sum of those that were read */
	uint32_t	i;				/* the next entry */
} rice_reader;

/*
 * Skips entries that lie before the composite "lo": high part and number of entry i are together
 * where its one stands, so v_i < (that + 1) << low.  Most that a search reads of a block is this.
 */
static void
skip_decoded_rice(const renc_run_block *block, uint64_t lo, rice_reader *r)
{
	const int	low = block->parameter;
	const uint64_t mask = renc_run_low_bits(UINT64_MAX, low);
	const uint64_t upto = lo >> low;
	uint64_t	n = 0;

	for (; r->before + 64 <= upto && block->end - r->p > 8; r->before += 64)
	{
		n += (uint64_t) __builtin_popcountll(r->bits);
		r->p += 8;
		r->bits = renc_run_load(r->p, block->end);
	}
	if (upto - r->before < 64)
	{
		uint64_t	skipped = renc_run_low_bits(r->bits, (int) (upto - r->before));

		n += (uint64_t) __builtin_popcountll(skipped);
		r->bits ^= skipped;
	}
	n = n < block->n ? n : block->n;
	for (; 2 * low <= NEAR_BITS && r->i + 2 <= n; r->i += 2)
	{
		uint64_t	v = renc_load64(block->data + (r->at >> 3)) >> (r->at & 7);

		r->lows += (v & mask) + (v >> low & mask);
		r->at += 2 * (size_t) low;
	}
	for (; r->i < n; r->i++)
	{
		r->lows += renc_load64(block->data + (r->at >> 3)) >> (r->at & 7) & mask;
		r->at += low;
	}
}

static const char *
scan_decoded_rice(const renc_run_block *block, block_matcher *m, renc_run_found *found)
{
	const uint64_t limit = UINT64_MAX / block->npages;
	const uint64_t base = block->separator >> block->width;
	const int	low = block->parameter;
	const uint64_t mask = renc_run_low_bits(UINT64_MAX, low);
	const size_t high = (size_t) block->n * low;
	rice_reader r = {block->data + (high >> 3), 0, UINT64_C(0) - (high & 7), 0, 0, 0};
	int			last = 0;
	uint64_t	cell = 0;
	uint64_t	cell_start = 0;

	if (!match_decoded_composite(m, block, limit))
		return NULL;
	if (high >> 3 >= (size_t) (block->end - block->data))
		return TOO_SHORT;
	r.bits = renc_run_load(r.p, block->end) >> (high & 7) << (high & 7);
	if (block->end - r.p >= 8)
		skip_decoded_rice(block, m->lo, &r);
	for (; r.i < block->n; r.i++)
	{
		uint64_t	v;

		while (r.bits == 0)
		{
			if (block->end - r.p <= 8)
				return TOO_SHORT;
			r.p += 8;
			r.before += 64;
			r.bits = renc_run_load(r.p, block->end);
		}
		r.lows += renc_run_load(block->data + (r.at >> 3), block->end) >> (r.at & 7) & mask;
		r.at += low;
		last = __builtin_ctzll(r.bits);
		v = ((r.before + (uint64_t) last - r.i) << low) + r.lows + r.i;
		r.bits &= r.bits - 1;
		if (v < m->lo)
			continue;
		while (v >= m->hi)
			if (!match_decoded_composite(m, block, limit))
			{
				found->upto = r.i;
				return NULL;
			}
		if (v < m->lo)
			continue;
		if (v - cell_start >= block->npages)
		{
			cell = v / block->npages;
			cell_start = cell * block->npages;
		}
		found->cell[found->n] = base + cell;
		found->page[found->n++] = block->first + (uint32_t) (v - cell_start);
	}
	found->stop = r.p + last / 8 + 1;
	return NULL;
}

typedef struct bit_reader
{
	const uint8_t *data;
	const uint8_t *end;
	size_t		at;
	size_t		limit;
} bit_reader;

static inline bool
load_near(const bit_reader *r, uint64_t *v)
{
	if (r->at + 64 > r->limit)
		return false;
	*v = renc_load64(r->data + (r->at >> 3)) >> (r->at & 7);
	return true;
}

/* Reads up to 63 bits.  Beyond the limit there are zeros. */
static uint64_t
decode_any_bits(bit_reader *r, int n)
{
	uint64_t	v;
	int			shift = (int) (r->at & 7);

	if (r->at >= r->limit)
		return 0;
	v = renc_run_load(r->data + (r->at >> 3), r->end) >> shift;
	if (shift + n > 64 && r->limit - r->at > 64)
		v |= renc_run_load(r->data + (r->at >> 3) + 8, r->end) << (64 - shift);
	r->at += n;
	return renc_run_low_bits(v, n);
}

static inline uint64_t
decode_bits(bit_reader *r, int n)
{
	uint64_t	v;

	if (n > NEAR_BITS || !load_near(r, &v))
		return decode_any_bits(r, n);
	r->at += n;
	return renc_run_low_bits(v, n);
}

/* Counts zeros up to a one; many beyond the limit. */
static size_t
decode_zeros(bit_reader *r)
{
	size_t		zeros = 0;

	while (r->at < r->limit)
	{
		int			shift = (int) (r->at & 7);
		uint64_t	v = renc_run_load(r->data + (r->at >> 3), r->end) >> shift;

		if (v != 0)
		{
			zeros += __builtin_ctzll(v);
			r->at += __builtin_ctzll(v) + 1;
			return zeros;
		}
		zeros += 64 - shift;
		r->at += 64 - shift;
	}
	return SIZE_MAX;
}

/* A number > 0; 0 if there is none.  Short ones are read at once. */
static inline uint64_t
decode_gamma(bit_reader *r)
{
	size_t		high;
	uint64_t	v;

	if (load_near(r, &v))
	{
		high = v == 0 ? 64 : __builtin_ctzll(v);
		if (2 * high + 1 <= NEAR_BITS)
		{
			r->at += 2 * high + 1;
			return UINT64_C(1) << high | renc_run_low_bits(v >> (high + 1), (int) high);
		}
	}
	high = decode_zeros(r);
	return high > 63 ? 0 : UINT64_C(1) << high | decode_bits(r, (int) high);
}

/* Reads the pages of a cell, and keeps them if "keep". */
static inline const char *
decode_cell_pages(bit_reader *r, const renc_run_block *block, uint32_t m, bool keep,
				  renc_run_found *found)
{
	int			bits = m < 3 ? renc_run_page_bits(block->npages) : renc_run_page_parameter(block->npages, m);
	uint64_t	next = 0;

	for (uint32_t i = 0; i < m; i++)
	{
		uint64_t	page = decode_bits(r, bits);

		if (m >= 3)
			page += next + ((uint64_t) decode_zeros(r) << bits);
		if (r->at > r->limit)
			return TOO_SHORT;
		if (page < next || page >= block->npages)
			return "a block has pages that are none of the run, or out of order";
		next = page + 1;
		if (keep)
			found->page[found->n + i] = block->first + (uint32_t) page;
	}
	return NULL;
}

/*
 * From entry i on, skips cells of one page each that lie before "lo", as long as two loads are
 * enough for each of them.  Returns the entry that is next; *cell is that of the one before.  Most
 * that a search reads of a block is this.
 */
static uint32_t
skip_decoded_cells(bit_reader *r, const renc_run_block *block, uint32_t i, uint64_t lo,
				   uint64_t *cell)
{
	const int	k = block->parameter;
	const uint64_t k_mask = renc_run_low_bits(UINT64_MAX, k);
	const int	page_bits = renc_run_page_bits(block->npages);

	for (; i < block->n && r->at + 3 * 64 <= r->limit; i++)
	{
		uint64_t	v = renc_load64(r->data + (r->at >> 3)) >> (r->at & 7);
		int			high = v == 0 ? 64 : __builtin_ctzll(v);
		int			bits = 2 * high + 1 + k;
		uint64_t	next;
		uint64_t	pages;

		if (bits > NEAR_BITS)
			break;
		v >>= high + 1;
		next = *cell + (((UINT64_C(1) << high | renc_run_low_bits(v, high)) - 1) << k) + (v >> high & k_mask) + (i > 0);
		pages = renc_load64(r->data + ((r->at + bits) >> 3)) >> ((r->at + bits) & 7);
		if (next >= lo || (pages & 1) == 0 || renc_run_low_bits(pages >> 1, page_bits) >= block->npages)
			break;
		*cell = next;
		r->at += bits + 1 + page_bits;
	}
	return i;
}

static const char *
scan_decoded_gaps(const renc_run_block *block, block_matcher *m, renc_run_found *found)
{
	const uint64_t base = block->separator >> block->width;
	const int	k = block->parameter;
	bit_reader	r = {block->data, block->end, 0, 0};
	uint64_t	cell = 0;

	r.limit = 8 * (size_t) (block->end - block->data);
	if (!match_next_decoded(m, block))
		return NULL;
	for (uint32_t i = skip_decoded_cells(&r, block, 0, m->lo, &cell); i < block->n;)
	{
		uint64_t	q = decode_gamma(&r);
		uint64_t	size;
		bool		keep;
		const char *wrong;

		cell += ((q - 1) << k) + decode_bits(&r, k) + (i > 0);
		size = decode_gamma(&r);
		if (q == 0 || size == 0)
			return TOO_SHORT;
		if (size > block->n - i)
			return "a block has too many entries";
		while (cell > m->hi)
			if (!match_next_decoded(m, block))
			{
				found->upto = i;
				return NULL;
			}
		keep = cell >= m->lo;
		wrong = decode_cell_pages(&r, block, (uint32_t) size, keep, found);
		if (wrong != NULL)
			return wrong;
		for (uint32_t e = 0; keep && e < size; e++)
			found->cell[found->n++] = base + cell;
		i += (uint32_t) size;
		if (!keep)
			i = skip_decoded_cells(&r, block, i, m->lo, &cell);
	}
	found->stop = r.data + (r.at + 7) / 8;
	return NULL;
}

const char *
renc_run_scan_block(const renc_run_block *block, const renc_interval *interval, size_t n,
					renc_run_found *found)
{
	block_matcher m = {interval, interval + n, 0, 0};

	found->n = 0;
	found->upto = block->n;
	found->stop = block->data;
	return block->coding == CODING_RICE ? scan_decoded_rice(block, &m, found) :
		scan_decoded_gaps(block, &m, found);
}
