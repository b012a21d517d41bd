/*
 * group_scan.c
 *		What a query leaves of one group: block ranges, or single heap pages.
 */
#include "query/group_scan.h"

#include "store/horizon.h"

renc_mask
rencoder_group_scan_existing(const RencoderGroupScan *s, uint32 group)
{
	uint64		first = (uint64) group * RENC_GROUP_RANGES;
	renc_mask	mask = renc_mask_none();

	if (s->nranges >= first + RENC_GROUP_RANGES)
		return renc_mask_all();
	for (uint64 r = first; r < s->nranges; r++)
		renc_mask_set(&mask, (unsigned int) (r - first));
	return mask;
}

/* Another column leaves these ranges of the group. */
static void
and_ranges(RencoderGroupCandidates *state, renc_mask ranges)
{
	renc_candidates answer = renc_candidates_of_ranges(ranges, state->left.pages_per_range);

	renc_candidates_and(&state->left, &answer);
}

/* Room for the pages of a result, and of a column's answer. */
static void
make_page_room(RencoderGroupScan *s, RencoderGroupCandidates *state)
{
	for (int i = 0; i < 2; i++)
	{
		if (s->page[i] == NULL)
			s->page[i] = palloc(renc_candidates_words(s->meta.pages_per_range) * sizeof(uint64));
	}
	state->left.page = s->page[0];
}

/*
 * What is asked of a column in groups of this configuration.  NULL if their
 * coder is gone: then they may match, and will be visited again (INV-7).
 */
static RencoderColumnProbe *
column_probe(RencoderGroupScan *s, int col, const RencoderConfig *config, BlockNumber header)
{
	const RencoderKeySet *keys;
	RencoderColumnProbe *p;

	for (p = s->probes[col]; p != NULL; p = p->next)
	{
		if (p->generation == config->coder)
			return p;
	}
	keys = rencoder_key_set(s->query, col, config->coder);
	if (keys == NULL)
	{
		s->uncoded = header;
		return NULL;
	}
	p = palloc(sizeof(RencoderColumnProbe));
	p->generation = config->coder;
	p->keys = keys;
	p->probe = NULL;
	p->next = s->probes[col];
	s->probes[col] = p;
	return p;
}

/* The state of probing for it, made when first needed; not if there is no key to ask for. */
static RencoderProbe *
probe_of(const RencoderGroupScan *s, RencoderColumnProbe *p)
{
	const RencoderKeySet *keys = p->keys;

	Assert(!keys->none);
	if (p->probe == NULL)
		p->probe = rencoder_probe_begin(s->index, keys->set.n > 0 ? &keys->set : NULL,
										keys->boxes.n > 0 ? &keys->boxes : NULL);
	return p->probe;
}

/*
 * Drops the ranges of "mask" that min, max and null flags rule out.  These are
 * true also for "always" ranges, of which only the keys are unknown.
 */
static renc_mask
prune_by_header(const RencoderGroupScan *s, RencoderHeader header, int col,
				const RencoderColumnProbe *p, renc_mask mask)
{
	const RencoderColumnQuery *q = &s->query->column[col];

	if (q->is_null)
		mask = renc_mask_and(mask, rencoder_set_get(header->has_null));
	if (q->not_null || q->has_keys)
		mask = renc_mask_and(mask, rencoder_set_get(header->has_value));
	if (p == NULL)
		return mask;
	for (unsigned int slot = renc_mask_next(mask, 0); slot < RENC_GROUP_RANGES;
		 slot = renc_mask_next(mask, slot + 1))
	{
		if (!rencoder_keys_meet(p->keys, header->min[slot], header->max[slot]))
			renc_mask_clear(&mask, slot);
	}
	return mask;
}

/* Asks the storage of a column; "always" ranges pass. */
static renc_mask
probe_storage(RencoderGroupScan *s, RencoderColumnProbe *p, const RencoderHeaderData *header,
			  renc_mask mask)
{
	renc_mask	always = renc_mask_and(mask, rencoder_set_get(header->always));
	renc_mask	ask = renc_mask_andnot(mask, always);
	renc_mask	result = always;

	if (!rencoder_is_configured(&header->config))
		return mask;
	if (renc_mask_empty(ask))
		return result;
	if (header->matrix.start != RENCODER_NO_BLOCK)
	{
		RencoderSlab slab = rencoder_slab_whole(s->index, &header->config, header->matrix);

		return renc_mask_or(result, rencoder_filter_probe(probe_of(s, p), &slab, ask));
	}
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
	{
		RencoderSlab slab = rencoder_slab_of_slice(s->index, header, slice);
		renc_mask	part = renc_mask_to_slice(ask, slice);

		if (renc_mask_empty(part))
			continue;
		part = rencoder_filter_probe(probe_of(s, p), &slab, part);
		result = renc_mask_or(result, renc_mask_from_slice(part, slice));
	}
	return result;
}

/* Adds the pages of a set that are of the group. */
static void
add_set(const RencoderGroupScan *s, uint32 group, renc_page_set *set, renc_candidates *answer)
{
	uint32		pages_per_range = s->meta.pages_per_range;
	uint64		first = (uint64) group * RENC_GROUP_RANGES * pages_per_range;
	uint64		end = first + (uint64) RENC_GROUP_RANGES * pages_per_range;
	BlockNumber page;

	if (set->all)
		renc_candidates_add(answer, renc_mask_all());
	for (page = renc_page_set_seek(&s->runs->sets, set, (BlockNumber) first);
		 page < end && page != InvalidBlockNumber;
		 page = renc_page_set_seek(&s->runs->sets, set, page + 1))
		renc_candidates_add_page(answer, (unsigned int) ((page - first) / pages_per_range),
								 (uint32) ((page - first) % pages_per_range));
}

/*
 * What runs and the pending list say of a column of a group whose ranges are covered by
 * "run", or by a run that is not known (NULL).
 */
static renc_candidates
ask_runs(RencoderGroupScan *s, RencoderSearchedRun *run, uint32 group, int col)
{
	renc_candidates answer = renc_candidates_of_ranges(renc_mask_none(), s->meta.pages_per_range);

	answer.page = s->page[1];
	if (run == NULL)
		renc_candidates_add(&answer, renc_mask_all());
	else
	{
		add_set(s, group, &run->column[col], &answer);
		add_set(s, group, &s->runs->late[col], &answer);
	}
	return answer;
}

/* What was found in the base run of a group; NULL: the run is not known. */
static RencoderSearchedRun *
base_run(RencoderGroupScan *s, uint32 number, BlockNumber named_by)
{
	if (s->runs == NULL)
		s->runs = rencoder_run_scan_begin(s->index, s->query, &s->prefetch);
	return rencoder_run_scan_base(s->runs, number, named_by);
}

/*
 * Asks storage and runs about a column, of which "header" is a copy.  "always" ranges
 * pass.
 */
static void
ask_column(RencoderGroupScan *s, RencoderColumnProbe *p, const RencoderHeaderData *header,
		   renc_mask covered, RencoderSearchedRun *run, RencoderGroupCandidates *state)
{
	renc_mask	always = rencoder_set_get(header->always);
	renc_candidates answer;

	covered = renc_mask_andnot(renc_mask_and(covered, state->left.ranges), always);
	if (renc_mask_empty(covered))
	{
		and_ranges(state, probe_storage(s, p, header, state->left.ranges));
		return;
	}
	answer = ask_runs(s, run, header->group, header->attno);
	renc_candidates_keep(&answer, covered);
	renc_candidates_add(&answer, probe_storage(s, p, header,
											   renc_mask_andnot(state->left.ranges, covered)));
	renc_candidates_and(&state->left, &answer);
}

/* Copies a header page. */
static void
copy_header(RencoderGroupScan *s, RencoderEntry entry, uint32 group, int col,
			RencoderHeader copy)
{
	Buffer		buf = rencoder_group_read_header(s->index, entry->header, group, col,
												 BUFFER_LOCK_SHARE);

	s->npages++;
	rencoder_test_old_snapshot(s->snapshot, s->index, BufferGetPage(buf));
	rencoder_header_copy(copy, buf);
	UnlockReleaseBuffer(buf);
}

/* The ranges whose summaries the snapshot may trust. */
static renc_mask
trusted_ranges(const RencoderGroupScan *s, const RencoderHeaderData *header)
{
	renc_mask	trusted = rencoder_set_get(header->summarized);

	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (header->horizon[slot] > s->xmin)
			renc_mask_clear(&trusted, slot);
	}
	return trusted;
}

/* The general way through a group. */
static void
scan_by_header(RencoderGroupScan *s, RencoderEntry entry, uint32 group, RencoderGroupCandidates *state)
{
	RencoderHeaderData header;
	RencoderSearchedRun *run = NULL;
	renc_mask	covered = renc_mask_none();

	for (int col = 0; col < s->meta.natts; col++)
	{
		const RencoderColumnQuery *q = &s->query->column[col];
		bool		asked = q->has_keys || q->is_null || q->not_null;
		RencoderColumnProbe *p = NULL;

		if (col > 0 && (!asked || renc_mask_empty(state->left.ranges)))
			continue;
		copy_header(s, entry, group, col, &header);
		if (col == 0)
		{
			renc_mask	existing = rencoder_group_scan_existing(s, group);

			state->left.ranges = renc_mask_and(existing, trusted_ranges(s, &header));
			state->untrusted = renc_mask_andnot(existing, state->left.ranges);

			if (s->asks_keys && header.run != 0)
			{
				covered = rencoder_set_get(header.covered);
				run = base_run(s, header.run, entry->header);
				make_page_room(s, state);
			}

			/*
			 * Every row in the index has a value or a null here.  Ranges with
			 * neither have no row that satisfies the index's predicate, which
			 * may be all that the query wants.
			 */
			if (!s->query->restricted)
				and_ranges(state, renc_mask_or(rencoder_set_get(header.has_value),
											   rencoder_set_get(header.has_null)));
		}
		if (q->has_keys && !renc_mask_empty(state->left.ranges))
			p = column_probe(s, col, &header.config, entry->header);
		if (asked)
			and_ranges(state, prune_by_header(s, &header, col, p, state->left.ranges));
		if (p != NULL && !renc_mask_empty(state->left.ranges))
			ask_column(s, p, &header, covered, run, state);
	}
}

/*
 * The short way: a sealed group that the snapshot trusts, without a look at
 * null flags.  The header is read last, if at all.
 */
static void
scan_sealed(RencoderGroupScan *s, RencoderEntry entry, uint32 group, RencoderGroupCandidates *state)
{
	RencoderColumnProbe *probes[INDEX_MAX_KEYS] = {NULL};
	RencoderHeaderData header;

	state->untrusted = renc_mask_none();
	state->left.ranges = rencoder_group_scan_existing(s, group);
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		RencoderEntryColumn *column = &entry->column[col];
		RencoderSlab slab = rencoder_slab_whole(s->index, &column->config, column->matrix);

		if (!s->query->column[col].has_keys)
			continue;
		probes[col] = column_probe(s, col, &column->config, entry->header);
		if (probes[col] == NULL)
			continue;
		if (!rencoder_keys_meet(probes[col]->keys, column->min, column->max))
			and_ranges(state, renc_mask_none());
		else
			and_ranges(state, rencoder_filter_probe(probe_of(s, probes[col]), &slab, state->left.ranges));
	}
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		if (probes[col] == NULL)
			continue;
		copy_header(s, entry, group, col, &header);

		/* Its configuration may have changed since the entry was read. */
		if (header.config.coder == probes[col]->generation)
			and_ranges(state, prune_by_header(s, &header, col, probes[col], state->left.ranges));
	}
}

/*
 * The short way through a group that is covered: no header is read.
 */
static void
scan_covered(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
			 RencoderGroupCandidates *state)
{
	RencoderSearchedRun *run = base_run(s, entry->run, entry->header);

	make_page_room(s, state);
	state->left.ranges = rencoder_group_scan_existing(s, group);
	for (int col = 0; col < s->meta.natts && !renc_mask_empty(state->left.ranges); col++)
	{
		const RencoderEntryColumn *column = &entry->column[col];
		const RencoderKeySet *keys;
		renc_candidates answer;

		if (!s->query->column[col].has_keys)
			continue;
		answer = ask_runs(s, run, group, col);
		renc_candidates_and(&state->left, &answer);
		if (renc_mask_empty(state->left.ranges))
			break;

		/* Cells reach farther than keys. */
		keys = rencoder_key_set(s->query, col, column->config.coder);
		if (keys != NULL && !rencoder_keys_meet(keys, column->min, column->max))
			and_ranges(state, renc_mask_none());
	}
}

/* May the entry speak for all ranges of its group? */
static bool
takes_short_way(const RencoderGroupScan *s, RencoderEntry entry)
{
	return s->short_way && entry->horizon <= s->xmin && !(entry->flags & RENCODER_ENTRY_ALWAYS);
}

/* The first group from "group" on that the set has a page of; PG_UINT32_MAX: none. */
static uint32
next_group(const RencoderGroupScan *s, uint32 group, renc_page_set *set)
{
	uint64		ngroup = (uint64) RENC_GROUP_RANGES * s->meta.pages_per_range;
	BlockNumber page;

	if (set->all)
		return group;
	page = renc_page_set_seek(&s->runs->sets, set, (BlockNumber) (group * ngroup));
	return page == InvalidBlockNumber ? PG_UINT32_MAX : (uint32) (page / ngroup);
}

bool
rencoder_group_scan_look_over(RencoderGroupScan *s, RencoderEntry entry, uint32 group)
{
	RencoderSearchedRun *run;

	if (s->runs == NULL || s->query->empty || !(entry->flags & RENCODER_ENTRY_COVERED) ||
		(entry->flags & RENCODER_ENTRY_SEALED) || !takes_short_way(s, entry))
		return false;
	run = rencoder_run_scan_searched(s->runs, entry->run);
	for (int col = 0; col < s->meta.natts && run != NULL; col++)
	{
		uint32		next;

		if (!s->query->column[col].has_keys)
			continue;
		next = next_group(s, group, &run->column[col]);
		next = Min(next, next_group(s, group, &s->runs->late[col]));
		if (next > group)
		{
			s->passed_run = entry->run;
			s->passed_before = next;
			return true;
		}
	}
	return false;
}

void
rencoder_group_scan_expect_headers(const RencoderGroupScan *s, RencoderEntry entry)
{
	if (s->query->empty || entry->header == RENCODER_NO_BLOCK ||
		(takes_short_way(s, entry) &&
		 (entry->flags & (RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED))))
		return;
	for (int col = 0; col < s->meta.natts; col++)
	{
		const RencoderColumnQuery *q = &s->query->column[col];

		if (col == 0 || q->has_keys || q->is_null || q->not_null)
			(void) rencoder_prefetch_page(&s->prefetch, entry->header + col);
	}
}

void
rencoder_group_scan_ask(RencoderGroupScan *s, RencoderEntry entry, uint32 group,
						RencoderGroupCandidates *state)
{
	bool		trusted;

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
	trusted = takes_short_way(s, entry);
	if (trusted && (entry->flags & RENCODER_ENTRY_SEALED))
		scan_sealed(s, entry, group, state);
	else if (trusted && (entry->flags & RENCODER_ENTRY_COVERED))
		scan_covered(s, entry, group, state);
	else
		scan_by_header(s, entry, group, state);
	renc_candidates_add(&state->left, state->untrusted);
	renc_candidates_keep(&state->left, rencoder_group_scan_existing(s, group));
}

const char *
rencoder_group_scan_fault(RencoderGroupScan *s, BlockNumber *blkno)
{
	const char *fault = NULL;

	if (s->uncoded != RENCODER_NO_BLOCK)
	{
		fault = "The coder of a group's keys is missing.";
		*blkno = s->uncoded;
		s->uncoded = RENCODER_NO_BLOCK;
	}
	for (int col = 0; col < s->meta.natts && fault == NULL; col++)
	{
		for (RencoderColumnProbe *p = s->probes[col]; p != NULL && fault == NULL; p = p->next)
		{
			if (p->probe == NULL || p->probe->fault == NULL)
				continue;
			fault = p->probe->fault;
			*blkno = p->probe->fault_blkno;
			p->probe->fault = NULL;
		}
	}
	if (fault == NULL && s->runs != NULL)
		fault = rencoder_run_scan_fault(s->runs, blkno);
	return fault;
}

void
rencoder_group_scan_begin(RencoderGroupScan *s, Relation index, BlockNumber nblocks,
						  RencoderQuery *query, Snapshot snapshot)
{
	bool		asks_nulls = false;

	memset(s, 0, sizeof(*s));
	s->index = index;
	rencoder_prefetch_begin(&s->prefetch, index);
	s->meta = *rencoder_meta_get(index);
	s->query = query;
	s->nblocks = nblocks;
	s->nranges = rencoder_range_count(&s->meta, nblocks);
	s->snapshot = snapshot;
	s->xmin = snapshot == NULL ? PG_UINT64_MAX : rencoder_horizon_of_snapshot(snapshot);
	for (int col = 0; col < s->meta.natts && !query->empty; col++)
	{
		const RencoderColumnQuery *q = &query->column[col];

		s->asks_keys |= q->has_keys;
		asks_nulls |= q->is_null || q->not_null;
	}
	s->short_way = !asks_nulls && query->restricted;
}

void
rencoder_group_scan_search_runs(RencoderGroupScan *s, const RencoderRuns *runs)
{
	if (!s->asks_keys || (runs->list.n == 0 && runs->pending_first == RENCODER_NO_BLOCK))
		return;
	s->runs = rencoder_run_scan_begin(s->index, s->query, &s->prefetch);
	rencoder_run_scan_search(s->runs, runs);
}

void
rencoder_group_scan_rewind(RencoderGroupScan *s)
{
	s->passed_before = 0;
	if (s->runs != NULL)
		rencoder_run_scan_rewind(s->runs);
}

int64
rencoder_group_scan_end(RencoderGroupScan *s)
{
	for (int col = 0; col < s->meta.natts; col++)
	{
		for (RencoderColumnProbe *p = s->probes[col]; p != NULL; p = p->next)
		{
			if (p->probe == NULL)
				continue;
			s->npages += p->probe->npages;
			rencoder_probe_end(p->probe);
		}
	}
	if (s->runs != NULL)
	{
		s->npages += s->runs->npages;
		rencoder_run_scan_end(s->runs);
	}
	return s->npages;
}
