/*
 * check_structure.c
 *		rencoder_index_check(): is an index sound, and does it cover all rows?
 *
 * Every page that can be reached from the metapage is read and verified by
 * type and content, and no block may be referred to twice.  Pages that
 * nothing refers to are legal: a crash leaves such.
 *
 * Comments name the invariant of src/INVARIANTS.md that a check stands for.  INV-5
 * is one of rencoder_page_fault() and format_filter.c, INV-3 shows in
 * check_heap.c; INV-8 (locks) and INV-10 (bytes) cannot be seen here.
 *
 * Inserters may set flags all the time; that breaks nothing
 * that is checked here.  The maintainer would, so it is kept out (primary) or
 * found out by the epoch (standby).
 */
#include "sql/sql_check.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "base/options.h"
#include "format/format_filter.h"
#include "store/covered_spans.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_index_check);

/* ---- What the parts share ---- */

void
rencoder_check_require(const CheckState *state, bool condition, BlockNumber blkno,
					   const char *detail)
{
	if (!condition)
		rencoder_page_corrupted(state->index, blkno, detail);
}

void
rencoder_check_note(CheckState *state, bool sound, BlockNumber blkno, const char *detail)
{
	if (sound || state->fault != NULL)
		return;
	state->fault = detail;
	state->fault_blkno = blkno;
}

void
rencoder_check_extent(CheckState *state, BlockNumber from, BlockNumber start,
					  uint32 npages)
{
	uint64		end = (uint64) start + npages;

	if (end > state->nblocks)
		state->nblocks = RelationGetNumberOfBlocks(state->index);
	if (start == RENCODER_META_BLKNO || npages == 0 || end > state->nblocks)
		rencoder_page_corrupted(state->index, from,
								psprintf("It refers to %u pages from block %u; the index has %u blocks.",
										 npages, start, state->nblocks));
}

bool
rencoder_check_read_group(CheckState *state, uint32 group)
{
	BlockNumber dir_blkno = rencoder_directory_find(state->index, &state->meta, NULL,
													group, NULL);
	BlockNumber header;

	state->copy->directory = dir_blkno;
	if (dir_blkno == RENCODER_NO_BLOCK)
		return false;
	rencoder_check_extent(state, RENCODER_META_BLKNO, dir_blkno, 1);
	header = rencoder_group_find_header(state->index, &state->meta, group);
	if (header != RENCODER_NO_BLOCK)
		rencoder_check_extent(state, dir_blkno, header, state->meta.natts);
	return rencoder_group_copy_read(state->index, &state->meta, group, state->copy);
}

/* ---- The structure ---- */

/* What rencoder_meta_lock() does not look at. */
static void
check_metapage(CheckState *state)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(state->index);

	rencoder_check_require(state, metadata->pages_per_range <= RENCODER_MAX_PAGES_PER_RANGE &&
						   metadata->bits_per_key >= RENCODER_MIN_BITS_PER_KEY &&
						   metadata->bits_per_key <= RENCODER_MAX_BITS_PER_KEY, RENCODER_META_BLKNO,
						   "An option of the metapage is out of range.");
	rencoder_check_require(state, metadata->epoch > 0, RENCODER_META_BLKNO,
						   "A field of the metapage has an impossible value.");
	pfree(metadata);
}

/* Fields of a header page that concern no single range. */
static void
check_header_fields(CheckState *state, BlockNumber blkno,
					const RencoderHeaderData *header, bool first)
{
	renc_mask	summarizing = rencoder_set_get(header->summarizing);
	renc_mask	summarized = rencoder_set_get(header->summarized);
	renc_mask	covered = rencoder_set_get(header->covered);
	renc_mask	flushing = rencoder_set_get(header->flushing);
	renc_mask	noted = rencoder_set_get(header->noted);
	renc_mask	has_summary = renc_mask_or(summarizing, summarized);

	/* INV-1: a range is in one state. */
	rencoder_check_require(state, renc_mask_empty(renc_mask_and(summarizing, summarized)), blkno,
						   "A range is both summarizing and summarized.");

	/* States exist once. */
	rencoder_check_require(state, first ||
						   (header->run == 0 && renc_mask_empty(has_summary) && renc_mask_empty(covered) &&
							renc_mask_empty(flushing) && renc_mask_empty(noted)), blkno,
						   "The header of a further column has range states.");

	/*
	 * INV-11: covered ranges are summarized; flushing ones, too, or they are
	 * for a run.
	 */
	rencoder_check_require(state, renc_mask_within(covered, summarized), blkno,
						   "A range is covered, but not summarized.");
	rencoder_check_require(state, renc_mask_within(noted, renc_mask_andnot(summarized, covered)), blkno,
						   "A range is noted, but covered, or not summarized.");
	rencoder_check_require(state, renc_mask_within(flushing, header->flushing_run != 0 ? has_summary : summarized), blkno,
						   "A range is being read for other storage, but is not summarized.");
	rencoder_check_require(state, header->run != 0 || renc_mask_empty(covered), blkno,
						   "The group has covered ranges, but no run.");

	if (header->matrix.start != RENCODER_NO_BLOCK)
		rencoder_check_extent(state, blkno, header->matrix.start, header->matrix.npages);
}

static void
check_config_structure(CheckState *state, BlockNumber blkno, const RencoderHeaderData *header)
{
	const RencoderConfig *config = &header->config;
	const RencoderCoder *coder;
	const char *fault;

	if (!rencoder_is_configured(config))
	{
		rencoder_check_require(state, header->matrix.start == RENCODER_NO_BLOCK, blkno,
							   "The group has storage but no filters.");
		return;
	}
	rencoder_check_require(state,
						   rencoder_coder_find(state->coders, state->index, header->attno,
											   config->coder, &coder),
						   blkno, "The coder of the group's keys is missing.");
	fault = rencoder_filter_config_fault(config);
	if (fault != NULL)
		rencoder_page_corrupted(state->index, blkno, fault);
}

/* One range of one column that is being or has been summarized. */
static void
check_range_structure(CheckState *state, BlockNumber blkno, int col, unsigned int slot,
					  bool summarized)
{
	const RencoderGroupCopy *copy = state->copy;
	const RencoderHeaderData *header = copy->header[col];
	const RencoderEntryColumn *bounds = &copy->entry->column[col];
	bool		always = rencoder_set_test(header->always, slot) ||
		rencoder_set_test(header->keyless, slot);
	bool		has_bounds = header->min[slot] <= header->max[slot];
	bool		stored = summarized && !rencoder_set_test(copy->header[0]->covered, slot) &&
		!rencoder_set_test(copy->header[0]->noted, slot);
	const char *fault = NULL;

	/* INV-6: directory bounds cover the header's. */
	if (has_bounds &&
		(header->min[slot] < bounds->min || header->max[slot] > bounds->max))
		fault = "has bounds outside those of the directory";
	else if (always && !(copy->entry->flags & RENCODER_ENTRY_ALWAYS))
		fault = "is always a candidate, which the directory does not say";

	/*
	 * INV-4: storage is linked before the state is set; a range that is
	 * covered, noted, or has no keys, needs none.
	 */
	else if (stored && has_bounds && (header->matrix.start == RENCODER_NO_BLOCK ||
									  slot >= RENC_SLICE_RANGES * header->config.width))
		fault = "is summarized but has no storage";
	/* INV-9: who answers by the entry does with the greatest horizon. */
	else if (summarized &&
			 ((copy->entry->flags & (RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED)) ||
			  copy->entry->placed > 0) &&
			 copy->header[0]->horizon[slot] > copy->entry->horizon)
		fault = "has a trust horizon beyond that of the directory";

	if (fault)
		rencoder_page_corrupted(state->index, blkno,
								psprintf("Range %llu of column %d %s.",
										 (unsigned long long) copy->group * RENC_GROUP_RANGES + slot,
										 col + 1, fault));
}

/* INV-6: a sealed group can do without its header. */
static void
check_sealed_structure(CheckState *state, BlockNumber blkno, int col)
{
	const RencoderHeaderData *first = state->copy->header[0];

	rencoder_check_require(state, renc_mask_within(renc_mask_all(), rencoder_set_get(first->summarized)),
						   blkno, "The group is sealed, but not all its ranges are summarized.");
	rencoder_check_require(state, renc_mask_empty(rencoder_set_get(first->noted)), blkno,
						   "The group is sealed, but has noted ranges.");
	rencoder_check_require(state, state->copy->header[col]->matrix.start != RENCODER_NO_BLOCK, blkno,
						   "The group is sealed, but has no matrix.");
	rencoder_check_require(state, first->run == 0, blkno, "The group is sealed, but names a run.");
}

static void
check_entry_structure(CheckState *state)
{
	RencoderEntry entry = state->copy->entry;
	BlockNumber blkno = state->copy->directory;
	bool		exists = entry->header != RENCODER_NO_BLOCK;

	rencoder_check_require(state, (entry->flags & ~(RENCODER_ENTRY_SEALED | RENCODER_ENTRY_ALWAYS |
													RENCODER_ENTRY_COVERED)) == 0,
						   blkno, "A directory entry has unknown flags.");
	rencoder_check_require(state, exists || entry->flags == 0, blkno,
						   "A directory entry without a header has flags.");
	rencoder_check_require(state, exists || (entry->run == 0 && entry->cut == 0 && entry->placed == 0),
						   blkno, "A directory entry without a header names a run.");

	/* INV-7: the metapage has the latest epoch. */
	rencoder_check_require(state, !exists || entry->epoch <= state->metadata.epoch, blkno,
						   "A directory entry is of a future epoch.");
}

/*
 * INV-17: a span says no more than the entries of its groups.  It was looked at after the entry, which
 * an inserter may have changed.
 */
static void
check_span_structure(CheckState *state, uint32 group)
{
	RencoderEntry entry = state->copy->entry;
	const RencoderCoveredSpan *span = rencoder_covered_spans_find(&state->metadata, group);

	rencoder_check_require(state,
						   span == NULL ||
						   (state->copy->directory != RENCODER_NO_BLOCK &&
							(entry->flags & RENCODER_ENTRY_COVERED) != 0 &&
							entry->run == span->run && entry->horizon <= span->horizon),
						   state->copy->directory,
						   "The metapage has the group in a span that its directory entry does not allow.");
}

static void
check_header_structure(CheckState *state)
{
	const RencoderGroupCopy *copy = state->copy;
	renc_mask	summarized = rencoder_set_get(copy->header[0]->summarized);
	renc_mask	known = renc_mask_or(summarized,
									 rencoder_set_get(copy->header[0]->summarizing));

	for (int col = 0; col < state->meta.natts; col++)
	{
		const RencoderHeaderData *header = copy->header[col];
		const RencoderEntryColumn *bounds = &copy->entry->column[col];
		BlockNumber blkno = copy->entry->header + col;

		check_header_fields(state, blkno, header, col == 0);
		check_config_structure(state, blkno, header);
		rencoder_check_require(state,
							   memcmp(&bounds->config, &header->config, sizeof(RencoderConfig)) == 0 &&
							   bounds->matrix.start == header->matrix.start &&
							   bounds->matrix.npages == header->matrix.npages,
							   blkno, "Header and directory disagree on the group's storage.");
		if (copy->entry->flags & RENCODER_ENTRY_SEALED)
			check_sealed_structure(state, blkno, col);
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		{
			if (renc_mask_test(known, slot))
				check_range_structure(state, blkno, col, slot, renc_mask_test(summarized, slot));
		}
	}
}

/*
 * On a standby: locks the header and copies it once more, so that the extents
 * in the copy are those that stay until it is unlocked.
 */
static Buffer
hold_storage(CheckState *state)
{
	RencoderGroupCopy *copy = state->copy;
	Buffer		guard = rencoder_group_copy_headers(state->index, &state->meta, copy);

	for (int col = 0; col < state->meta.natts; col++)
	{
		BlockNumber blkno = copy->entry->header + col;

		check_header_fields(state, blkno, copy->header[col], col == 0);
		check_config_structure(state, blkno, copy->header[col]);
	}
	return guard;
}

/* A group: directory entry, headers, and the pages of its storage. */
static void
check_group_structure(CheckState *state, uint32 group)
{
	Buffer		guard = InvalidBuffer;
	bool		exists;

	if (state->primary)
		rencoder_meta_lock_maintainer(state->index);
	exists = rencoder_check_read_group(state, group);
	rencoder_runs_copy_with_meta(state->index, &state->runs, &state->metadata, NULL, NULL);
	if (state->copy->directory != RENCODER_NO_BLOCK)
		check_entry_structure(state);
	if (state->primary)
		check_span_structure(state, group);
	if (exists)
	{
		check_header_structure(state);
		rencoder_check_run_of_group(state);
		if (!state->primary)
			guard = hold_storage(state);
		for (int col = 0; col < state->meta.natts; col++)
		{
			RencoderSlab slab = rencoder_slab_of(state->index, state->copy->header[col]);

			if (slab.extent.start != RENCODER_NO_BLOCK)
				rencoder_filter_check(&slab);
		}
		if (BufferIsValid(guard))
			UnlockReleaseBuffer(guard);
	}
	if (state->primary)
		rencoder_meta_unlock_maintainer(state->index);
}

/*
 * On a primary takes the maintainer lock, group by group; on a standby holds a group's header locked
 * while its storage is read, so that replay waits.
 */
static void
check_index_structure(Relation index)
{
	CheckState	state;
	uint32		ngroups;

	memset(&state, 0, sizeof(state));
	state.index = index;
	state.meta = *rencoder_meta_get(index);
	state.primary = !RecoveryInProgress();
	state.nblocks = RelationGetNumberOfBlocks(index);
	state.copy = rencoder_group_copy_create(&state.meta);
	state.coders = rencoder_coders_create(true);

	check_metapage(&state);
	rencoder_check_blocks(&state);
	rencoder_check_runs(&state);
	ngroups = rencoder_group_copy_count_groups(index, &state.meta, &state.metadata, 0);
	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		check_group_structure(&state, group);
	}
}

/*
 * rencoder_index_check(index regclass, heapallindexed boolean) returns void
 *
 * AccessShareLock on table and index.  Not checked: bits that are set without
 * need (they only cost time), and pages that nothing refers to.
 */
Datum
rencoder_index_check(PG_FUNCTION_ARGS)
{
	bool		heapallindexed = PG_GETARG_BOOL(1);
	RencoderOpenIndex target;

	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_OWNER);
	rencoder_open_index_require_valid(target.index);
	check_index_structure(target.index);
	if (heapallindexed)
		rencoder_check_heap(target.heap, target.index);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}
