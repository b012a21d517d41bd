/*
 * renc_run_rank.c
 *		How much of a run lies before a key.
 */
#include "renc_run_block.h"

#include <math.h>

/* Entries of the block up to "last"; the cell that holds it counts by its part below. */
static const char *
rank_in_block(const renc_run_block *block, uint64_t last, double *below)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	page[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {cell, page, 0, NULL};
	renc_interval upto = {block->separator, last};
	const char *wrong;
	double		part = ((double) (last - renc_run_floor(last, block->width)) + 1) / ldexp(1, block->width);

	*below = 0;
	if (last < block->separator)
		return NULL;
	wrong = renc_run_scan_block(block, &upto, 1, &found);
	for (uint32_t i = 0; i < found.n; i++)
		*below += cell[i] < last >> block->width ? 1 : part;
	return wrong;
}

static const char *
rank_in_leaf(const renc_run *run, const uint8_t *page, uint64_t last_key, double *entries, double *rows)
{
	renc_run_leaf leaf;
	renc_run_block block;
	const char *wrong = renc_run_open_leaf(&leaf, page, run->payload, run->npages);
	double		before = 0;
	double		below = 0;
	uint32_t	last;

	if (wrong != NULL)
		return wrong;
	last = renc_run_find_block(&leaf, last_key);
	for (uint32_t j = 0; j <= last; j++)
	{
		wrong = renc_run_open_block(&block, &leaf, j);
		if (wrong != NULL)
			return wrong;
		before += j < last ? block.n : 0;
	}
	wrong = rank_in_block(&block, last_key, &below);
	if (wrong != NULL)
		return wrong;
	before += below;
	*entries += before;
	if (leaf.entries > 0)
		*rows += leaf.rows * (before < leaf.entries ? before / leaf.entries : 1);
	return NULL;
}

const char *
renc_run_rank(const renc_run *run, renc_run_read read, void *arg, uint64_t key, double *entries,
			  double *rows, uint32_t *failed_page)
{
	uint32_t	number = run->root;
	renc_run_step step;

	*entries = 0;
	*rows = 0;
	*failed_page = number;

	/*
	 * What begins at the key itself, perhaps with many leaves, is not before
	 * it.
	 */
	if (key == 0)
		return NULL;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	for (int level = run->level;; level--)
	{
		const uint8_t *page = read(arg, number, level);
		const char *wrong;
		uint32_t	child;

		*failed_page = number;
		if (page == NULL)
			return "it cannot be read";
		if (level == 0)
			return rank_in_leaf(run, page, key - 1, entries, rows);
		wrong = renc_run_open_inner(&step, page, run->payload, level);
		if (wrong != NULL)
			return wrong;
		child = renc_run_find_child(&step, key - 1);
		*entries = (double) renc_run_child_entries(&step, child);
		*rows = (double) renc_run_child_rows(&step, child);
		number = renc_run_child_page(&step, child);
	}
}
