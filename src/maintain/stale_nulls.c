/*
 * stale_nulls.c
 *		Groups whose flags say that there are nulls, where there are few by now.
 *
 * Rows of a queue are born with a null, which is set when they are done.  If a run was made in
 * between, their ranges have the flag has_null, and IS NULL reads all of their pages, until the
 * table is read again.  Nothing tells the index that the nulls have gone: PostgreSQL 16 and later do
 * not even remove a line pointer.  So VACUUM looks at some pages.  A range gets the flag if nine of
 * ten of its pages have nulls; if half of those that are looked at in a group have none, it is worth
 * making its run anew.
 */
#include "maintain/stale_nulls.h"

#include "catalog/index.h"
#include "miscadmin.h"

#include "maintain/run_groups.h"
#include "store/group_copy.h"
#include "table/heap_read.h"

/* Groups looked at, and pages of each column of one. */
#define MAX_GROUPS	128
#define GROUP_PAGES	8

/* What is looked for in a page of the table. */
typedef struct NullPage
{
	int			col;
	bool		has_null;
} NullPage;

static void
look_for_stale_null(Relation index, ItemPointer tid, Datum *values, bool *isnull,
					bool tupleIsAlive, void *state)
{
	NullPage   *page = (NullPage *) state;

	page->has_null |= isnull[page->col];
}

/* Do most of the pages that a flag of the column stands for have no null? */
static bool
is_null_flag_stale(Relation index, Relation heap, IndexInfo *indexInfo,
				   const RencoderGroupCopy *copy, int col)
{
	uint32		pages_per_range = rencoder_meta_get(index)->pages_per_range;
	uint64		first = (uint64) copy->group * RENC_GROUP_RANGES * pages_per_range;
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	renc_mask	flagged = renc_mask_and(rencoder_set_get(copy->header[0]->covered),
										rencoder_set_get(copy->header[col]->has_null));
	uint64		npages = (uint64) renc_mask_count(flagged) * pages_per_range;
	uint64		step = Max(npages / GROUP_PAGES, 1);
	uint64		seen = step / 2;	/* the next of them to be looked at */
	uint64		before = 0;
	int			looked_at = 0;
	int			stale = 0;

	for (unsigned int slot = renc_mask_next(flagged, 0); slot < RENC_GROUP_RANGES;
		 slot = renc_mask_next(flagged, slot + 1), before += pages_per_range)
	{
		for (; seen < before + pages_per_range; seen += step)
		{
			uint64		block = first + (uint64) slot * pages_per_range + seen - before;
			NullPage	page = {col, false};

			CHECK_FOR_INTERRUPTS();
			if (block >= nblocks)
				continue;
			(void) rencoder_heap_read(heap, index, indexInfo, true, (BlockNumber) block, 1,
									  look_for_stale_null, &page, NULL);
			looked_at++;
			stale += !page.has_null;
		}
	}
	return 2 * stale > looked_at;
}

/* The groups that name a run and have such flags, palloc'd. */
static uint32 *
groups_with_null_flags(Relation index, uint32 *n)
{
	RencoderRunGroups groups;
	uint32	   *group;
	uint64		most = 0;

	rencoder_run_groups_look(index, 0, &groups);
	for (int i = 0; i < groups.n; i++)
		most += groups.alike[i].n;
	group = palloc_extended(Max(most, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	*n = 0;
	for (int i = 0; i < groups.n; i++)
	{
		const RencoderAlikeGroups *s = &groups.alike[i];

		for (uint32 k = 0; k < s->n && s->run != 0 && s->nulls; k++)
			group[(*n)++] = s->first + k;
	}
	pfree(groups.alike);
	return group;
}

/* A group that is not looked at is what the one before it is. */
uint32
rencoder_stale_nulls_find(Relation index, Relation heap, uint32 most, uint32 *first)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	IndexInfo  *indexInfo = BuildIndexInfo(index);
	RencoderGroupCopy *copy = rencoder_group_copy_create(&meta);
	uint32		nflagged;
	uint32	   *flagged = groups_with_null_flags(index, &nflagged);
	uint32		step = (nflagged + MAX_GROUPS - 1) / MAX_GROUPS;
	uint32		end = 0;
	uint32		n = 0;

	indexInfo->ii_Concurrent = false;
	for (uint32 i = 0; i < nflagged && n < most; i += step)
	{
		uint32		next = i + step < nflagged ? flagged[i + step] : flagged[nflagged - 1] + 1;
		bool		stale = false;

		if (n > 0 && flagged[i] != end)
			break;
		if (rencoder_group_copy_read(index, &meta, flagged[i], copy))
		{
			for (int col = 0; col < meta.natts && !stale; col++)
				stale = is_null_flag_stale(index, heap, indexInfo, copy, col);
		}
		if (!stale && n > 0)
			break;
		if (!stale)
			continue;
		if (n == 0)
			*first = flagged[i];
		end = step == 1 ? flagged[i] + 1 : next;
		n = Min(end - *first, most);
	}
	pfree(flagged);
	return n;
}
