/*
 * probe.c
 *		State of probing one column of an index with one query.
 */
#include "format/probe.h"

RencoderProbe *
rencoder_probe_begin(Relation index, const renc_interval_set *set, const renc_box_set *boxes)
{
	RencoderProbe *probe = palloc0(sizeof(RencoderProbe));

	probe->index = index;
	probe->set = set;
	probe->boxes = boxes;
	probe->buffer = InvalidBuffer;
	return probe;
}

void
rencoder_probe_end(RencoderProbe *probe)
{
	rencoder_probe_release(probe);
	if (probe->state != NULL)
		rencoder_probe_free_state(probe->state);
	for (int i = 0; i < RENCODER_PROBE_PAGES; i++)
	{
		if (probe->page[i].payload)
			pfree(probe->page[i].payload);
	}
	pfree(probe);
}

void
rencoder_probe_set_fault(RencoderProbe *probe, BlockNumber blkno, const char *fault)
{
	if (probe->fault == NULL)
	{
		probe->fault = fault;
		probe->fault_blkno = blkno;
	}
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
		rencoder_probe_set_fault(probe, blkno, fault);
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
