/*
 * renc_program.c
 *		Compiling a query into a probe program, and running it.
 *
 * The REncoder paper's query (section 3.4) recurses over the segment tree for
 * each filter.  Here the recursion happens once, at compile time; a run only
 * combines masks.
 */
#include "renc_program.h"

#include "renc_window.h"

/* There is no room for the nodes of so many levels. */
#define MANY_LEVELS		16

typedef struct compiler
{
	renc_program *prog;
	const renc_interval_set *set;
	renc_query	query;			/* of the set */
	int			limit;			/* nodes from this level on are leaves: inside
								 * ones, or all */
	bool		all;
	int			max_nodes;
	bool		full;			/* out of trees or nodes */
} program_compiler;

/* What an enumeration does with each node of the target level. */
typedef void (*visit_fn) (program_compiler *c, uint64_t prefix, bool inside, void *arg);

/*
 * Visits the nodes of level "to" below the node (prefix, from) that meet the
 * query, in key order.  Halves the node, so that disjoint parts cost nothing, and
 * begins at the node below it that holds all that is asked for.
 */
static void
visit_program_nodes(program_compiler *c, uint64_t prefix, int from, int to, bool inside,
					visit_fn visit, void *arg)
{
	if (c->full)
		return;
	if (!inside)
	{
		uint64_t	end = renc_prefix_end(prefix, from);
		uint64_t	lo = c->query.hull_lo > prefix ? c->query.hull_lo : prefix;
		uint64_t	hi = c->query.hull_hi < end ? c->query.hull_hi : end;
		int			shared = lo > hi ? from : renc_common_prefix(lo, hi);

		if (shared > from)
		{
			from = shared < to ? shared : to;
			prefix = renc_prefix(lo, from);
		}
		switch (renc_interval_set_overlap(c->set, prefix, renc_prefix_end(prefix, from)))
		{
			case RENC_DISJOINT:
				return;
			case RENC_PARTIAL:
				break;
			case RENC_INSIDE:
				inside = true;
				break;
		}
	}
	if (from == to)
	{
		visit(c, prefix, inside, arg);
		return;
	}
	if (inside)
	{
		/* All of them have nodes. */
		if (to - from >= MANY_LEVELS || c->prog->nnodes + (1 << (to - from)) > c->max_nodes)
			c->full = true;
		for (uint64_t i = 0; i < UINT64_C(1) << (to - from) && !c->full; i++)
			visit(c, prefix | i << (RENC_KEY_BITS - to), true, arg);
		return;
	}
	visit_program_nodes(c, prefix, from + 1, to, inside, visit, arg);
	visit_program_nodes(c, prefix | (UINT64_C(1) << (RENC_KEY_BITS - 1 - from)),
						from + 1, to, inside, visit, arg);
}

/* The node under construction when its children are enumerated. */
typedef struct node_context
{
	int			stage;
	const uint8_t *levels;
	int			nlevels;
	int			depth;			/* index into levels of the nodes to add */
	int32_t		parent;
} node_context;

static void
add_program_node(program_compiler *c, uint64_t prefix, bool inside, void *arg)
{
	const node_context *ctx = (const node_context *) arg;
	renc_program *prog = c->prog;
	int			level = ctx->levels[ctx->depth];
	bool		deepest = ctx->depth == ctx->nlevels - 1;
	int32_t		self;
	renc_node  *node;

	if (prog->nnodes == c->max_nodes)
	{
		c->full = true;
		return;
	}
	self = prog->nnodes++;
	node = &prog->node[self];
	node->prefix = prefix;
	node->parent = ctx->parent;
	node->level = (uint8_t) level;
	node->flags = inside ? RENC_NODE_INSIDE : 0;

	if (level >= c->limit && (inside || c->all))
		node->flags |= RENC_NODE_RESULT;
	else if (!deepest)
	{
		node_context child = *ctx;

		child.depth++;
		child.parent = self;
		visit_program_nodes(c, prefix, level, ctx->levels[child.depth], inside,
							add_program_node, &child);
	}
	else if (ctx->stage + 1 < prog->shape.nstages)
		node->flags |= RENC_NODE_LINK;
	else
		node->flags |= RENC_NODE_RESULT;
}

typedef struct tree_context
{
	int			stage;
	int32_t		link;
} tree_context;

static void add_program_trees(program_compiler *c, uint64_t prefix, int from, bool inside,
							  int stage, int32_t link);

static void
add_program_tree(program_compiler *c, uint64_t prefix, bool inside, void *arg)
{
	const tree_context *ctx = (const tree_context *) arg;
	renc_program *prog = c->prog;
	const renc_stage *st = &prog->shape.stage[ctx->stage];
	uint8_t		levels[RENC_KEY_BITS];
	node_context nodes;
	renc_tree  *tree;

	if (prog->ntrees == RENC_MAX_TREES)
	{
		c->full = true;
		return;
	}
	tree = &prog->tree[prog->ntrees++];
	tree->hash = renc_hash_root(prefix, st->root);
	tree->first_node = prog->nnodes;
	tree->link = ctx->link;
	tree->stage = ctx->stage;

	nodes.stage = ctx->stage;
	nodes.levels = levels;
	nodes.nlevels = renc_stage_levels(st, levels);
	nodes.depth = 0;
	nodes.parent = -1;
	visit_program_nodes(c, prefix, st->root, levels[0], inside, add_program_node, &nodes);
	tree->nnodes = prog->nnodes - tree->first_node;

	/* A tree's nodes stand together, so the next stage comes after them. */
	for (int32_t i = 0; i < tree->nnodes && !c->full; i++)
	{
		const renc_node *node = &prog->node[tree->first_node + i];

		if (node->flags & RENC_NODE_LINK)
			add_program_trees(c, node->prefix, node->level,
							  (node->flags & RENC_NODE_INSIDE) != 0,
							  ctx->stage + 1, tree->first_node + i);
	}
}

static void
add_program_trees(program_compiler *c, uint64_t prefix, int from, bool inside, int stage,
				  int32_t link)
{
	tree_context ctx = {stage, link};

	visit_program_nodes(c, prefix, from, c->prog->shape.stage[stage].root, inside,
						add_program_tree, &ctx);
}

/* Are there more nodes at the first level whose nodes are leaves than there is room for? */
static bool
program_is_too_long(const program_compiler *c, int deepest)
{
	return renc_interval_set_nodes(c->set, c->limit < deepest ? c->limit : deepest) > c->max_nodes;
}

static bool
try_compile_program(program_compiler *c, int deepest)
{
	c->prog->ntrees = 0;
	c->prog->nnodes = 0;
	c->full = program_is_too_long(c, deepest);
	add_program_trees(c, 0, 0, false, 0, -1);
	return !c->full;
}

void
renc_program_compile(renc_program *prog, const renc_shape *shape,
					 uint32_t rows, const renc_interval_set *set)
{
	prog->rows = rows;
	renc_program_compile_within(prog, shape, set, RENC_MAX_NODES);

	/* Only the nodes that stay are worth hashing. */
	for (int i = 0; i < prog->nnodes; i++)
		prog->node[i].hash = renc_hash_node(prog->node[i].prefix,
											prog->node[i].level);
}

void
renc_program_compile_within(renc_program *prog, const renc_shape *shape,
							const renc_interval_set *set, int max_nodes)
{
	uint64_t	stored = 0;
	uint64_t	levels;
	program_compiler c;
	int			deepest = renc_stage_deepest(&shape->stage[shape->nstages - 1]);

	c.prog = prog;
	c.set = set;
	c.query = renc_query_intervals(set);
	c.limit = RENC_KEY_BITS + 1;
	c.all = false;
	c.max_nodes = max_nodes;
	prog->shape = *shape;
	prog->always = false;
	prog->complete = true;
	for (int s = 0; s < shape->nstages; s++)
		stored |= shape->stage[s].levels;
	levels = stored;

	/*
	 * Give up levels until the program fits.  An interval's ends cross one
	 * node each on every level; those are worth keeping, as long as the trees
	 * below them find room.
	 */
	while (!try_compile_program(&c, deepest))
	{
		prog->complete = false;
		if (levels == 0 && c.all)
		{
			prog->ntrees = prog->nnodes = 0;
			prog->always = true;
			return;
		}
		if (levels == 0)
		{
			c.all = true;
			levels = stored;
		}
		c.limit = RENC_KEY_BITS - __builtin_clzll(levels);
		levels &= ~RENC_LEVEL_BIT(c.limit);
	}
}

/* Tests the nodes of a tree in one window; returns the OR of its leaves. */
static renc_mask
run_program_in_window(renc_program *prog, const renc_tree *tree, uint32_t w,
					  const uint8_t *window, int width, renc_mask root)
{
	uint32_t	kr = prog->shape.stage[tree->stage].kr;
	renc_mask	alive = renc_mask_none();

	for (int32_t i = tree->first_node; i < tree->first_node + tree->nnodes; i++)
	{
		const renc_node *node = &prog->node[i];
		renc_mask	m = node->parent < 0 ? root : prog->mask[node->parent];

		if (w > 0)
			m = renc_mask_and(m, prog->mask[i]);
		for (uint32_t r = 0; r < kr && window != NULL && !renc_mask_empty(m); r++)
		{
			uint32_t	row = renc_hash_position(node->hash, w * kr + r, prog->rows);

			m = renc_window_row(window, width, prog->rows, row, m);
		}
		prog->mask[i] = m;
		if (node->flags & (RENC_NODE_RESULT | RENC_NODE_LINK))
			alive = renc_mask_or(alive, m);
	}
	return alive;
}

renc_mask
renc_program_execute(renc_program *prog, const renc_windows *windows,
					 renc_mask candidates)
{
	renc_mask	result = renc_mask_none();

	if (prog->always)
		return candidates;

	for (int t = 0; t < prog->ntrees; t++)
	{
		const renc_tree *tree = &prog->tree[t];
		uint32_t	kw = prog->shape.stage[tree->stage].kw;
		renc_mask	root;
		renc_mask	alive;

		/* Ranges that are in the result already need no further test. */
		root = renc_mask_andnot(candidates, result);
		if (tree->link >= 0)
			root = renc_mask_and(root, prog->mask[tree->link]);
		alive = root;
		for (uint32_t w = 0; w < kw && !renc_mask_empty(alive); w++)
			alive = run_program_in_window(prog, tree, w,
										  windows->window(windows->arg,
														  renc_hash_position(tree->hash, w,
																			 windows->nwindows)),
										  windows->width, root);

		for (int32_t i = tree->first_node; i < tree->first_node + tree->nnodes; i++)
		{
			/* A tree that was cut short has no mask to speak of. */
			if (renc_mask_empty(alive))
				prog->mask[i] = renc_mask_none();
			else if (prog->node[i].flags & RENC_NODE_RESULT)
				result = renc_mask_or(result, prog->mask[i]);
		}
	}
	return result;
}
