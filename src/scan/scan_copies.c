/*
 * scan_copies.c
 *		What a scan has copied of its index.
 */
#include "scan/scan_copies.h"

#include "access/table.h"
#include "storage/bufmgr.h"

#include "store/horizon.h"

void
rencoder_copies_init(RencoderCopies *copies)
{
	copies->rescans = false;
	copies->pages.nrooms = 0;
	rencoder_copies_drop(copies);
}

RencoderCopies *
rencoder_copies_create(MemoryContext context)
{
	RencoderCopies *copies = MemoryContextAlloc(context, sizeof(RencoderCopies));

	rencoder_copies_init(copies);
	copies->rescans = true;
	copies->pages.context = context;
	return copies;
}

void
rencoder_copies_drop(RencoderCopies *copies)
{
	copies->valid = false;
	copies->pages.keeps = false;
	copies->pages.n = 0;
}

/*
 * What the segments of the catalog are for a snapshot: it reads all pages of runs that it does not
 * trust (INV-9).
 */
static void
make_copied_segments(RencoderCopies *copies, Snapshot snapshot)
{
	uint64		xmin = snapshot == NULL ? PG_UINT64_MAX : rencoder_horizon_of_snapshot(snapshot);

	copies->nsegments = rencoder_catalog_segments(&copies->catalog, copies->nblocks, copies->segment);
	for (int i = 0; i < copies->nsegments; i++)
	{
		const RencoderRunEntry *run = copies->segment[i].run;

		if (run != NULL && (run->horizon > xmin))
			copies->segment[i].run = NULL;
	}
}

void
rencoder_copies_begin(RencoderCopies *copies, Relation index, Snapshot snapshot, int64 *npages)
{
	Relation	heap;

	if (copies->valid)
		return;
	(void) rencoder_meta_get(index);	/* is it of this format? */
	rencoder_catalog_copy(index, &copies->catalog, NULL, NULL, npages);

	/* Only now (INV-7). */
	heap = table_open(index->rd_index->indrelid, NoLock);
	copies->nblocks = RelationGetNumberOfBlocks(heap);
	table_close(heap, NoLock);
	make_copied_segments(copies, snapshot);
	copies->valid = copies->pages.keeps = copies->rescans;
}

void
rencoder_copies_renew(RencoderCopies *copies, Relation index, Snapshot snapshot, int64 *npages)
{
	copies->pages.n = 0;
	rencoder_catalog_copy(index, &copies->catalog, NULL, NULL, npages);
	make_copied_segments(copies, snapshot);
}

double
rencoder_copies_covered_pages(const RencoderCopies *copies, const RencoderRunEntry *run)
{
	double		pages = 0;

	for (int i = 0; i < copies->nsegments; i++)
	{
		if (copies->segment[i].run == run)
			pages += copies->segment[i].to - copies->segment[i].from;
	}
	return pages;
}

bool
rencoder_copies_covers(const RencoderCopies *copies, const RencoderRunEntry *run, BlockNumber page)
{
	int			lo = 0;
	int			hi = copies->nsegments - 1;

	while (lo < hi)
	{
		int			middle = (lo + hi + 1) / 2;

		if (copies->segment[middle].from <= page)
			lo = middle;
		else
			hi = middle - 1;
	}
	return hi >= 0 && copies->segment[lo].run == run;
}
