/*
 * format_filter_probe.c
 *		Filters: probing a matrix with the programs of a query.
 */
#include "format/format_filter.h"

#include "filter/renc_program.h"

/* Programs that are kept (90 kB each). */
#define MAX_PROGRAMS	256

/* Pages of a matrix that are kept while it is probed: 1 MB. */
#define KEPT_PAGES		128

/* Intervals that a program may hold even if it must give up levels. */
#define FEW_PARTS	8

/* Sets of more of them than this give up levels rather than be cut finer. */
#define MANY_PARTS	256

/*
 * The programs of a query for one shape.  A set of intervals that is too much
 * for one program is cut into several, each for some of them, whose results are
 * to be ORed.
 */
typedef struct FilterPrograms
{
	uint8		packed[RENC_SHAPE_PACKED_SIZE];
	bool		always;			/* too much to test: every range may match */
	double		visits;			/* windows that they look at, at most */
	int			n;
	size_t		capacity;
	renc_program **program;
	struct FilterPrograms *next;	/* of another shape */
} FilterPrograms;

RencoderProbe *
rencoder_filter_probe_begin(Relation index, const renc_interval_set *set)
{
	RencoderProbe *probe = palloc0(sizeof(RencoderProbe));

	probe->index = index;
	probe->set = set;
	probe->buffer = InvalidBuffer;
	return probe;
}

static void
release_probe_page(RencoderProbe *probe)
{
	if (BufferIsValid(probe->buffer))
		UnlockReleaseBuffer(probe->buffer);
	probe->buffer = InvalidBuffer;
}

/* Leaves no program. */
static void
clear_probe_programs(FilterPrograms *programs)
{
	for (int i = 0; i < programs->n; i++)
		pfree(programs->program[i]);
	if (programs->program)
		pfree(programs->program);
	programs->program = NULL;
	programs->n = programs->capacity = 0;
	programs->visits = 0;
}

static void
add_probe_program(FilterPrograms *programs, renc_program *program)
{
	programs->program = rencoder_list_with_room(programs->program, programs->n, &programs->capacity,
												sizeof(renc_program *));
	programs->program[programs->n++] = program;
	for (int i = 0; i < program->ntrees; i++)
		programs->visits += program->shape.stage[program->tree[i].stage].kw;
}

/*
 * Compiles the program of some intervals, from "first" on; as many as fit, at most
 * *n, which becomes their number.
 */
static renc_program *
compile_some_probe_parts(const RencoderProbe *probe, const renc_shape *shape, size_t first,
						 size_t *n)
{
	size_t		few = probe->set->n > MANY_PARTS ? *n : FEW_PARTS;
	renc_program *program = palloc(sizeof(renc_program));

	for (;;)
	{
		renc_interval_set some = {probe->set->interval + first, *n};

		renc_program_compile(program, shape, RENCODER_ROWS, &some);
		if (*n == 1 ||
			(!program->always && (program->complete || *n <= few)))
			return program;
		*n /= 2;
	}
}

/* Compiles the query for a shape. */
static void
compile_probe_programs(const RencoderProbe *probe, const renc_shape *shape,
					   FilterPrograms *programs)
{
	size_t		parts = probe->set->n;
	size_t		guess = RENC_MAX_TREES / shape->nstages;
	size_t		first = 0;

	while (first < parts && !programs->always)
	{
		size_t		n = Min(guess, parts - first);
		renc_program *program;

		CHECK_FOR_INTERRUPTS();
		program = compile_some_probe_parts(probe, shape, first, &n);
		add_probe_program(programs, program);
		programs->always = program->always || programs->n > MAX_PROGRAMS;
		first += n;
		guess = Min(guess, 2 * n);
	}
	if (programs->always)
		clear_probe_programs(programs);
}

/* Forgets the programs of some shapes, NULL being none. */
static void
forget_probe_programs(FilterPrograms *programs)
{
	while (programs != NULL)
	{
		FilterPrograms *next = programs->next;

		clear_probe_programs(programs);
		pfree(programs);
		programs = next;
	}
}

void
rencoder_filter_probe_end(RencoderProbe *probe)
{
	release_probe_page(probe);
	forget_probe_programs(probe->programs);
	pfree(probe);
}

/*
 * The programs for a packed shape, valid until the next call; NULL with fault
 * set if it is not a shape.
 */
static const FilterPrograms *
find_probe_programs(RencoderProbe *probe, const uint8 *packed, BlockNumber blkno)
{
	FilterPrograms *programs;
	renc_shape	shape;
	int			total = 0;

	for (programs = probe->programs; programs != NULL; programs = programs->next)
	{
		if (memcmp(programs->packed, packed, RENC_SHAPE_PACKED_SIZE) == 0)
			return programs;
		total += programs->n + 1;
	}
	if (!renc_shape_unpack(packed, &shape, NULL))
	{
		probe->fault = "The shape of a filter is not valid.";
		probe->fault_blkno = blkno;
		return NULL;
	}
	programs = palloc0(sizeof(FilterPrograms));
	memcpy(programs->packed, packed, RENC_SHAPE_PACKED_SIZE);
	compile_probe_programs(probe, &shape, programs);
	if (total + programs->n > MAX_PROGRAMS)
		forget_probe_programs(probe->programs);
	else
		programs->next = probe->programs;
	probe->programs = programs;
	return programs;
}

typedef struct window_source
{
	RencoderProbe *probe;
	const RencoderMatrixEntry *entry;
	uint8	   *kept[KEPT_PAGES];	/* copies of its first pages, if they are
									 * kept */
	bool		keeps;
} window_source;

/* Reads page i of the matrix, which is share-locked then; false, with fault set: it is not of the type. */
static bool
read_probe_window_page(RencoderProbe *probe, const RencoderMatrixEntry *entry, uint32 i)
{
	BlockNumber blkno = entry->matrix.start + i;
	const char *fault;

	/* Windows of a slice share pages: the page may still be at hand. */
	if (BufferIsValid(probe->buffer) && probe->blkno == blkno)
		return true;
	release_probe_page(probe);
	probe->npages++;
	probe->blkno = blkno;
	probe->buffer = rencoder_page_try_read(probe->index, blkno, RENCODER_PAGE_WINDOWS, &fault);
	if (BufferIsValid(probe->buffer))
		return true;
	probe->fault = fault;
	probe->fault_blkno = blkno;
	return false;
}

/*
 * A window, of a page or a copy.  Windows never change, and one that was taken away shows in the
 * catalog's version (INV-7).
 */
static const uint8_t *
read_window(void *arg, uint32_t window)
{
	window_source *source = (window_source *) arg;
	int			width = (int) source->entry->config.width;
	uint32		i = window / WINDOWS_PER_PAGE(width);
	size_t		offset = (window % WINDOWS_PER_PAGE(width)) * WINDOW_SIZE(width);
	bool		keeps = source->keeps && i < KEPT_PAGES;
	const uint8 *payload;

	if (keeps && source->kept[i] != NULL)
		return source->kept[i] + offset;
	if (!read_probe_window_page(source->probe, source->entry, i))
		return NULL;
	payload = (const uint8 *) RencoderPageGetPayload(BufferGetPage(source->probe->buffer));
	if (!keeps)
		return payload + offset;
	source->kept[i] = palloc(RENCODER_PAYLOAD_SIZE);
	memcpy(source->kept[i], payload, RENCODER_PAYLOAD_SIZE);
	release_probe_page(source->probe);
	return source->kept[i] + offset;
}

renc_mask
rencoder_filter_probe(RencoderProbe *probe, const RencoderMatrixEntry *entry, renc_mask candidates)
{
	window_source source = {.probe = probe,.entry = entry};
	renc_windows windows;
	const FilterPrograms *programs;
	renc_mask	result = renc_mask_none();

	if (!rencoder_is_configured(&entry->config))
		return candidates;
	programs = find_probe_programs(probe, entry->config.shape, entry->matrix.start);
	if (programs == NULL || programs->always)
		return candidates;
	windows.nwindows = entry->config.nwindows;
	windows.width = (int) entry->config.width;
	windows.window = read_window;
	windows.arg = &source;

	/* Of v windows drawn from n pages, about v^2 / 2n pairs are on one page. */
	source.keeps = programs->visits * programs->visits > rencoder_filter_npages(&entry->config);
	for (int i = 0; i < programs->n; i++)
	{
		/* Ranges that are in the result already need no further test. */
		renc_mask	left = renc_mask_andnot(candidates, result);

		if (renc_mask_empty(left))
			break;
		result = renc_mask_or(result, renc_program_execute(programs->program[i], &windows, left));
	}
	release_probe_page(probe);
	for (int i = 0; i < KEPT_PAGES && source.keeps; i++)
	{
		if (source.kept[i] != NULL)
			pfree(source.kept[i]);
	}
	return result;
}
