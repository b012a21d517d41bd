/*
 * renc_run_rank.c
 *		How much of a run lies before a bound of an interval.
 *
 * Inner pages say what lies before a leaf, heads of blocks what lies before a block.  In the
 * block it is counted, but for the cell that holds the bound.  A search reads all of that cell.
 * It has what belongs to the bound's own key, and to other keys.  These have, one expects, as much
 * as a cell of the block has on average.  The encoder makes that little.  What is above counts as
 * the bound's own, wherever in the cell it lies; others by their part of the cell.
 *
 * So an interval of one value has the value's rows, also where the cell is wide, and keys that
 * each have a row are counted one by one, on average.
 */
#include "renc_run_block.h"

#include <math.h>

/*
 * With more of the cells in use it is not told how many keys lie in each.  Then so many times as
 * much as others have is taken to be of several keys.
 */
#define MOST_USED	0.95
#define UNTOLD		2

/* The block that holds a bound, or begins before it. */
typedef struct block_rank
{
	renc_run_share before;		/* cells before the bound's */
	renc_run_share cell;		/* the bound's */
	renc_run_share others;		/* all others */
	double		crowd;			/* their number, empty ones included */
	double		keys;			/* of others, in a cell on average; 0: unknown */
	double		below;			/* part of the cell's other keys that are less */
	double		room;			/* keys that the cell may have */
} block_rank;

void
renc_run_ranker_init(renc_run_ranker *ranker, const renc_run *run, renc_run_read read, void *arg,
					 bool rows)
{
	memset(ranker, 0, sizeof(*ranker));
	ranker->run = run;
	ranker->read = read;
	ranker->arg = arg;
	ranker->count_rows = rows;
}

/* Where one cell has all of the block: the cells of that width that the rest of the leaf has. */
static void
crowd_of_leaf(const renc_run_leaf *leaf, const renc_run_block *block, block_rank *rank)
{
	uint64_t	last = renc_run_separator(leaf, leaf->nblocks - 1);

	if (leaf->entries <= block->n || block->width == 0)
		return;
	memset(&rank->others, 0, sizeof(rank->others));
	rank->others.entries = leaf->entries - block->n;
	rank->others.crowded = rank->others.entries;
	rank->crowd = (double) (last >> block->width) - (double) (leaf->lo >> block->width);
}

/* Looks at the block for the cell that holds the bound, and what is beside it. */
static void
rank_in_block(const renc_run_leaf *leaf, const renc_run_block *block, const renc_run_found *found,
			  uint64_t key, block_rank *rank)
{
	uint64_t	bound = key >> block->width;
	uint64_t	first = renc_run_floor(key, block->width);
	uint64_t	last = renc_run_ceiling(key, block->width);
	double		fresh = renc_run_share_fresh(found->page, found->n);
	double		used = 0;

	memset(rank, 0, sizeof(*rank));
	for (uint32_t i = 0, end; i < found->n; i = end)
	{
		renc_run_share *to = found->cell[i] == bound ? &rank->cell : &rank->others;

		for (end = i + 1; end < found->n && found->cell[end] == found->cell[i];)
			end++;
		renc_run_share_add(to, found->page + i, end - i, fresh);
		if (found->cell[i] < bound)
			rank->before = rank->others;
		used += found->cell[i] != bound;
	}
	rank->crowd = (double) (found->cell[found->n - 1] - found->cell[0]);
	if (rank->crowd == 0)
		crowd_of_leaf(leaf, block, rank);
	if (used < MOST_USED * rank->crowd)
		rank->keys = -log1p(-used / rank->crowd);

	/* No key is below the separator. */
	first = first > block->separator ? first : block->separator;
	rank->room = first < last ? (double) (last - first) + 1 : 1;
	rank->below = key > first ? (double) (key - first) / (double) (last - first) : 0;
}

/* What counts of "n" in the bound's cell, the other cells having "others". */
static double
part_of_cell(const block_rank *rank, renc_run_side side, double n, double others)
{
	double		crowd = rank->crowd > 0 ? others / rank->crowd : 0;
	double		own = rank->keys > 0 ? fmax(n - crowd, crowd / rank->keys) : n - UNTOLD * crowd;

	own = fmin(fmax(fmax(own, n / rank->room), 1), n);
	return (side == RENC_RUN_UPTO ? own : 0) + (n - own) * rank->below;
}

/* Sets ranker->all, and brings ranker->before up to block "upto". */
static const char *
share_leaf(renc_run_ranker *ranker, const renc_run_leaf *leaf, uint32_t number, uint32_t upto)
{
	const char *wrong = NULL;

	if (!ranker->known || ranker->leaf != number)
	{
		ranker->known = false;
		memset(&ranker->all, 0, sizeof(ranker->all));
		wrong = renc_run_share_leaf(&ranker->all, leaf, 0, leaf->nblocks);
		ranker->leaf = number;
	}
	if (!ranker->known || ranker->blocks > upto)
	{
		memset(&ranker->before, 0, sizeof(ranker->before));
		ranker->blocks = 0;
	}
	ranker->known = wrong == NULL;
	if (wrong == NULL)
		wrong = renc_run_share_leaf(&ranker->before, leaf, ranker->blocks, upto);
	ranker->known = wrong == NULL;
	ranker->blocks = upto;
	return wrong;
}

/* Adds the rows up to the bound, with "entries" of them in the leaf. */
static const char *
count_leaf_rows(renc_run_ranker *ranker, const renc_run_leaf *leaf, uint32_t number, uint32_t block,
				const block_rank *rank, renc_run_side side, double entries, renc_run_count *count)
{
	renc_run_share before;
	const char *wrong;

	if (!ranker->count_rows || leaf->rows == leaf->entries)
	{
		count->rows += entries;
		return NULL;
	}
	wrong = share_leaf(ranker, leaf, number, block);
	if (wrong != NULL)
		return wrong;
	before.entries = ranker->before.entries + rank->before.entries;
	before.scattered = ranker->before.scattered + rank->before.scattered;
	before.crowded = ranker->before.crowded + rank->before.crowded;
	count->rows += renc_run_share_rows(&before, &ranker->all, leaf->rows) +
		part_of_cell(rank, side, renc_run_share_rows(&rank->cell, &ranker->all, leaf->rows),
					 renc_run_share_rows(&rank->others, &ranker->all, leaf->rows));
	return NULL;
}

static const char *
rank_in_leaf(renc_run_ranker *ranker, const uint8_t *page, uint32_t number, uint64_t key,
			 renc_run_side side, renc_run_count *count)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	pages[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {cell, pages, 0, NULL};
	renc_run_leaf leaf;
	renc_run_block block;
	block_rank	rank;
	const char *wrong = renc_run_open_leaf(&leaf, page, ranker->run);
	double		before = 0;
	double		entries;
	uint32_t	last;

	if (wrong != NULL)
		return wrong;
	last = renc_run_find_block(&leaf, side == RENC_RUN_BELOW ? key - 1 : key);
	for (uint32_t j = 0; j <= last && wrong == NULL; j++)
	{
		wrong = renc_run_open_block(&block, &leaf, j);
		before += wrong == NULL && j < last ? block.n : 0;
	}
	if (wrong == NULL)
		wrong = renc_run_read_block(&block, &found);
	if (wrong == NULL && found.n == 0)
		wrong = "a block has no entries that can be read";
	if (wrong != NULL)
		return wrong;
	rank_in_block(&leaf, &block, &found, key, &rank);
	before += rank.before.entries;
	entries = before + part_of_cell(&rank, side, rank.cell.entries, rank.others.entries);
	count->met += before + (side == RENC_RUN_UPTO ? rank.cell.entries : 0);
	count->entries += entries;
	return count_leaf_rows(ranker, &leaf, number, last, &rank, side, entries, count);
}

/* From the root to the leaf. */
static const char *
rank_in_tree(renc_run_ranker *ranker, uint64_t key, renc_run_side side, renc_run_count *count)
{
	const renc_run *run = ranker->run;
	uint32_t	number = run->root;
	renc_run_step step;

	/*
	 * What begins at the key itself, perhaps with many leaves, is not before
	 * it.
	 */
	uint64_t	last = side == RENC_RUN_BELOW ? key - 1 : key;

	for (int level = run->level;; level--)
	{
		const uint8_t *page = ranker->read(ranker->arg, number, level);
		const char *wrong;
		uint32_t	child;

		ranker->failed_page = number;
		if (page == NULL)
			return "it cannot be read";
		if (level == 0)
			return rank_in_leaf(ranker, page, number, key, side, count);
		wrong = renc_run_open_inner(&step, page, run->payload, level);
		if (wrong != NULL)
			return wrong;
		child = renc_run_find_child(&step, last);
		count->entries = (double) renc_run_child_entries(&step, child);
		count->met = count->entries;
		count->rows = (double) renc_run_child_rows(&step, child);
		number = renc_run_child_page(&step, child);
	}
}

const char *
renc_run_rank(renc_run_ranker *ranker, uint64_t key, renc_run_side side, renc_run_count *count)
{
	const renc_run *run = ranker->run;

	count->met = count->entries = count->rows = 0;
	ranker->failed_page = run->root;
	if (side == RENC_RUN_BELOW ? key <= run->least : key < run->least)
		return NULL;
	if (side == RENC_RUN_BELOW ? key > run->greatest : key >= run->greatest)
	{
		count->met = count->entries = (double) run->entries;
		count->rows = (double) run->rows;
		return NULL;
	}
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	return rank_in_tree(ranker, key, side, count);
}
