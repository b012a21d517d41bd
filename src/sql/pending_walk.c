/*
 * pending_walk.c
 *		Going over the pages of the pending list, and over the spare ones.
 */
#include "sql/pending_walk.h"

#include "miscadmin.h"

void
rencoder_pending_walk_begin(RencoderPendingWalk *walk, Relation index, const RencoderRuns *runs)
{
	memset(walk, 0, sizeof(*walk));
	walk->index = index;
	walk->blkno = RENCODER_META_BLKNO;
	walk->next = runs->pending_first;
	walk->next_number = runs->pending_first_number;
	walk->last_number = runs->pending_last_number;
}

bool
rencoder_pending_walk_next(RencoderPendingWalk *walk)
{
	if (walk->next == RENCODER_NO_BLOCK)
		return false;
	CHECK_FOR_INTERRUPTS();
	walk->from = walk->blkno;
	walk->blkno = walk->next;
	walk->number = walk->next_number++;
	if (walk->blkno >= RelationGetNumberOfBlocks(walk->index))
		walk->fault = "The pending list goes on behind the end of the index.";
	else
		(void) rencoder_pending_read(walk->index, walk->blkno, walk->number, &walk->copy,
									 &walk->fault);
	if (walk->fault != NULL)
		return false;
	walk->next = walk->copy.page->next;
	if (walk->number == walk->last_number)
		walk->next = RENCODER_NO_BLOCK; /* what was linked since is not ours */
	else if (walk->next == RENCODER_NO_BLOCK)
	{
		walk->fault = "The pending list ends before its last page.";
		return false;
	}
	return true;
}

bool
rencoder_pending_moved(Relation index, const RencoderMetaPageData *metadata)
{
	RencoderMetaPageData *now = rencoder_meta_copy(index);
	bool		moved = now->run_changes != metadata->run_changes ||
		now->pending_last_number != metadata->pending_last_number ||
		now->pending_spare != metadata->pending_spare;

	pfree(now);
	return moved;
}

BlockNumber
rencoder_spare_next(Relation index, BlockNumber blkno, const char **fault)
{
	BlockNumber next;
	Buffer		buf;

	*fault = NULL;
	if (blkno >= RelationGetNumberOfBlocks(index))
	{
		*fault = "The list of spare pages goes on behind the end of the index.";
		return RENCODER_NO_BLOCK;
	}
	buf = rencoder_page_try_read(index, blkno, RENCODER_PAGE_PENDING, fault);
	if (!BufferIsValid(buf))
		return RENCODER_NO_BLOCK;
	next = RencoderPageGetPending(BufferGetPage(buf))->next;
	UnlockReleaseBuffer(buf);
	return next;
}

uint64
rencoder_spare_count(Relation index)
{
	for (;;)
	{
		RencoderMetaPageData *metadata = rencoder_meta_copy(index);
		BlockNumber most = RelationGetNumberOfBlocks(index);
		BlockNumber blkno = metadata->pending_spare;
		BlockNumber last = RENCODER_META_BLKNO;
		const char *fault = NULL;
		uint64		n = 0;

		for (; blkno != RENCODER_NO_BLOCK && fault == NULL; n++)
		{
			CHECK_FOR_INTERRUPTS();
			last = blkno;
			if (n > most)
				fault = "The list of spare pages is circular.";
			else
				blkno = rencoder_spare_next(index, blkno, &fault);
		}
		if (fault == NULL)
			return n;
		if (!rencoder_pending_moved(index, metadata))
			rencoder_page_corrupted(index, last, fault);
		pfree(metadata);
	}
}
