/*
 * check_runs.c
 *		rencoder_index_check: are the runs and the pending list of an index sound?
 *
 * LIVE runs never change, and their trees are verified by the run core.  Faults are
 * noted, and believed if the lists have not moved since they were looked at (INV-12).
 */
#include "sql/sql_check.h"

#include "miscadmin.h"

#include "store/pending.h"

static void
check_run_entries(CheckState *state)
{
	const RencoderRunList *list = &state->runs.list;

	for (uint32 i = 0; i < list->n; i++)
	{
		const RencoderRunEntry *entry = &list->entry[i];

		rencoder_check_note(state, entry->number > 0 && entry->number <= state->metadata.last_run,
							RENCODER_META_BLKNO, "The number of a run is out of range.");
		for (uint32 j = 0; j < i; j++)
			rencoder_check_note(state, list->entry[j].number != entry->number,
								RENCODER_META_BLKNO, "Two runs have the same number.");
		rencoder_check_note(state, entry->kind == RENCODER_RUN_BASE || entry->kind == RENCODER_RUN_DELTA,
							RENCODER_META_BLKNO, "The kind of a run is not known.");
		rencoder_check_note(state, entry->state == RENCODER_RUN_BUILDING ||
							entry->state == RENCODER_RUN_LIVE || entry->state == RENCODER_RUN_FREEING,
							RENCODER_META_BLKNO, "The state of a run is not known.");
	}
}

/* What the info page says of a tree, beside what whoever reads it looks at. */
static void
check_run_tree_info(CheckState *state, const RencoderRunEntry *entry, int tree,
					const RencoderRunColumn *column)
{
	const char *name = rencoder_run_tree_name(state->index, tree);
	const RencoderCoder *coder;

	if (column->root == RENCODER_NO_BLOCK)
		return;
	rencoder_check_note(state, column->least <= column->greatest && column->rows >= column->entries &&
						column->false_pages >= 0, entry->info,
						psprintf("What run %u says of %s is impossible.", entry->number, name));
	if (tree >= state->meta.natts)
		rencoder_check_note(state, column->coder == 0 && column->greatest <= RENCODER_RUN_KEYLESS,
							entry->info,
							psprintf("Run %u has keys among the %s.", entry->number, name));
	else
		rencoder_check_note(state, rencoder_coder_find(state->coders, state->index, tree, column->coder,
													   &coder), entry->info,
							psprintf("The coder of run %u, %s, is missing.", entry->number, name));
}

static void
check_run_info(CheckState *state, const RencoderRunEntry *entry, RencoderRunInfo info)
{
	uint64		npages = 1;

	for (int tree = 0; tree < rencoder_run_ntrees(info->natts); tree++)
	{
		const RencoderRunColumn *column = &info->column[tree];

		npages += (uint64) column->nleaves + column->ninner;
		check_run_tree_info(state, entry, tree, column);
	}
	rencoder_check_note(state, memcmp(&entry->first, &info->column[0], sizeof(entry->first)) == 0 &&
						entry->keyless == rencoder_run_has_keyless(info),
						entry->info, psprintf("Run %u and the list of runs describe different trees.",
											  entry->number));
	rencoder_check_note(state, npages == entry->npages, entry->info,
						psprintf("Run %u has %llu pages, but the run list says %u.", entry->number,
								 (unsigned long long) npages, entry->npages));
}

/* A reader that accepts pages of the run's extents only. */
typedef struct CheckedReader
{
	RencoderRunReader reader;
	RencoderRunInfo info;
	bool		outside;		/* a page was not */
} CheckedReader;

static const uint8_t *
read_checked_run(void *arg, uint32_t page, int level)
{
	CheckedReader *checked = (CheckedReader *) arg;
	const RencoderExtent *extent = rencoder_run_extents(checked->info);

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < checked->info->nextents; i++)
	{
		if (page >= extent[i].start && page - extent[i].start < extent[i].npages)
			return rencoder_run_reader_read(&checked->reader, page, level);
	}
	checked->outside = true;
	return NULL;
}

static void
check_run_tree(CheckState *state, const RencoderRunEntry *entry, RencoderRunInfo info, int tree)
{
	CheckedReader checked = {.info = info};
	const char *wrong;
	uint32_t	failed = entry->info;

	if (!rencoder_run_reader_begin(&checked.reader, state->index, info, tree))
		return;
	wrong = renc_run_check(&checked.reader.run, entry->kind == RENCODER_RUN_DELTA, read_checked_run,
						   &checked, &failed);
	if (checked.outside)
		wrong = "it is not in the extents of the run";
	if (wrong != NULL)
	{
		wrong = rencoder_run_reader_fault(&checked.reader, wrong, &failed);
		rencoder_check_note(state, false, failed, wrong);
	}
	rencoder_run_reader_end(&checked.reader);
}

static void
check_run(CheckState *state, const RencoderRunEntry *entry)
{
	const char *missing = NULL;
	RencoderRunInfo info = rencoder_run_read_info(state->index, entry, &missing);

	rencoder_check_note(state, info != NULL, entry->info, missing);
	if (info == NULL)
		return;
	check_run_info(state, entry, info);
	for (int tree = 0; tree < rencoder_run_ntrees(state->meta.natts) && state->fault == NULL; tree++)
		check_run_tree(state, entry, info, tree);
	pfree(info);
}

/* An entry of the pending list. */
static void
check_pending_entry(CheckState *state, const RencoderPendingEntry *entry, BlockNumber blkno)
{
	int			natts = state->meta.natts;
	const uint32 *coders = rencoder_pending_coders((RencoderPendingEntry *) entry, natts);
	uint32		all = natts == 32 ? PG_UINT32_MAX : (1U << natts) - 1;
	const RencoderCoder *coder;

	rencoder_check_note(state, entry->page <= MaxBlockNumber, blkno,
						"An entry of the pending list is of an impossible page.");
	rencoder_check_note(state, (entry->nulls & ~all) == 0, blkno,
						"An entry of the pending list has impossible null flags.");
	for (int col = 0; col < natts; col++)
	{
		if (!rencoder_pending_has_key(entry, col))
			rencoder_check_note(state, entry->key[col] <= RENCODER_RUN_KEYLESS && coders[col] == 0,
								blkno,
								"An entry of the pending list has a key where it has none.");
		else
			rencoder_check_note(state, rencoder_coder_find(state->coders, state->index, col,
														   coders[col], &coder), blkno,
								psprintf("A coder of column %d that the pending list names is missing.",
										 col + 1));
	}
}

static void
check_pending(CheckState *state)
{
	const RencoderRuns *runs = &state->runs;
	RencoderPendingWalk walk;

	rencoder_check_note(state, (runs->pending.first == RENCODER_NO_BLOCK) ==
						(runs->pending.last == RENCODER_NO_BLOCK) &&
						(runs->pending.first == RENCODER_NO_BLOCK ||
						 runs->pending.first_number <= runs->pending.last_number),
						RENCODER_META_BLKNO, "The ends of the pending list do not fit.");
	if (state->fault != NULL)
		return;
	rencoder_pending_walk_begin(&walk, state->index, &runs->pending, runs->pending.last_number);
	while (rencoder_pending_walk_next(&walk))
	{
		bool		last = walk.number == walk.last_number;

		rencoder_check_note(state, walk.copy.page->open == (last ? 1 : 0), walk.blkno,
							"The pending list is not open at its last page, and only there.");
		if (last)
			rencoder_check_note(state, walk.blkno == runs->pending.last &&
								walk.copy.page->next == RENCODER_NO_BLOCK, walk.blkno,
								"The last page of the pending list is not its end.");
		for (int i = 0; i < walk.copy.nentries && state->fault == NULL; i++)
			check_pending_entry(state, rencoder_pending_entry(&walk.copy, i), walk.blkno);
	}
	rencoder_check_note(state, walk.fault == NULL, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
}

void
rencoder_check_runs(CheckState *state)
{
	do
	{
		state->fault = NULL;
		rencoder_runs_copy_with_meta(state->index, &state->runs, &state->metadata, NULL, NULL);
		check_run_entries(state);
		for (uint32 i = 0; i < state->runs.list.n && state->fault == NULL; i++)
		{
			if (state->runs.list.entry[i].state == RENCODER_RUN_LIVE)
				check_run(state, &state->runs.list.entry[i]);
		}
		check_pending(state);
	} while (state->fault != NULL && rencoder_pending_has_moved(state->index, &state->metadata));
	if (state->fault != NULL)
		rencoder_page_corrupted(state->index, state->fault_blkno, state->fault);
}

/* INV-11: header, entry and run agree. */
void
rencoder_check_run_of_group(CheckState *state)
{
	const RencoderGroupCopy *copy = state->copy;
	const RencoderHeaderData *first = copy->header[0];
	BlockNumber header = copy->entry->header;
	renc_mask	summarized = rencoder_set_get(first->summarized);
	bool		all = renc_mask_within(renc_mask_all(), rencoder_set_get(first->covered));
	uint32		number = first->run;
	const RencoderRunEntry *run = rencoder_runs_find(&state->runs, number);
	const RencoderRunEntry *next = rencoder_runs_find(&state->runs, first->flushing_run);

	/* What storage has, by its cut, came before it was made. */
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
		rencoder_check_require(state, first->cut[slice] <= state->metadata.pending.last_number, header,
							   "A slice has the keys of pending pages to come.");
	rencoder_check_require(state, copy->entry->run == number &&
						   (rencoder_group_least_cut(first) == PG_UINT64_MAX ||
							copy->entry->cut == rencoder_group_least_cut(first)),
						   header, "Header and directory disagree on the group's run.");
	rencoder_check_require(state, ((copy->entry->flags & RENCODER_ENTRY_COVERED) != 0) ==
						   (number != 0 && all), header,
						   "Header and directory disagree on whether the group is covered.");
	rencoder_check_require(state, copy->entry->placed == 0 ||
						   (copy->entry->placed == (uint32) renc_mask_count(summarized) &&
							renc_mask_within(summarized, renc_mask_first(copy->entry->placed)) &&
							renc_mask_empty(rencoder_header_filtered(first))), header,
						   "Header and directory disagree on which ranges are placed.");

	/*
	 * INV-13: the run that ranges are read for may be LIVE, but not be named
	 * yet.  On a standby it may have gone since the group was copied.
	 */
	rencoder_check_require(state, !state->primary || first->flushing_run == 0 ||
						   (next != NULL && next->kind == RENCODER_RUN_BASE &&
							next->state != RENCODER_RUN_FREEING),
						   header, "The group is read for a run that is not there.");
	if (number == 0)
		return;

	/* Likewise; then the group says so now. */
	if (run == NULL || run->state != RENCODER_RUN_LIVE)
	{
		if (!state->primary &&
			(!rencoder_check_read_group(state, copy->group) || first->run != number))
			return;
		rencoder_page_corrupted(state->index, header, "The group names a run that is not there.");
	}
	rencoder_check_require(state, run->kind == RENCODER_RUN_BASE, header,
						   "The group names a run that is not a base run.");
	rencoder_check_require(state, copy->group >= run->first_group &&
						   copy->group - run->first_group < run->ngroups,
						   header, "The group names a run that is of other groups.");
}
