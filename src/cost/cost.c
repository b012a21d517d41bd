/*
 * cost.c
 *		amcostestimate: from clauses to pages of the table and of the index.
 *
 *		pages hit = those that no run covers + those that hold a row + false ones
 *
 * What the heap pages of bitmap and plain scans cost: cost_heap.c.
 */
#include "cost/cost.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/workspace.h"
#include "cost/cost_path.h"

/*
 * With rencoder.enable_scan = off: more than any number of disabled nodes,
 * and still finite, because infinities may turn into NaN.
 */
#define COST_NEVER		1.0e30

/* Values of a list whose keys take as long to make as a page to read. */
#define VALUES_PER_PAGE	10

/* A condition with so many times the rows of another one, on the index or one like it, decides nothing. */
#define WIDE			16

/* Can the query be run as it stands, to see what it finds? */
static bool
all_known(const RencoderCostPath *p)
{
	if (p->query->empty)
		return false;
	for (int col = 0; col < p->ncolumns; col++)
	{
		if (p->column[col].unknown || p->column[col].nulls)
			return false;
	}
	return true;
}

/*
 * Does the scan read more than what satisfies the clauses?  Of a pattern it reads all that its
 * prefix has, and the statistics know how many rows match the whole.
 */
static bool
asks_by_pattern(const RencoderCostPath *p)
{
	for (int col = 0; col < p->ncolumns; col++)
	{
		if (p->column[col].pattern)
			return true;
	}
	return false;
}

/*
 * Which columns are asked for all keys.  A pattern such as '%x', or a bound at the end of a type,
 * asks for all of them, which rows have that are not null, whatever the statistics say.  Coders
 * have been trained on the rows, so who must not look makes keys without.
 */
static void
find_all_keys(RencoderCostPath *p, Relation index)
{
	for (int col = 0; col < p->ncolumns && !p->query->empty; col++)
	{
		RencoderCostColumn *column = &p->column[col];
		const RencoderKeySet *keys;

		if (!p->query->column[col].has_keys || column->unknown || column->sampled > 0)
			continue;
		keys = rencoder_key_get_set(p->query, col, !p->may_look && rencoder_key_is_coded(index, col) ? 0 :
									p->runs.column[col].coder);
		if (keys != NULL && !keys->none &&
			keys->query.overlap(keys->query.arg, 0, PG_UINT64_MAX) == RENC_INSIDE)
		{
			column->all_keys = true;
			column->rows = p->composite ? p->index->rel->tuples : rencoder_cost_column_not_null(p, col);
		}
	}
}

/*
 * What an index says of itself, whatever is asked: kept for the time of one planning, which comes again
 * with other clauses, such as those of each row of a list.
 */
typedef struct KeptIndex
{
	MemoryContextCallback end;
	PlannerGlobal *glob;		/* the planning */
	Oid			indexoid;
	bool		composite;
	RencoderCopies *copies;		/* of its catalog, and what describes runs */
	double		correlation[INDEX_MAX_KEYS];	/* NaN: not looked up yet */
} KeptIndex;

static KeptIndex *kept_index = NULL;

/* The planner's memory is reset, in which it stands. */
static void
forget_index(void *arg)
{
	if (kept_index == arg)
		kept_index = NULL;
}

/* The index that was looked at last, or room for one. */
static KeptIndex *
get_kept_index(PlannerInfo *root, const IndexOptInfo *index)
{
	KeptIndex  *kept = kept_index;

	if (kept == NULL || kept->glob != root->glob)
	{
		kept = MemoryContextAlloc(root->planner_cxt, sizeof(KeptIndex));
		kept->end.func = forget_index;
		kept->end.arg = kept;
		MemoryContextRegisterResetCallback(root->planner_cxt, &kept->end);
		kept->glob = root->glob;
		kept->indexoid = InvalidOid;
		kept->copies = rencoder_copies_create(root->planner_cxt);
	}
	if (kept->indexoid != index->indexoid)
	{
		/* The planner has locked it. */
		Relation	rel = index_open(index->indexoid, NoLock);

		kept->composite = rencoder_is_composite(rel);
		index_close(rel, NoLock);
		kept->indexoid = index->indexoid;
		rencoder_copies_drop(kept->copies);
		for (int col = 0; col < index->nkeycolumns; col++)
			kept->correlation[col] = NAN;
	}
	return kept_index = kept;
}

/*
 * Is another index of ours asked for the same columns and one more, which leaves few of the rows?  Then that
 * one is going to be taken.
 */
static bool
is_narrower_beside(const RencoderCostPath *p)
{
	const RelOptInfo *rel = p->index->rel;
	Bitmapset  *asked = NULL;
	int			n = 0;
	ListCell   *lc;

	while (n < p->index->nkeycolumns && p->part[n].quals != NIL)
		n++;
	if (n == 0 || p->rows <= WIDE * rel->rows)
		return false;
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &asked);
	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *other = lfirst_node(IndexOptInfo, lc);

		if (other->relam == p->index->relam && other->indpred == NIL && other->indexprs == NIL &&
			n < other->nkeycolumns &&
			memcmp(other->indexkeys, p->index->indexkeys, n * sizeof(int)) == 0 &&
			bms_is_member(other->indexkeys[n] - FirstLowInvalidHeapAttributeNumber, asked))
			return true;
	}
	return false;
}

/* Asks the index what it can tell: once it is open, all that a plan wants of it. */
static void
analyze_index(RencoderCostPath *p, KeptIndex *kept)
{
	RencoderCostAsked asked[INDEX_MAX_KEYS];
	RencoderWorkspace *workspace = rencoder_workspace_borrow();
	MemoryContext caller = CurrentMemoryContext;
	Snapshot	snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() : NULL;
	RencoderCostRunColumn *column;
	double		least = is_narrower_beside(p) ? p->index->rel->rows : p->index->rel->tuples;

	/* The planner has locked it. */
	Relation	index = index_open(p->index->indexoid, NoLock);

	for (int col = 0; col < p->ncolumns; col++)
	{
		asked[col].sampled = p->column[col].sampled;

		/*
		 * Beside conditions that leave few rows, too, this index need not be
		 * known so well.
		 */
		asked[col].rows = p->column[col].keys ?
			Min(rencoder_cost_column_rows(p, col), p->index->rel->rows) : 0;
		if (p->column[col].keys)
			least = Min(least, p->column[col].rows);
	}
	for (int col = 0; col < p->ncolumns; col++)
		asked[col].is_wide = p->column[col].rows > WIDE * least;
	p->query = rencoder_key_make_query(index, p->keys, p->nkeys);
	p->may_look = rencoder_cost_may_look(p->root, p->index);
	MemoryContextSwitchTo(workspace->context);
	rencoder_cost_runs_read(index, snapshot, kept->copies, p->query, p->may_look, &p->runs);
	MemoryContextSwitchTo(caller);
	find_all_keys(p, index);
	MemoryContextSwitchTo(workspace->context);

	/*
	 * In order some rows are wanted, mostly: what the statistics say is
	 * enough, for a path in another order beside it, too.
	 */
	if (p->may_look && all_known(p) && !rencoder_cost_is_in_order(p) &&
		(p->rival.kind != RENCODER_RIVAL_EXACT || asks_by_pattern(p)) &&
		!rencoder_cost_order_is_wanted(p))
		rencoder_cost_runs_rank(index, p->query, asked, &p->runs);
	MemoryContextSwitchTo(caller);

	/* The rest of it is needed no longer. */
	column = p->runs.column;
	p->runs.column = palloc(p->query->natts * sizeof(RencoderCostRunColumn));
	memcpy(p->runs.column, column, p->query->natts * sizeof(RencoderCostRunColumn));
	rencoder_workspace_give_back(workspace);
	index_close(index, NoLock);
}

/* pg_statistic's correlation of an index column with the heap's order. */
static double
column_correlation(const RencoderCostPath *p, int col, KeptIndex *kept)
{
	VariableStatData vardata;
	AttStatsSlot slot;
	double		correlation = 0;

	if (p->column[col].indexed == NULL)
		return 0;
	if (!isnan(kept->correlation[col]))
		return kept->correlation[col];
	examine_variable(p->root, (Node *) p->column[col].indexed, p->index->rel->relid, &vardata);
	if (HeapTupleIsValid(vardata.statsTuple) &&
		get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_CORRELATION,
						 InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(vardata);
	return kept->correlation[col] = correlation;
}

/* Sets heap_pages, heap_rows and heap_places, and what is read of runs. */
static void
estimate_heap_pages(RencoderCostPath *p)
{
	double		uncovered = Min(p->runs.uncovered, p->index->rel->pages);

	if (p->query->empty)
		return;
	p->heap_pages = uncovered;
	p->heap_rows = uncovered * rencoder_cost_rows_per_page(p);
	p->heap_places = uncovered > 0 ? 1 : 0;
	rencoder_cost_covered(p);
	rencoder_cost_matrices(p);
	p->heap_pages = Min(p->heap_pages, p->index->rel->pages);
	p->heap_rows = Min(p->heap_rows, p->index->rel->tuples);
}

/* Sets index_pages, and those of them that are not like others: those of one scan. */
static void
estimate_index_pages(RencoderCostPath *p)
{
	double		pages = p->run_pages;

	for (int col = 0; col < p->ncolumns; col++)
	{
		const RencoderCostColumn *column = &p->column[col];

		if (!column->keys)
			continue;
		p->cached_pages += rencoder_cost_runs_inner_pages(&p->runs, col, column->elements);
		p->descents += Min(p->runs.column[col].trees * column->elements,
						   p->runs.column[col].leaves) + (column->elements - 1) / VALUES_PER_PAGE;
	}
	p->cached_pages += 1 + p->runs.info_pages;
	p->listed_pages = p->runs.pending_pages;
	if (p->index->pages > 0)
		pages = Min(pages, p->index->pages);
	p->index_pages = p->cached_pages + p->listed_pages + pages;
}

void
rencodercostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
					 Cost *indexStartupCost, Cost *indexTotalCost,
					 Selectivity *indexSelectivity, double *indexCorrelation,
					 double *indexPages)
{
	RencoderCostPath p = {0};
	RencoderCostReport report;
	KeptIndex  *kept;
	Cost		operands;

	/*
	 * No scan is made of a path that asks for nothing: the planner has it
	 * costed as an index-only scan.  A hypothetical index has no pages to
	 * learn from.
	 */
	if (!rencoder_enable_scan || path->indexinfo->hypothetical ||
		(path->path.pathkeys != NIL && path->path.pathtype == T_IndexOnlyScan) ||
		(path->path.pathkeys == NIL && path->indexclauses == NIL && path->indexinfo->indpred == NIL))
	{
		/* Without a look at the index, which may be damaged. */
		*indexStartupCost = 0;
		*indexTotalCost = COST_NEVER;
		*indexSelectivity = 1;
		*indexCorrelation = 0;
		*indexPages = path->indexinfo->pages;
		return;
	}

	p.root = root;
	p.path = path;
	p.index = path->indexinfo;
	p.loop_count = loop_count;
	kept = get_kept_index(root, p.index);
	p.composite = kept->composite;
	rencoder_cost_clauses(&p);
	p.rows = rencoder_cost_rows(&p, p.quals);
	for (int col = 0; col < p.ncolumns; col++)
	{
		if (p.path->path.pathkeys != NIL && p.column[col].indexed == NULL)
			p.column[col].indexed = list_nth_node(TargetEntry, p.index->indextlist, col)->expr;
		if (p.column[col].keys || p.path->path.pathkeys != NIL)
			p.column[col].correlation = column_correlation(&p, col, kept);
		p.correlation = Max(p.correlation, fabs(p.column[col].correlation));
	}
	rencoder_cost_find_rival(&p);
	analyze_index(&p, kept);

	estimate_heap_pages(&p);
	estimate_index_pages(&p);

	report = rencoder_cost_report(&p);
	operands = index_other_operands_eval_cost(root, p.quals);
	*indexStartupCost = report.startup + operands;
	*indexTotalCost = report.total + operands;
	*indexSelectivity = report.selectivity;
	*indexCorrelation = report.correlation;
	*indexPages = p.index_pages;
}
