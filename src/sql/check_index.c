/*
 * check_index.c
 *		rencoder_index_check(): is an index sound, and does it find all rows?
 *
 * Every page that can be reached from the metapage is read and verified by
 * type and content, and no block may be referred to twice.  Pages that
 * nothing refers to are legal: a crash leaves such.
 *
 * Comments name the invariant of src/INVARIANTS.md that a check stands for.  INV-5
 * is one of rencoder_page_fault(), INV-3 and INV-11 show in
 * check_heap.c; INV-8 (locks) and INV-10 (bytes) cannot be seen here.
 */
#include "sql/sql_check.h"

#include "fmgr.h"

#include "base/options.h"
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

/* ---- The index ---- */

/* What rencoder_meta_lock() does not look at. */
static void
check_metapage(const CheckState *state)
{
	rencoder_check_require(state, state->metadata.pages_per_range <= RENCODER_MAX_PAGES_PER_RANGE &&
						   state->metadata.bits_per_key >= RENCODER_MIN_BITS_PER_KEY &&
						   state->metadata.bits_per_key <= RENCODER_MAX_BITS_PER_KEY, RENCODER_META_BLKNO,
						   "An option of the metapage is out of range.");
}

static void
check_index_structure(Relation index)
{
	CheckState *state = palloc0(sizeof(CheckState));

	state->index = index;
	state->meta = *rencoder_meta_get(index);
	state->nblocks = RelationGetNumberOfBlocks(index);
	state->coders = rencoder_coders_create(true);
	rencoder_catalog_copy(index, &state->catalog, &state->metadata, NULL, NULL);
	check_metapage(state);
	rencoder_check_catalog(state);
	rencoder_check_blocks(state);
	rencoder_check_runs(state);
	pfree(state);
}

/*
 * rencoder_index_check(index regclass, heapallindexed boolean) returns void
 *
 * AccessShareLock on table and index.  Not checked: entries without
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
