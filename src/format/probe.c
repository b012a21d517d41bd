/*
 * probe.c
 *		State of probing one column of an index with one query.
 */
#include "format/probe.h"

/* Intervals or boxes that a program may hold even if it must give up levels. */
#define FEW_PARTS	8

/* Sets of more of them than this give up levels rather than be cut finer. */
#define MANY_PARTS	256

RencoderProbe *
rencoder_probe_begin(Relation index, const renc_query *query,
					 const renc_interval_set *set, const renc_box_set *boxes)
{
	RencoderProbe *probe = palloc0(sizeof(RencoderProbe));

	probe->index = index;
	probe->query = *query;
	probe->set = set;
	probe->boxes = boxes;
	probe->buffer = InvalidBuffer;
	return probe;
}

/* Leaves no program. */
static void
clear_programs(RencoderPrograms *programs)
{
	for (int i = 0; i < programs->n; i++)
		pfree(programs->program[i]);
	if (programs->program)
		pfree(programs->program);
	programs->program = NULL;
	programs->n = programs->capacity = 0;
	programs->visits = 0;
}

void
rencoder_probe_end(RencoderProbe *probe)
{
	rencoder_probe_release(probe);
	for (int i = 0; i < RENCODER_PROBE_SHAPES; i++)
	{
		if (probe->programs[i])
		{
			clear_programs(probe->programs[i]);
			pfree(probe->programs[i]);
		}
	}
	for (int i = 0; i < RENCODER_PROBE_PAGES; i++)
	{
		if (probe->page[i].payload)
			pfree(probe->page[i].payload);
	}
	pfree(probe);
}

void
rencoder_probe_fault(RencoderProbe *probe, BlockNumber blkno, const char *fault)
{
	if (probe->fault == NULL)
	{
		probe->fault = fault;
		probe->fault_blkno = blkno;
	}
}

static void
add_program(RencoderPrograms *programs, renc_program *program)
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
		programs->visits += program->shape.storey[program->tree[i].storey].kw;
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
				 RencoderPrograms *programs)
{
	size_t		parts = count_parts(probe);
	size_t		guess = RENC_MAX_TREES / shape->nstoreys;
	size_t		first = 0;

	while (first < parts && !programs->always)
	{
		size_t		n = Min(guess, parts - first);
		renc_program *program;

		CHECK_FOR_INTERRUPTS();
		program = compile_some(probe, shape, first, &n);
		add_program(programs, program);
		programs->always = program->always || programs->n > RENCODER_PROBE_PROGRAMS;
		first += n;
		guess = Min(guess, 2 * n);
	}
	if (programs->always)
		clear_programs(programs);
}

/* Forgets the least recently used shapes while there are too many programs. */
static void
limit_programs(RencoderProbe *probe)
{
	int			total = 0;

	for (int i = 0; i < RENCODER_PROBE_SHAPES && probe->programs[i]; i++)
	{
		total += probe->programs[i]->n;
		if (i > 0 && total > RENCODER_PROBE_PROGRAMS)
		{
			total -= probe->programs[i]->n;
			clear_programs(probe->programs[i]);
			pfree(probe->programs[i]);
			memmove(&probe->programs[i], &probe->programs[i + 1],
					(RENCODER_PROBE_SHAPES - 1 - i) * sizeof(probe->programs[0]));
			probe->programs[RENCODER_PROBE_SHAPES - 1] = NULL;
			i--;
		}
	}
}

const RencoderPrograms *
rencoder_probe_programs(RencoderProbe *probe, const uint8 *packed,
						BlockNumber blkno)
{
	RencoderPrograms *programs;
	renc_shape	shape;
	const char *reason;
	int			i = 0;

	while (i < RENCODER_PROBE_SHAPES - 1 && probe->programs[i] != NULL &&
		   memcmp(probe->programs[i]->packed, packed, RENC_SHAPE_PACKED_SIZE) != 0)
		i++;
	programs = probe->programs[i];
	if (programs == NULL ||
		memcmp(programs->packed, packed, RENC_SHAPE_PACKED_SIZE) != 0)
	{
		if (!renc_shape_unpack(packed, &shape, &reason))
		{
			rencoder_probe_fault(probe, blkno, "The shape of a filter is not valid.");
			return NULL;
		}
		if (programs == NULL)
			programs = probe->programs[i] = palloc0(sizeof(RencoderPrograms));
		clear_programs(programs);
		programs->always = false;
		memcpy(programs->packed, packed, RENC_SHAPE_PACKED_SIZE);
		compile_programs(probe, &shape, programs);
	}

	/* To the front: the least recently used one is the next to go. */
	memmove(&probe->programs[1], &probe->programs[0], i * sizeof(probe->programs[0]));
	probe->programs[0] = programs;
	limit_programs(probe);
	return programs;
}

void
rencoder_probe_visit(RencoderProbe *probe, bool keep)
{
	probe->visit++;
	probe->keep = keep;
}

/* Copies the page that was read and lets it go. */
static const uint8 *
keep_page(RencoderProbe *probe, RencoderProbePage *kept)
{
	if (kept->payload == NULL)
		kept->payload = palloc(RENCODER_PAYLOAD_SIZE);
	memcpy(kept->payload, RencoderPageGetPayload(BufferGetPage(probe->buffer)),
		   RENCODER_PAYLOAD_SIZE);
	kept->visit = probe->visit;
	kept->blkno = probe->blkno;
	rencoder_probe_release(probe);
	return kept->payload;
}

const uint8 *
rencoder_probe_page(RencoderProbe *probe, BlockNumber blkno, uint16 page_id)
{
	RencoderProbePage *kept = &probe->page[blkno % RENCODER_PROBE_PAGES];
	const char *fault;

	if (probe->keep && kept->visit == probe->visit && kept->blkno == blkno)
		return kept->payload;
	if (BufferIsValid(probe->buffer))
	{
		/* Windows of a slice share pages: the page may still be at hand. */
		if (probe->blkno == blkno)
			return (const uint8 *) RencoderPageGetPayload(BufferGetPage(probe->buffer));
		rencoder_probe_release(probe);
	}

	probe->npages++;
	probe->buffer = rencoder_page_try_read(probe->index, blkno, page_id, &fault);
	if (!BufferIsValid(probe->buffer))
	{
		rencoder_probe_fault(probe, blkno, fault);
		return NULL;
	}
	probe->blkno = blkno;
	if (probe->keep)
		return keep_page(probe, kept);
	return (const uint8 *) RencoderPageGetPayload(BufferGetPage(probe->buffer));
}

void
rencoder_probe_release(RencoderProbe *probe)
{
	if (BufferIsValid(probe->buffer))
	{
		UnlockReleaseBuffer(probe->buffer);
		probe->buffer = InvalidBuffer;
	}
}
