/*
 * format_filter_probe.c
 *		Filters: probing a slab with the programs of a query.
 */
#include "format/format_filter_work.h"

#include "filter/renc_program.h"

/* Shapes whose programs are kept, and programs kept in all (90 kB each). */
#define MAX_SHAPES		4
#define MAX_PROGRAMS	256

/* Intervals or boxes that a program may hold even if it must give up levels. */
#define FEW_PARTS	8

/* Sets of more of them than this give up levels rather than be cut finer. */
#define MANY_PARTS	256

/*
 * The programs of a query for one shape.  A set of intervals or boxes that is
 * too much for one program is cut into several, each for some of them, whose
 * results are to be ORed.
 */
typedef struct FilterPrograms
{
	uint8		packed[RENC_SHAPE_PACKED_SIZE];
	bool		always;			/* too much to test: every range may match */
	double		visits;			/* windows that they look at, at most */
	int			n;
	int			capacity;
	renc_program **program;
} FilterPrograms;

/* Compiled programs, the most recently used shape first. */
struct RencoderProbeState
{
	FilterPrograms *programs[MAX_SHAPES];
};

/* Leaves no program. */
static void
clear_programs(FilterPrograms *programs)
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
add_program(FilterPrograms *programs, renc_program *program)
{
	if (programs->n == programs->capacity)
	{
		programs->capacity = Max(1, 2 * programs->capacity);
		programs->program = programs->program == NULL ?
			palloc(programs->capacity * sizeof(renc_program *)) :
			repalloc(programs->program, programs->capacity * sizeof(renc_program *));
	}
	programs->program[programs->n++] = program;
	for (int i = 0; i < program->ntrees; i++)
		programs->visits += program->shape.stage[program->tree[i].stage].kw;
}

/* Intervals or boxes of the query. */
static size_t
count_parts(const RencoderProbe *probe)
{
	return probe->set != NULL ? probe->set->n : probe->boxes->n;
}

/* Compiles the program of n parts of the query, from "first" on. */
static void
compile_parts(const RencoderProbe *probe, const renc_shape *shape, size_t first,
			  size_t n, renc_program *program)
{
	renc_interval_set intervals;
	renc_box_set boxes;
	renc_query	query;

	if (probe->set != NULL)
	{
		intervals.interval = probe->set->interval + first;
		intervals.n = n;
		query = renc_query_intervals(&intervals);
	}
	else
	{
		boxes.box = probe->boxes->box + first;
		boxes.n = n;
		query = renc_query_boxes(&boxes);
	}
	renc_program_compile(program, shape, RENCODER_ROWS, &query);
}

/*
 * Compiles the program of some parts, from "first" on; as many as fit, at most
 * *n, which becomes their number.
 */
static renc_program *
compile_some(const RencoderProbe *probe, const renc_shape *shape, size_t first,
			 size_t *n)
{
	size_t		few = count_parts(probe) > MANY_PARTS ? *n : FEW_PARTS;
	renc_program *program = palloc(sizeof(renc_program));

	for (;;)
	{
		compile_parts(probe, shape, first, *n, program);
		if (*n == 1 ||
			(!program->always && (program->complete || *n <= few)))
			return program;
		*n /= 2;
	}
}

/* Compiles the query for a shape. */
static void
compile_programs(const RencoderProbe *probe, const renc_shape *shape,
				 FilterPrograms *programs)
{
	size_t		parts = count_parts(probe);
	size_t		guess = RENC_MAX_TREES / shape->nstages;
	size_t		first = 0;

	while (first < parts && !programs->always)
	{
		size_t		n = Min(guess, parts - first);
		renc_program *program;

		CHECK_FOR_INTERRUPTS();
		program = compile_some(probe, shape, first, &n);
		add_program(programs, program);
		programs->always = program->always || programs->n > MAX_PROGRAMS;
		first += n;
		guess = Min(guess, 2 * n);
	}
	if (programs->always)
		clear_programs(programs);
}

/* Forgets the least recently used shapes while there are too many programs. */
static void
limit_programs(RencoderProbeState *state)
{
	int			total = 0;

	for (int i = 0; i < MAX_SHAPES && state->programs[i]; i++)
	{
		total += state->programs[i]->n;
		if (i > 0 && total > MAX_PROGRAMS)
		{
			total -= state->programs[i]->n;
			clear_programs(state->programs[i]);
			pfree(state->programs[i]);
			memmove(&state->programs[i], &state->programs[i + 1],
					(MAX_SHAPES - 1 - i) * sizeof(state->programs[0]));
			state->programs[MAX_SHAPES - 1] = NULL;
			i--;
		}
	}
}

void
rencoder_probe_free_state(RencoderProbeState *state)
{
	for (int i = 0; i < MAX_SHAPES; i++)
	{
		if (state->programs[i])
		{
			clear_programs(state->programs[i]);
			pfree(state->programs[i]);
		}
	}
	pfree(state);
}

/*
 * The programs for a packed shape, valid until the next call; NULL with fault
 * set if it is not a shape.
 */
static const FilterPrograms *
find_programs(RencoderProbe *probe, const uint8 *packed, BlockNumber blkno)
{
	RencoderProbeState *state;
	FilterPrograms *programs;
	renc_shape	shape;
	const char *reason;
	int			i = 0;

	if (probe->state == NULL)
		probe->state = palloc0(sizeof(RencoderProbeState));
	state = probe->state;
	while (i < MAX_SHAPES - 1 && state->programs[i] != NULL &&
		   memcmp(state->programs[i]->packed, packed, RENC_SHAPE_PACKED_SIZE) != 0)
		i++;
	programs = state->programs[i];
	if (programs == NULL ||
		memcmp(programs->packed, packed, RENC_SHAPE_PACKED_SIZE) != 0)
	{
		if (!renc_shape_unpack(packed, &shape, &reason))
		{
			rencoder_probe_set_fault(probe, blkno, "The shape of a filter is not valid.");
			return NULL;
		}
		if (programs == NULL)
			programs = state->programs[i] = palloc0(sizeof(FilterPrograms));
		clear_programs(programs);
		programs->always = false;
		memcpy(programs->packed, packed, RENC_SHAPE_PACKED_SIZE);
		compile_programs(probe, &shape, programs);
	}

	/* To the front: the least recently used one is the next to go. */
	memmove(&state->programs[1], &state->programs[0], i * sizeof(state->programs[0]));
	state->programs[0] = programs;
	limit_programs(state);
	return programs;
}

typedef struct window_source
{
	RencoderProbe *probe;
	const RencoderSlab *slab;
} window_source;

static const uint8_t *
read_window(void *arg, uint32_t window)
{
	const window_source *source = (const window_source *) arg;
	int			width = (int) source->slab->config->width;
	const uint8 *payload;

	payload = rencoder_probe_page(source->probe,
								  source->slab->extent.start + window / WINDOWS_PER_PAGE(width),
								  RENCODER_PAGE_WINDOWS);
	if (payload == NULL)
		return NULL;
	return payload + (window % WINDOWS_PER_PAGE(width)) * WINDOW_SIZE(width);
}

renc_mask
rencoder_filter_probe(RencoderProbe *probe, const RencoderSlab *slab, renc_mask candidates)
{
	window_source source = {probe, slab};
	renc_windows windows;
	const FilterPrograms *programs;
	renc_mask	result = renc_mask_none();

	if (!rencoder_is_configured(slab->config))
		return candidates;
	programs = find_programs(probe, slab->config->shape, slab->extent.start);
	if (programs == NULL || programs->always)
		return candidates;
	windows.nwindows = slab->config->nwindows;
	windows.width = (int) slab->config->width;
	windows.window = read_window;
	windows.arg = &source;

	/* Of v windows drawn from n pages, about v^2 / 2n pairs are on one page. */
	rencoder_probe_visit(probe, programs->visits * programs->visits >
						 rencoder_filter_npages(slab->config));
	for (int i = 0; i < programs->n; i++)
	{
		/* Ranges that are in the result already need no further test. */
		renc_mask	left = renc_mask_andnot(candidates, result);

		if (renc_mask_empty(left))
			break;
		result = renc_mask_or(result, renc_program_execute(programs->program[i], &windows, left));
	}
	rencoder_probe_release(probe);
	return result;
}
