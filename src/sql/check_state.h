/*
 * check_state.h
 *		What the parts of a check of an index's structure share.
 */
#ifndef RENCODER_CHECK_STATE_H
#define RENCODER_CHECK_STATE_H

#include "key/coder.h"
#include "store/group_copy.h"
#include "store/run_pages.h"

typedef struct CheckState
{
	Relation	index;
	RencoderMeta meta;
	bool		primary;		/* we can lock the maintainer out */
	BlockNumber nblocks;		/* of the index, when last looked at */
	RencoderGroupCopy *copy;
	RencoderCoders *coders;

	/* The run that the group in "copy" names, if any. */
	uint32		run;			/* its number, 0: none was looked at yet */
	RencoderRunEntry run_entry;
	RencoderRunInfo run_info;
} CheckState;

/* On a standby nobody can be locked out. */
extern void rencoder_check_lock_maintainer(const CheckState *state);
extern void rencoder_check_unlock_maintainer(const CheckState *state);

/* Raises ERRCODE_INDEX_CORRUPTED unless "condition"; "detail" is a sentence. */
extern void rencoder_check_require(const CheckState *state, bool condition,
								   BlockNumber blkno, const char *detail);

/* The blocks, to which "from" refers, must be in the file, and not the metapage. */
extern void rencoder_check_extent(CheckState *state, BlockNumber from,
								  BlockNumber start, uint32 npages);

/*
 * Reads what is known of a group into state->copy, after a look at the block
 * numbers that lead there; false if there is no header.
 */
extern bool rencoder_check_read_group(CheckState *state, uint32 group);

#endif							/* RENCODER_CHECK_STATE_H */
