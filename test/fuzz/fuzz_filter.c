/*
 * fuzz_filter.c
 *		Any bytes as what the filter core reads from pages: here shapes and
 *		windows, in fuzz_stored.c coders; with any query.
 *
 * Two promises are tested.  Whatever passes the checks that a scan makes can
 * be worked with: no access outside it, no endless loop, no undefined
 * behaviour (the sanitizers notice).  And what holds all keys it should hold,
 * whatever else it holds, answers with all ranges that have a key in the
 * query, perhaps more, never less.
 *
 * One entry point for libFuzzer and for the driver in ../unit/test_fuzz.c.
 */
#include "fuzz.h"

#include "renc_zorder.h"
#include "shape_text.h"
#include "window_bits.h"

#define MAX_WINDOWS	48
#define MAX_KEYS	6			/* of a range */

void
fuzz_expect(bool holds, const char *what)
{
	if (!holds)
		fuzz_failed(what);
}

uint8_t
fuzz_take8(fuzz_input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

uint32_t
fuzz_take_below(fuzz_input *in, uint32_t n)
{
	uint32_t	v = fuzz_take8(in);

	return ((uint32_t) fuzz_take8(in) << 8 | v) % n;
}

uint64_t
fuzz_take64(fuzz_input *in)
{
	uint64_t	v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | fuzz_take8(in);
	return v;
}

/* Fills "out" with input, then with what a small generator makes of the last of it. */
void
fuzz_take_bytes(fuzz_input *in, uint8_t *out, size_t n)
{
	uint32_t	state = 1;

	for (size_t i = 0; i < n; i++)
	{
		if (in->size > 0)
		{
			out[i] = fuzz_take8(in);
			state = state * 31 + out[i];
			continue;
		}
		state = state * 1664525 + 1013904223;
		out[i] = (uint8_t) (state >> 24);
	}
}

/* A key: any, near one that there is, or at the ends of the domain. */
uint64_t
fuzz_take_key(fuzz_input *in, const uint64_t *known, size_t nknown)
{
	uint8_t		how = fuzz_take8(in);

	if (how < 128 && nknown > 0)
		return known[fuzz_take_below(in, (uint32_t) nknown)] + (uint64_t) (int64_t) (how % 16 - 8) * (how < 64 ? 1 : UINT64_C(1) << (how % 64));
	if (how < 160)
		return (uint64_t) (int64_t) (int8_t) fuzz_take8(in);
	return fuzz_take64(in) >> (how % 64);
}

/* Sorted disjoint intervals; "interval" has room for 4. */
renc_interval_set
fuzz_take_intervals(fuzz_input *in, const uint64_t *known, size_t nknown, renc_interval *interval)
{
	renc_interval_set set = {interval, 0};
	size_t		n = 1 + fuzz_take8(in) % 4;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	lo = fuzz_take_key(in, known, nknown);
		uint64_t	span = fuzz_take64(in) >> (fuzz_take8(in) % 65 == 64 ? 63 : fuzz_take8(in) % 64);

		if (set.n > 0 && (interval[set.n - 1].hi == UINT64_MAX || lo <= interval[set.n - 1].hi))
			continue;
		interval[set.n].lo = lo;
		interval[set.n].hi = lo + span < lo ? UINT64_MAX : lo + span;
		set.n++;
	}
	return set;
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
fill_group(group *g, fuzz_input *in)
{
	for (int r = 0; r < g->nranges; r++)
	{
		g->nkeys[r] = fuzz_take8(in) % (MAX_KEYS + 1);
		for (size_t i = 0; i < g->nkeys[r]; i++)
		{
			g->key[r][i] = fuzz_take_key(in, g->known, g->nknown);
			g->known[g->nknown++] = g->key[r][i];
			check_positions(g, g->key[r][i]);
		}
		qsort(g->key[r], g->nkeys[r], sizeof(uint64_t), compare_keys);
		renc_window_fill(g->img.bytes, g->width, (unsigned int) r, &g->shape, g->nwindows, g->rows,
				  g->key[r], g->nkeys[r]);
	}
}

/* Ranges with a key in the query. */
static renc_mask
truth(const group *g, const renc_interval_set *query)
{
	renc_mask	result = renc_mask_none();

	for (int r = 0; r < g->nranges; r++)
		for (size_t i = 0; i < g->nkeys[r]; i++)
			if (fuzz_in_query(query, g->key[r][i]))
				renc_mask_set(&result, (unsigned int) r);
	return result;
}

/* A packed shape, mostly one of few wrong bytes. */
static bool
take_shape(fuzz_input *in, renc_shape *shape)
{
	uint8_t		packed[RENC_SHAPE_PACKED_SIZE] = {0};
	uint8_t		again[RENC_SHAPE_PACKED_SIZE];
	char		text[200];
	const char *reason = NULL;
	uint8_t		how = fuzz_take8(in);

	if (how < 64)
		fuzz_take_bytes(in, packed, sizeof(packed));
	else
	{
		uint64_t	levels = fuzz_take64(in) & fuzz_take64(in);

		packed[8] = fuzz_take8(in) % 64;
		packed[9] = how < 160 ? 255 : fuzz_take8(in) % 64;
		packed[10] = 1 + fuzz_take8(in) % RENC_MAX_KW;
		packed[11] = 1 + fuzz_take8(in) % 3;
		if (packed[9] != 255)
		{
			packed[12] = 1 + fuzz_take8(in) % RENC_MAX_KW;
			packed[13] = 1 + fuzz_take8(in) % 3;
		}
		/* Few levels, all below the root. */
		if (how % 4 > 0)
			levels &= fuzz_take64(in);
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
fuzz_program(fuzz_input *in)
{
	group	   *g = &grp;
	renc_interval interval[4];
	renc_interval_set set;
	renc_windows windows;
	renc_mask	candidates = {{fuzz_take64(in) | fuzz_take64(in), fuzz_take64(in) | fuzz_take64(in)}};
	uint8_t		how = fuzz_take8(in);

	if (!take_shape(in, &g->shape))
		return;
	g->width = how & 1 ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH;
	g->nranges = how & 2 ? 8 * g->width : fuzz_take8(in) % (8 * g->width) + 1;
	g->rows = how & 4 ? 510 : 1 + fuzz_take_below(in, 510);
	g->nwindows = 1 + fuzz_take8(in) % MAX_WINDOWS;
	g->img.window_size = (size_t) g->rows * g->width;
	g->img.unreadable = how & 8 ? 1 + fuzz_take8(in) % 8 : 0;
	g->nknown = 0;
	memset(g->img.bytes, 0, g->nwindows * g->img.window_size);
	if (how & 16)
	{
		/* Bits of anything: more candidates, that is all. */
		fuzz_take_bytes(in, g->img.bytes, g->nwindows * g->img.window_size);
		if (how & 32)
			for (size_t i = 0; i < g->nwindows * g->img.window_size; i++)
				g->img.bytes[i] &= (uint8_t) (i * 37);
	}
	fill_group(g, in);

	windows.nwindows = g->nwindows;
	windows.width = g->width;
	windows.window = read_window;
	windows.arg = &g->img;
	set = fuzz_take_intervals(in, g->known, g->nknown, interval);
	renc_program_compile(&program, &g->shape, g->rows, &set);
	if (program.always)
		return;
	fuzz_expect(program.nnodes <= RENC_MAX_NODES && program.ntrees <= RENC_MAX_TREES, "a program is too long");
	{
		renc_mask	asked = candidates;
		renc_mask	result;

		if (g->width == RENC_SLICE_WIDTH)
			asked.w[0] &= 0xFF, asked.w[1] = 0;
		result = renc_program_execute(&program, &windows, asked);
		fuzz_expect(renc_mask_empty(renc_mask_andnot(result, asked)), "a range that nobody asked for");
		fuzz_expect(renc_mask_empty(renc_mask_andnot(renc_mask_and(truth(g, &set), asked), result)),
					"a range is missing");
	}
}

/* Bits of windows, counted by bands and one by one. */
static void
fuzz_window(fuzz_input *in)
{
	static uint8_t matrix[PAYLOAD];
	uint32_t	count;
	uint32_t	rows = 1 + fuzz_take_below(in, 510);
	unsigned int slot = fuzz_take8(in) % RENC_GROUP_RANGES;

	fuzz_take_bytes(in, matrix, (size_t) rows * RENC_MATRIX_WIDTH);
	count = renc_band_count_bits(matrix + (size_t) (slot / 8) * rows, rows, (int) slot % 8);
	for (uint32_t r = 0; r < rows; r++)
		count -= window_test(matrix, rows, r, slot);
	fuzz_expect(count == 0, "counting");
}

void
fuzz_filter(const uint8_t *data, size_t size)
{
	fuzz_input		in = {data, size};

	switch (fuzz_take8(&in) % 7)
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
			fuzz_run(&in);
			break;
		default:
			fuzz_strings(&in);
			break;
	}
}
