/*
 * run_extents.c
 *		Where runs stand in the file of an index.
 */
#include "store/run_extents.h"

#include "store/run_pages.h"

BlockNumber
rencoder_run_extents_last(Relation index, const RencoderRunEntry *entry)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_read_info(index, entry, &fault);
	BlockNumber end = entry->info + 1;

	for (int i = 0; info != NULL && i < info->nextents; i++)
		end = Max(end, rencoder_run_extents(info)[i].start + rencoder_run_extents(info)[i].npages);
	return end;
}

BlockNumber
rencoder_run_extents_end(Relation index, const RencoderCatalog *catalog, bool deltas)
{
	RencoderCatalog *now = NULL;
	BlockNumber end = 0;

	if (catalog == NULL)
	{
		now = palloc(sizeof(RencoderCatalog));
		rencoder_catalog_copy(index, now, NULL, NULL, NULL);
		catalog = now;
	}
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_LIVE && rencoder_run_covers(run) != deltas)
			end = Max(end, rencoder_run_extents_last(index, run));
	}
	if (now != NULL)
		pfree(now);
	return end;
}
