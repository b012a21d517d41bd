/*
 * renc_run_check.c
 *		The verifier: what is wrong with a page, or with the tree.
 */
#include "renc_run_block.h"

/* What a block says, looked at as a whole. */
typedef struct checked_block
{
	renc_run_block block;
	uint64_t	reach;			/* the greatest key of its cells */
	uint64_t	last;			/* the least key that its last entry may have */
	const uint8_t *stop;
} checked_block;

static const char *
check_block(const renc_run_leaf *leaf, uint32_t j, checked_block *c)
{
	static const renc_interval all = {0, UINT64_MAX};
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	page[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {cell, page, 0, NULL};
	const char *wrong = renc_run_open_block(&c->block, leaf, j);
	uint64_t	most;

	if (wrong != NULL)
		return wrong;
	wrong = renc_run_scan_block(&c->block, &all, 1, &found);
	if (wrong != NULL)
		return wrong;
	if (found.n != c->block.n)
		return "a block has entries beyond the last key";
	most = UINT64_MAX >> c->block.width;
	for (uint32_t i = 0; i < found.n; i++)
	{
		if (cell[i] > most || cell[i] < c->block.separator >> c->block.width)
			return "a block has entries beyond the last key";
		if (i > 0 && (cell[i] < cell[i - 1] || (cell[i] == cell[i - 1] && page[i] <= page[i - 1])))
			return "the entries of a block are out of order";
	}
	c->stop = found.stop;
	c->reach = renc_run_ceiling(cell[found.n - 1] << c->block.width, c->block.width);
	c->last = cell[found.n - 1] << c->block.width;
	c->last = c->last > c->block.separator ? c->last : c->block.separator;
	return NULL;
}

/* Follows block j the one before it, if there is any (reach: of all before)? */
static const char *
check_sequence(const renc_run_leaf *leaf, const checked_block *c, const checked_block *before,
			   uint64_t reach)
{
	if (c->block.width > leaf->wmax)
		return "a cell is wider than the page says";
	if (before == NULL)
		return c->block.data == leaf->data ? NULL : "the first block is not at the start";
	if (c->block.separator < before->last)
		return "the blocks are out of order";
	if (c->block.data != before->stop)
		return "a block does not begin where the one before ends";
	if (reach >= c->block.separator && !c->block.cont)
		return "a cell reaches into a block that does not say so";
	return NULL;
}

const char *
renc_run_check_leaf(const uint8_t *page, const renc_run *run, renc_run_summary *summary)
{
	renc_run_leaf leaf;
	checked_block both[2];
	const char *wrong = renc_run_open_leaf(&leaf, page, run);
	uint64_t	entries = 0;

	memset(summary, 0, sizeof(*summary));
	if (wrong != NULL)
		return wrong;
	for (uint32_t j = 0; j < leaf.nblocks; j++)
	{
		checked_block *c = &both[j & 1];

		wrong = check_block(&leaf, j, c);
		if (wrong == NULL)
			wrong = check_sequence(&leaf, c, j > 0 ? &both[~j & 1] : NULL, summary->reach);
		if (wrong != NULL)
			return wrong;
		entries += c->block.n;
		summary->reach = c->reach > summary->reach ? c->reach : summary->reach;
		summary->last = c->last;
		summary->widest = c->block.width > summary->widest ? c->block.width : summary->widest;
	}
	if (both[(leaf.nblocks - 1) & 1].stop != page + renc_run_get16(page + 4))
		return "the last block does not end where the data do";
	if (entries != leaf.entries)
		return "the number of entries is wrong";
	if (leaf.rows < leaf.entries)
		return "there are fewer rows than entries";
	summary->key = leaf.lo;
	summary->entries = leaf.entries;
	summary->rows = leaf.rows;
	return NULL;
}

const char *
renc_run_check_inner(const uint8_t *page, size_t payload, int level, renc_run_summary *summary)
{
	renc_run_step step;
	const char *wrong = renc_run_open_inner(&step, page, payload, level);

	memset(summary, 0, sizeof(*summary));
	if (wrong != NULL)
		return wrong;
	if (page[1] != 0 || renc_run_get32(page + 4) != 0)
		return "unknown flags";
	for (uint32_t i = 0; i < step.n; i++)
	{
		if (renc_run_child_reach(&step, i) & ~(REACHED | MAX_WIDTH))
			return "unknown flags";
		if (i == 0)
			continue;
		if (renc_run_child_key(&step, i) < renc_run_child_key(&step, i - 1))
			return "the children are out of order";
		if (renc_run_entries_before_child(&step, i) <= renc_run_entries_before_child(&step, i - 1))
			return "the counts of the children do not rise";
	}
	summary->key = renc_run_child_key(&step, 0);
	summary->last = renc_run_child_key(&step, step.n - 1);
	summary->entries = renc_run_entries_before_child(&step, 0);
	return NULL;
}

/* ---- The tree ---- */

/* What was found before the page that is looked at. */
typedef struct tree_check
{
	const renc_run *run;
	renc_run_read read;
	void	   *arg;
	uint32_t   *failed_page;
	uint64_t	entries;
	uint64_t	rows;
	uint64_t	reach;
	uint64_t	last;
	uint32_t	nleaves;
	uint32_t	ninner;
} tree_check;

/* What the inner page above says of its child, if there is one. */
typedef struct child_claim
{
	uint32_t	page;
	bool		any;
	uint64_t	key;
	uint8_t		reach;
} child_claim;

static const char *
check_leaf_in_tree(tree_check *t, const uint8_t *page, const child_claim *claim, uint64_t end)
{
	renc_run_summary summary;
	const char *wrong = renc_run_check_leaf(page, t->run, &summary);
	bool		reached = t->nleaves > 0 && t->reach >= summary.key;

	if (wrong != NULL)
		return wrong;
	if (claim->any && summary.key != claim->key)
		return "its first key is not the one that the page above says";
	if (t->nleaves > 0 && summary.key < t->last)
		return "it is out of order";
	if (summary.last > end)
		return "it has keys that belong to the next page";
	if (reached)
	{
		int			width = claim->reach & MAX_WIDTH;

		if (!(claim->reach & REACHED))
			return "a cell of another leaf reaches it, which the page above does not say";
		if (!renc_run_reaches(summary.key, width, t->reach) || width > page[7])
			return "a cell of another leaf reaches farther than it or the page above says";
	}
	t->nleaves++;
	t->entries += summary.entries;
	t->rows += summary.rows;
	t->reach = summary.reach > t->reach ? summary.reach : t->reach;
	t->last = summary.last;
	return NULL;
}

/* Checks a page; if it is an inner one, opens it at the first child. */
static const char *
check_page(tree_check *t, renc_run_step *step, int level, const child_claim *claim, uint64_t end)
{
	renc_run_summary summary;
	const uint8_t *page;
	const char *wrong;

	*t->failed_page = claim->page;
	if (level == 0 ? t->nleaves >= t->run->nleaves : t->ninner >= t->run->ninner)
		return "the run has more pages than it says";
	page = t->read(t->arg, claim->page, level);
	if (page == NULL)
		return "it cannot be read";
	if (level == 0)
		return check_leaf_in_tree(t, page, claim, end);
	t->ninner++;
	wrong = renc_run_check_inner(page, t->run->payload, level, &summary);
	if (wrong != NULL)
		return wrong;
	if (claim->any && summary.key != claim->key)
		return "its first key is not the one that the page above says";
	(void) renc_run_open_inner(step, page, t->run->payload, level);
	if (claim->any && renc_run_child_reach(step, 0) != claim->reach)
		return "its first child is not the one that the page above says";
	step->number = claim->page;
	return NULL;
}

static const char *
check_totals(const tree_check *t)
{
	*t->failed_page = t->run->root;
	if (t->nleaves != t->run->nleaves || t->ninner != t->run->ninner)
		return "the number of pages is wrong";
	if (t->entries != t->run->entries || t->rows != t->run->rows)
		return "the number of entries or rows is wrong";
	if (t->reach < t->run->greatest)
		return "the greatest key is wrong";
	return NULL;
}

const char *
renc_run_check(const renc_run *run, renc_run_read read, void *arg, uint32_t *failed_page)
{
	tree_check	t = {run, read, arg, failed_page, 0, 0, 0, 0, 0, 0};
	renc_run_step step[RENC_RUN_MAX_LEVEL + 1];
	uint64_t	end[RENC_RUN_MAX_LEVEL + 1];	/* keys of the level's page
												 * end there */
	child_claim claim = {run->root, false, 0, 0};
	int			level = run->level;
	const char *wrong;

	*failed_page = run->root;
	if (level < 0 || level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	end[level] = UINT64_MAX;
	wrong = check_page(&t, &step[level], level, &claim, end[level]);
	while (wrong == NULL && level <= run->level)
	{
		renc_run_step *above = &step[level];

		/* A leaf, or an inner page that is done with. */
		if (level == 0 || above->slot == above->n)
		{
			level++;
			continue;
		}
		*failed_page = above->number;
		if (renc_run_entries_before_child(above, above->slot) != t.entries)
			return "the count before a child is wrong";
		end[level - 1] = above->slot + 1 < above->n ? renc_run_child_key(above, above->slot + 1) : end[level];
		claim.any = true;
		claim.page = renc_run_child_page(above, above->slot);
		claim.key = renc_run_child_key(above, above->slot);
		claim.reach = renc_run_child_reach(above, above->slot);
		above->slot++;
		level--;
		wrong = check_page(&t, &step[level], level, &claim, end[level]);
	}
	return wrong != NULL ? wrong : check_totals(&t);
}
