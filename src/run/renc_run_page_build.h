/*
 * renc_run_page_build.h
 *		Pages being built: the leaf and the inner pages above it.
 *
 * Used by the run core only.
 */
#ifndef RENC_RUN_PAGE_BUILD_H
#define RENC_RUN_PAGE_BUILD_H

#include "renc_run_block.h"
#include "renc_run_plan.h"

/* The size of a piece of the caller's memory, so that the next one is aligned, too. */
static inline size_t
renc_run_aligned(size_t size)
{
	return (size + 15) / 16 * 16;
}

typedef struct renc_run_new_block
{
	uint64_t	separator;
	uint32_t	offset;
	uint32_t	n;
	uint32_t	first;
	uint32_t	npages;
	int			width;
	int			shift;			/* the separator is a multiple of 2^shift */
	bool		cont;
	renc_run_code code;
} renc_run_new_block;

/* A child of the inner page that is being built on a level. */
typedef struct renc_run_child
{
	uint64_t	key;
	uint64_t	entries;		/* before it */
	uint32_t	page;
	uint8_t		reach;
} renc_run_child;

typedef struct renc_run_level
{
	renc_run_child *child;
	uint32_t	n;
	bool		more;			/* a page of this level has been written */
} renc_run_level;

typedef struct renc_run_builder
{
	renc_run_options options;
	renc_run	run;

	/* The leaf. */
	renc_run_new_block *block;
	uint32_t	nblocks;
	uint32_t	max_blocks;
	uint8_t    *data;			/* the blocks' */
	size_t		ndata;
	bool		page_spans;
	uint32_t	grain;			/* parts that an entry names */
	uint32_t	npages;			/* of the run, or its names */
	int			wmax;
	uint8_t		reach;
	uint64_t	entries;
	uint64_t	rows;

	/* All blocks so far. */
	bool		any;
	uint64_t	last;			/* key */
	uint64_t	reached;		/* the greatest key of all cells */
	int			widest;			/* cell of those blocks that may reach on */

	renc_run_entry *entry;		/* BUILD_PAIRS */
	uint8_t    *page;
	renc_run_level level[RENC_RUN_MAX_LEVEL + 1];
	bool		failed;
} renc_run_builder;

/* Bytes beside the struct; and their use.  "memory" is zero. */
extern size_t renc_run_build_size(size_t payload);
extern void renc_run_build_init(renc_run_builder *builder, const renc_run_options *options,
								uint8_t *memory);

/*
 * Adds n pairs as one block to the leaf.  False: they do not fit; "fit" would, about
 * (fewer than n).
 */
extern bool renc_run_build_block(renc_run_builder *builder, const renc_run_pair *pair, uint32_t n,
								 int width, uint32_t *fit);

/* Writes the leaf, if there are blocks. */
extern void renc_run_build_leaf(renc_run_builder *builder);

/* Writes what is left and makes the root. */
extern void renc_run_build_root(renc_run_builder *builder);

#endif							/* RENC_RUN_PAGE_BUILD_H */
