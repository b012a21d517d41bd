/*
 * probe.c
 *		State of probing one column of an index with one query.
 */
#include "probe.h"

RencoderProbe *
rencoder_probe_begin(Relation index, const renc_query *query)
{
	RencoderProbe *probe = palloc0(sizeof(RencoderProbe));

	probe->index = index;
	probe->query = *query;
	probe->buffer = InvalidBuffer;
	return probe;
}

void
rencoder_probe_end(RencoderProbe *probe)
{
	rencoder_probe_release(probe);
	for (int i = 0; i < RENCODER_PROBE_PROGRAMS; i++)
	{
		if (probe->program[i])
			pfree(probe->program[i]);
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

renc_program *
rencoder_probe_program(RencoderProbe *probe, const uint8 *packed,
					   BlockNumber blkno)
{
	renc_program *program;
	renc_shape	shape;
	const char *reason;
	int			i = 0;

	while (i < RENCODER_PROBE_PROGRAMS - 1 && probe->program[i] != NULL &&
		   memcmp(probe->packed[i], packed, RENC_SHAPE_PACKED_SIZE) != 0)
		i++;
	program = probe->program[i];
	if (program == NULL ||
		memcmp(probe->packed[i], packed, RENC_SHAPE_PACKED_SIZE) != 0)
	{
		if (!renc_shape_unpack(packed, &shape, &reason))
		{
			rencoder_probe_fault(probe, blkno, "The shape of a filter is not valid.");
			return NULL;
		}
		if (program == NULL)
			program = palloc(sizeof(renc_program));
		renc_program_compile(program, &shape, RENCODER_ROWS, &probe->query);
	}

	/* To the front: the least recently used one is the next to go. */
	memmove(&probe->program[1], &probe->program[0], i * sizeof(probe->program[0]));
	memmove(&probe->packed[1], &probe->packed[0], i * sizeof(probe->packed[0]));
	probe->program[0] = program;
	memcpy(probe->packed[0], packed, RENC_SHAPE_PACKED_SIZE);
	return program;
}

const uint8 *
rencoder_probe_page(RencoderProbe *probe, BlockNumber blkno, uint16 page_id)
{
	const char *fault;

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
