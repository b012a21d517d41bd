/*
 * testlib.c
 *		What the unit programs share.
 */
#include "testlib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int	ntests;
static int	nfailed;

void
tap_start(int argc, char **argv, const char *program)
{
	uint64_t	seed;

	if (argc > 1 && argv[1][0] != '\0')
		seed = strtoull(argv[1], NULL, 10);
	else
		seed = ((uint64_t) time(NULL) * 1000003 + (uint64_t) getpid()) % 1000000000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	rnd_seed(seed);
	printf("# %s, seed %llu\n", program, (unsigned long long) seed);
}

bool
tap_ok(bool pass, const char *fmt,...)
{
	va_list		args;

	ntests++;
	if (!pass)
		nfailed++;
	printf("%s %d - ", pass ? "ok" : "not ok", ntests);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	return pass;
}

void
tap_diag(const char *fmt,...)
{
	va_list		args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

int
tap_finish(void)
{
	printf("1..%d\n", ntests);
	return nfailed == 0 && ntests > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

renc_mask
true_ranges(const renc_keys *ranges, int nranges, uint64_t lo, uint64_t hi)
{
	renc_mask	m = renc_mask_none();

	for (int i = 0; i < nranges; i++)
		if (keys_meet(ranges[i].key, ranges[i].n, lo, hi))
			renc_mask_set(&m, i);
	return m;
}

static uint64_t
random_levels(int first, int last)
{
	uint64_t	levels = 0;

	for (int l = first; l <= last; l++)
		if (rnd_below(2) == 0)
			levels |= RENC_LEVEL_BIT(l);
	return levels != 0 ? levels : RENC_LEVEL_BIT(first + (int) rnd_below(last - first + 1));
}

static void
random_stage(renc_stage *st, int root, int first, int last)
{
	st->root = (uint8_t) root;
	st->levels = random_levels(first > root ? first : root + 1, last);
	st->kw = (uint8_t) (1 + rnd_below(4));
	st->kr = (uint8_t) (1 + rnd_below(3));
}

void
random_shape(renc_shape *shape, int first, int last)
{
	do
	{
		int			root = rnd_below(3) == 0 ? 0 : first - 1 + (int) rnd_below(3);

		memset(shape, 0, sizeof(*shape));
		shape->nstages = 1 + (int) rnd_below(2);
		if (shape->nstages == 1)
			random_stage(&shape->stage[0], root, first, last);
		else
		{
			int			middle = first + 2 + (int) rnd_below(last - first - 3);

			random_stage(&shape->stage[0], root, first, middle);
			random_stage(&shape->stage[1],
						  middle + (int) rnd_below(last - middle), first, last);
		}
	} while (!renc_shape_valid(shape, NULL));
}

renc_shape
make_shape(int root, int kw, int kr, int deepest, int gap, int nlevels)
{
	renc_shape	shape;

	memset(&shape, 0, sizeof(shape));
	shape.nstages = 1;
	shape.stage[0].root = (uint8_t) root;
	shape.stage[0].kw = (uint8_t) kw;
	shape.stage[0].kr = (uint8_t) kr;
	for (int i = 0; i < nlevels && deepest - i * gap > root; i++)
		shape.stage[0].levels |= RENC_LEVEL_BIT(deepest - i * gap);
	return shape;
}

test_filter
filter_new(uint32_t nwindows, uint32_t rows, int width)
{
	test_filter f;

	f.nwindows = nwindows;
	f.rows = rows;
	f.width = width;
	f.image = (uint8_t *) test_alloc(renc_image_size(nwindows, rows, width));
	return f;
}

void
filter_free(test_filter *f)
{
	free(f->image);
	f->image = NULL;
}

size_t
filter_size(const test_filter *f)
{
	return renc_image_size(f->nwindows, f->rows, f->width);
}

void
filter_fill(test_filter *f, const renc_shape *shape,
			const renc_keys *ranges, int nranges)
{
	for (int i = 0; i < nranges; i++)
		renc_window_fill(f->image, f->width, i, shape, f->nwindows, f->rows,
				  ranges[i].key, ranges[i].n);
}

static const uint8_t *
filter_window(void *arg, uint32_t window)
{
	const test_filter *f = (const test_filter *) arg;

	return f->image + (size_t) window * f->rows * f->width;
}

renc_windows
filter_windows(const test_filter *f)
{
	renc_windows w;

	w.nwindows = f->nwindows;
	w.width = f->width;
	w.window = filter_window;
	w.arg = (void *) f;
	return w;
}

renc_trial *
trial_room(renc_trial *old)
{
	free(old);
	return (renc_trial *) test_alloc(renc_trial_size());
}

size_t		counted;
size_t		most_counted;

void *
count_alloc(size_t size)
{
	size_t	   *memory = malloc(size + 16);

	memory[0] = size;
	counted += size;
	if (counted > most_counted)
		most_counted = counted;
	return (char *) memory + 16;
}

void
count_release(void *memory)
{
	size_t	   *begin = (size_t *) ((char *) memory - 16);

	counted -= begin[0];
	free(begin);
}
