/*
 * run_roots.h
 *		Roots of runs that this session has searched.
 *
 * A page of a LIVE run never changes, and its number is given to no other run of the index's file.
 * So a copy serves as long as the list has the run: a scan reads the metapage, and no root again.
 */
#ifndef RENCODER_RUN_ROOTS_H
#define RENCODER_RUN_ROOTS_H

#include "base/compat.h"

#include "utils/relcache.h"

/* Copies the root of a LIVE run, which stands in "blkno", to "room"; false if it is not kept. */
extern bool rencoder_run_root_find(Relation index, uint32 run, BlockNumber blkno, char *room);

/* Keeps the first bytes of a root, which have been verified, perhaps instead of another one. */
extern void rencoder_run_root_keep(Relation index, uint32 run, BlockNumber blkno, const char *page,
								   Size size);

/* Forgets the roots of an index, which is built anew. */
extern void rencoder_run_roots_forget(Relation index);

#endif							/* RENCODER_RUN_ROOTS_H */
