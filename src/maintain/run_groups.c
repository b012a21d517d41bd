/*
 * run_groups.c
 *		Cleaning up after crashes and errors: which groups name which runs, and what no group names.
 */
#include "maintain/run_groups.h"

#include "miscadmin.h"

#include "key/coder.h"
#include "maintain/reading.h"
#include "store/covered_spans.h"
#include "store/group_copy.h"

/* ---- Looking ---- */

/* A group whose entry does not speak for all of its ranges; the table has "nranges" of them. */
static void
look_at_run_group_header(Relation index, RencoderEntry entry, uint64 nranges,
						 RencoderAlikeGroups *s)
{
	Buffer		buf = rencoder_group_read_header(index, entry->header, s->first, 0, BUFFER_LOCK_SHARE);
	const RencoderHeaderData *header = rencoder_page_header(BufferGetPage(buf), s->first);
	renc_mask	summarized = rencoder_set_get(header->summarized);
	renc_mask	covered = rencoder_set_get(header->covered);
	int			n = renc_mask_count(summarized);

	s->cut = rencoder_group_least_cut(header);
	s->lacking = renc_mask_next(renc_mask_andnot(renc_mask_all(), covered), 0) < nranges;
	s->uncovered = s->lacking || !renc_mask_within(summarized, covered);
	if (nranges >= RENC_GROUP_RANGES && n < RENC_GROUP_RANGES / 2)
		s->kind = RENCODER_GROUPS_UNREAD;
	else if (n == RENC_GROUP_RANGES)
		s->kind = RENCODER_GROUPS_WAITING;
	else if (entry->run != 0 && n > 0)
		s->kind = RENCODER_GROUPS_PARTIAL;
	s->filtered = !renc_mask_empty(rencoder_header_filtered(header));
	s->noted = !renc_mask_empty(rencoder_set_get(header->noted));
	UnlockReleaseBuffer(buf);
}

/* Is there a column whose keys are not made by its newest coder? */
static bool
run_group_is_of_old_coder(const RencoderMeta *meta, RencoderEntry entry, const uint32 *newest)
{
	for (int col = 0; col < meta->natts; col++)
	{
		if (entry->column[col].config.coder != newest[col])
			return true;
	}
	return false;
}

/* What is to be known of a group, as if no other were like it. */
static RencoderAlikeGroups
look_at_run_group(Relation index, const RencoderMeta *meta, RencoderEntry entry, uint32 number,
				  uint64 nranges, const uint32 *newest)
{
	uint64		before = (uint64) number * RENC_GROUP_RANGES;
	RencoderAlikeGroups s = {.first = number,.n = 1,.kind = RENCODER_GROUPS_OTHER,
	.run = entry->run,.cut = PG_UINT64_MAX};

	nranges = Min(nranges - Min(nranges, before), RENC_GROUP_RANGES);
	if (entry->header == RENCODER_NO_BLOCK)
	{
		s.lacking = s.uncovered = nranges > 0;
		if (nranges >= RENC_GROUP_RANGES)
			s.kind = RENCODER_GROUPS_UNREAD;
		return s;
	}
	s.cut = entry->cut;
	s.old_coder = run_group_is_of_old_coder(meta, entry, newest);
	if (entry->flags & RENCODER_ENTRY_COVERED)
		s.kind = RENCODER_GROUPS_COVERED;
	else if (entry->flags & RENCODER_ENTRY_SEALED)
	{
		s.kind = RENCODER_GROUPS_WAITING;
		s.filtered = true;
	}
	else
		look_at_run_group_header(index, entry, nranges, &s);
	return s;
}

/* Adds a group, to the last ones if it is like them. */
static void
add_run_group(RencoderRunGroups *groups, const RencoderAlikeGroups *s)
{
	RencoderAlikeGroups *last = groups->n > 0 ? &groups->alike[groups->n - 1] : NULL;

	if (last != NULL && last->kind == s->kind && last->run == s->run &&
		last->old_coder == s->old_coder && last->filtered == s->filtered && last->noted == s->noted &&
		last->lacking == s->lacking && last->uncovered == s->uncovered)
	{
		last->n++;
		last->cut = Min(last->cut, s->cut);
		return;
	}
	if (groups->n == groups->allocated)
	{
		groups->allocated *= 2;
		groups->alike = repalloc_huge(groups->alike, groups->allocated * sizeof(RencoderAlikeGroups));
	}
	groups->alike[groups->n++] = *s;
}

void
rencoder_run_groups_look(Relation index, uint64 nranges, RencoderRunGroups *groups)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	RencoderEntry entry = palloc0(meta.entry_size);
	uint32		newest[INDEX_MAX_KEYS];
	char	   *payload = NULL;
	uint32		ngroups = rencoder_group_copy_count_groups(index, &meta, metadata, nranges);

	for (int col = 0; col < meta.natts; col++)
		newest[col] = rencoder_coder_newest_generation(index, col);
	groups->n = 0;
	groups->allocated = 16;
	groups->alike = palloc(groups->allocated * sizeof(RencoderAlikeGroups));
	for (uint32 group = 0; group < ngroups; group++)
	{
		RencoderAlikeGroups s;

		if (group % meta.entries_per_page == 0)
		{
			BlockNumber blkno = rencoder_directory_find(index, &meta, metadata, group, NULL);

			CHECK_FOR_INTERRUPTS();
			if (payload != NULL)
				pfree(payload);
			payload = blkno == RENCODER_NO_BLOCK ? palloc0(RENCODER_PAYLOAD_SIZE) :
				rencoder_page_copy(index, blkno, RENCODER_PAGE_DIRECTORY);
		}
		memcpy(entry, rencoder_directory_entry(payload, &meta, group), meta.entry_size);
		s = look_at_run_group(index, &meta, entry, group, nranges, newest);
		add_run_group(groups, &s);
	}
	if (payload != NULL)
		pfree(payload);
	pfree(entry);
	pfree(metadata);
}

void
rencoder_run_groups_count_pages(Relation index, uint64 *base, uint64 *delta)
{
	RencoderRuns runs;
	uint64		npages[RENCODER_RUN_DELTA + 1] = {0};

	rencoder_runs_copy(index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		const RencoderRunEntry *run = &runs.list.entry[i];

		if (run->state == RENCODER_RUN_LIVE && run->kind <= RENCODER_RUN_DELTA)
			npages[run->kind] += run->npages;
	}
	*base = npages[RENCODER_RUN_BASE];
	*delta = npages[RENCODER_RUN_DELTA];
}

/* ---- Cleaning up ---- */

/*
 * Groups that are alike may be flushing for a base run that is being made, which nobody is doing
 * any more, or that is LIVE, but not theirs.  If it is theirs, only the end of the switch is
 * missing: that costs an entry for rows that the run has already, which is not worth a look at each
 * group.
 */
static void
clear_flushing_run_groups(Relation index, const RencoderMeta *meta, const RencoderAlikeGroups *s,
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
			rencoder_reading_give_up(&group, run->number);
	}
}

static bool
is_named(const RencoderRunGroups *groups, uint32 run)
{
	for (int i = 0; i < groups->n; i++)
	{
		if (groups->alike[i].run == run)
			return true;
	}
	return false;
}

/* The least cut of groups from "first" to before "end". */
static uint64
least_run_group_cut(const RencoderRunGroups *groups, uint64 first, uint64 end)
{
	uint64		least = PG_UINT64_MAX;

	for (int i = 0; i < groups->n; i++)
	{
		const RencoderAlikeGroups *s = &groups->alike[i];

		if (s->first < end && (uint64) s->first + s->n > first)
			least = Min(least, s->cut);
	}
	return least;
}

/*
 * Base runs that no group names; deltas that end before the cuts of all summarized ranges of the
 * groups that they have keys of, whose storage has these up to the cut, and pending pages of which
 * the same is true (INV-13).
 */
static void
clean_up_needless_runs(Relation index, const RencoderRunGroups *groups, const RencoderRuns *runs)
{
	uint32		dropped[RENCODER_MAX_RUNS];
	int			n = 0;
	uint64		upto = 0;

	for (uint32 i = 0; i < runs->list.n; i++)
	{
		const RencoderRunEntry *run = &runs->list.entry[i];

		if (run->state == RENCODER_RUN_LIVE &&
			(run->kind == RENCODER_RUN_BASE ? !is_named(groups, run->number) :
			 run->upto <= least_run_group_cut(groups, run->first_group,
											  (uint64) run->first_group + run->ngroups)))
			dropped[n++] = run->number;
	}
	if (runs->pending.first != RENCODER_NO_BLOCK)
		upto = Min(least_run_group_cut(groups, 0, PG_UINT64_MAX), runs->pending.last_number - 1);
	if (upto < runs->pending.first_number)
		upto = 0;
	if (n > 0 || upto > 0)
		rencoder_run_list_publish(index, NULL, 0, upto, dropped, n, true);
}

void
rencoder_run_groups_clean_up(Relation index)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderRunGroups groups;
	RencoderRuns runs;

	rencoder_runs_copy(index, &runs, NULL);
	if (runs.list.n == 0 && runs.pending.first == RENCODER_NO_BLOCK)
		return;
	rencoder_run_groups_look(index, 0, &groups);
	for (int i = 0; i < groups.n; i++)
	{
		for (uint32 j = 0; j < runs.list.n; j++)
			clear_flushing_run_groups(index, &meta, &groups.alike[i], &runs.list.entry[j]);
	}
	clean_up_needless_runs(index, &groups, &runs);
	rencoder_run_list_free(index, 0);
	rencoder_covered_spans_make(index, true);
	pfree(groups.alike);
}
