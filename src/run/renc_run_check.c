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
check_run_block(const renc_run_leaf *leaf, uint32_t j, checked_block *c)
{
	static const renc_interval all = {0, UINT64_MAX};
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	page[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {.cell = cell,.page = page};
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
check_run_block_sequence(const renc_run_leaf *leaf, const checked_block *c,
						 const checked_block *before, uint64_t reach)
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

		wrong = check_run_block(&leaf, j, c);
		if (wrong == NULL)
			wrong = check_run_block_sequence(&leaf, c, j > 0 ? &both[~j & 1] : NULL,
											 summary->reach);
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

/* ---- The tree ---- */

/* What was found before the page that is looked at. */
typedef struct tree_check
{
	const renc_run *run;
	bool		exact;
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

/* What the inner page above says of its child. */
typedef struct child_claim
{
	uint64_t	key;
	uint8_t		reach;
} child_claim;

/* A leaf; no key of it lies behind "end".  "claim": NULL for the root. */
static const char *
check_run_leaf_in_tree(tree_check *t, const uint8_t *page, const child_claim *claim, uint64_t end)
{
	renc_run_summary summary;
	const char *wrong = renc_run_check_leaf(page, t->run, &summary);
	bool		reached = t->nleaves > 0 && t->reach >= summary.key;

	if (wrong != NULL)
		return wrong;
	if (claim != NULL && summary.key != claim->key)
		return "its first key is not the one that the page above says";
	if (t->nleaves > 0 && summary.key < t->last)
		return "it is out of order";
	if (summary.last > end)
		return "it has keys that belong to the next page";
	if (t->exact && summary.widest > 0)
		return "it has cells of more than a key";
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

/*
 * A page and all below it.  That the children of an inner page are in order, and that their counts
 * rise, is seen in the leaves.
 */
static const char *
check_run_subtree(tree_check *t, uint32_t number, int level, const child_claim *claim, uint64_t end)
{
	renc_run_step step;
	const uint8_t *page;
	const char *wrong;

	*t->failed_page = number;
	if (level == 0 ? t->nleaves >= t->run->nleaves : t->ninner >= t->run->ninner)
		return "the run has more pages than it says";
	page = t->read(t->arg, number, level);
	if (page == NULL)
		return "it cannot be read";
	if (level == 0)
		return check_run_leaf_in_tree(t, page, claim, end);
	t->ninner++;
	wrong = renc_run_open_inner(&step, page, t->run->payload, level);
	if (wrong != NULL)
		return wrong;
	if (page[1] != 0 || renc_run_get32(page + 4) != 0)
		return "unknown flags";
	if (claim != NULL && renc_run_child_key(&step, 0) != claim->key)
		return "its first key is not the one that the page above says";
	if (claim != NULL && renc_run_child_reach(&step, 0) != claim->reach)
		return "its first child is not the one that the page above says";
	for (uint32_t i = 0; wrong == NULL && i < step.n; i++)
	{
		child_claim child = {renc_run_child_key(&step, i), renc_run_child_reach(&step, i)};

		*t->failed_page = number;
		if (child.reach & ~(REACHED | MAX_WIDTH))
			return "unknown flags";
		if (renc_run_entries_before_child(&step, i) != t->entries)
			return "the count before a child is wrong";
		wrong = check_run_subtree(t, renc_run_child_page(&step, i), level - 1, &child,
								  i + 1 < step.n ? renc_run_child_key(&step, i + 1) : end);
	}
	return wrong;
}

const char *
renc_run_check(const renc_run *run, bool exact, renc_run_read read, void *arg, uint32_t *failed_page)
{
	tree_check	t = {run, exact, read, arg, failed_page, 0, 0, 0, 0, 0, 0};
	const char *wrong;

	*failed_page = run->root;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	wrong = check_run_subtree(&t, run->root, run->level, NULL, UINT64_MAX);
	if (wrong != NULL)
		return wrong;
	*failed_page = run->root;
	if (t.nleaves != run->nleaves || t.ninner != run->ninner)
		return "the number of pages is wrong";
	if (t.entries != run->entries || t.rows != run->rows)
		return "the number of entries or rows is wrong";
	if (t.reach < run->greatest)
		return "the greatest key is wrong";
	return NULL;
}
