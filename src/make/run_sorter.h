/*
 * run_sorter.h
 *		Sorting pairs of key and place, for runs.
 *
 * Chunks that fill the memory are sorted (lib/sort_template.h) and, if there are several,
 * spilled (BufFile) and merged (lib/binaryheap.h).  Files vanish at an error.
 */
#ifndef RENCODER_RUN_SORTER_H
#define RENCODER_RUN_SORTER_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/fileset.h"

typedef struct RencoderRunPair
{
	uint64		key;
	uint32		place;			/* renc_place.h */
	uint32		rows;			/* that have the key there */
} RencoderRunPair;

typedef struct RencoderRunSorter RencoderRunSorter;

/*
 * In the current memory context; "memory": bytes that it may take.  "nplaces": places are below,
 * the fewer, the more rows are counted in one of them; PG_UINT32_MAX: any.
 */
extern RencoderRunSorter *rencoder_run_sorter_begin(Size memory, uint32 nplaces);

/* Adds rows, one or more. */
extern void rencoder_run_sorter_add(RencoderRunSorter *sorter, uint64 key, uint32 place,
									uint32 rows);

/* No more to come. */
extern void rencoder_run_sorter_sort(RencoderRunSorter *sorter);

/* The next pair in order of (key, place), equal ones united; false: no more. */
extern bool rencoder_run_sorter_next(RencoderRunSorter *sorter, RencoderRunPair *pair);

/* Frees memory and files. */
extern void rencoder_run_sorter_end(RencoderRunSorter *sorter);

/*
 * Several processes: one begins a sorter that spills into a file of that name, and exports
 * it when no more is to come, which also ends it.  Another, when that is done, imports the
 * file into a sorter of its own, of as many places, before it sorts.
 */
extern RencoderRunSorter *rencoder_run_sorter_begin_shared(Size memory, uint32 nplaces,
														   FileSet *fileset, const char *name);
extern void rencoder_run_sorter_export(RencoderRunSorter *sorter);
extern void rencoder_run_sorter_import(RencoderRunSorter *sorter, FileSet *fileset,
									   const char *name);

#endif							/* RENCODER_RUN_SORTER_H */
