/*
 * check_blocks.h
 *		Has no block of an index two uses?
 */
#ifndef RENCODER_CHECK_BLOCKS_H
#define RENCODER_CHECK_BLOCKS_H

#include "sql/check_state.h"

/* INV-6, INV-7: no block has two uses. */
extern void rencoder_check_blocks(CheckState *state);

#endif							/* RENCODER_CHECK_BLOCKS_H */
