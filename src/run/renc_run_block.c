/*
 * renc_run_block.c
 *		The two codings of a block of entries.
 */
#include "renc_run_block.h"

#define TOO_SHORT	"a block ends too early"

/* Composites stay below, so that sums of them do not overflow. */
#define MAX_COMPOSITE	(UINT64_C(1) << 62)

static void
put_bits(uint8_t *data, size_t at, uint64_t v, int n)
{
	uint8_t    *p = data + (at >> 3);
	int			shift = (int) (at & 7);

	renc_store64(p, renc_load64(p) | v << shift);
	if (shift + n > 64)
		p[8] |= (uint8_t) (v >> (64 - shift));
}

static uint64_t
low_bits(uint64_t v, int n)
{
	return v & ((UINT64_C(1) << n) - 1);
}

/* ---- Choice ---- */

/* Bits that gaps of composites take above the lowest "low" ones, and one and two bits higher up. */
static void
rice_high_bits(const renc_run_entry *entry, uint32_t n, uint32_t npages, int low, uint64_t *bits)
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
	rice_high_bits(entry, n, npages, least, high_bits);
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

/* Lists the first entry of each cell, and the end; returns how many cells there are. */
static uint32_t
list_cells(const renc_run_entry *entry, uint32_t n, uint16_t *start)
{
	uint32_t	ncells = 1;

	start[0] = 0;
	for (uint32_t i = 1; i < n; i++)
	{
		start[ncells] = (uint16_t) i;
		ncells += entry[i].cell != entry[i - 1].cell;
	}
	start[ncells] = (uint16_t) n;
	return ncells;
}

/* Entries from i on that are in the cell of entry i. */
static uint32_t
cell_size(const renc_run_entry *entry, uint32_t i, uint32_t n)
{
	uint32_t	end = i + 1;

	while (end < n && entry[end].cell == entry[i].cell)
		end++;
	return end - i;
}

static int
gamma_bits(uint64_t q)
{
	return 2 * renc_run_log2(q) + 1;
}

/* Bits of the pages of a cell, but for the high bits of their gaps if they are coded in order. */
static inline uint64_t
least_pages_bits(uint32_t m, uint32_t npages, int page_bits)
{
	return (uint64_t) m * (m < 3 ? page_bits : renc_run_page_parameter(npages, m) + 1);
}

static uint64_t
cell_pages_bits(const renc_run_entry *entry, uint32_t m, uint32_t npages)
{
	uint64_t	bits = least_pages_bits(m, npages, renc_run_page_bits(npages));
	uint32_t	next = 0;
	int			low;

	if (m < 3)
		return bits;
	low = renc_run_page_parameter(npages, m);
	for (uint32_t i = 0; i < m; i++)
	{
		bits += (entry[i].page - next) >> low;
		next = entry[i].page + 1;
	}
	return bits;
}

/*
 * Coding 1 takes no fewer bits.  The best parameter of a gap of h bits is h: the gap then takes
 * h + 1 bits.
 */
static uint64_t
least_gaps_bits(const renc_run_entry *entry, const uint16_t *start, uint32_t ncells, uint32_t npages)
{
	int			page_bits = renc_run_page_bits(npages);
	uint64_t	bits = 0;
	uint64_t	next = 0;

	for (uint32_t j = 0; j < ncells; j++)
	{
		uint32_t	m = (uint32_t) (start[j + 1] - start[j]);
		uint64_t	cell = entry[start[j]].cell;
		uint64_t	gap = cell - next;

		bits += (gap == 0 ? 0 : renc_run_log2(gap) + 1) + 1 + gamma_bits(m) +
			least_pages_bits(m, npages, page_bits);
		next = cell + 1;
	}
	return bits;
}

int
renc_run_gap_parameter(const uint32_t *gaps, uint64_t total)
{
	uint64_t	below = 0;
	int			k = 0;

	while (k < 63 && 2 * (below += gaps[k]) < total)
		k++;
	return k;
}

static renc_run_code
choose_gaps(const renc_run_entry *entry, const uint16_t *start, uint32_t ncells, uint32_t npages)
{
	renc_run_code code = {CODING_GAPS, 0, 0};
	uint32_t	gaps[64] = {0};
	uint64_t	next = 0;

	for (uint32_t j = 0; j < ncells; j++)
	{
		gaps[renc_run_log2(entry[start[j]].cell - next + 1)]++;
		next = entry[start[j]].cell + 1;
	}
	code.parameter = renc_run_gap_parameter(gaps, ncells);
	next = 0;
	for (uint32_t j = 0; j < ncells; j++)
	{
		uint32_t	m = (uint32_t) (start[j + 1] - start[j]);
		uint64_t	cell = entry[start[j]].cell;

		code.bits += gamma_bits(((cell - next) >> code.parameter) + 1) + code.parameter +
			gamma_bits(m) + cell_pages_bits(entry + start[j], m, npages);
		next = cell + 1;
	}
	return code;
}

renc_run_code
renc_run_choose_code(const renc_run_entry *entry, uint32_t n, uint32_t npages, bool one_coding)
{
	renc_run_code rice = choose_rice(entry, n, npages);
	renc_run_code gaps;
	uint16_t	start[RENC_RUN_MAX_BLOCK + 1];
	uint32_t	ncells;

	if (one_coding && rice.bits != UINT64_MAX)
		return rice;
	ncells = list_cells(entry, n, start);
	if (least_gaps_bits(entry, start, ncells, npages) >= rice.bits)
		return rice;
	gaps = choose_gaps(entry, start, ncells, npages);

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
flush_bits(bit_writer *w)
{
	renc_store64(w->to, renc_load64(w->to) | w->bits);
	w->to += 8;
	w->bits = 0;
}

/* Low parts and high parts lie in different bytes but for one, where both are or'ed. */
static void
write_rice(uint8_t *to, int low, const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	size_t		start = (size_t) n * low;
	bit_writer	lows = {to, 0, 0};
	bit_writer	highs = {to + (start >> 3), 0, (int) (start & 7)};
	uint64_t	next = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	v = entry[i].cell * npages + entry[i].page;
		uint64_t	high = (v - next) >> low;
		uint64_t	rest = low_bits(v - next, low);

		lows.bits |= rest << lows.n;
		lows.n += low;
		if (lows.n >= 64)
		{
			flush_bits(&lows);
			lows.n -= 64;
			lows.bits = lows.n > 0 ? rest >> (low - lows.n) : 0;
		}
		for (high += (uint64_t) highs.n; high >= 64; high -= 64)
			flush_bits(&highs);
		highs.bits |= UINT64_C(1) << high;
		highs.n = (int) high + 1;
		next = v + 1;
	}
	flush_bits(&lows);
	flush_bits(&highs);
}

static size_t
write_gamma(uint8_t *to, size_t at, uint64_t q)
{
	int			high = renc_run_log2(q);

	at += high;
	put_bits(to, at++, 1, 1);
	put_bits(to, at, low_bits(q, high), high);
	return at + high;
}

static size_t
write_cell_pages(uint8_t *to, size_t at, const renc_run_entry *entry, uint32_t m, uint32_t npages)
{
	int			bits = renc_run_page_bits(npages);
	int			low = renc_run_page_parameter(npages, m);
	uint32_t	next = 0;

	at = write_gamma(to, at, m);
	for (uint32_t i = 0; i < m; i++)
	{
		if (m < 3)
		{
			put_bits(to, at, entry[i].page, bits);
			at += bits;
			continue;
		}
		put_bits(to, at, low_bits(entry[i].page - next, low), low);
		at += low + ((entry[i].page - next) >> low);
		put_bits(to, at++, 1, 1);
		next = entry[i].page + 1;
	}
	return at;
}

static void
write_gaps(uint8_t *to, int k, const renc_run_entry *entry, uint32_t n, uint32_t npages)
{
	size_t		at = 0;
	uint64_t	next = 0;

	for (uint32_t i = 0; i < n;)
	{
		uint32_t	m = cell_size(entry, i, n);
		uint64_t	x = entry[i].cell - next;

		at = write_gamma(to, at, (x >> k) + 1);
		put_bits(to, at, low_bits(x, k), k);
		at = write_cell_pages(to, at + k, entry + i, m, npages);
		next = entry[i].cell + 1;
		i += m;
	}
}

void
renc_run_write_block(uint8_t *to, const renc_run_code *code, const renc_run_entry *entry,
					 uint32_t n, uint32_t npages)
{
	if (code->coding == CODING_RICE)
		write_rice(to, code->parameter, entry, n, npages);
	else
		write_gaps(to, code->parameter, entry, n, npages);
}

/* ---- Reading ---- */

/* The interval that entries are compared with, as cells of the block. */
typedef struct matcher
{
	const renc_interval *next;
	const renc_interval *end;
	uint64_t	lo;
	uint64_t	hi;
} block_matcher;

/* Goes on to the next interval; false if there is none. */
static bool
match_next(block_matcher *m, const renc_run_block *block)
{
	uint64_t	base = block->separator >> block->width;

	if (m->next == m->end)
		return false;
	m->lo = m->next->lo > block->separator ? (m->next->lo >> block->width) - base : 0;
	m->hi = (m->next->hi >> block->width) - base;
	m->next++;
	return true;
}

/* The same as composites lo <= v < end, of at most "limit" cells; none if lo = end. */
static bool
match_next_composite(block_matcher *m, const renc_run_block *block, uint64_t limit)
{
	if (!match_next(m, block) || m->lo >= limit)
		return false;
	m->lo *= block->npages;
	m->hi = m->hi + 1 >= limit || m->hi == UINT64_MAX ? UINT64_MAX : (m->hi + 1) * block->npages;
	return true;
}

static const char *
scan_rice(const renc_run_block *block, block_matcher *m, renc_run_found *found)
{
	const uint64_t limit = UINT64_MAX / block->npages;
	const uint64_t base = block->separator >> block->width;
	const int	low = block->parameter;
	const uint64_t mask = (UINT64_C(1) << low) - 1;
	size_t		at = 0;
	size_t		high = (size_t) block->n * low;
	const uint8_t *p;
	uint64_t	bits;
	int			last = 0;
	uint64_t	zeros = UINT64_C(0) - (high & 7);	/* before "bits", and ones */
	uint64_t	lows = 0;
	uint64_t	cell = 0;
	uint64_t	cell_start = 0;

	if (!match_next_composite(m, block, limit))
		return NULL;
	if (high >> 3 >= (size_t) (block->end - block->data))
		return TOO_SHORT;
	p = block->data + (high >> 3);
	bits = renc_run_load(p, block->end) >> (high & 7) << (high & 7);
	for (uint32_t i = 0; i < block->n; i++)
	{
		uint64_t	v;

		while (bits == 0)
		{
			if (block->end - p <= 8)
				return TOO_SHORT;
			p += 8;
			zeros += 64;
			bits = renc_run_load(p, block->end);
		}
		lows += renc_run_load(block->data + (at >> 3), block->end) >> (at & 7) & mask;
		at += low;
		last = __builtin_ctzll(bits);
		v = ((zeros + (uint64_t) last - i) << low) + lows + i;
		bits &= bits - 1;
		if (v < m->lo)
			continue;
		while (v >= m->hi)
			if (!match_next_composite(m, block, limit))
				return NULL;
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
	found->stop = p + last / 8 + 1;
	return NULL;
}

typedef struct bit_reader
{
	const uint8_t *data;
	const uint8_t *end;
	size_t		at;
	size_t		limit;
} bit_reader;

/* As many of the next bits as a load has from anywhere in a byte on, if so many are left. */
#define NEAR_BITS		57

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
read_any_bits(bit_reader *r, int n)
{
	uint64_t	v;
	int			shift = (int) (r->at & 7);

	if (r->at >= r->limit)
		return 0;
	v = renc_run_load(r->data + (r->at >> 3), r->end) >> shift;
	if (shift + n > 64 && r->limit - r->at > 64)
		v |= renc_run_load(r->data + (r->at >> 3) + 8, r->end) << (64 - shift);
	r->at += n;
	return low_bits(v, n);
}

static inline uint64_t
read_bits(bit_reader *r, int n)
{
	uint64_t	v;

	if (n > NEAR_BITS || !load_near(r, &v))
		return read_any_bits(r, n);
	r->at += n;
	return low_bits(v, n);
}

/* Counts zeros up to a one; many beyond the limit. */
static size_t
read_zeros(bit_reader *r)
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
read_gamma(bit_reader *r)
{
	size_t		high;
	uint64_t	v;

	if (load_near(r, &v))
	{
		high = v == 0 ? 64 : __builtin_ctzll(v);
		if (2 * high + 1 <= NEAR_BITS)
		{
			r->at += 2 * high + 1;
			return UINT64_C(1) << high | low_bits(v >> (high + 1), (int) high);
		}
	}
	high = read_zeros(r);
	return high > 63 ? 0 : UINT64_C(1) << high | read_bits(r, (int) high);
}

/* Reads the pages of a cell, and keeps them if "keep". */
static inline const char *
read_cell_pages(bit_reader *r, const renc_run_block *block, uint32_t m, bool keep, renc_run_found *found)
{
	int			bits = m < 3 ? renc_run_page_bits(block->npages) : renc_run_page_parameter(block->npages, m);
	uint64_t	next = 0;

	for (uint32_t i = 0; i < m; i++)
	{
		uint64_t	page = read_bits(r, bits);

		if (m >= 3)
			page += next + ((uint64_t) read_zeros(r) << bits);
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

static const char *
scan_gaps(const renc_run_block *block, block_matcher *m, renc_run_found *found)
{
	const uint64_t base = block->separator >> block->width;
	const int	k = block->parameter;
	bit_reader	r = {block->data, block->end, 0, 0};
	uint64_t	cell = 0;

	r.limit = 8 * (size_t) (block->end - block->data);
	if (!match_next(m, block))
		return NULL;
	for (uint32_t i = 0; i < block->n;)
	{
		uint64_t	q = read_gamma(&r);
		uint64_t	size;
		bool		keep;
		const char *wrong;

		cell += ((q - 1) << k) + read_bits(&r, k) + (i > 0);
		size = read_gamma(&r);
		if (q == 0 || size == 0)
			return TOO_SHORT;
		if (size > block->n - i)
			return "a block has too many entries";
		while (cell > m->hi)
			if (!match_next(m, block))
				return NULL;
		keep = cell >= m->lo;
		wrong = read_cell_pages(&r, block, (uint32_t) size, keep, found);
		if (wrong != NULL)
			return wrong;
		for (uint32_t e = 0; keep && e < size; e++)
			found->cell[found->n++] = base + cell;
		i += (uint32_t) size;
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
	found->stop = block->data;
	return block->coding == CODING_RICE ? scan_rice(block, &m, found) : scan_gaps(block, &m, found);
}

const char *
renc_run_read_block(const renc_run_block *block, renc_run_found *found)
{
	renc_interval all = {block->separator, UINT64_MAX};

	return renc_run_scan_block(block, &all, 1, found);
}
