/*
 * group_scan.c
 *		What a query leaves of one group: block ranges, single heap pages, or rows.
 * Which ranges the snapshot trusts (INV-1, INV-9): trusted_group_ranges().
 */
#include "scan/group_scan.h"

#include "store/horizon.h"

/* Pages of a group of which rows are told apart; of more, all rows match. */
#define MAX_ROWS	4096

renc_mask
rencoder_group_scan_existing(const RencoderGroupScan *s, uint32 group)
{
	uint64		first = (uint64) group * RENC_GROUP_RANGES;

	return renc_mask_first(s->nranges <= first ? 0 :
						   (unsigned int) Min(s->nranges - first, RENC_GROUP_RANGES));
}

/*
 * Room for the pages and rows of a result, and of a column's answer.  No more pages have rows than
 * entries were found, and most queries find few.
 */
static void
make_group_page_room(RencoderGroupScan *s, RencoderGroupCandidates *state)
{
	uint32		max_rows = Min(RENC_GROUP_RANGES * s->meta.pages_per_range, MAX_ROWS);

	max_rows = s->runs == NULL ? 0 : (uint32) Min(max_rows, s->runs->nadded);
	for (int i = 0; i < 2 && s->page[i] == NULL; i++)
		s->page[i] = palloc(renc_candidates_words(s->meta.pages_per_range) * sizeof(uint64));
	for (int i = 0; i < 3 && max_rows > s->max_rows; i++)
	{
		if (s->rows[i] != NULL)
			pfree(s->rows[i]);
		s->rows[i] = palloc(max_rows * sizeof(renc_page_rows));
	}
	s->max_rows = Max(s->max_rows, max_rows);
	state->left.page = s->page[0];
	state->left.rows = s->rows[0];
	state->left.spare = s->rows[1];
	state->left.nrows = 0;
	state->left.max_rows = s->max_rows;
}

/* What is asked of a column in groups of this configuration. */
static RencoderColumnProbe *
get_column_probe(RencoderGroupScan *s, int col, const RencoderConfig *config, BlockNumber header)
{
	const RencoderKeySet *keys;
	RencoderColumnProbe *p;

	for (p = s->probes[col]; p != NULL; p = p->next)
	{
		if (p->keys->generation == config->coder)
			return p;
	}
	keys = rencoder_key_get_set(s->query, col, config->coder);
	if (keys == NULL)
		rencoder_page_corrupted(s->query->index, header, "The coder of a group's keys is missing.");
	p = palloc(sizeof(RencoderColumnProbe));
	p->keys = keys;
	p->probe = NULL;
	p->next = s->probes[col];
	s->probes[col] = p;
	return p;
}

/* The state of probing for it, made when first needed; not if there is no key to ask for. */
static RencoderProbe *
get_probe(const RencoderGroupScan *s, RencoderColumnProbe *p)
{
	const RencoderKeySet *keys = p->keys;

	Assert(!keys->none);
	if (p->probe == NULL)
		p->probe = rencoder_filter_probe_begin(s->index, keys->set.n > 0 ? &keys->set : NULL,
											   keys->boxes.n > 0 ? &keys->boxes : NULL);
	return p->probe;
}

/*
 * May storage with these bounds have a row of the query?  A run's are the widest where it has values
 * without a key, which may match what no key does.
 */
static bool
is_group_run_asked(const RencoderKeySet *keys, uint64 min, uint64 max)
{
	return (min == 0 && max == PG_UINT64_MAX) || rencoder_key_set_meets_bounds(keys, min, max);
}

/* The ranges of "mask" whose storage may have what is asked for, as min and max tell. */
static renc_mask
prune_group_by_bounds(const RencoderColumnProbe *p, const RencoderHeaderData *header,
					  renc_mask covered, renc_mask mask)
{
	renc_mask_each(slot, mask)
	{
		if (!(renc_mask_test(covered, slot) ? is_group_run_asked : rencoder_key_set_meets_bounds)
			(p->keys, header->min[slot], header->max[slot]))
			renc_mask_clear(&mask, slot);
	}
	return mask;
}

/* Asks the matrix of a column; "always" ranges pass. */
static renc_mask
probe_group_storage(RencoderGroupScan *s, RencoderColumnProbe *p, const RencoderHeaderData *header,
					renc_mask mask)
{
	renc_mask	always = renc_mask_and(mask, rencoder_set_get(header->always));
	renc_mask	ask = renc_mask_andnot(mask, always);
	RencoderSlab slab = rencoder_slab_of(s->index, header);

	if (renc_mask_empty(ask))
		return always;
	return renc_mask_or(always, rencoder_filter_probe(get_probe(s, p), &slab, ask));
}

/* Leaves what facts do not exclude of the ranges that the matrix of a column names. */
static renc_mask
prune_group_by_facts(RencoderGroupScan *s, const RencoderColumnProbe *p, uint32 group, int col,
					 renc_mask mask)
{
	uint32		npages = s->meta.pages_per_range;

	for (unsigned int slot = renc_mask_next(mask, 0); slot < RENC_GROUP_RANGES && s->facts != NULL;
		 slot = renc_mask_next(mask, slot + 1))
	{
		if (rencoder_scan_facts_exclude(s->facts, p->keys, col,
										(group * RENC_GROUP_RANGES + slot) * npages, npages, false))
			renc_mask_clear(&mask, slot);
	}
	return mask;
}

/* What was found in the base run of a group; NULL: the run is not known. */
static RencoderSearchedRun *
find_run_of_group(RencoderGroupScan *s, uint32 number, BlockNumber named_by)
{
	if (s->runs == NULL)
		s->runs = rencoder_run_scan_begin(s->index, s->nblocks, s->query, s->copies, &s->prefetch);
	return rencoder_run_scan_search_base(s->runs, number, named_by);
}

/* The first group from "group" on in which rows were found; PG_UINT32_MAX: none. */
static uint32
next_group(const RencoderGroupScan *s, uint32 group, RencoderFoundRows *found)
{
	uint64		ngroup = (uint64) RENC_GROUP_RANGES * s->meta.pages_per_range;
	uint32		page = renc_stretches_seek(&found->list, &found->next,
										   (uint32) Min(group * ngroup, RENC_NO_PAGE));

	return page == RENC_NO_PAGE ? PG_UINT32_MAX : (uint32) (page / ngroup);
}

/* The same where a base run has found something of a column. */
static uint32
next_stored_group(const RencoderGroupScan *s, uint32 group, const RencoderSearchedRun *run, int col)
{
	return run->column[col].all ? group : next_group(s, group, &s->runs->stored[col]);
}

/* Have deltas or the pending list pages of the group, in a column that is asked? */
static bool
group_has_late_pages(const RencoderGroupScan *s, uint32 group)
{
	for (int col = 0; col < s->meta.natts && s->runs != NULL; col++)
	{
		if (rencoder_column_is_asked(&s->query->column[col]) &&
			next_group(s, group, &s->runs->late[col]) == group)
			return true;
	}
	return false;
}

/* A column's answer, with room for pages and rows, of which there are none yet. */
static renc_candidates
begin_answer(const RencoderGroupScan *s)
{
	renc_candidates answer = renc_candidates_of_ranges(renc_mask_none(), s->meta.pages_per_range);

	answer.page = s->page[1];
	answer.rows = s->rows[2];
	answer.max_rows = s->max_rows;
	return answer;
}

/* Where the keys of a group are, as its first header says. */
typedef struct GroupStorage
{
	renc_mask	covered;		/* ranges, by "run" */
	renc_mask	noted;			/* they have none */
	RencoderSearchedRun *run;	/* NULL: it is not known */
} GroupStorage;

/* Adds what was found in the covered ranges by "run" (NULL: it is not known), and late places. */
static void
add_places(RencoderGroupScan *s, uint32 group, int col, RencoderSearchedRun *run,
		   renc_mask covered, renc_candidates *answer)
{
	if (s->runs != NULL)
		rencoder_run_scan_answer(s->runs, group, col, run, covered, s->facts, answer);
	if (run == NULL)
		renc_candidates_add(answer, covered);
}

/*
 * What a column, of which "header" is a copy, leaves of a group.  A key that is asked for is in the
 * storage of a range, which bounds may exclude, or came later, which they do not tell; or a range in
 * a matrix has a value that any key may stand for.
 */
static void
ask_group_column(RencoderGroupScan *s, RencoderColumnProbe *p, const RencoderHeaderData *header,
				 const GroupStorage *storage, RencoderGroupCandidates *state)
{
	renc_mask	keyless = renc_mask_andnot(rencoder_set_get(header->keyless),
										   renc_mask_or(storage->covered, storage->noted));
	renc_mask	stored = renc_mask_andnot(state->left.ranges, renc_mask_or(keyless, storage->noted));
	renc_candidates answer = begin_answer(s);
	renc_mask	covered;

	/* Mostly the run has found nothing here. */
	if (storage->run != NULL &&
		next_stored_group(s, header->group, storage->run, header->attno) > header->group)
		stored = renc_mask_andnot(stored, storage->covered);
	stored = prune_group_by_bounds(p, header, storage->covered, stored);
	covered = renc_mask_and(storage->covered, stored);
	add_places(s, header->group, header->attno, storage->run, covered, &answer);
	stored = probe_group_storage(s, p, header, renc_mask_andnot(stored, covered));
	renc_candidates_add(&answer, prune_group_by_facts(s, p, header->group, header->attno, stored));
	renc_candidates_add(&answer, keyless);
	renc_candidates_and(&state->left, &answer);
}

/*
 * The same of a column that is asked for nulls, or for all values.  Their places are where keys
 * would be.  Of ranges in matrices flags tell.
 */
static void
ask_group_nulls(RencoderGroupScan *s, const RencoderColumnQuery *q,
				const RencoderHeaderData *header, const GroupStorage *storage,
				RencoderGroupCandidates *state)
{
	renc_mask	filtered = renc_mask_andnot(state->left.ranges,
											renc_mask_or(storage->covered, storage->noted));
	renc_candidates answer = begin_answer(s);

	if (q->wants_null)
		renc_candidates_add(&answer, renc_mask_and(filtered, rencoder_set_get(header->has_null)));
	if (q->wants_values)
		renc_candidates_add(&answer, renc_mask_and(filtered, rencoder_header_has_value(header)));
	add_places(s, header->group, header->attno, storage->run, storage->covered, &answer);
	renc_candidates_and(&state->left, &answer);
}

/* A copy of a header page, until the next one is wanted. */
static const RencoderHeaderData *
copy_header(RencoderGroupScan *s, RencoderEntry entry, uint32 group, int col)
{
	Page		page = rencoder_kept_read(&s->copies->pages, s->index, entry->header + col,
										  RENCODER_PAGE_HEADER, s->header.data, &s->npages, NULL);

	rencoder_test_old_snapshot(s->snapshot, s->index, page);
	return rencoder_group_verify_header(s->index, page, entry->header, group, col);
}

/* The ranges whose summaries the snapshot may trust. */
static renc_mask
trusted_group_ranges(const RencoderGroupScan *s, const RencoderHeaderData *header)
{
	renc_mask	ahead = renc_mask_none();
	uint64		latest = 0;

	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		latest = Max(latest, header->horizon[slot]);

	/* Mostly all of them. */
	if (latest <= s->xmin)
		return rencoder_set_get(header->summarized);
	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		ahead.w[slot / 64] |= (uint64) (header->horizon[slot] > s->xmin) << slot % 64;
	return renc_mask_andnot(rencoder_set_get(header->summarized), ahead);
}

/* The general way through a group. */
static void
scan_group_by_header(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
					 RencoderGroupCandidates *state)
{
	GroupStorage storage = {.run = NULL};

	for (int col = 0; col < s->meta.natts; col++)
	{
		const RencoderColumnQuery *q = &s->query->column[col];
		bool		asked = rencoder_column_is_asked(q);
		RencoderColumnProbe *p = NULL;
		const RencoderHeaderData *header;

		if (col > 0 && (!asked || renc_mask_empty(state->left.ranges)))
			continue;
		header = copy_header(s, entry, group, col);
		if (col == 0)
		{
			renc_mask	existing = rencoder_group_scan_existing(s, group);

			state->left.ranges = renc_mask_and(existing, trusted_group_ranges(s, header));
			state->untrusted = renc_mask_andnot(existing, state->left.ranges);

			storage.covered = rencoder_set_get(header->covered);
			storage.noted = rencoder_set_get(header->noted);
			if (header->run != 0)
				storage.run = find_run_of_group(s, header->run, entry->header);
			if (s->runs != NULL)
				make_group_page_room(s, state);
		}
		if (!asked || renc_mask_empty(state->left.ranges))
			continue;
		if (q->has_keys)
			p = get_column_probe(s, col, &header->config, entry->header);
		if (p != NULL)
			ask_group_column(s, p, header, &storage, state);
		else if (!q->has_keys)
			ask_group_nulls(s, q, header, &storage, state);
	}
}

/*
 * The short way: a sealed group that the snapshot trusts and that has no late places, without a
 * look at null flags.  The header is read last, if at all.
 */
static void
scan_sealed_group(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
				  RencoderGroupCandidates *state)
{
	RencoderColumnProbe *probes[INDEX_MAX_KEYS] = {NULL};
	const RencoderHeaderData *header;

	state->untrusted = renc_mask_none();
	state->left.ranges = rencoder_group_scan_existing(s, group);
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		RencoderEntryColumn *column = &entry->column[col];
		RencoderSlab slab = rencoder_slab(s->index, &column->config, column->matrix);

		if (!s->query->column[col].has_keys)
			continue;
		probes[col] = get_column_probe(s, col, &column->config, entry->header);
		if (!rencoder_key_set_meets_bounds(probes[col]->keys, column->min, column->max))
			renc_candidates_keep(&state->left, renc_mask_none());
		else
			renc_candidates_keep(&state->left, rencoder_filter_probe(get_probe(s, probes[col]), &slab, state->left.ranges));
	}
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		if (probes[col] == NULL)
			continue;
		header = copy_header(s, entry, group, col);

		/* Its configuration may have changed since the entry was read. */
		if (header->config.coder == probes[col]->keys->generation)
			renc_candidates_keep(&state->left, prune_group_by_facts(s, probes[col], group, col,
																	prune_group_by_bounds(probes[col], header, renc_mask_none(),
																						  state->left.ranges)));
	}
}

/* The ranges that the entry itself says are in runs, deltas and the pending list. */
static renc_mask
placed_group_ranges(RencoderEntry entry)
{
	return entry->flags & RENCODER_ENTRY_COVERED ? renc_mask_all() : renc_mask_first(entry->placed);
}

/*
 * The short way through a group whose keys are in its run and among late places, or in no storage: no
 * header is read.
 */
static void
scan_placed_group(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
				  RencoderGroupCandidates *state)
{
	RencoderSearchedRun *run = entry->run == 0 ? NULL :
		find_run_of_group(s, entry->run, entry->header);
	renc_mask	existing = rencoder_group_scan_existing(s, group);

	make_group_page_room(s, state);
	state->left.ranges = renc_mask_and(existing, placed_group_ranges(entry));
	state->untrusted = renc_mask_andnot(existing, state->left.ranges);
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		const RencoderEntryColumn *column = &entry->column[col];
		renc_candidates answer = begin_answer(s);
		renc_mask	covered = entry->run == 0 ? renc_mask_none() : renc_mask_all();
		const RencoderKeySet *keys;

		if (!rencoder_column_is_asked(&s->query->column[col]))
			continue;
		keys = run == NULL || !s->query->column[col].has_keys ? NULL :
			rencoder_key_get_set(s->query, col, column->config.coder);

		/* Cells reach farther than keys. */
		if (keys != NULL && !is_group_run_asked(keys, column->min, column->max))
			covered = renc_mask_none();
		add_places(s, group, col, run, covered, &answer);
		renc_candidates_and(&state->left, &answer);
	}
}

/* May the entry speak for all ranges of its group? */
static bool
group_takes_short_way(const RencoderGroupScan *s, RencoderEntry entry)
{
	bool		sealed = (entry->flags & (RENCODER_ENTRY_SEALED | RENCODER_ENTRY_ALWAYS)) == RENCODER_ENTRY_SEALED;

	return entry->horizon <= s->xmin &&
		((entry->flags & RENCODER_ENTRY_COVERED) || entry->placed > 0 || (sealed && !s->asks_nulls));
}

bool
rencoder_group_scan_can_skip_slow(RencoderGroupScan *s, RencoderEntry entry, uint32 group)
{
	RencoderSearchedRun *run;

	if (s->runs == NULL || s->query->empty || !group_takes_short_way(s, entry) ||
		!renc_mask_empty(renc_mask_andnot(rencoder_group_scan_existing(s, group),
										  placed_group_ranges(entry))))
		return false;
	run = rencoder_run_scan_find_base(s->runs, entry->run);
	for (int col = 0; col < s->meta.natts && (run != NULL || entry->run == 0); col++)
	{
		uint32		next;

		if (!rencoder_column_is_asked(&s->query->column[col]))
			continue;
		next = next_group(s, group, &s->runs->late[col]);
		if (run != NULL && next_stored_group(s, group, run, col) < next)
			next = next_stored_group(s, group, run, col);
		if (next > group)
		{
			s->skipped_run = entry->run;
			s->skipped_before = next;
			return true;
		}
	}
	return false;
}

void
rencoder_group_scan_prefetch_headers(const RencoderGroupScan *s, RencoderEntry entry)
{
	if (s->query->empty || entry->header == RENCODER_NO_BLOCK || group_takes_short_way(s, entry))
		return;
	for (int col = 0; col < s->meta.natts; col++)
	{
		if (col == 0 || rencoder_column_is_asked(&s->query->column[col]))
			rencoder_kept_prefetch_page(&s->prefetch, entry->header + col);
	}
}

void
rencoder_group_scan_ask(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
						RencoderGroupCandidates *state)
{
	bool		short_way;

	state->untrusted = renc_mask_none();
	state->left = renc_candidates_of_ranges(renc_mask_none(), s->meta.pages_per_range);
	if (s->query->empty)
		return;					/* no row can match, wherever it is */
	if (entry == NULL || entry->header == RENCODER_NO_BLOCK)
	{
		state->untrusted = rencoder_group_scan_existing(s, group);
		state->left.ranges = state->untrusted;
		return;
	}
	if (s->facts != NULL)
		s->facts->epoch = entry->epoch;
	short_way = group_takes_short_way(s, entry);
	if (short_way && !renc_mask_empty(placed_group_ranges(entry)))
		scan_placed_group(s, entry, group, state);
	else if (short_way && !group_has_late_pages(s, group))
		scan_sealed_group(s, entry, group, state);
	else
		scan_group_by_header(s, entry, group, state);
	renc_candidates_add(&state->left, state->untrusted);
	renc_candidates_keep(&state->left, rencoder_group_scan_existing(s, group));
}

const char *
rencoder_group_scan_fault(RencoderGroupScan *s, BlockNumber *blkno)
{
	const char *fault = s->runs == NULL ? NULL : rencoder_run_scan_fault(s->runs, blkno);

	/* All are taken back: what is met again is noted again. */
	for (int col = 0; col < s->meta.natts; col++)
	{
		for (RencoderColumnProbe *p = s->probes[col]; p != NULL; p = p->next)
		{
			if (p->probe == NULL || p->probe->fault == NULL)
				continue;
			fault = p->probe->fault;
			*blkno = p->probe->fault_blkno;
			p->probe->fault = NULL;
		}
	}
	return fault;
}

void
rencoder_group_scan_begin(RencoderGroupScan *s, Relation index, BlockNumber nblocks,
						  RencoderQuery *query, Snapshot snapshot, RencoderCopies *copies)
{
	memset(s, 0, offsetof(RencoderGroupScan, header));
	s->index = index;
	s->copies = copies;
	rencoder_kept_prefetch_begin(&s->prefetch, index, &copies->pages);
	s->meta = *rencoder_meta_get(index);
	s->query = query;
	s->nblocks = nblocks;
	s->nranges = rencoder_range_count(&s->meta, nblocks);
	s->snapshot = snapshot;
	s->xmin = snapshot == NULL ? PG_UINT64_MAX : rencoder_horizon_of_snapshot(snapshot);
	for (int col = 0; col < s->meta.natts && !query->empty; col++)
	{
		const RencoderColumnQuery *q = &query->column[col];

		s->asks_nulls |= q->wants_null || q->wants_values;
	}
}

void
rencoder_group_scan_search_runs(RencoderGroupScan *s, RencoderEarlyEnd *early)
{
	const RencoderRuns *runs = &s->copies->runs;

	if (s->query->empty || (runs->list.n == 0 && runs->pending.first == RENCODER_NO_BLOCK))
		return;
	if (s->runs == NULL)
		s->runs = rencoder_run_scan_begin(s->index, s->nblocks, s->query, s->copies, &s->prefetch);
	else
		rencoder_group_scan_rewind(s);
	rencoder_run_scan_search(s->runs, early);
}

void
rencoder_group_scan_rewind(RencoderGroupScan *s)
{
	s->skipped_before = 0;
	if (s->runs != NULL)
		rencoder_run_scan_rewind(s->runs);
}

int64
rencoder_group_scan_finish(RencoderGroupScan *s)
{
	for (int col = 0; col < s->meta.natts; col++)
	{
		for (RencoderColumnProbe *p = s->probes[col]; p != NULL; p = p->next)
		{
			if (p->probe == NULL)
				continue;
			s->npages += p->probe->npages;
			rencoder_filter_probe_end(p->probe);
		}
	}
	if (s->runs != NULL)
	{
		s->npages += s->runs->npages;
		rencoder_run_scan_end(s->runs);
	}
	return s->npages;
}
