/*
 * check_runs.c
 *		rencoder_index_check: are the runs and the pending list of an index sound?
 *
 * LIVE runs never change, and their trees are verified by the run core.  Faults are
 * noted, and believed if the catalog has not moved since it was looked at (INV-7).
 */
#include "sql/sql_check.h"

#include "miscadmin.h"

#include "store/pending.h"

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

	/*
	 * INV-13: entries of other pages nobody would keep.  A run may have ended
	 * later once.
	 */
	rencoder_check_note(state, column->first_page >= entry->from &&
						(entry->kind != RENCODER_RUN_DELTA ||
						 (uint64) column->first_page + column->npages <= entry->to), entry->info,
						psprintf("Run %u has pages %u to %u in %s, but the catalog says %u to %u.",
								 entry->number, column->first_page,
								 column->first_page + column->npages - 1, name, entry->from,
								 entry->to - 1));
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
						entry->info, psprintf("Run %u and the catalog describe different trees.",
											  entry->number));
	rencoder_check_note(state, npages == entry->npages, entry->info,
						psprintf("Run %u has %llu pages, but the catalog says %u.", entry->number,
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
	if (entry->kind == RENCODER_RUN_MATRIX)
		rencoder_check_matrices(state, entry, info);
	for (int tree = 0; tree < rencoder_run_ntrees(state->meta.natts) && state->fault == NULL &&
		 entry->kind != RENCODER_RUN_MATRIX; tree++)
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
	const RencoderPendingList *list = &state->catalog.pending;
	RencoderPendingWalk walk;

	rencoder_check_note(state, (list->first == RENCODER_NO_BLOCK) ==
						(list->last == RENCODER_NO_BLOCK) &&
						(list->first == RENCODER_NO_BLOCK ||
						 list->first_number <= list->last_number),
						RENCODER_META_BLKNO, "The ends of the pending list do not fit.");
	if (state->fault != NULL)
		return;
	rencoder_pending_walk_begin(&walk, state->index, list, list->last_number);
	while (rencoder_pending_walk_next(&walk))
	{
		bool		last = walk.number == walk.last_number;

		rencoder_check_note(state, walk.copy.page->open == (last ? 1 : 0), walk.blkno,
							"The pending list is not open at its last page, and only there.");
		if (last)
			rencoder_check_note(state, walk.blkno == list->last &&
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
	const RencoderCatalog *catalog = &state->catalog;

	do
	{
		state->fault = NULL;
		rencoder_catalog_copy(state->index, &state->catalog, &state->metadata, NULL, NULL);
		rencoder_check_catalog(state);
		for (uint32 i = 0; i < catalog->n && state->fault == NULL; i++)
		{
			if (catalog->entry[i].state == RENCODER_RUN_LIVE)
				check_run(state, &catalog->entry[i]);
		}
		check_pending(state);
	} while (state->fault != NULL && rencoder_pending_has_moved(state->index, &state->metadata));
	if (state->fault != NULL)
		rencoder_page_corrupted(state->index, state->fault_blkno, state->fault);
}
