/*
 * check_blocks.c
 *		rencoder_index_check: no block of an index may have two uses.
 */
#include "sql/sql_check.h"

#include "access/xlog.h"
#include "miscadmin.h"

#include "store/pending.h"
#include "store/hint_pages.h"

/* What refers to each block of the index. */
typedef struct References
{
	CheckState *state;
	BlockNumber nblocks;		/* that there is room for */
	BlockNumber *from;			/* the page, or InvalidBlockNumber */
} References;

/* Notes that a page refers to blocks; a fault if another one does, too. */
static void
refer_to_block(References *refs, BlockNumber from, BlockNumber start, uint32 npages)
{
	BlockNumber nblocks = refs->nblocks;

	rencoder_check_extent(refs->state, from, start, npages);
	if (refs->state->nblocks > nblocks)
	{
		refs->nblocks = refs->state->nblocks;
		refs->from = repalloc_huge(refs->from, refs->nblocks * sizeof(BlockNumber));
		memset(refs->from + nblocks, 0xFF, (refs->nblocks - nblocks) * sizeof(BlockNumber));
	}
	for (BlockNumber blkno = start; blkno < start + npages; blkno++)
	{
		if (refs->from[blkno] != InvalidBlockNumber && refs->state->fault == NULL)
			rencoder_check_note(refs->state, false, blkno,
								psprintf("Blocks %u and %u both refer to it.", refs->from[blkno], from));
		refs->from[blkno] = from;
	}
}

/* The free list, up to a fault: a chain that has a loop comes to a page that was there before. */
static void
refer_free_list_blocks(References *refs)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(refs->state->index);
	BlockNumber from = RENCODER_META_BLKNO;
	BlockNumber blkno = metadata->free_root;

	while (blkno != RENCODER_NO_BLOCK && refs->state->fault == NULL)
	{
		RencoderFreePageData *list;

		CHECK_FOR_INTERRUPTS();
		refer_to_block(refs, from, blkno, 1);
		list = rencoder_page_copy(refs->state->index, blkno, RENCODER_PAGE_FREE);
		rencoder_check_require(refs->state, list->n <= RENCODER_FREE_EXTENTS, blkno,
							   "The free list has an impossible number of extents.");
		for (uint32 i = 0; i < list->n; i++)
			refer_to_block(refs, blkno, list->extent[i].start, list->extent[i].npages);
		from = blkno;
		blkno = list->next;
		pfree(list);
	}
	pfree(metadata);
}

/* The list of coders, and theirs. */
static void
refer_coder_blocks(References *refs, BlockNumber root)
{
	RencoderCoderListData *list;

	if (root == RENCODER_NO_BLOCK)
		return;
	refer_to_block(refs, RENCODER_META_BLKNO, root, 1);
	list = rencoder_coder_copy_list(refs->state->index);
	for (uint32 i = 0; i < list->n; i++)
		refer_to_block(refs, root, list->entry[i].extent.start, list->entry[i].extent.npages);
	pfree(list);
}

/* Pages of hints; what stands in them may be anything. */
static void
refer_hint_blocks(References *refs, BlockNumber root, RencoderRoot which)
{
	uint32		npages = rencoder_hints_npages(refs->state->index, which);

	if (root == RENCODER_NO_BLOCK)
		return;
	refer_to_block(refs, RENCODER_META_BLKNO, root, npages);
	for (uint32 i = 0; i < npages; i++)
		UnlockReleaseBuffer(rencoder_page_read(refs->state->index, root + i, BUFFER_LOCK_SHARE,
											   RENCODER_PAGE_HINTS));
}

/* What the runs of the catalog consist of, whatever their state. */
static void
refer_run_blocks(References *refs, const RencoderCatalog *catalog)
{
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];
		const char *fault = NULL;
		RencoderRunInfo info;

		refer_to_block(refs, RENCODER_META_BLKNO, entry->info, 1);
		info = rencoder_run_read_info(refs->state->index, entry, &fault);
		rencoder_check_note(refs->state, info != NULL, entry->info, fault);
		if (info == NULL)
			continue;
		for (uint32 e = 0; e < info->nextents; e++)
			refer_to_block(refs, entry->info, rencoder_run_extents(info)[e].start,
						   rencoder_run_extents(info)[e].npages);
		pfree(info);
	}
}

/* Pages of the pending list and spare ones. */
static void
refer_pending_blocks(References *refs, const RencoderPendingList *list)
{
	RencoderPendingWalk walk;
	RencoderSpareChain chain = {0};
	BlockNumber from = RENCODER_META_BLKNO;
	const char *fault;

	rencoder_pending_walk_begin(&walk, refs->state->index, list, list->last_number);
	while (rencoder_pending_walk_next(&walk))
		refer_to_block(refs, walk.from, walk.blkno, 1);
	rencoder_check_note(refs->state, walk.fault == NULL, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
	fault = rencoder_pending_read_spares(refs->state->index, list->spare, &chain);
	for (uint64 i = 0; i < chain.n; i++)
	{
		refer_to_block(refs, from, chain.page[i].blkno, 1);
		from = chain.page[i].blkno;
	}
	rencoder_check_note(refs->state, fault == NULL, from, fault);
}

/*
 * Collects all references.  The free list comes last: a block that stands there and elsewhere was
 * then freed in between, which the catalog's version tells (INV-7), or is in error.
 */
static void
collect_block_references(References *refs)
{
	CheckState *state = refs->state;
	const RencoderMetaPageData *metadata = &state->metadata;

	memset(refs->from, 0xFF, refs->nblocks * sizeof(BlockNumber));
	state->fault = NULL;
	rencoder_catalog_copy(state->index, &state->catalog, &state->metadata, NULL, NULL);
	refer_coder_blocks(refs, metadata->coder_root);
	refer_hint_blocks(refs, metadata->stats_root, RENCODER_ROOT_STATS);
	refer_hint_blocks(refs, metadata->samples_root, RENCODER_ROOT_SAMPLES);
	refer_run_blocks(refs, &state->catalog);
	refer_pending_blocks(refs, &state->catalog.pending);
	refer_free_list_blocks(refs);
}

/*
 * A fault is one if nothing has moved meanwhile, and if it is found once more: pages of a run
 * that is freed or built on the primary move one extent at a time, which shows in no number.
 */
void
rencoder_check_blocks(CheckState *state)
{
	bool		primary = !RecoveryInProgress();
	References	refs = {.state = state,.nblocks = state->nblocks};
	BlockNumber seen = InvalidBlockNumber;
	bool		again;

	refs.from = palloc_extended(refs.nblocks * sizeof(BlockNumber), MCXT_ALLOC_HUGE);
	if (primary)
		rencoder_meta_lock_maintainer(state->index);
	do
	{
		CHECK_FOR_INTERRUPTS();
		collect_block_references(&refs);
		again = state->fault != NULL &&
			(state->fault_blkno != seen || rencoder_pending_has_moved(state->index, &state->metadata));
		seen = state->fault_blkno;
	} while (again);
	if (state->fault != NULL)
		rencoder_page_corrupted(state->index, state->fault_blkno, state->fault);
	if (primary)
		(void) rencoder_meta_unlock_maintainer(state->index);
	pfree(refs.from);
}
