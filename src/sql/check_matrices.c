/*
 * check_matrices.c
 *		rencoder_index_check: are the matrices of a run sound, and do they have a row?
 */
#include "sql/sql_check.h"

#include "miscadmin.h"

#include "format/format_filter.h"

/* The tree of a column that says where the entries are; its root is RENCODER_NO_BLOCK if there are no rows. */
static const RencoderRunColumn *
checked_column(const RencoderRunInfoData *info, int col)
{
	return &info->column[info->column[col].root != RENCODER_NO_BLOCK ? col :
						 rencoder_run_null_tree(info->natts, col)];
}

/* Reads what a run says of a column of a block, where it has rows; false, with *fault: it is not there. */
static bool
read_checked_entry(Relation index, const RencoderRunEntry *run, const RencoderRunInfoData *info,
				   uint32 block, int col, RencoderMatrixEntry *entry, BlockNumber *blkno,
				   const char **fault)
{
	return rencoder_matrix_read_entry(index, run->number, checked_column(info, col), info->natts, block, col,
									  NULL, entry, NULL, blkno, fault);
}

static void
check_matrix_entry(CheckState *state, const RencoderMatrixEntry *entry, BlockNumber blkno)
{
	const char *fault;

	if (entry->matrix.start == RENCODER_NO_BLOCK)
	{
		rencoder_check_note(state, entry->min > entry->max, blkno, "A matrix with keys is missing.");
		return;
	}
	fault = rencoder_filter_config_fault(&entry->config, NULL);
	rencoder_check_note(state, fault == NULL, blkno, fault);
	rencoder_check_note(state, fault != NULL || entry->matrix.npages == rencoder_filter_npages(&entry->config),
						blkno, "A matrix has an impossible number of pages.");
	for (uint32 i = 0; i < entry->matrix.npages && state->fault == NULL; i++)
	{
		Buffer		buf = rencoder_page_try_read(state->index, entry->matrix.start + i, RENCODER_PAGE_WINDOWS,
												 &fault);

		CHECK_FOR_INTERRUPTS();
		rencoder_check_note(state, BufferIsValid(buf), entry->matrix.start + i, fault);
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
	}
}

void
rencoder_check_matrices(CheckState *state, const RencoderRunEntry *run, const RencoderRunInfoData *info)
{
	uint32		nblocks = rencoder_matrix_blocks(run, state->meta.pages_per_range);

	for (uint32 block = 0; block < nblocks && state->fault == NULL; block++)
	{
		for (int col = 0; col < state->meta.natts && state->fault == NULL; col++)
		{
			RencoderMatrixEntry entry;
			BlockNumber blkno;
			const char *fault;

			if (info->column[col].root == RENCODER_NO_BLOCK)
				continue;
			if (read_checked_entry(state->index, run, info, block, col, &entry, &blkno, &fault))
				check_matrix_entry(state, &entry, blkno);
			else
				rencoder_check_note(state, false, blkno, fault);
		}
	}
}

bool
rencoder_check_matrix_has(Relation index, const RencoderRunEntry *run, const RencoderRunInfoData *info,
						  BlockNumber page, int tree, uint64 key, BlockNumber *blkno, const char **fault)
{
	uint32		ppr = rencoder_meta_get(index)->pages_per_range;
	uint64		range = (page - run->from) / ppr;
	int			slot = (int) (range % RENC_GROUP_RANGES);
	int			col = tree % info->natts;
	RencoderMatrixEntry entry;

	*fault = NULL;
	if (checked_column(info, col)->root == RENCODER_NO_BLOCK ||
		!read_checked_entry(index, run, info, (uint32) (range / RENC_GROUP_RANGES), col, &entry, blkno, fault))
		return false;
	if (tree >= info->natts)
		return renc_mask_test(renc_mask_load(key == RENCODER_RUN_NULL ? entry.has_null : entry.keyless), slot);
	if (renc_mask_test(renc_mask_load(entry.keyless), slot) ||
		renc_mask_test(renc_mask_load(entry.always), slot))
		return true;
	return entry.matrix.start != RENCODER_NO_BLOCK && key >= entry.min && key <= entry.max &&
		renc_mask_test(renc_mask_load(entry.has_value), slot) &&
		rencoder_filter_has_key(index, &entry, slot, key, blkno, fault);
}
