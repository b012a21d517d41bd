/*
 * cost.c
 *		amcostestimate: from clauses to block ranges and index pages.
 *
 *		ranges hit = unsummarized + those that hold a row + false positives
 *
 * Of covered ranges, whose keys are in runs, not ranges but pages are hit.  What the heap pages of
 * bitmap and plain scans cost: cost_heap.c.
 */
#include "cost/cost.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/options.h"
#include "cost/cost_path.h"
#include "format/format_filter.h"

/*
 * With rencoder.enable_scan = off: more than any number of disabled nodes,
 * and still finite, because infinities may turn into NaN.
 */
#define COST_NEVER		1.0e30

/* A condition with so many times the rows of another one on the index decides nothing. */
#define WIDE			16

/* Can the query be run as it stands, to see what it finds? */
static bool
all_known(const RencoderCostPath *p)
{
	if (p->query->empty)
		return false;
	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		if (p->column[col].unknown || p->column[col].nulls)
			return false;
	}
	return true;
}

/*
 * Does the scan read more than what satisfies the clauses?  Of a pattern it reads all that its prefix
 * has, and the statistics know how many rows match the whole.
 */
static bool
asks_by_pattern(const RencoderCostPath *p)
{
	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		if (p->column[col].pattern)
			return true;
	}
	return false;
}

/*
 * Notes the keys that are asked for, while the index is open.  A pattern such
 * as '%x', or a bound at the end of a type, asks for all of them, which rows have
 * that are not null, whatever the statistics say.  Coders have been trained on
 * the rows, so who must not look makes keys without.  These say whether all are
 * asked for, and no more: shapes are for others.
 */
static void
find_known_keys(RencoderCostPath *p, Relation index)
{
	for (int col = 0; col < p->index->nkeycolumns && !p->query->empty; col++)
	{
		RencoderCostColumn *column = &p->column[col];
		bool		blind;

		if (!p->query->column[col].has_keys || column->unknown || column->sampled > 0)
			continue;
		blind = !p->may_look && rencoder_key_is_coded(index, col);
		column->known = rencoder_key_get_set(p->query, col, blind ? 0 : p->info.config[col].coder);
		if (column->known != NULL && !column->known->none &&
			column->known->query.overlap(column->known->query.arg, 0, PG_UINT64_MAX) == RENC_INSIDE)
		{
			column->all_keys = true;
			column->rows = rencoder_cost_column_not_null(p, col);
		}
		if (blind)
			column->known = NULL;
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
	Oid			indexoid;		/* InvalidOid: there is nothing */
	RencoderCostGroups info;
	RencoderRuns runs;
	RencoderKept pages;			/* that describe runs */
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
		kept->pages.keeps = true;
		kept->pages.context = root->planner_cxt;
		kept->pages.nrooms = 0;
	}
	if (kept->indexoid != index->indexoid)
	{
		kept->indexoid = InvalidOid;
		kept->pages.n = 0;
		for (int col = 0; col < index->nkeycolumns; col++)
			kept->correlation[col] = NAN;
	}
	return kept_index = kept;
}

/* Asks the index what it can tell: once it is open, all that a plan wants of it. */
static void
analyze_index(RencoderCostPath *p, KeptIndex *kept)
{
	double		heap_pages = p->index->rel->pages;
	RencoderCostAsked asked[INDEX_MAX_KEYS];
	double		least = p->index->rel->tuples;
	bool		known;

	/* The planner has locked it. */
	Relation	index = index_open(p->index->indexoid, NoLock);

	for (int col = 0; col < p->index->nkeycolumns; col++)
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
	for (int col = 0; col < p->index->nkeycolumns; col++)
		asked[col].is_wide = p->column[col].rows > WIDE * least;
	p->query = rencoder_key_make_query(index, p->keys, p->nkeys);
	p->may_look = rencoder_cost_may_look(p->root, p->index);
	if (kept->indexoid != p->index->indexoid)
	{
		rencoder_cost_groups_read(index, heap_pages, p->query, p->may_look, &kept->info, &kept->runs);
		kept->indexoid = kept->info.of_query ? InvalidOid : p->index->indexoid;
	}
	p->info = kept->info;
	find_known_keys(p, index);
	known = p->may_look && all_known(p) &&
		(p->rival.kind != RENCODER_RIVAL_EXACT || asks_by_pattern(p));
	if (p->info.covered > 0)
		rencoder_cost_runs_read(index, &kept->runs, &kept->pages, p->query, known, asked, &p->runs);
	else if (known)
		rencoder_cost_groups_read_sample(index, heap_pages, p->query, &p->info);
	for (int col = 0; col < p->index->nkeycolumns && p->may_look; col++)
	{
		if (p->info.covered < p->info.ranges && (p->column[col].all_keys || p->column[col].nulls))
			rencoder_cost_groups_read_nulls(index, &p->info, col, p->query->column[col].is_null,
											&p->column[col].found_nulls);
	}
	index_close(index, NoLock);
}

/* The keys that are asked of a column, or NULL if they are not known. */
static const RencoderKeySet *
known_keys(const RencoderCostPath *p, int col)
{
	static const renc_interval point = {0, 0};
	static const RencoderKeySet one_key = {.set = {&point, 1}};

	if (p->column[col].known != NULL && !p->column[col].known->none)
		return p->column[col].known;

	/* All single keys are alike; short intervals are not much different. */
	return p->column[col].range ? NULL : &one_key;
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

/* What the clauses of a column leave of the index. */
typedef struct ColumnRate
{
	double		pass;			/* share of the reachable ranges that it lets
								 * pass */
	double		groups;			/* that hold a row which satisfies its clauses */
} ColumnRate;

/*
 * The ranges that pass are those that hold a row that satisfies the column's clauses,
 * and false positives, which can be in "groups" groups at most.  "share" is the part of
 * the table that the ranges are of.
 */
static ColumnRate
column_rate(RencoderCostPath *p, int col, double reachable, double groups, double share)
{
	double		rows = rencoder_cost_column_rows(p, col) * share;
	double		together = ceil(rows / Max(p->index->rel->tuples, 1) * p->info.ranges);
	const RencoderCostNulls *nulls = &p->column[col].found_nulls;
	ColumnRate	rate;
	double		hit;
	double		fpr = 0;

	hit = rencoder_cost_interpolate(reachable * (1 - exp(-rows / reachable)), together,
									p->column[col].correlation);
	rate.groups = Min(groups,
					  rencoder_cost_interpolate(ceil(reachable / RENC_GROUP_RANGES),
												ceil(together / RENC_GROUP_RANGES),
												p->column[col].correlation));
	if (p->column[col].keys && !p->column[col].all_keys)
	{
		fpr = rencoder_filter_estimate(&p->info.config[col], p->info.bits_per_key,
									   known_keys(p, col)).fpr;
		fpr = 1 - pow(1 - fpr, p->column[col].elements);

		/*
		 * The bounds of a range rule it out, whatever the filter says.  Those
		 * of groups, if they were looked at, are in "reachable".
		 */
		if (p->info.compared > 0 && p->column[col].sampled == 0)
			fpr *= p->info.compared_meeting[col] / p->info.compared;
		else
			fpr *= Min(1, rate.groups * RENC_GROUP_RANGES / reachable);
	}
	rate.pass = hit / reachable + fpr * (1 - hit / reachable);
	if (nulls->ranges > 0)
		rate.pass = nulls->hits > 0 || nulls->all ? nulls->hits / nulls->ranges :
			Min(rate.pass, 1 / nulls->ranges);
	return rate;
}

/* How many times more than the scan keys does the query ask for, its lists being long? */
static double
beyond_cost_samples(const RencoderCostPath *p)
{
	double		times = 1;

	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		if (p->column[col].sampled > 0)
			times *= p->column[col].elements / p->column[col].sampled;
	}
	return times;
}

/*
 * What the query found in a sample of the groups is better than what the
 * statistics expect: rows of a rare value may be many fewer, or lie together.
 * In a sample without any, the rate is at most about one in its size.
 */
static double
correct_cost_by_sample(const RencoderCostPath *p, double reachable, double hit)
{
	const RencoderCostGroups *info = &p->info;
	double		times = beyond_cost_samples(p);
	double		rate;

	if (info->sample_ranges == 0)
		return hit;
	rate = info->sample_hits / info->sample_ranges;
	if (rate > 0 || (info->sample_all && times == 1))
		return (1 - pow(1 - rate, times)) * (info->ranges - info->unsummarized);
	return Min(hit, Max(times * reachable / info->sample_ranges, 1));
}

/* Sets heap_pages, heap_rows, heap_places and groups. */
static void
estimate_ranges(RencoderCostPath *p)
{
	const RencoderCostGroups *info = &p->info;
	double		table_pages = p->index->rel->pages;
	double		filtered = info->ranges - info->covered;
	double		reachable = (filtered - info->unsummarized) * info->meeting;
	double		hit = reachable;

	if (p->query->empty)
		return;
	p->groups = ceil(reachable / RENC_GROUP_RANGES);
	if (!rencoder_cost_asks_anything(p))
	{
		/*
		 * A partial index used for its predicate alone, or clauses that are
		 * only rechecked: the ranges that hold a row of the index.
		 */
		double		rows = rencoder_cost_rows(p, NIL);

		hit = reachable > 0 ? reachable * (1 - exp(-rows / reachable)) : 0;
	}
	for (int col = 0; col < p->index->nkeycolumns && reachable > 0; col++)
	{
		ColumnRate	rate;

		if (p->column[col].quals == NIL)
			continue;
		rate = column_rate(p, col, reachable, p->groups, filtered / info->ranges);
		hit *= rate.pass;
		p->groups = rate.groups;
	}
	hit = correct_cost_by_sample(p, reachable, hit);
	if (reachable > 0 && info->covered == 0)
		hit = Max(hit, 1);		/* as other index types expect a row at least */
	p->heap_pages = (hit + info->unsummarized) * info->pages_per_range;
	p->heap_rows = p->heap_pages * rencoder_cost_rows_per_page(p);
	p->heap_places = hit + (info->unsummarized > 0 ? 1 : 0);
	rencoder_cost_covered(p);
	p->heap_pages = Min(p->heap_pages, table_pages);
	p->heap_rows = Min(p->heap_rows, p->index->rel->tuples);
}

/*
 * Sets index_pages, and those of them that are not like others: those of one scan.  The header of a
 * group is read where null flags are asked for, where nothing else is, or something was found.
 */
static void
estimate_index_pages(RencoderCostPath *p)
{
	double		per_group = 0;
	double		headers = Min(p->groups,
							  p->heap_pages / p->info.pages_per_range);
	double		pages;

	if (!rencoder_cost_asks_anything(p))
		headers = p->groups;

	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		const RencoderCostColumn *column = &p->column[col];
		const RencoderConfig *config = &p->info.config[col];

		if (column->nulls || column->all_keys)
			headers = p->groups;
		if (!column->keys)
			continue;

		/* Its header in the group that grows; the first is read anyway. */
		p->cached_pages += col > 0;
		if (p->info.covered > 0)
		{
			p->cached_pages += rencoder_cost_runs_inner_pages(&p->runs, col, column->elements);
			p->descents += Min(p->runs.column[col].trees * column->elements,
							   p->runs.column[col].leaves);
		}
		if (column->all_keys)
			continue;
		pages = rencoder_filter_estimate(config, p->info.bits_per_key,
										 known_keys(p, col)).pages * column->elements;
		if (rencoder_is_configured(config))
			pages = Min(pages, config->nwindows);
		per_group += pages;
		p->probes += p->groups * column->elements;
	}
	pages = p->groups * per_group + headers + p->run_pages;
	p->cached_pages += 1 + p->runs.info_pages;
	p->listed_pages = p->info.directory_pages - 1 + p->runs.pending_pages;
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
		(path->indexclauses == NIL && path->indexinfo->indpred == NIL))
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
	rencoder_cost_clauses(&p);
	p.rows = rencoder_cost_rows(&p, p.quals);
	for (int col = 0; col < p.index->nkeycolumns; col++)
	{
		if (p.column[col].keys)
			p.column[col].correlation = column_correlation(&p, col, kept);
		p.correlation = Max(p.correlation, fabs(p.column[col].correlation));
	}
	rencoder_cost_find_rival(&p);
	analyze_index(&p, kept);

	estimate_ranges(&p);
	estimate_index_pages(&p);

	report = rencoder_cost_report(&p);
	operands = index_other_operands_eval_cost(root, p.quals);
	*indexStartupCost = report.startup + operands;
	*indexTotalCost = report.total + operands;
	*indexSelectivity = report.selectivity;
	*indexCorrelation = report.correlation;
	*indexPages = p.index_pages;
}
