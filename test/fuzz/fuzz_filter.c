/*
 * fuzz_filter.c
 *		Any bytes as what the filter core reads from pages: shapes, windows,
 *		dictionaries, coders of strings, with any query.
 *
 * Two promises are tested.  Whatever passes the checks that a scan makes can
 * be worked with: no access outside it, no endless loop, no undefined
 * behaviour (the sanitizers notice).  And what holds all keys it should hold,
 * whatever else it holds, answers with all ranges that have a key in the
 * query, perhaps more, never less.
 *
 * One entry point for libFuzzer and for the driver in main.c.
 */
#include "fuzz.h"

#include "renc_dict.h"
#include "renc_strings.h"
#include "renc_zorder.h"

#define PAYLOAD		8160
#define MAX_WINDOWS	48
#define MAX_KEYS	6			/* of a range */

void
fuzz_expect(bool holds, const char *what)
{
	if (!holds)
		fuzz_failed(what);
}

/* What is left of the input; zeros when there is nothing left. */
typedef struct input
{
	const uint8_t *data;
	size_t		size;
} input;

static uint8_t
take8(input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static uint32_t
take_below(input *in, uint32_t n)
{
	uint32_t	v = take8(in);

	return ((uint32_t) take8(in) << 8 | v) % n;
}

static uint64_t
take64(input *in)
{
	uint64_t	v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | take8(in);
	return v;
}

/* Fills "out" with input, then with what a small generator makes of the last of it. */
static void
take_bytes(input *in, uint8_t *out, size_t n)
{
	uint32_t	state = 1;

	for (size_t i = 0; i < n; i++)
	{
		if (in->size > 0)
		{
			out[i] = take8(in);
			state = state * 31 + out[i];
			continue;
		}
		state = state * 1664525 + 1013904223;
		out[i] = (uint8_t) (state >> 24);
	}
}

/* A key: any, near one that there is, or at the ends of the domain. */
static uint64_t
take_key(input *in, const uint64_t *known, size_t nknown)
{
	uint8_t		how = take8(in);

	if (how < 128 && nknown > 0)
		return known[take_below(in, (uint32_t) nknown)] + (uint64_t) (int64_t) (how % 16 - 8) * (how < 64 ? 1 : UINT64_C(1) << (how % 64));
	if (how < 160)
		return (uint64_t) (int64_t) (int8_t) take8(in);
	return take64(in) >> (how % 64);
}

/* Sorted disjoint intervals; "interval" has room for 4. */
static renc_interval_set
take_intervals(input *in, const uint64_t *known, size_t nknown, renc_interval *interval)
{
	renc_interval_set set = {interval, 0};
	size_t		n = 1 + take8(in) % 4;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	lo = take_key(in, known, nknown);
		uint64_t	span = take64(in) >> (take8(in) % 65 == 64 ? 63 : take8(in) % 64);

		if (set.n > 0 && (interval[set.n - 1].hi == UINT64_MAX || lo <= interval[set.n - 1].hi))
			continue;
		interval[set.n].lo = lo;
		interval[set.n].hi = lo + span < lo ? UINT64_MAX : lo + span;
		set.n++;
	}
	return set;
}

static bool
in_set(const renc_query *query, uint64_t key)
{
	return query->overlap(query->arg, key, key) != RENC_DISJOINT;
}

/* Windows in memory; some cannot be read. */
typedef struct image
{
	uint8_t		bytes[MAX_WINDOWS * PAYLOAD];
	size_t		window_size;
	uint32_t	unreadable;		/* every so many windows; 0: none */
} image;

static const uint8_t *
read_window(void *arg, uint32_t window)
{
	const image *img = (const image *) arg;

	if (img->unreadable > 0 && window % img->unreadable == 0)
		return NULL;
	return img->bytes + window * img->window_size;
}

/* A group: its keys, in an image that may have any other bits, too. */
typedef struct group
{
	renc_shape	shape;
	uint32_t	nwindows;
	uint32_t	rows;
	int			width;
	int			nranges;
	size_t		nkeys[RENC_GROUP_RANGES];
	uint64_t	key[RENC_GROUP_RANGES][MAX_KEYS];
	uint64_t	known[RENC_GROUP_RANGES * MAX_KEYS];
	size_t		nknown;
	image		img;
} group;

static group grp;
static renc_program program;

static int
compare_keys(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

/* Positions must lie in the image, for any key. */
static void
check_positions(const group *g, uint64_t key)
{
	renc_position position[RENC_MAX_POSITIONS];
	int			n = renc_shape_positions(&g->shape, key, g->nwindows, g->rows, position);

	fuzz_expect(n == renc_shape_nbits(&g->shape) && n <= RENC_MAX_POSITIONS, "number of positions");
	for (int i = 0; i < n; i++)
		fuzz_expect(position[i].window < g->nwindows && position[i].row < g->rows, "a position outside the filter");
}

static void
fill_group(group *g, input *in)
{
	for (int r = 0; r < g->nranges; r++)
	{
		g->nkeys[r] = take8(in) % (MAX_KEYS + 1);
		for (size_t i = 0; i < g->nkeys[r]; i++)
		{
			g->key[r][i] = take_key(in, g->known, g->nknown);
			g->known[g->nknown++] = g->key[r][i];
			check_positions(g, g->key[r][i]);
		}
		qsort(g->key[r], g->nkeys[r], sizeof(uint64_t), compare_keys);
		renc_fill(g->img.bytes, g->width, (unsigned int) r, &g->shape, g->nwindows, g->rows,
				  g->key[r], g->nkeys[r]);
	}
}

/* Ranges with a key in the query. */
static renc_mask
truth(const group *g, const renc_query *query)
{
	renc_mask	result = renc_mask_none();

	for (int r = 0; r < g->nranges; r++)
		for (size_t i = 0; i < g->nkeys[r]; i++)
			if (in_set(query, g->key[r][i]))
				renc_mask_set(&result, (unsigned int) r);
	return result;
}

/* A packed shape, mostly one of few wrong bytes. */
static bool
take_shape(input *in, renc_shape *shape)
{
	uint8_t		packed[RENC_SHAPE_PACKED_SIZE] = {0};
	uint8_t		again[RENC_SHAPE_PACKED_SIZE];
	char		text[200];
	const char *reason = NULL;
	uint8_t		how = take8(in);

	if (how < 64)
		take_bytes(in, packed, sizeof(packed));
	else
	{
		uint64_t	levels = take64(in) & take64(in);

		packed[8] = take8(in) % 64;
		packed[9] = how < 160 ? 255 : take8(in) % 64;
		packed[10] = 1 + take8(in) % RENC_MAX_KW;
		packed[11] = 1 + take8(in) % 3;
		if (packed[9] != 255)
		{
			packed[12] = 1 + take8(in) % RENC_MAX_KW;
			packed[13] = 1 + take8(in) % 3;
		}
		/* Few levels, all below the root. */
		if (how % 4 > 0)
			levels &= take64(in);
		if (packed[8] > 0)
			levels &= ~UINT64_C(0) << packed[8];
		renc_store64(packed, levels);
	}
	if (!renc_shape_unpack(packed, shape, &reason))
	{
		fuzz_expect(reason != NULL, "a shape is refused without a reason");
		return false;
	}
	fuzz_expect(renc_shape_valid(shape, NULL), "an invalid shape was unpacked");
	renc_shape_pack(shape, again);
	fuzz_expect(memcmp(packed, again, sizeof(packed)) == 0, "a shape is packed differently");
	fuzz_expect(renc_shape_describe(shape, text, sizeof(text)) > 0, "a shape has no description");
	return true;
}

static void
fuzz_program(input *in)
{
	group	   *g = &grp;
	renc_interval interval[4];
	renc_interval_set set;
	renc_box	box[3];
	renc_box_set boxes = {box, 0};
	renc_query	query;
	renc_windows windows;
	renc_mask	candidates = {{take64(in) | take64(in), take64(in) | take64(in)}};
	uint8_t		how = take8(in);

	if (!take_shape(in, &g->shape))
		return;
	g->width = how & 1 ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH;
	g->nranges = how & 2 ? 8 * g->width : take8(in) % (8 * g->width) + 1;
	g->rows = how & 4 ? 510 : 1 + take_below(in, 510);
	g->nwindows = 1 + take8(in) % MAX_WINDOWS;
	g->img.window_size = (size_t) g->rows * g->width;
	g->img.unreadable = how & 8 ? 1 + take8(in) % 8 : 0;
	g->nknown = 0;
	memset(g->img.bytes, 0, g->nwindows * g->img.window_size);
	if (how & 16)
	{
		/* Bits of anything: more candidates, that is all. */
		take_bytes(in, g->img.bytes, g->nwindows * g->img.window_size);
		if (how & 32)
			for (size_t i = 0; i < g->nwindows * g->img.window_size; i++)
				g->img.bytes[i] &= (uint8_t) (i * 37);
	}
	fill_group(g, in);

	windows.nwindows = g->nwindows;
	windows.width = g->width;
	windows.window = read_window;
	windows.arg = &g->img;
	if (how < 224)
	{
		set = take_intervals(in, g->known, g->nknown, interval);
		query = renc_query_intervals(&set);
	}
	else
	{
		/* Keys as those of points, and boxes around some of them. */
		for (boxes.n = 0; boxes.n < (size_t) 1 + how % 3; boxes.n++)
		{
			renc_box   *b = &box[boxes.n];
			uint64_t	corner = take_key(in, g->known, g->nknown);

			renc_zorder_split(corner, &b->xlo, &b->ylo);
			b->xhi = b->xlo + (uint32_t) (take64(in) >> (32 + take8(in) % 32));
			b->yhi = b->ylo + (uint32_t) (take64(in) >> (32 + take8(in) % 32));
			if (b->xhi < b->xlo)
				b->xhi = UINT32_MAX;
			if (b->yhi < b->ylo)
				b->yhi = UINT32_MAX;
		}
		boxes.n = renc_box_set_prepare(box, boxes.n);
		query = renc_query_boxes(&boxes);
	}
	renc_program_compile(&program, &g->shape, g->rows, &query);
	if (program.always)
		return;
	fuzz_expect(program.nnodes <= RENC_MAX_NODES && program.ntrees <= RENC_MAX_TREES, "a program is too long");
	{
		renc_mask	asked = candidates;
		renc_mask	result;

		if (g->width == RENC_SLICE_WIDTH)
			asked.w[0] &= 0xFF, asked.w[1] = 0;
		result = renc_program_run(&program, &windows, asked);
		fuzz_expect(renc_mask_empty(renc_mask_andnot(result, asked)), "a range that nobody asked for");
		fuzz_expect(renc_mask_empty(renc_mask_andnot(renc_mask_and(truth(g, &query), asked), result)),
					"a range is missing");
	}
}

/* Bit operations on windows against one bit at a time. */
static void
fuzz_window(input *in)
{
	static uint8_t matrix[PAYLOAD];
	static uint8_t slice[510];
	uint32_t	counts[RENC_GROUP_RANGES] = {0};
	uint32_t	rows = 1 + take_below(in, 510);
	unsigned int slice_no = take8(in) % RENC_GROUP_SLICES;
	unsigned int slot = take8(in) % RENC_GROUP_RANGES;
	uint32_t	row = take_below(in, rows);
	renc_mask	gone = {{take64(in), take64(in)}};
	bool		was;
	bool		expected;

	take_bytes(in, matrix, (size_t) rows * RENC_MATRIX_WIDTH);
	take_bytes(in, slice, rows);
	was = renc_window_test(matrix, RENC_MATRIX_WIDTH, row, slot);
	expected = was || (slot / 8 == slice_no && renc_window_test(slice, RENC_SLICE_WIDTH, row, slot % 8));
	renc_window_interleave(matrix, slice, slice_no, rows);
	fuzz_expect(renc_window_test(matrix, RENC_MATRIX_WIDTH, row, slot) == expected, "interleaving");
	(void) renc_window_clear(matrix, RENC_MATRIX_WIDTH, rows, gone);
	expected = expected && !renc_mask_test(gone, slot);
	fuzz_expect(renc_window_test(matrix, RENC_MATRIX_WIDTH, row, slot) == expected, "clearing");
	renc_window_count(matrix, RENC_MATRIX_WIDTH, rows, counts);
	for (uint32_t r = 0; r < rows; r++)
		counts[slot] -= renc_window_test(matrix, RENC_MATRIX_WIDTH, r, slot);
	fuzz_expect(counts[slot] == 0, "counting");
}

/*
 * A data page of any bytes.  If its counts are good, nothing goes wrong; if its
 * keys are where they should be, too, the answer is that of all its entries.
 */
static void
fuzz_dict_page(input *in)
{
	static uint8_t page[PAYLOAD];
	renc_interval interval[4];
	renc_interval_set set;
	renc_query	query;
	renc_mask	found;
	renc_mask	expected = renc_mask_none();
	const char *reason = NULL;
	uint64_t	known[8];
	uint8_t		how = take8(in);
	int			width = how & 1 ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH;
	size_t		payload = how & 2 ? PAYLOAD : 64 + take_below(in, PAYLOAD - 64 + 1);
	uint32_t	n;
	bool		good;

	take_bytes(in, page, payload);
	if (how & 4)
	{
		/* Counts and an order that are mostly right. */
		uint32_t	capacity = renc_dict_capacity(payload, width);
		uint32_t	entries = take_below(in, capacity + 2);
		uint32_t	sorted = take_below(in, entries + 1);
		uint64_t	key = take64(in) >> (how % 64);

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
	set = take_intervals(in, known, 8, interval);
	query = renc_query_intervals(&set);
	found = renc_dict_probe(page, payload, width, &query);
	for (uint32_t i = 0; i < n; i++)
	{
		renc_mask	mask;

		if (in_set(&query, renc_dict_entry(page, payload, width, i, &mask)))
			expected = renc_mask_or(expected, mask);
	}
	if (good)
		fuzz_expect(renc_mask_empty(renc_mask_andnot(expected, found)) &&
					renc_mask_empty(renc_mask_andnot(found, expected)), "a dictionary answers wrongly");
	(void) renc_dict_nbits(page, payload, width);

	/* Writing keeps a good page good, and the key is found then. */
	for (int i = 0; i < 4; i++)
	{
		uint64_t	key = take_key(in, known, 8);
		unsigned int slot = take8(in) % (8 * (unsigned int) width);
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
static void
fuzz_fence(input *in)
{
	static uint8_t page[PAYLOAD];
	renc_interval interval[4];
	renc_interval_set set;
	renc_query	query;
	const char *reason = NULL;
	uint64_t	known[4];
	uint8_t		how = take8(in);
	uint32_t	npages = 1 + take_below(in, renc_dict_max_pages(PAYLOAD) + 20);
	uint32_t	route;
	uint64_t	key;
	uint64_t	lo;
	uint64_t	hi;

	take_bytes(in, page, PAYLOAD);
	if (how & 1)
		renc_store64(page, npages);
	if (how & 2)
	{
		key = take64(in) >> 16;
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
	key = take_key(in, known, 4);
	route = renc_dict_route(page, key);
	fuzz_expect(route < npages, "a key has no page");
	set = take_intervals(in, known, 4, interval);
	query = renc_query_intervals(&set);
	for (uint32_t p = renc_dict_route(page, query.hull_lo); p <= renc_dict_route(page, query.hull_hi) && p < npages; p++)
		(void) renc_dict_page_meets(page, npages, p, &query);
	if (!renc_dict_check_fence_keys(page, &reason))
		return;
	renc_dict_page_bounds(page, npages, route, &lo, &hi);
	fuzz_expect(lo <= key && key <= hi, "a key has the wrong page");
	if (in_set(&query, key))
		fuzz_expect(renc_dict_page_meets(page, npages, route, &query) &&
					route >= renc_dict_route(page, query.hull_lo) && route <= renc_dict_route(page, query.hull_hi),
					"a page is left out");
}

/* Strings with much in common, now and then. */
static size_t
take_string(input *in, uint8_t *s, size_t most)
{
	size_t		n = take_below(in, (uint32_t) most + 1);

	if (take8(in) % 4 > 0)
		n %= 24;
	take_bytes(in, s, n);
	if (take8(in) % 2)
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
check_strings(input *in, const uint8_t *bytes, size_t size, const renc_string *sample, int n,
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
static void
fuzz_strings(input *in)
{
	static uint64_t aligned[8192];
	static uint8_t text[64][400];
	renc_string sample[64];
	uint8_t    *bytes = (uint8_t *) aligned;
	size_t		size = take_below(in, sizeof(aligned));
	uint8_t		how = take8(in);
	int			n = 0;

	if (how < 32)
		take_bytes(in, bytes, size);
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
		size = renc_strings_train(sample, (size_t) n, bytes, 1024 + take_below(in, 30000));
		if (size == 0)
			return;
		fuzz_expect(renc_strings_valid(bytes, size), "a trained coder is not valid");
	}
	if (how >= 64)
	{
		/* In the fixed part, the offsets and lengths behind it, or anywhere. */
		for (int i = 0; i < 1 + how % 4; i++)
		{
			uint8_t		where = take8(in) % 3;
			size_t		at = where == 0 ? take_below(in, 560) :
				where == 1 ? 556 + take_below(in, (uint32_t) (7 * n + 8)) :
				take_below(in, (uint32_t) size);

			bytes[at % size] ^= take8(in);
		}
		if (take8(in) % 8 == 0)
			size -= take_below(in, (uint32_t) size);
	}
	check_strings(in, bytes, size, sample, how < 32 ? 0 : n, how >= 32 && how < 64);
}

void
fuzz_filter(const uint8_t *data, size_t size)
{
	input		in = {data, size};

	switch (take8(&in) % 8)
	{
		case 0:
		case 1:
		case 2:
			fuzz_program(&in);
			break;
		case 3:
			fuzz_window(&in);
			break;
		case 4:
			fuzz_dict_page(&in);
			break;
		case 5:
			fuzz_fence(&in);
			break;
		default:
			fuzz_strings(&in);
			break;
	}
}
