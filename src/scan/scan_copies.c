/*
 * scan_copies.c
 *		What a scan has copied of its index.
 */
#include "scan/scan_copies.h"

void
rencoder_copies_init(RencoderCopies *copies)
{
	copies->runs.changes = 0;
	copies->runs.list.n = 0;
	copies->rescans = false;
	copies->pages.nrooms = 0;
	copies->metapage = InvalidBuffer;
	rencoder_copies_drop(copies);
}

RencoderCopies *
rencoder_copies_create(void)
{
	RencoderCopies *copies = palloc(sizeof(RencoderCopies));

	rencoder_copies_init(copies);
	copies->rescans = true;
	copies->pages.context = CurrentMemoryContext;
	return copies;
}

void
rencoder_copies_drop(RencoderCopies *copies)
{
	copies->pages.keeps = false;
	copies->pages.n = 0;
}

void
rencoder_copies_begin(RencoderCopies *copies, Relation index, int64 *npages)
{
	if (copies->pages.keeps)
		return;
	rencoder_runs_copy_with_meta(index, &copies->runs, &copies->metadata, &copies->metapage, npages);
	copies->pages.keeps = copies->rescans;
}

uint64
rencoder_copies_check_epoch(RencoderCopies *copies, Relation index, int64 *npages)
{
	const RencoderMetaPageData *meta;
	uint64		epoch;

	if (BufferIsValid(copies->metapage))
		LockBuffer(copies->metapage, BUFFER_LOCK_SHARE);
	else
	{
		copies->metapage = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
		(*npages)++;
	}
	meta = RencoderPageGetMeta(BufferGetPage(copies->metapage));
	epoch = meta->epoch;
	if (epoch != copies->metadata.epoch || meta->run_changes != copies->metadata.run_changes)
		rencoder_copies_drop(copies);
	LockBuffer(copies->metapage, BUFFER_LOCK_UNLOCK);
	return epoch;
}

void
rencoder_copies_unpin(RencoderCopies *copies)
{
	if (BufferIsValid(copies->metapage))
		ReleaseBuffer(copies->metapage);
	copies->metapage = InvalidBuffer;
}
