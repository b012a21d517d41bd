/*
 * renc_run_rank.c
 *		How many entries of a run a search reads before a bound of an interval, and which entry has so
 *		many before it.
 *
 * Inner pages say how many lie before a leaf, heads of blocks how many lie before a block.  In the
 * block they are counted.  A search reads all of the cell that holds the bound.
 */
#include <math.h>

#include "renc_run_block.h"

/* *same: entries of the bound's cell; < 0: some may be in an earlier block. */
static const char *
rank_in_leaf(const renc_run *run, const uint8_t *page, uint64_t key, renc_run_side side, double *before,
			 double *same)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	pages[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {.cell = cell,.page = pages};
	renc_run_leaf leaf;
	renc_run_block block;
	renc_interval bound;
	const char *wrong = renc_run_open_leaf(&leaf, page, run);
	uint32_t	last;

	if (wrong != NULL)
		return wrong;
	last = renc_run_find_block(&leaf, side == RENC_RUN_BELOW ? key - 1 : key);
	for (uint32_t j = 0; j <= last && wrong == NULL; j++)
	{
		wrong = renc_run_open_block(&block, &leaf, j);
		*before += wrong == NULL && j < last ? block.n : 0;
	}
	if (wrong != NULL)
		return wrong;
	bound.lo = bound.hi = key > block.separator ? key : block.separator;
	wrong = renc_run_scan_block(&block, &bound, 1, &found);
	if (wrong == NULL)
	{
		*before += found.upto - (side == RENC_RUN_BELOW ? found.n : 0);
		*same = found.upto > found.n ? (double) found.n : -1;
	}
	return wrong;
}

/*
 * The entries before a bound, at least and at most, as the pages of a tree from the root down to
 * "level" tell; 0: exactly, and *same as rank_in_leaf().
 */
static const char *
rank_down_to_level(const renc_run *run, renc_run_read read, void *arg, uint64_t key,
				   renc_run_side side, int level, double *least, double *most, double *same)
{
	uint64_t	last = side == RENC_RUN_BELOW ? key - 1 : key;
	uint32_t	number = run->root;
	renc_run_step step;

	for (int at = run->level; at >= level; at--)
	{
		const uint8_t *page = read(arg, number, at);
		const char *wrong;
		uint32_t	child;

		if (page == NULL)
			return "it cannot be read";
		if (at == 0)
		{
			wrong = rank_in_leaf(run, page, key, side, least, same);
			*most = *least;
			return wrong;
		}
		wrong = renc_run_open_inner(&step, page, run->payload, at);
		if (wrong != NULL)
			return wrong;
		child = renc_run_find_child(&step, last);
		*least = (double) renc_run_entries_before_child(&step, child);
		if (child + 1 < step.n)
			*most = (double) renc_run_entries_before_child(&step, child + 1);
		number = renc_run_child_page(&step, child);
	}
	return NULL;
}

const char *
renc_run_rank(const renc_run *run, renc_run_read read, void *arg, uint64_t key, renc_run_side side,
			  double *before)
{
	double		most;
	double		same;

	*before = 0;
	if (side == RENC_RUN_BELOW ? key <= run->least : key < run->least)
		return NULL;
	if (side == RENC_RUN_BELOW ? key > run->greatest : key >= run->greatest)
	{
		*before = (double) run->entries;
		return NULL;
	}
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	return rank_down_to_level(run, read, arg, key, side, 0, before, &most, &same);
}

const char *
renc_run_rank_about(const renc_run *run, renc_run_read read, void *arg, renc_interval interval,
					int level, double *least, double *most)
{
	double		lo[2] = {0, 0};
	double		hi[2] = {(double) run->entries, (double) run->entries};
	double		same = -1;
	const char *wrong = NULL;

	*least = 0;
	*most = 0;
	if (interval.hi < run->least || interval.lo > run->greatest)
		return NULL;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	if (interval.hi < run->greatest)
	{
		hi[0] = 0;
		wrong = rank_down_to_level(run, read, arg, interval.hi, RENC_RUN_UPTO, level, &hi[0], &hi[1],
								   &same);
	}
	if (interval.lo == interval.hi && same >= 0)
		lo[0] = lo[1] = hi[0] - same;
	else if (interval.lo > run->least && wrong == NULL)
	{
		lo[1] = (double) run->entries;
		wrong = rank_down_to_level(run, read, arg, interval.lo, RENC_RUN_BELOW, level, &lo[0], &lo[1],
								   &same);
	}
	*least = hi[0] > lo[1] ? hi[0] - lo[1] : 0;
	*most = hi[1] > lo[0] ? hi[1] - lo[0] : 0;
	return wrong;
}

/* Entry "i" of a leaf. */
static const char *
select_in_leaf(const renc_run *run, const uint8_t *page, uint64_t i, renc_interval interval,
			   renc_run_selected *selected)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	pages[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {.cell = cell,.page = pages};
	renc_run_leaf leaf;
	renc_run_block block = {0};
	const char *wrong = renc_run_open_leaf(&leaf, page, run);
	uint32_t	first;
	uint32_t	at;

	for (uint32_t j = 0; wrong == NULL && j < leaf.nblocks; j++)
	{
		wrong = renc_run_open_block(&block, &leaf, j);
		if (wrong != NULL || i < block.n)
			break;
		i -= block.n;
	}
	if (wrong == NULL && i >= block.n)
		return "a leaf has fewer entries than pages above it say";
	if (wrong == NULL && interval.hi < block.separator)
		return NULL;
	if (wrong == NULL)
		wrong = renc_run_scan_block(&block, &interval, 1, &found);
	if (wrong != NULL)
		return wrong;
	first = found.upto - found.n;
	if (i < first || i >= found.upto)
		return NULL;
	at = (uint32_t) i - first;
	selected->is_there = true;
	selected->lo = cell[at] << block.width > block.separator ? cell[at] << block.width : block.separator;
	selected->hi = renc_run_ceiling(cell[at] << block.width, block.width);
	while (selected->before < at && cell[at - selected->before - 1] == cell[at])
		selected->before++;
	while (at + selected->behind + 1 < found.n && cell[at + selected->behind + 1] == cell[at])
		selected->behind++;
	selected->whole = selected->before < i && i + selected->behind + 1 < block.n;
	return NULL;
}

/* The leaf of the entry with so many before it; *above: those in leaves before. */
static const char *
find_leaf_of(const renc_run *run, renc_run_read read, void *arg, uint64_t before, const uint8_t **leaf,
			 uint64_t *above)
{
	uint32_t	number = run->root;

	*above = 0;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	for (int level = run->level;; level--)
	{
		renc_run_step step;
		const char *wrong;
		uint32_t	child = 0;

		*leaf = read(arg, number, level);
		if (*leaf == NULL)
			return "it cannot be read";
		if (level == 0)
			return NULL;
		wrong = renc_run_open_inner(&step, *leaf, run->payload, level);
		if (wrong != NULL)
			return wrong;
		while (child + 1 < step.n && renc_run_entries_before_child(&step, child + 1) <= before)
			child++;
		*above = renc_run_entries_before_child(&step, child);
		number = renc_run_child_page(&step, child);
	}
}

const char *
renc_run_select(const renc_run *run, renc_run_read read, void *arg, uint64_t before,
				renc_interval interval, renc_run_selected *selected)
{
	const uint8_t *leaf;
	uint64_t	above;
	const char *wrong = find_leaf_of(run, read, arg, before, &leaf, &above);

	memset(selected, 0, sizeof(*selected));
	return wrong != NULL ? wrong : select_in_leaf(run, leaf, before - above, interval, selected);
}

const char *
renc_run_rows(const renc_run *run, renc_run_read read, void *arg, double below, double upto, int n,
			  double *rows)
{
	double		entries = upto - below;

	*rows = entries * (double) run->rows / fmax((double) run->entries, 1);
	if (entries <= 0 || run->rows == run->entries || entries >= (double) run->entries)
		return NULL;
	*rows = 0;
	for (double before = below, next; before < upto; before = next)
	{
		const uint8_t *page;
		uint64_t	above;
		renc_run_leaf leaf;
		const char *wrong = find_leaf_of(run, read, arg, (uint64_t) before, &page, &above);

		if (wrong == NULL)
			wrong = renc_run_open_leaf(&leaf, page, run);
		if (wrong != NULL)
			return wrong;
		next = fmin(fmax((double) (above + leaf.entries), before + fmax(entries / n, 1)), upto);
		*rows += (next - before) * leaf.rows / fmax(leaf.entries, 1);
	}
	return NULL;
}
