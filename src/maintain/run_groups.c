/*
 * run_groups.c
 *		Which groups of an index name which runs, and what has to be tidied up.
 */
#include "maintain/run_groups.h"

#include "miscadmin.h"

#include "store/group_copy.h"
#include "store/group_edit.h"

/* ---- Looking ---- */

/* A group that names a run, and is not covered. */
static RencoderStretchKind
kind_by_header(Relation index, RencoderEntry entry, uint32 number, bool *uncovered)
{
	Buffer		buf = rencoder_group_read_header(index, entry->header, number, 0, BUFFER_LOCK_SHARE);
	RencoderHeader header = RencoderPageGetHeader(BufferGetPage(buf));
	renc_mask	summarized = rencoder_set_get(header->summarized);
	int			n = renc_mask_count(summarized);

	*uncovered = !renc_mask_empty(renc_mask_andnot(summarized, rencoder_set_get(header->covered)));
	UnlockReleaseBuffer(buf);
	return n == 0 ? RENCODER_STRETCH_OTHER :
		n < RENC_GROUP_RANGES ? RENCODER_STRETCH_PARTIAL : RENCODER_STRETCH_WAITING;
}

static bool
has_leftover(const RencoderMeta *meta, RencoderEntry entry)
{
	for (int col = 0; col < meta->natts; col++)
	{
		if (rencoder_is_configured(&entry->column[col].config))
			return true;
	}
	return false;
}

static bool
has_same_coders(const RencoderMeta *meta, RencoderEntry a, RencoderEntry b)
{
	for (int col = 0; col < meta->natts; col++)
	{
		if (a->column[col].config.coder != b->column[col].config.coder)
			return false;
	}
	return true;
}

/* What is to be known of a group, as a stretch of one. */
static RencoderStretch
look_at_group(Relation index, const RencoderMeta *meta, RencoderEntry entry, uint32 number)
{
	RencoderStretch s = {.first = number,.n = 1,.kind = RENCODER_STRETCH_OTHER,
	.run = entry->run,.cut = entry->cut};

	if (entry->header == RENCODER_NO_BLOCK)
		return s;
	if (entry->flags & RENCODER_ENTRY_COVERED)
	{
		s.kind = RENCODER_STRETCH_COVERED;
		s.leftover = has_leftover(meta, entry);
	}
	else if (entry->run != 0)
		s.kind = kind_by_header(index, entry, number, &s.uncovered);
	else if (entry->flags & RENCODER_ENTRY_SEALED)
		s.kind = RENCODER_STRETCH_WAITING;
	return s;
}

/* Adds a group, to the last stretch if it is like that. */
static void
add_group(RencoderRunGroups *groups, const RencoderStretch *s)
{
	RencoderStretch *last = groups->n > 0 ? &groups->stretch[groups->n - 1] : NULL;

	if (last != NULL && last->kind == s->kind && last->run == s->run && s->same_coders &&
		last->leftover == s->leftover && last->uncovered == s->uncovered)
	{
		last->n++;
		last->cut = Min(last->cut, s->cut);
		return;
	}
	if (groups->n == groups->allocated)
	{
		groups->allocated *= 2;
		groups->stretch = repalloc_huge(groups->stretch, groups->allocated * sizeof(RencoderStretch));
	}
	groups->stretch[groups->n++] = *s;
}

void
rencoder_run_groups_look(Relation index, RencoderRunGroups *groups)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	RencoderEntry entry = palloc0(meta.entry_size);
	RencoderEntry previous = palloc0(meta.entry_size);
	char	   *payload = palloc0(RENCODER_PAYLOAD_SIZE);
	uint32		ngroups = rencoder_group_copy_count(index, &meta, metadata, 0);

	groups->n = 0;
	groups->allocated = 16;
	groups->stretch = palloc(groups->allocated * sizeof(RencoderStretch));
	for (uint32 group = 0; group < ngroups; group++)
	{
		RencoderStretch s;

		if (group % meta.entries_per_page == 0)
		{
			BlockNumber blkno = rencoder_directory_find(index, &meta, metadata, group, NULL);

			CHECK_FOR_INTERRUPTS();
			memset(payload, 0, RENCODER_PAYLOAD_SIZE);
			if (blkno != RENCODER_NO_BLOCK)
			{
				Buffer		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE,
													 RENCODER_PAGE_DIRECTORY);

				memcpy(payload, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
				UnlockReleaseBuffer(buf);
			}
		}
		memcpy(entry, rencoder_directory_entry(payload, &meta, group), meta.entry_size);
		s = look_at_group(index, &meta, entry, group);
		s.same_coders = has_same_coders(&meta, entry, previous);
		add_group(groups, &s);
		memcpy(previous, entry, meta.entry_size);
	}
	pfree(payload);
	pfree(entry);
	pfree(previous);
	pfree(metadata);
}

void
rencoder_run_groups_count_pages(Relation index, uint64 *base, uint64 *delta)
{
	RencoderRuns runs;
	uint64		npages[RENCODER_RUN_DELTA + 1] = {0};

	rencoder_runs_look(index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		const RencoderRunEntry *run = &runs.list.entry[i];

		if (run->state == RENCODER_RUN_LIVE && run->kind <= RENCODER_RUN_DELTA)
			npages[run->kind] += run->npages;
	}
	*base = npages[RENCODER_RUN_BASE];
	*delta = npages[RENCODER_RUN_DELTA];
}

/* ---- Tidying up ---- */

/* Takes "flushing" for a run back from a group: we are the maintainer, so nobody is at work. */
static void
take_back(const RencoderGroup *group, uint32 run)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_HEADERS, 0);
	if (edit.first->flushing_run == run)
	{
		RencoderHeader first = rencoder_group_edit_first(&edit);

		rencoder_set_put(first->flushing, renc_mask_none());
		first->flushing_run = 0;
	}
	rencoder_group_edit_finish(&edit);
}

/*
 * The groups of a stretch may be flushing for a base run that is being made, which nobody is doing
 * any more, or that is LIVE, but not theirs.
 */
static void
take_back_stretch(Relation index, const RencoderMeta *meta, const RencoderStretch *s,
				  const RencoderRunEntry *run)
{
	uint32		first = Max(s->first, run->first_group);
	uint32		end = Min(s->first + s->n, run->first_group + run->ngroups);
	RencoderGroup group;

	if (run->kind != RENCODER_RUN_BASE || run->state == RENCODER_RUN_FREEING ||
		(run->state == RENCODER_RUN_LIVE && run->number == s->run))
		return;
	for (uint32 number = first; number < end; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (rencoder_group_locate(&group, index, meta, number))
			take_back(&group, run->number);
	}
}

void
rencoder_run_groups_free_storage(const RencoderGroup *group, int col)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_EPOCH, RENCODER_EDIT_STORAGE);
	rencoder_group_edit_release_storage(&edit);
	rencoder_run_groups_config(rencoder_group_edit_header(&edit),
							   &rencoder_group_edit_entry(&edit)->column[col]);
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
}

/* Storage of further columns that a switch to a run left behind. */
static void
free_leftover(Relation index, const RencoderMeta *meta, const RencoderStretch *s)
{
	RencoderHeaderData copy;
	RencoderGroup group;

	for (uint32 number = s->first; s->leftover && number < s->first + s->n; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!rencoder_group_locate(&group, index, meta, number))
			continue;
		for (int col = 0; col < meta->natts; col++)
		{
			rencoder_group_copy_header(&group, col, &copy);
			if (rencoder_is_configured(&copy.config))
				rencoder_run_groups_free_storage(&group, col);
		}
	}
}

static bool
is_named(const RencoderRunGroups *groups, uint32 run)
{
	for (int i = 0; i < groups->n; i++)
	{
		if (groups->stretch[i].run == run)
			return true;
	}
	return false;
}

/*
 * Base runs that no group names; deltas and pending pages that end before the cuts of all groups
 * that name one: only covered ranges are looked for there, whose keys up to the cut are in their
 * base runs (INV-13).
 */
static void
drop_needless(Relation index, const RencoderRunGroups *groups, const RencoderRuns *runs)
{
	uint32		dropped[RENCODER_MAX_RUNS];
	int			n = 0;
	uint64		least = PG_UINT64_MAX;
	uint64		upto = 0;

	for (int i = 0; i < groups->n; i++)
	{
		/* A group without a summarized range has none that is covered. */
		if (groups->stretch[i].run != 0 && groups->stretch[i].kind != RENCODER_STRETCH_OTHER)
			least = Min(least, groups->stretch[i].cut);
	}
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		const RencoderRunEntry *run = &runs->list.entry[i];

		if (run->state == RENCODER_RUN_LIVE &&
			(run->kind == RENCODER_RUN_BASE ? !is_named(groups, run->number) : run->upto <= least))
			dropped[n++] = run->number;
	}
	if (runs->pending_first != RENCODER_NO_BLOCK)
		upto = Min(least, runs->pending_last_number - 1);
	if (upto < runs->pending_first_number)
		upto = 0;
	if (n > 0 || upto > 0)
		rencoder_run_list_drop(index, upto, dropped, n);
}

void
rencoder_run_groups_tidy(Relation index)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderRunGroups groups;
	RencoderRuns runs;

	rencoder_runs_look(index, &runs, NULL);
	if (runs.list.n == 0)
		return;
	rencoder_run_groups_look(index, &groups);
	for (int i = 0; i < groups.n; i++)
	{
		for (uint32 j = 0; j < runs.list.n; j++)
			take_back_stretch(index, &meta, &groups.stretch[i], &runs.list.entry[j]);
		free_leftover(index, &meta, &groups.stretch[i]);
	}
	drop_needless(index, &groups, &runs);
	rencoder_run_list_free(index, 0);
	pfree(groups.stretch);
}
