/*
 * sql_check.c
 *		rencoder_index_check(): is an index sound, and does it cover all rows?
 */
#include "sql/sql_check.h"

#include "fmgr.h"

#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_index_check);

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
	rencoder_check_structure(target.index);
	if (heapallindexed)
		rencoder_check_heap(target.heap, target.index);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}

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
	header = rencoder_group_find(state->index, &state->meta, group);
	if (header != RENCODER_NO_BLOCK)
		rencoder_check_extent(state, dir_blkno, header, state->meta.natts);
	return rencoder_group_copy_read(state->index, &state->meta, group, state->copy);
}
