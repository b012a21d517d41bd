/*
 * candidates.c
 *		Finding the heap pages that may hold rows of a query.
 *
 * A scan searches the runs, if there are any, then walks the directory and asks group by
 * group (group_scan.h, which also says whom the snapshot trusts: trusted_group_ranges()).
 *
 * It is a seqlock (INV-7).  Extents may be reused as soon as they are
 * freed, and bits may be cleared in unsummarized ranges; whoever does so bumps
 * the metapage's epoch first.  If the epoch has changed when the
 * scan ends, the groups that changed are visited again, with what has come of runs and of the
 * pending list, since a range may have become noted; after MAX_ROUNDS rounds they become candidates
 * whole.
 */
#include "scan/candidates.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "scan/group_scan.h"
#include "store/covered_spans.h"

#define MAX_ROUNDS	3

typedef struct CandidateWalk
{
	RencoderCopies *copies;
	RencoderEmit *emit;			/* or NULL */
	RencoderCandidateCounts *counts;
	RencoderGroupScan groups;
} CandidateWalk;

static void
emit_group_candidates(CandidateWalk *s, uint32 group, const renc_candidates *candidates)
{
	uint32		npages = candidates->pages_per_range;
	uint32		next = 0;

	if (s->emit == NULL)
		return;
	renc_mask_each(slot, candidates->ranges)
	{
		uint64		start = ((uint64) group * RENC_GROUP_RANGES + slot) * npages;
		uint64		end = Min(start + npages, s->groups.nblocks);
		uint32		i = renc_candidates_next_page(candidates, slot, 0);

		CHECK_FOR_INTERRUPTS();
		s->emit->nranges++;
		if (!renc_mask_test(candidates->refined, slot) && start < end)
			rencoder_whole_pages_add(&s->emit->whole, start, end);
		for (; start + i < end; i = renc_candidates_next_page(candidates, slot, i + 1))
			s->emit->page(s->emit->arg, (BlockNumber) (start + i),
						  renc_candidates_rows(candidates, slot, i, &next));
	}
}

/* All ranges of a group. */
static void
emit_whole_candidate_group(CandidateWalk *s, uint32 group)
{
	renc_candidates all =
		renc_candidates_of_ranges(rencoder_group_scan_existing(&s->groups, group),
								  s->groups.meta.pages_per_range);

	emit_group_candidates(s, group, &all);
}

static void
scan_candidate_group(CandidateWalk *s, RencoderEntry entry, uint32 group)
{
	RencoderGroupCandidates found;

	rencoder_group_scan_ask(&s->groups, entry, group, &found);
	if (s->counts)
	{
		renc_mask	existing = rencoder_group_scan_existing(&s->groups, group);
		renc_mask	ranges = found.left.ranges;

		s->counts->ranges += renc_mask_count(existing);
		s->counts->candidates += renc_mask_count(ranges);
		s->counts->unsummarized += renc_mask_count(found.untrusted);
		s->counts->skipped += renc_mask_count(renc_mask_andnot(existing, ranges));
	}
	emit_group_candidates(s, group, &found.left);
}

/* Groups of which nothing is left, to before "end". */
static void
count_skipped_candidates(CandidateWalk *s, uint32 group, uint32 end)
{
	uint64		ranges = Min(s->groups.nranges, (uint64) end * RENC_GROUP_RANGES) -
		(uint64) group * RENC_GROUP_RANGES;

	if (s->counts == NULL)
		return;
	s->counts->ranges += ranges;
	s->counts->skipped += ranges;
}

/*
 * The first group from "group" to before "end" that is to be asked, or looked at in the directory:
 * the metapage knows that those before are in spans, and nothing was found in them.  Under
 * old_snapshot_threshold a page of the directory that has changed tells an old snapshot so (INV-9).
 */
static uint32
skip_spans(CandidateWalk *s, uint32 group, uint32 end)
{
	const RencoderCoveredSpan *span;
	uint32		first = group;

	if (rencoder_removes_early())
		return group;
	while (group < end && (span = rencoder_covered_spans_find(&s->copies->metadata, group)) != NULL)
	{
		RencoderEntryData entry = rencoder_covered_span_entry(span);

		if (!rencoder_group_scan_can_skip(&s->groups, &entry, group))
			break;
		group = (uint32) Min(Min((uint64) span->first + span->n, s->groups.skipped_before), end);
	}
	count_skipped_candidates(s, first, group);
	return group;
}

/*
 * Has directory pages fetched, "from" .. "end" - 1, as far as the metapage names them.  (What maps
 * name begins behind some hundred GB of table.)
 */
static void
prefetch_directory(const CandidateWalk *s, uint64 from, uint64 end)
{
	uint32		per_page = s->groups.meta.entries_per_page;
	uint64		ndirectory = (rencoder_group_count(s->groups.nranges) + per_page - 1) / per_page;

	end = Min(Min(end, ndirectory), RENCODER_META_DIRECT);
	for (uint64 page = from; page < end; page++)
	{
		/* Mostly those that begin in a span are skipped. */
		if (rencoder_covered_spans_find(&s->copies->metadata, (uint32) page * per_page) == NULL)
			rencoder_kept_prefetch_page(&s->groups.prefetch, s->copies->metadata.direct[page]);
	}
}

/* Has the headers fetched of groups whose entries stand from "from" to before "end" in a page. */
static void
prefetch_headers(const CandidateWalk *s, char *from, char *end)
{
	for (char *at = from; at < end; at += s->groups.meta.entry_size)
		rencoder_group_scan_prefetch(&s->groups, (RencoderEntry) at);
}

/* Reads a directory page: the payload of a copy, as no lock is held while groups are asked. */
static char *
read_candidate_directory(CandidateWalk *s, BlockNumber blkno, char *room)
{
	RencoderGroupScan *groups = &s->groups;
	Page		page = rencoder_kept_read(&s->copies->pages, groups->index, blkno, RENCODER_PAGE_DIRECTORY,
										  room, &groups->npages, NULL);

	rencoder_test_old_snapshot(groups->snapshot, groups->index, page);
	return RencoderPageGetPayload(page);
}

/*
 * Visits the groups of the table, or those that changed after "since", all of
 * whose ranges are candidates if "whole".  A page that is not what it should
 * be sets *fault.
 */
static void
scan_groups(CandidateWalk *s, uint64 since, bool whole)
{
	Relation	index = s->groups.index;
	const RencoderMeta *meta = &s->groups.meta;
	uint32		ngroups = rencoder_group_count(s->groups.nranges);
	uint32		distance = s->groups.prefetch.distance;
	Size		size = meta->entry_size;
	PGAlignedBlock copy;

	rencoder_group_scan_rewind(&s->groups);
	for (uint32 group = 0; group < ngroups;)
	{
		uint64		ahead;
		uint32		end;
		BlockNumber blkno;
		char	   *at = copy.data; /* the entry of the group */
		char	   *expected;	/* the first whose header is not; NULL: none
								 * is */

		if (since == 0)
			group = skip_spans(s, group, ngroups);
		if (group >= ngroups)
			break;
		ahead = (uint64) group / meta->entries_per_page + distance;
		end = Min(ngroups, group - group % meta->entries_per_page + meta->entries_per_page);
		blkno = rencoder_directory_find(index, meta, &s->copies->metadata, group, &s->groups.npages);
		if (blkno != RENCODER_NO_BLOCK)
		{
			at = read_candidate_directory(s, blkno, copy.data) + group % meta->entries_per_page *
				size;
			prefetch_directory(s, ahead, ahead + 1);
		}
		expected = since == 0 && distance > 0 && blkno != RENCODER_NO_BLOCK ? at + size : NULL;
		for (; group < end; group++, at += size)
		{
			RencoderEntry entry = blkno == RENCODER_NO_BLOCK ? NULL : (RencoderEntry) at;

			CHECK_FOR_INTERRUPTS();
			if (since == 0)
			{
				if (expected != NULL)
				{
					/* As many ahead as are on this page. */
					char	   *upto = at + Min((Size) distance + 1, end - group) * size;

					prefetch_headers(s, expected, upto);
					expected = upto;
				}
				if (entry != NULL && rencoder_group_scan_can_skip(&s->groups, entry, group))
					count_skipped_candidates(s, group, group + 1);
				else
					scan_candidate_group(s, entry, group);
			}
			else if (entry != NULL && entry->epoch > since)
			{
				if (whole)
					emit_whole_candidate_group(s, group);
				else
					scan_candidate_group(s, entry, group);
			}
		}
	}
}

/* Repeats the groups that changed while they were visited. */
static void
walk_to_the_end(CandidateWalk *s, RencoderEarlyEnd *early)
{
	RencoderMetaPageData *metadata = &s->copies->metadata;
	uint64		start;

	rencoder_copies_begin(s->copies, s->groups.index, &s->groups.npages);
	start = metadata->epoch;
	s->groups.facts = rencoder_scan_facts_begin(s->groups.query, s->copies, s->groups.nblocks,
												s->groups.snapshot, s->counts == NULL);
	prefetch_directory(s, 0, s->groups.prefetch.distance);
	rencoder_group_scan_search_runs(&s->groups, early);
	if (early != NULL && early->broken_off)
		return;
	scan_groups(s, 0, false);

	/* The groups were counted once; repeats only add candidates. */
	s->counts = NULL;
	for (int round = 1;; round++)
	{
		BlockNumber blkno = InvalidBlockNumber;
		uint64		epoch = rencoder_copies_check_epoch(s->copies, s->groups.index, &s->groups.npages);
		const char *fault = rencoder_group_scan_fault(&s->groups, &blkno);

		if (epoch == start)
		{
			if (fault != NULL)
				rencoder_page_corrupted(s->groups.index, blkno, fault);
			rencoder_scan_facts_end(s->groups.facts);
			return;
		}
		rencoder_runs_copy_with_meta(s->groups.index, &s->copies->runs, metadata,
									 &s->copies->metapage, &s->groups.npages);
		rencoder_group_scan_search_runs(&s->groups, NULL);
		scan_groups(s, start, round >= MAX_ROUNDS);
		if (round >= MAX_ROUNDS)
			return;
		start = metadata->epoch;
	}
}

static void
begin_candidate_walk(CandidateWalk *s, Relation index, BlockNumber heap_nblocks,
					 RencoderQuery *query,
					 Snapshot snapshot, RencoderCopies *copies, RencoderCandidateCounts *counts)
{
	rencoder_group_scan_begin(&s->groups, index, heap_nblocks, query, snapshot, copies);
	s->copies = copies;
	s->emit = NULL;
	s->counts = counts;
	if (counts)
		memset(counts, 0, sizeof(*counts));
}

int64
rencoder_candidates_find(Relation index, BlockNumber heap_nblocks,
						 RencoderQuery *query, Snapshot snapshot, RencoderCopies *copies,
						 RencoderEmit *emit, RencoderEarlyEnd *early,
						 RencoderCandidateCounts *counts)
{
	CandidateWalk s;
	RencoderCopies none;
	int64		npages;

	rencoder_copies_init(&none);
	begin_candidate_walk(&s, index, heap_nblocks, query, snapshot, copies != NULL ? copies : &none,
						 counts);
	s.emit = emit;
	walk_to_the_end(&s, early);
	rencoder_copies_unpin(s.copies);
	npages = rencoder_group_scan_finish(&s.groups);
	if (counts)
		counts->index_pages = npages;
	return npages;
}

/* Copies the directory entry of a group whose pages look sound. */
static bool
copy_sound_entry(CandidateWalk *s, uint32 group, RencoderEntry entry)
{
	const char *fault;

	(void) rencoder_directory_read(s->groups.index, &s->groups.meta, &s->copies->metadata, group,
								   &fault, entry);
	if (entry->header == RENCODER_NO_BLOCK)
		return false;
	for (int col = 0; col < s->groups.meta.natts; col++)
	{
		Buffer		buf = rencoder_page_try_read(s->groups.index, entry->header + col,
												 RENCODER_PAGE_HEADER, &fault);

		if (!BufferIsValid(buf))
			return false;
		UnlockReleaseBuffer(buf);
	}
	return true;
}

void
rencoder_candidates_count_sampled(Relation index, BlockNumber heap_nblocks,
								  RencoderQuery *query, uint32 max_groups,
								  RencoderCandidateCounts *counts)
{
	CandidateWalk s;
	RencoderCopies none;
	RencoderEntry entry;
	uint32		ngroups;
	uint32		n;

	rencoder_copies_init(&none);
	rencoder_runs_copy_with_meta(index, &none.runs, &none.metadata, NULL, NULL);
	begin_candidate_walk(&s, index, heap_nblocks, query, NULL, &none, counts);
	entry = palloc(s.groups.meta.entry_size);
	ngroups = rencoder_group_count(s.groups.nranges);
	n = Min(ngroups, max_groups);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		group = (uint32) ((uint64) i * ngroups / n);

		if (copy_sound_entry(&s, group, entry) && entry->run == 0)
			scan_candidate_group(&s, entry, group);
	}
	counts->index_pages = rencoder_group_scan_finish(&s.groups);
	pfree(entry);
}
