/*
 * sql_check.h
 *		The parts of rencoder_index_check().
 */
#ifndef RENCODER_SQL_CHECK_H
#define RENCODER_SQL_CHECK_H

#include "key/coder.h"
#include "store/catalog.h"
#include "store/run_pages.h"

/* ---- What the parts share (check_index.c) ---- */

typedef struct CheckState
{
	Relation	index;
	RencoderMeta meta;
	BlockNumber nblocks;		/* of the index, when last looked at */
	RencoderCoders *coders;

	/* Of one moment: what is looked at. */
	RencoderMetaPageData metadata;
	RencoderCatalog catalog;

	/*
	 * The first thing found wrong, if it is not because of what has moved
	 * meanwhile; or NULL.
	 */
	const char *fault;
	BlockNumber fault_blkno;
} CheckState;

/* Raises ERRCODE_INDEX_CORRUPTED unless "condition"; "detail" is a sentence. */
extern void rencoder_check_require(const CheckState *state, bool condition,
								   BlockNumber blkno, const char *detail);

/* Notes the fault unless "sound", or another was noted before. */
extern void rencoder_check_note(CheckState *state, bool sound, BlockNumber blkno,
								const char *detail);

/* The blocks, to which "from" refers, must be in the file, and not the metapage. */
extern void rencoder_check_extent(CheckState *state, BlockNumber from,
								  BlockNumber start, uint32 npages);

/* ---- check_catalog.c ---- */

/*
 * Verifies what the catalog in state->catalog says, without a look at any other page.  Raises
 * ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_catalog(const CheckState *state);

/* ---- check_blocks.c ---- */

/* INV-6, INV-7: no block has two uses. */
extern void rencoder_check_blocks(CheckState *state);

/* ---- check_runs.c ---- */

/*
 * Reads and verifies the catalog, all pages of LIVE runs, and the pending list.  Keeps nobody out:
 * what moves meanwhile is looked at again.  Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_runs(CheckState *state);

/* ---- Runs of matrices (check_matrices.c) ---- */

/* Notes what is wrong with the matrices of a run. */
extern void rencoder_check_matrices(CheckState *state, const RencoderRunEntry *run,
									const RencoderRunInfoData *info);

/*
 * Would a scan find a key, or what stands in its place, of a tree on a heap page that the run covers?  False
 * with *fault, if a page of the run, *blkno, is not what it should be.
 */
extern bool rencoder_check_matrix_has(Relation index, const RencoderRunEntry *run,
									  const RencoderRunInfoData *info, BlockNumber page, int tree,
									  uint64 key, BlockNumber *blkno, const char **fault);

/* ---- Does the index find all rows? (check_heap.c) ---- */

/*
 * Raises ERRCODE_INDEX_CORRUPTED if a scan would not find a row that a new snapshot sees.  Evaluates
 * the index's expressions.
 */
extern void rencoder_check_heap(Relation heap, Relation index);

#endif							/* RENCODER_SQL_CHECK_H */
