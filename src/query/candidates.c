/*
 * candidates.c
 *		Finding the block ranges that may hold rows of a query.
 *
 * A scan walks the directory and, group by group, ANDs the masks of the
 * columns that the query restricts.  Two ways through a group:
 *
 *	- sealed (all 128 ranges summarized, stored as a matrix), trusted by the
 *	  snapshot, no range "always", and nulls are not asked for: directory entry,
 *	  then windows; the header is read only if some range is left, to compare it
 *	  with the range's min and max;
 *	- otherwise: header first, for the states of the ranges; then the matrix or
 *	  the slices.
 *
 * A scan is a seqlock (INV-7).  Extents may be reused as soon as they are
 * freed, and bits may be cleared in unsummarized ranges; whoever does so bumps
 * the metapage's epoch first.  If the epoch has changed when the
 * scan ends, the groups that changed are visited again; after
 * MAX_ROUNDS rounds they become candidates whole.
 */
#include "query/candidates.h"

#include "miscadmin.h"

#include "store/horizon.h"

#define MAX_ROUNDS	3

/* What is asked of a column in groups of one generation of its coder. */
typedef struct ColumnProbe
{
	uint32		generation;
	const RencoderKeySet *keys;
	RencoderProbe *probe;		/* NULL if there are no keys to ask for */
	struct ColumnProbe *next;
} ColumnProbe;

typedef struct RangeScan
{
	Relation	index;
	RencoderMeta meta_copy;		/* an invalidation may free rd_amcache */
	const RencoderMeta *meta;
	RencoderQuery *query;
	uint64		nranges;		/* of the table */
	Snapshot	snapshot;		/* or NULL */
	uint64		xmin;			/* of the snapshot; horizons above are not
								 * trusted */
	ColumnProbe *probes[INDEX_MAX_KEYS];	/* one for each generation of
											 * coder met */
	BlockNumber uncoded;		/* a group whose coder was not found, if any */
	bool		asks_nulls;		/* IS NULL or IS NOT NULL somewhere */
	int64		npages;			/* index pages read other than by probes */
	RencoderEmit emit;
	void	   *arg;
	RencoderCandidateCounts *counts;
} RangeScan;

/* What the columns asked so far leave of a group. */
typedef struct GroupCandidates
{
	renc_mask	untrusted;		/* ranges, whatever the columns' storage says */
	renc_candidates left;		/* of the other ranges */
} GroupCandidates;

/* Ranges of the group that exist in the table. */
static renc_mask
existing_ranges(const RangeScan *s, uint32 group)
{
	uint64		first = (uint64) group * RENC_GROUP_RANGES;
	renc_mask	mask = renc_mask_none();

	if (s->nranges >= first + RENC_GROUP_RANGES)
		return renc_mask_all();
	for (uint64 r = first; r < s->nranges; r++)
		renc_mask_set(&mask, (unsigned int) (r - first));
	return mask;
}

static void
emit_group(RangeScan *s, uint32 group, renc_candidates *candidates)
{
	renc_candidates_keep(candidates, existing_ranges(s, group));
	if (!renc_mask_empty(candidates->ranges))
		s->emit(s->arg, (uint64) group * RENC_GROUP_RANGES, candidates);
}

/* All ranges of a group. */
static void
emit_whole_group(RangeScan *s, uint32 group)
{
	renc_candidates all = renc_candidates_of_ranges(renc_mask_all(), s->meta->pages_per_range);

	emit_group(s, group, &all);
}

/* Another column leaves these ranges of the group. */
static void
and_ranges(GroupCandidates *state, renc_mask ranges)
{
	renc_candidates answer = renc_candidates_of_ranges(ranges, state->left.pages_per_range);

	renc_candidates_and(&state->left, &answer);
}

/*
 * What is asked of a column in groups of this configuration.  NULL if their
 * coder is gone: then they may match, and will be visited again (INV-7).
 */
static ColumnProbe *
column_probe(RangeScan *s, int col, const RencoderConfig *config, BlockNumber header)
{
	const RencoderKeySet *keys;
	ColumnProbe *p;

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
	p = palloc(sizeof(ColumnProbe));
	p->generation = config->coder;
	p->keys = keys;
	p->probe = keys->none ? NULL :
		rencoder_probe_begin(s->index, &keys->query, keys->set.n > 0 ? &keys->set : NULL,
							 keys->boxes.n > 0 ? &keys->boxes : NULL);
	p->next = s->probes[col];
	s->probes[col] = p;
	return p;
}

/* Do the bounds of a column leave room for the query? */
static inline bool
bounds_meet(const RencoderKeySet *keys, uint64 min, uint64 max)
{
	const renc_query *query = &keys->query;

	return !keys->none && min <= max && query->hull_lo <= max && query->hull_hi >= min &&
		query->overlap(query->arg, min, max) != RENC_DISJOINT;
}

/*
 * Drops the ranges of "mask" that min, max and null flags rule out.  These are
 * true also for "always" ranges, of which only the keys are unknown.
 */
static renc_mask
prune_by_header(const RangeScan *s, RencoderHeader header, int col,
				const ColumnProbe *p, renc_mask mask)
{
	const RencoderColumnQuery *q = &s->query->column[col];

	if (q->is_null)
		mask = renc_mask_and(mask, rencoder_set_get(header->has_null));
	if (q->not_null || q->has_keys)
		mask = renc_mask_and(mask, rencoder_set_get(header->has_value));
	if (p == NULL)
		return mask;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(mask, slot) &&
			!bounds_meet(p->keys, header->min[slot], header->max[slot]))
			renc_mask_clear(&mask, slot);
	}
	return mask;
}

/* Asks the storage of a column; "always" ranges pass. */
static renc_mask
probe_storage(RangeScan *s, RencoderProbe *probe, const RencoderHeaderData *header,
			  renc_mask mask)
{
	const RencoderFormat *format = rencoder_format_of(&header->config);
	renc_mask	always = renc_mask_and(mask, rencoder_set_get(header->always));
	renc_mask	ask = renc_mask_andnot(mask, always);
	renc_mask	result = always;

	if (format == NULL)			/* unknown to this version: may match */
		return mask;
	if (header->matrix.start != RENCODER_NO_BLOCK)
	{
		RencoderSlab slab = rencoder_slab_whole(s->index, &header->config, header->matrix);

		return renc_mask_or(result, format->probe(probe, &slab, ask));
	}
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
	{
		RencoderSlab slab = rencoder_slab_of_slice(s->index, header, slice);
		renc_mask	part = renc_mask_to_slice(ask, slice);

		if (renc_mask_empty(part))
			continue;
		part = format->probe(probe, &slab, part);
		result = renc_mask_or(result, renc_mask_from_slice(part, slice));
	}
	return result;
}

/* Copies a header page. */
static void
copy_header(RangeScan *s, RencoderEntry entry, uint32 group, int col,
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
trusted_ranges(const RangeScan *s, const RencoderHeaderData *header)
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
scan_by_header(RangeScan *s, RencoderEntry entry, uint32 group, GroupCandidates *state)
{
	RencoderHeaderData header;

	for (int col = 0; col < s->meta->natts; col++)
	{
		const RencoderColumnQuery *q = &s->query->column[col];
		bool		asked = q->has_keys || q->is_null || q->not_null;
		ColumnProbe *p = NULL;

		if (col > 0 && (!asked || renc_mask_empty(state->left.ranges)))
			continue;
		copy_header(s, entry, group, col, &header);
		if (col == 0)
		{
			renc_mask	existing = existing_ranges(s, group);

			state->left.ranges = renc_mask_and(existing, trusted_ranges(s, &header));
			state->untrusted = renc_mask_andnot(existing, state->left.ranges);

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
			and_ranges(state, probe_storage(s, p->probe, &header, state->left.ranges));
	}
}

/*
 * The short way: a sealed group that the snapshot trusts, without a look at
 * null flags.  The header is read last, if at all.
 */
static void
scan_sealed(RangeScan *s, RencoderEntry entry, uint32 group, GroupCandidates *state)
{
	ColumnProbe *probes[INDEX_MAX_KEYS] = {NULL};
	RencoderHeaderData header;

	state->untrusted = renc_mask_none();
	state->left.ranges = existing_ranges(s, group);
	for (int col = 0; col < s->meta->natts && !renc_mask_empty(state->left.ranges); col++)
	{
		RencoderEntryColumn *column = &entry->column[col];
		RencoderSlab slab = rencoder_slab_whole(s->index, &column->config, column->matrix);
		const RencoderFormat *format = rencoder_format_of(&column->config);

		if (!s->query->column[col].has_keys)
			continue;
		probes[col] = column_probe(s, col, &column->config, entry->header);
		if (probes[col] == NULL)
			continue;
		if (!bounds_meet(probes[col]->keys, column->min, column->max))
			and_ranges(state, renc_mask_none());
		else if (format != NULL)
			and_ranges(state, format->probe(probes[col]->probe, &slab, state->left.ranges));
	}
	for (int col = 0; col < s->meta->natts && !renc_mask_empty(state->left.ranges); col++)
	{
		if (probes[col] == NULL)
			continue;
		copy_header(s, entry, group, col, &header);

		/* Its configuration may have changed since the entry was read. */
		if (header.config.coder == probes[col]->generation)
			and_ranges(state, prune_by_header(s, &header, col, probes[col], state->left.ranges));
	}
}

static void
scan_group(RangeScan *s, RencoderEntry entry, uint32 group)
{
	GroupCandidates state;
	renc_mask	existing = existing_ranges(s, group);
	renc_mask	ranges;

	state.untrusted = renc_mask_none();
	state.left = renc_candidates_of_ranges(renc_mask_none(), s->meta->pages_per_range);

	if (s->query->empty)
		;						/* no row can match, wherever it is */
	else if (entry == NULL || entry->header == RENCODER_NO_BLOCK)
		state.untrusted = existing;
	else if ((entry->flags & RENCODER_ENTRY_SEALED) &&
			 !(entry->flags & RENCODER_ENTRY_ALWAYS) &&
			 entry->horizon <= s->xmin && !s->asks_nulls && s->query->restricted)
		scan_sealed(s, entry, group, &state);
	else
		scan_by_header(s, entry, group, &state);
	renc_candidates_add(&state.left, state.untrusted);
	ranges = state.left.ranges;
	if (s->counts)
	{
		s->counts->ranges += renc_mask_count(existing);
		s->counts->candidates += renc_mask_count(ranges);
		s->counts->unsummarized += renc_mask_count(state.untrusted);
		s->counts->skipped += renc_mask_count(renc_mask_andnot(existing, ranges));
	}
	emit_group(s, group, &state.left);
}

/*
 * Visits the groups of the table, or those that changed after "since", all of
 * whose ranges are candidates if "whole".  A page that is not what it should
 * be sets *fault.
 */
static void
scan_groups(RangeScan *s, uint64 since, bool whole)
{
	uint32		ngroups = rencoder_group_count(s->nranges);
	RencoderMetaPageData *metadata = rencoder_meta_copy(s->index);
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);

	s->npages++;
	for (uint32 group = 0; group < ngroups;)
	{
		uint32		end = Min(ngroups, group - group % s->meta->entries_per_page +
							  s->meta->entries_per_page);
		BlockNumber blkno = rencoder_directory_find(s->index, s->meta, metadata, group,
													&s->npages);

		/* One copy serves all entries of the page: no lock is held below. */
		if (blkno != RENCODER_NO_BLOCK)
		{
			Buffer		buf = rencoder_page_read(s->index, blkno, BUFFER_LOCK_SHARE,
												 RENCODER_PAGE_DIRECTORY);

			s->npages++;
			rencoder_test_old_snapshot(s->snapshot, s->index, BufferGetPage(buf));
			memcpy(payload, RencoderPageGetPayload(BufferGetPage(buf)),
				   RENCODER_PAYLOAD_SIZE);
			UnlockReleaseBuffer(buf);
		}
		for (; group < end; group++)
		{
			RencoderEntry entry = blkno == RENCODER_NO_BLOCK ? NULL :
				rencoder_directory_entry(payload, s->meta, group);

			CHECK_FOR_INTERRUPTS();
			if (since == 0)
				scan_group(s, entry, group);
			else if (entry != NULL && entry->epoch > since)
			{
				if (whole)
					emit_whole_group(s, group);
				else
					scan_group(s, entry, group);
			}
		}
	}
	pfree(payload);
	pfree(metadata);
}

/* The first page that some probe found damaged, or NULL; forgets it. */
static const char *
take_fault(RangeScan *s, BlockNumber *blkno)
{
	const char *fault = NULL;

	if (s->uncoded != RENCODER_NO_BLOCK)
	{
		fault = "The coder of a group's keys is missing.";
		*blkno = s->uncoded;
		s->uncoded = RENCODER_NO_BLOCK;
	}
	for (int col = 0; col < s->meta->natts && fault == NULL; col++)
	{
		for (ColumnProbe *p = s->probes[col]; p != NULL && fault == NULL; p = p->next)
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

/* Repeats the groups that changed while they were visited. */
static void
scan_to_the_end(RangeScan *s)
{
	uint64		start = rencoder_meta_epoch(s->index);

	s->npages++;
	scan_groups(s, 0, false);

	/* The groups were counted once; repeats only add candidates. */
	s->counts = NULL;
	for (int round = 1;; round++)
	{
		uint64		now = rencoder_meta_epoch(s->index);
		BlockNumber blkno = InvalidBlockNumber;
		const char *fault = take_fault(s, &blkno);

		s->npages++;
		if (now == start)
		{
			if (fault != NULL)
				rencoder_page_corrupted(s->index, blkno, fault);
			return;
		}
		scan_groups(s, start, round >= MAX_ROUNDS);
		if (round >= MAX_ROUNDS)
			return;
		start = now;
	}
}

static void
begin_range_scan(RangeScan *s, Relation index, BlockNumber heap_nblocks,
				 RencoderQuery *query, Snapshot snapshot, RencoderCandidateCounts *counts)
{
	memset(s, 0, sizeof(*s));
	s->index = index;
	s->meta_copy = *rencoder_meta_get(index);
	s->meta = &s->meta_copy;
	s->query = query;
	s->nranges = rencoder_range_count(s->meta, heap_nblocks);
	s->snapshot = snapshot;
	s->xmin = snapshot == NULL ? PG_UINT64_MAX : rencoder_horizon_of_snapshot(snapshot);
	s->counts = counts;
	if (counts)
		memset(counts, 0, sizeof(*counts));
	for (int col = 0; col < s->meta->natts && !query->empty; col++)
	{
		const RencoderColumnQuery *q = &query->column[col];

		s->asks_nulls |= q->is_null || q->not_null;
	}
}

/* Returns the index pages read. */
static int64
end_range_scan(RangeScan *s)
{
	for (int col = 0; col < s->meta->natts; col++)
	{
		for (ColumnProbe *p = s->probes[col]; p != NULL; p = p->next)
		{
			if (p->probe == NULL)
				continue;
			s->npages += p->probe->npages;
			rencoder_probe_end(p->probe);
		}
	}
	return s->npages;
}

void
rencoder_candidates_find(Relation index, BlockNumber heap_nblocks,
						 RencoderQuery *query, Snapshot snapshot,
						 RencoderEmit emit, void *arg, RencoderCandidateCounts *counts)
{
	RangeScan	s;
	int64		npages;

	begin_range_scan(&s, index, heap_nblocks, query, snapshot, counts);
	s.emit = emit;
	s.arg = arg;
	scan_to_the_end(&s);
	npages = end_range_scan(&s);
	if (counts)
		counts->index_pages = npages;
}

static void
emit_nothing(void *arg, uint64 first_range, const renc_candidates *candidates)
{
}

/* Copies the directory entry of a group whose pages look sound. */
static bool
copy_sound_entry(RangeScan *s, const RencoderMetaPageData *metadata, uint32 group,
				 RencoderEntry entry)
{
	BlockNumber blkno = rencoder_directory_find(s->index, s->meta, metadata, group, NULL);
	const char *fault;
	Buffer		buf;

	if (blkno == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_page_try_read(s->index, blkno, RENCODER_PAGE_DIRECTORY, &fault);
	if (!BufferIsValid(buf))
		return false;
	rencoder_directory_copy_entry(entry, buf, s->meta, group);
	UnlockReleaseBuffer(buf);
	if (entry->header == RENCODER_NO_BLOCK)
		return false;
	for (int col = 0; col < s->meta->natts; col++)
	{
		buf = rencoder_page_try_read(s->index, entry->header + col,
									 RENCODER_PAGE_HEADER, &fault);
		if (!BufferIsValid(buf))
			return false;
		UnlockReleaseBuffer(buf);
	}
	return true;
}

void
rencoder_candidates_trial(Relation index, BlockNumber heap_nblocks,
						  RencoderQuery *query, uint32 max_groups,
						  RencoderCandidateCounts *counts)
{
	RangeScan	s;
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	RencoderEntry entry;
	uint32		ngroups;
	uint32		n;

	begin_range_scan(&s, index, heap_nblocks, query, NULL, counts);
	s.emit = emit_nothing;
	entry = palloc(s.meta->entry_size);
	ngroups = rencoder_group_count(s.nranges);
	n = Min(ngroups, max_groups);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		group = (uint32) ((uint64) i * ngroups / n);

		if (copy_sound_entry(&s, metadata, group, entry))
			scan_group(&s, entry, group);
	}
	counts->index_pages = end_range_scan(&s);
	pfree(entry);
	pfree(metadata);
}
