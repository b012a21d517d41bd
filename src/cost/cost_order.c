/*
 * cost_order.c
 *		Telling the planner which indexes have an order, and which are not to be used.
 *
 * The access method says of itself that it has none (amcanorder): then what PostgreSQL does with
 * operators of families that have order is as if this access method were not there, and whoever sets
 * the hook and does not call this one takes the order away, which costs time only.  An index whose keys
 * are in the order of its type gets the family of btree that has the same operators.  It has them
 * ascending, with nulls behind.
 */
#include "cost/cost.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/options.h"
#include "cost/cost_path.h"
#include "key/key.h"

/* Sets the order of an index of the table, if it has one.  Matrices know no order. */
static void
offer_index_order(IndexOptInfo *info)
{
	Relation	index = index_open(info->indexoid, NoLock);
	Oid			family[INDEX_MAX_KEYS];

	if (rencoder_options_use_runs(index) && rencoder_key_has_order(index, family))
	{
		info->sortopfamily = palloc(info->nkeycolumns * sizeof(Oid));
		memcpy(info->sortopfamily, family, info->nkeycolumns * sizeof(Oid));
		info->reverse_sort = palloc0(info->nkeycolumns * sizeof(bool));
		info->nulls_first = palloc0(info->nkeycolumns * sizeof(bool));
	}
	index_close(index, NoLock);
}

/*
 * The planner holds a lock on each index of the table.  One that is not to be scanned keeps its statistics,
 * and has no path: from 18 on one that costs too much would still be better than one that is disabled.
 */
static void
offer_order(RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *info = lfirst_node(IndexOptInfo, lc);

		if ((void *) info->amcostestimate != (void *) rencodercostestimate)
			continue;
		if (!rencoder_enable_scan)
			info->amhasgettuple = info->amhasgetbitmap = false;
		else if (rencoder_enable_ordered_scan && !info->hypothetical)
			offer_index_order(info);
	}
}

RENCODER_RELATION_HOOK(offer_order)

static set_rel_pathlist_hook_type next_paths_hook = NULL;
static bool open_direction;		/* may a path have none? */

/*
 * A path whose order nobody wants has no pathkeys, which a plan does not tell: it gets no direction
 * instead, and scan_recheck.c tells the scan.  Where that may not be, all plain scans are in order, which
 * costs time only.  And plain scans of partitions, by which a table is read alone, are no business for
 * workers: as no worker takes part of one, the planner would give whole ones to each, for some
 * milliseconds that it takes to start them.
 */
static void
mark_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	bool		part = rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
		bms_membership(root->all_baserels) == BMS_SINGLETON;
	ListCell   *lc;

	if (next_paths_hook != NULL)
		next_paths_hook(root, rel, rti, rte);
	foreach(lc, rel->pathlist)
	{
		IndexPath  *path = (IndexPath *) lfirst(lc);

		if (!IsA(path, IndexPath) ||
			(void *) path->indexinfo->amcostestimate != (void *) rencodercostestimate)
			continue;
		if (path->path.pathkeys == NIL && path->path.pathtype == T_IndexScan && open_direction)
			path->indexscandir = NoMovementScanDirection;
		path->path.parallel_safe &= !part;
	}
}

void
rencoder_cost_order_init(void)
{
	open_direction = rencoder_direction_may_be_open();
	rencoder_set_relation_hook();
	next_paths_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = mark_paths;
}

bool
rencoder_cost_is_in_order(const RencoderCostPath *p)
{
	Bitmapset  *single = NULL;
	ListCell   *lc;

	if (p->path->path.pathkeys == NIL)
		return false;
	foreach(lc, p->path->indexclauses)
	{
		const IndexClause *iclause = lfirst_node(IndexClause, lc);
		const Expr *clause = linitial_node(RestrictInfo, iclause->indexquals)->clause;

		if (IsA(clause, NullTest) ? ((const NullTest *) clause)->nulltesttype == IS_NULL :
			IsA(clause, OpExpr) &&
			get_op_opfamily_strategy(((const OpExpr *) clause)->opno,
									 p->index->opfamily[iclause->indexcol]) == BTEqualStrategyNumber)
			single = bms_add_member(single, iclause->indexcol);
	}
	return bms_num_members(single) < p->index->nkeycolumns;
}

bool
rencoder_cost_order_is_wanted(const RencoderCostPath *p)
{
	if (p->root->limit_tuples <= 0 || p->index->sortopfamily == NULL)
		return false;
	for (int i = 0; i < 2; i++)
	{
		List	   *pathkeys = build_index_pathkeys(p->root, p->index,
													i == 0 ? BackwardScanDirection : ForwardScanDirection);

		if (pathkeys_contained_in(p->root->query_pathkeys, pathkeys))
			return true;
	}
	return false;
}
