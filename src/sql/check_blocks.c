/*
 * check_blocks.c
 *		rencoder_index_check: no block of an index may have two uses.
 */
#include "sql/sql_check.h"

#include "miscadmin.h"

#include "store/fact_pages.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/sample_pages.h"
#include "store/stats_page.h"

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

static void
refer_group_blocks(References *refs)
{
	const CheckState *state = refs->state;
	const RencoderGroupCopy *copy = state->copy;
	BlockNumber first = copy->entry->header;

	/*
	 * An odd group's pages are those of the even one before it, if that has
	 * any.
	 */
	if (copy->group % RENCODER_PAGE_GROUPS == 0 ||
		rencoder_group_find_header(state->index, &state->meta, copy->group - 1) != first)
		refer_to_block(refs, copy->directory, first, state->meta.natts);
	for (int col = 0; col < state->meta.natts; col++)
	{
		RencoderExtent matrix = copy->header[col]->matrix;

		if (matrix.start != RENCODER_NO_BLOCK)
			refer_to_block(refs, first + col, matrix.start, matrix.npages);
	}
}

/* Directory pages and the maps that lead to them. */
static void
refer_directory_blocks(References *refs, const RencoderMetaPageData *metadata)
{
	for (int i = 0; i < RENCODER_META_DIRECT; i++)
	{
		if (metadata->direct[i] != RENCODER_NO_BLOCK)
			refer_to_block(refs, RENCODER_META_BLKNO, metadata->direct[i], 1);
	}
	for (int i = 0; i < RENCODER_META_MAPS; i++)
	{
		BlockNumber *blkno;

		if (metadata->map[i] == RENCODER_NO_BLOCK)
			continue;
		refer_to_block(refs, RENCODER_META_BLKNO, metadata->map[i], 1);
		blkno = rencoder_page_copy(refs->state->index, metadata->map[i], RENCODER_PAGE_DIRMAP);
		for (size_t j = 0; j < RENCODER_PAYLOAD_SIZE / sizeof(BlockNumber); j++)
		{
			if (blkno[j] != RENCODER_NO_BLOCK)
				refer_to_block(refs, metadata->map[i], blkno[j], 1);
		}
		pfree(blkno);
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
refer_hint_blocks(References *refs, BlockNumber root, uint16 page_id, uint32 npages)
{
	if (root == RENCODER_NO_BLOCK)
		return;
	refer_to_block(refs, RENCODER_META_BLKNO, root, npages);
	for (uint32 i = 0; i < npages; i++)
		UnlockReleaseBuffer(rencoder_page_read(refs->state->index, root + i, BUFFER_LOCK_SHARE,
											   page_id));
}

/* What the runs of the list consist of, whatever their state. */
static void
refer_run_blocks(References *refs, const RencoderRuns *runs)
{
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		const RencoderRunEntry *entry = &runs->list.entry[i];
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
refer_pending_blocks(References *refs, const RencoderRuns *runs, BlockNumber spare)
{
	RencoderPendingWalk walk;
	RencoderSpareChain chain = {0};
	BlockNumber from = RENCODER_META_BLKNO;
	const char *fault;

	rencoder_pending_walk_begin(&walk, refs->state->index, &runs->pending, runs->pending.last_number);
	while (rencoder_pending_walk_next(&walk))
		refer_to_block(refs, walk.from, walk.blkno, 1);
	rencoder_check_note(refs->state, walk.fault == NULL, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
	fault = rencoder_pending_read_spares(refs->state->index, spare, &chain);
	for (uint64 i = 0; i < chain.n; i++)
	{
		refer_to_block(refs, from, chain.page[i].blkno, 1);
		from = chain.page[i].blkno;
	}
	rencoder_check_note(refs->state, fault == NULL, from, fault);
}

/*
 * Collects all references.  Groups come before the free list: a block that
 * stands in both was then freed in between, which changes the epoch
 * (INV-7), or is in error.
 */
static void
collect_block_references(References *refs, const RencoderMetaPageData *metadata)
{
	RencoderRuns runs;
	uint32		ngroups;

	memset(refs->from, 0xFF, refs->nblocks * sizeof(BlockNumber));
	refs->state->fault = NULL;
	refer_directory_blocks(refs, metadata);
	refer_coder_blocks(refs, metadata->coder_root);
	refer_hint_blocks(refs, metadata->sample_root, RENCODER_PAGE_SAMPLES,
					  refs->state->meta.natts * RENCODER_SAMPLE_PAGES);
	refer_hint_blocks(refs, metadata->stats_page, RENCODER_PAGE_STATS, 1);
	refer_hint_blocks(refs, metadata->fact_root, RENCODER_PAGE_FACTS, RENCODER_FACT_PAGES);
	ngroups = rencoder_group_copy_count_groups(refs->state->index, &refs->state->meta, metadata, 0);
	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		if (rencoder_check_read_group(refs->state, group))
			refer_group_blocks(refs);
	}
	if (metadata->run_list != RENCODER_NO_BLOCK)
		refer_to_block(refs, RENCODER_META_BLKNO, metadata->run_list, 1);
	rencoder_runs_copy(refs->state->index, &runs, NULL);
	refer_run_blocks(refs, &runs);
	refer_pending_blocks(refs, &runs, metadata->pending.spare);
	refer_free_list_blocks(refs);
}

/*
 * A fault is one if nothing has moved meanwhile, and if it is found once more: pages of a run
 * that is freed or built on the primary move one extent at a time, which shows in no number.
 */
void
rencoder_check_blocks(CheckState *state)
{
	References	refs = {.state = state,.nblocks = state->nblocks};
	BlockNumber seen = InvalidBlockNumber;
	bool		again;

	refs.from = palloc_extended(refs.nblocks * sizeof(BlockNumber), MCXT_ALLOC_HUGE);
	if (state->primary)
		rencoder_meta_lock_maintainer(state->index);
	do
	{
		RencoderMetaPageData *metadata = rencoder_meta_copy(state->index);

		CHECK_FOR_INTERRUPTS();
		collect_block_references(&refs, metadata);
		again = state->fault != NULL &&
			(state->fault_blkno != seen ||
			 metadata->epoch != rencoder_meta_epoch(state->index) ||
			 rencoder_pending_has_moved(state->index, metadata));
		seen = state->fault_blkno;
		pfree(metadata);
	} while (again);
	if (state->fault != NULL)
		rencoder_page_corrupted(state->index, state->fault_blkno, state->fault);
	if (state->primary)
		rencoder_meta_unlock_maintainer(state->index);
	pfree(refs.from);
}
