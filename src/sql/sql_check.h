/*
 * sql_check.h
 *		The parts of rencoder_index_check().
 */
#ifndef RENCODER_SQL_CHECK_H
#define RENCODER_SQL_CHECK_H

#include "key/coder.h"
#include "store/fact_pages.h"
#include "store/group_copy.h"
#include "store/run_pages.h"

/* ---- What the parts share (check_structure.c) ---- */

typedef struct CheckState
{
	Relation	index;
	RencoderMeta meta;
	bool		primary;		/* we can lock the maintainer out */
	BlockNumber nblocks;		/* of the index, when last looked at */
	RencoderGroupCopy *copy;
	RencoderCoders *coders;

	/*
	 * The first thing found wrong, if it is not because of what has moved
	 * meanwhile; or NULL.
	 */
	const char *fault;
	BlockNumber fault_blkno;

	/* As they were after the group in "copy" was read, if one is looked at. */
	RencoderMetaPageData metadata;
	RencoderRuns runs;
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

/*
 * Reads what is known of a group into state->copy, after a look at the block
 * numbers that lead there; false if there is no header.
 */
extern bool rencoder_check_read_group(CheckState *state, uint32 group);

/* ---- check_blocks.c ---- */

/* INV-6, INV-7: no block has two uses. */
extern void rencoder_check_blocks(CheckState *state);

/* ---- check_runs.c ---- */

/*
 * Reads and verifies the run list, all pages of LIVE runs, and the pending list.  Keeps nobody out:
 * what moves meanwhile is looked at again.  Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_runs(CheckState *state);

/*
 * Verifies what the group in state->copy says of a run.  On a primary the caller is the
 * maintainer.  Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_run_of_group(CheckState *state);

/* ---- Facts (check_facts.c) ---- */

typedef struct CheckedFact
{
	RencoderFact fact;
	BlockNumber blkno;			/* that it stands on */
} CheckedFact;

typedef struct CheckedFacts
{
	int			n;
	CheckedFact *fact;
	uint32		pages_per_range;

	/* Chosen by rencoder_check_facts_choose(). */
	const RencoderGroupCopy *copy;
	int			nhere;
	const CheckedFact **here;
} CheckedFacts;

/* Reads all.  Raises ERRCODE_INDEX_CORRUPTED if one cannot be of this index. */
extern void rencoder_check_facts_begin(CheckedFacts *facts, Relation index);

/* Chooses those that hold for some pages of the group, of which "copy" is and stays. */
extern void rencoder_check_facts_choose(CheckedFacts *facts, const RencoderGroupCopy *copy,
										BlockNumber first, uint32 npages);

/*
 * The chosen fact that hides a key of a page from storage, or NULL.  "tree": of a run; only those of
 * keys have facts.
 */
extern const CheckedFact *rencoder_check_facts_find(const CheckedFacts *facts, int tree,
													BlockNumber page, uint64 key);

/* ---- Are all rows covered by the summaries of their ranges? (check_heap.c) ---- */

/*
 * Raises ERRCODE_INDEX_CORRUPTED if a row that a new snapshot sees is not
 * covered by the summary of its range.  Evaluates the index's expressions.
 */
extern void rencoder_check_heap(Relation heap, Relation index);

#endif							/* RENCODER_SQL_CHECK_H */
