/*
 * cost_heap.c
 *		Telling the planner about the heap pages that a scan visits, in a bitmap or a plain scan.
 *
 * All rows of the pages, or parts of pages, that a scan visits are rechecked.  The planner
 * has no word for that.  README.md (Reporting) says what it is told beside which other indexes.
 */
#include "cost/cost_path.h"

#include <math.h>

#include "access/brin.h"
#include "access/genam.h"
#include "catalog/pg_am.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

#include "scan/ordered_scan.h"
#include "scan/plain_scan.h"

/* Work for a page that is in memory: as btree has it. */
#define OPERATORS_PER_PAGE		50

/*
 * Making the bitmap, for each page that is in it: measured.  A plain scan has none.  And for each
 * entry, which counts as part of what rows cost, but an AND does not save it.
 */
#define OPERATORS_PER_BITMAP_PAGE	20
#define OPERATORS_PER_BITMAP_ENTRY	8

/*
 * Rows that are to be checked are fetched one by one and their conditions evaluated
 * anew: half as much again as in a sequential scan, measured.  In cpu_tuple_cost.
 */
#define RECHECK_TUPLES			1

/*
 * A plain scan does not read ahead, which costs so much more for pages of the table, and fetches rows
 * one by one, not those of a page together: in cpu_tuple_cost.  Measured.  In order it is less.
 */
#define NOT_READ_AHEAD			0.1
#define ONE_BY_ONE_TUPLES		1
#define IN_ORDER_TUPLES			0.25

/* So many times dearer an index is than another one, whatever was rounded. */
#define DEARER					1.02

/* Heap as cost_bitmap_heap_scan() sees it. */
typedef struct HeapCosts
{
	double		pages;
	double		rows;
	double		random_page_cost;
	double		seq_page_cost;
	double		cpu_per_row;
} HeapCosts;

static void
heap_costs_init(const RencoderCostPath *p, HeapCosts *heap)
{
	RelOptInfo *rel = p->index->rel;

	heap->pages = Max(rel->pages, 1);
	heap->rows = Max(rel->tuples, 1);
	get_tablespace_page_costs(rel->reltablespace, &heap->random_page_cost,
							  &heap->seq_page_cost);
	heap->cpu_per_row = cpu_tuple_cost + rel->baserestrictcost.per_tuple;
	if (p->path->path.param_info)
	{
		QualCost	join_cost;

		cost_qual_eval(&join_cost, p->path->path.param_info->ppi_clauses, p->root);
		heap->cpu_per_row += join_cost.per_tuple;
	}
}

/* Pages that the planner expects for scattered rows. */
static double
heap_pages_of_rows(const HeapCosts *heap, double rows)
{
	return Min(heap->pages, 2 * heap->pages * rows / (2 * heap->pages + rows));
}

/* What the planner makes of visiting so many pages and rows. */
static Cost
heap_cost(const HeapCosts *heap, double pages, double rows)
{
	double		page_cost = heap->random_page_cost;

	if (pages >= 2)
		page_cost -= (heap->random_page_cost - heap->seq_page_cost) *
			sqrt(pages / heap->pages);
	return pages * page_cost + rows * heap->cpu_per_row;
}

/*
 * Could "other" answer all the clauses too?  Of BRIN that is taken for granted, and of btree where what
 * is asked for is known: the planner derives operators that they have, as those of text from LIKE.
 */
static bool
answers_clauses(const RencoderCostPath *p, const IndexOptInfo *other)
{
	if (other->indpred != NIL && !other->predOK)
		return false;
	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		const RencoderCostColumn *column = &p->part[col];
		int			attno = p->index->indexkeys[col];
		bool		found = false;

		if (column->quals == NIL)
			continue;
		for (int i = 0; i < other->nkeycolumns && attno != 0 && !found; i++)
			found = other->indexkeys[i] == attno &&
				(column->keys ? other->relam == BRIN_AM_OID ||
				 (other->relam == BTREE_AM_OID && !column->unknown) ||
				 op_in_opfamily(column->operator, other->opfamily[i]) :
				 other->amsearchnulls);
		if (!found)
			return false;
	}
	return true;
}

/*
 * What a BRIN index reports for itself, at least: as brincostestimate().  The planner holds a lock
 * on each index of the table.
 */
static void
look_at_brin(const RencoderCostPath *p, const IndexOptInfo *brin, RencoderRival *rival)
{
	BrinStatsData stats = {BRIN_DEFAULT_PAGES_PER_RANGE, 1};
	double		random_page_cost;
	double		seq_page_cost;

	if (!brin->hypothetical)
	{
		Relation	index = index_open(brin->indexoid, NoLock);

		brinGetStats(index, &stats);
		index_close(index, NoLock);
	}
	get_tablespace_page_costs(brin->reltablespace, &random_page_cost, &seq_page_cost);
	rival->kind = RENCODER_RIVAL_BRIN;
	rival->range_pages = stats.pagesPerRange;
	rival->index = p->loop_count *
		(stats.revmapNumPages * seq_page_cost +
		 Max((double) brin->pages - stats.revmapNumPages, 0) * random_page_cost);
}

/*
 * What an exact index reports for itself, about: as btree does.  0 if it is not in memory with its
 * table: there the smaller index may be the faster one.  Else the exact one is, which reads fewer pages
 * and checks no rows in vain.  Page costs do not say so, since ours are fewer if many are read.
 */
static void
look_at_exact(const RencoderCostPath *p, const IndexOptInfo *exact, RencoderRival *rival)
{
	double		rows;
	double		pages;
	double		random_page_cost;

	rival->kind = RENCODER_RIVAL_EXACT;

	/* As btcostestimate() has it. */
	rival->correlation = exact->relam != BTREE_AM_OID ? 0 : exact->nkeycolumns > 1 ? 0.75 : 1;
	if (p->root->total_table_pages + exact->pages > effective_cache_size)
		return;
	rows = Max(rint(p->rows / p->searches), 1);
	pages = p->searches * ceil(rows * exact->pages / Max(exact->tuples, 1));
	if (p->searches * p->loop_count > 1)
		pages = index_pages_fetched(pages * p->loop_count, exact->pages, exact->pages,
									p->root) / p->loop_count;
	get_tablespace_page_costs(exact->reltablespace, &random_page_cost, NULL);
	rival->startup = (ceil(log2(Max(exact->tuples, 2))) +
					  (Max(exact->tree_height, 0) + 1) * OPERATORS_PER_PAGE) * cpu_operator_cost;
	rival->index = pages * random_page_cost + p->searches * rival->startup +
		p->searches * rows * (cpu_index_tuple_cost + list_length(p->quals) * cpu_operator_cost);
}

/* The smallest BRIN index that could answer the clauses, and the smallest exact one, or NULL. */
static const IndexOptInfo *
find_others(const RencoderCostPath *p, const IndexOptInfo **exact)
{
	const IndexOptInfo *brin = NULL;
	ListCell   *lc;

	*exact = NULL;
	foreach(lc, p->index->rel->indexlist)
	{
		const IndexOptInfo *other = lfirst_node(IndexOptInfo, lc);
		const IndexOptInfo **smallest = other->relam == BRIN_AM_OID ? &brin : exact;

		if (other->relam == p->index->relam || !other->amhasgetbitmap ||
			!answers_clauses(p, other))
			continue;
		if (*smallest == NULL || other->pages < (*smallest)->pages)
			*smallest = other;
	}
	return brin;
}

static Cost
seq_scan_cost(const HeapCosts *heap)
{
	return heap->pages * heap->seq_page_cost + heap->rows * heap->cpu_per_row;
}

/* Is no exact index going to be taken beside a BRIN index? */
static bool
hides_exact(const RencoderCostPath *p, const IndexOptInfo *brin)
{
	double		ordered = p->correlation * p->correlation;
	HeapCosts	heap;
	Cost		index;
	Cost		plain;

	heap_costs_init(p, &heap);

	/* Of the exact index at least, of BRIN at most. */
	index = p->rows * (cpu_index_tuple_cost + cpu_operator_cost);
	if (index <= brin->pages * heap.random_page_cost + 0.1 * cpu_operator_cost * heap.pages)
		return false;
	plain = index + p->rows * heap.cpu_per_row +
		heap_pages_of_rows(&heap, p->rows) * heap.random_page_cost * (1 - ordered);
	return plain > seq_scan_cost(&heap);
}

void
rencoder_cost_find_rival(RencoderCostPath *p)
{
	const IndexOptInfo *exact;
	const IndexOptInfo *brin = find_others(p, &exact);

	if (exact != NULL && (brin == NULL || !hides_exact(p, brin)))
		look_at_exact(p, exact, &p->rival);
	else if (brin != NULL)
		look_at_brin(p, brin, &p->rival);
}

/*
 * The pages that every scan begins with are in memory, as btree has it for its upper pages: they are
 * work, and so is the first leaf of each descent.  Rescans have copies of all but that leaf.
 */
static Cost
begin_cost(const RencoderCostPath *p)
{
	double		pages = p->descents + (p->cached_pages + p->listed_pages) / Max(p->loop_count, 1);

	return pages * OPERATORS_PER_PAGE * cpu_operator_cost;
}

/*
 * The cost of reading the index once, caching by repeated scans considered.  Those that it reads in
 * order are not random.
 */
static Cost
index_pages_cost(const RencoderCostPath *p)
{
	double		pages = p->index_pages - p->cached_pages - p->listed_pages;
	double		listed_pages = p->listed_pages;
	double		random_page_cost;
	double		seq_page_cost;

	get_tablespace_page_costs(p->index->reltablespace, &random_page_cost, &seq_page_cost);
	if (p->loop_count > 1)
	{
		pages = index_pages_fetched(pages * p->loop_count, p->index->pages,
									p->index->pages, p->root) / p->loop_count;
		listed_pages /= p->loop_count;
	}
	return pages * random_page_cost + listed_pages * seq_page_cost + begin_cost(p);
}

/* What the planner makes of so many rows.  It makes no bitmap of a path in order that has all. */
static Cost
select_heap_rows(const HeapCosts *heap, double rows, Selectivity *selectivity)
{
	*selectivity = Min(rows / heap->rows, 0.999999);
	return heap_cost(heap, heap_pages_of_rows(heap, rows), rows);
}

/* The same of as many rows as cost "target"; at least so many, unless these cost more. */
static Cost
select_heap_cost(const HeapCosts *heap, Cost target, double least, double most, Selectivity *selectivity)
{
	double		low = select_heap_rows(heap, least, selectivity) <= target ? least : 0;
	double		high = most;

	for (int i = 0; i < 50 && high - low > 1e-5 * high; i++)
	{
		double		middle = (low + high) / 2;

		if (select_heap_rows(heap, middle, selectivity) < target)
			low = middle;
		else
			high = middle;
	}
	return select_heap_rows(heap, low, selectivity);
}

/* What the pages visited really cost, with so many rows to check. */
static Cost
visited_heap_cost(const HeapCosts *heap, double pages, double rows, double places)
{
	Cost		cost = heap_cost(heap, pages, rows);

	/* Pages that lie together are read in order. */
	cost = Min(cost, places * heap->random_page_cost + Max(pages - places, 0) * heap->seq_page_cost +
			   rows * heap->cpu_per_row);
	return cost + rows * RECHECK_TUPLES * cpu_tuple_cost;
}

/*
 * Is a scan that costs so much dearer than one of the BRIN index?  That is going to visit all pages, as
 * far as the column is not ordered.  (Its own estimate divides by the correlation, so that the little
 * that any sample of a random column has makes it hopeful.)  At both ends of what it has to visit it
 * visits half a range in vain, on average.  What came since VACUUM it has not summarized either.  All
 * these pages lie in one piece.
 */
static bool
brin_is_better(const RencoderCostPath *p, const HeapCosts *heap, Cost total)
{
	double		ordered = p->correlation * p->correlation;
	double		share = 1 - ordered * (1 - p->rows / heap->rows);
	double		pages = Min(heap->pages, heap->pages * share + p->rival.range_pages + p->runs.uncovered);

	return total > visited_heap_cost(heap, pages, pages / heap->pages * heap->rows, 1);
}

/* Is the planner going to consider workers that share the heap pages? */
static bool
heap_cost_may_be_shared(const RencoderCostPath *p)
{
	RelOptInfo *rel = p->index->rel;

	return rel->consider_parallel && p->path->path.param_info == NULL && p->loop_count <= 1 &&
		compute_parallel_worker(rel, p->heap_pages, -1, max_parallel_workers_per_gather) > 0;
}

/*
 * Of the cost of searching the index, what a plain scan spends before its first row.  A search of
 * one column is broken off before (plain_scan.h).  Of one interval, the pages that it reads are
 * charged with the rows, as btree has it: else who wants one of many rows would be told to look for
 * it in the table.
 */
static Cost
first_search_cost(const RencoderCostPath *p, Cost search)
{
	Cost		begin = begin_cost(p);
	int			asked = 0;

	for (int col = 0; col < p->ncolumns; col++)
		asked += p->column[col].quals != NIL;
	if ((asked > 1 && p->searched != 1) || p->run_entries == 0)
		return search;
	if (p->searches <= 1)
		search -= index_pages_cost(p) - begin;
	return begin + (search - begin) * Min(RENCODER_PLAIN_FIRST_ENTRIES / p->run_entries, 1);
}

/* Pages that lie together. */
static Cost
in_order_heap_cost(const HeapCosts *heap, double pages)
{
	return heap->random_page_cost + Max(pages - 1, 0) * heap->seq_page_cost;
}

/* What cost_index() makes of so many rows; of so many scans, which share pages, each. */
static Cost
plain_heap_cost(const RencoderCostPath *p, const HeapCosts *heap, double rows, double correlation,
				double loop_count)
{
	double		together = ceil(rows / heap->rows * heap->pages);
	Cost		most = heap_pages_of_rows(heap, rows) * heap->random_page_cost;
	Cost		least = in_order_heap_cost(heap, together);

	if (loop_count > 1)
	{
		double		page_cost = heap->random_page_cost / loop_count;

		most = page_cost * index_pages_fetched(rows * loop_count, p->index->rel->pages,
											   p->index->pages, p->root);
		least = page_cost * index_pages_fetched(together * loop_count, p->index->rel->pages,
												p->index->pages, p->root);
	}
	return rencoder_cost_interpolate(most, least, correlation) + rows * heap->cpu_per_row;
}

/*
 * An exact index competes: what its heap cost is for the planner, and what ours is more.  Where it
 * is the faster one, it is also to be the cheaper one, unless it is taken to be slower than a
 * sequential scan: then ours is the only one that may win.  In a loop a hash join does.
 */
static void
report_heap_beside_exact(const RencoderCostPath *p, const HeapCosts *heap, Cost search,
						 RencoderCostReport *report)
{
	double		correlation = p->correlation * p->rival.correlation;
	Cost		bitmap = heap_cost(heap, heap_pages_of_rows(heap, p->rows), p->rows);
	Cost		plain = plain_heap_cost(p, heap, p->rows, correlation, p->loop_count);
	Cost		exact = p->rival.index;

	if (p->loop_count <= 1 && exact + Min(bitmap, plain) > seq_scan_cost(heap))
		exact = 0;

	/* The planner takes what differs by a hundredth for equal, heap included. */
	if (exact > 0)
		exact = exact * DEARER + Max(bitmap, plain) * (DEARER - 1);
	else
		correlation = p->correlation;
	plain = plain_heap_cost(p, heap, p->rows, p->correlation, 1);
	report->selectivity = Min(p->rows / heap->rows, 1);
	report->correlation = correlation;
	bitmap = search + visited_heap_cost(heap, p->heap_pages, p->heap_rows, p->heap_pages) - bitmap;
	plain = search + visited_heap_cost(heap, p->heap_pages, p->heap_rows, p->heap_places) - plain;
	report->total = Max(Max(bitmap, plain), exact);

	/* Who wants one row pays the same for it. */
	report->startup = Min(Max(report->startup, p->rival.startup * DEARER), report->total);
}

/*
 * How much more a plain scan costs than a bitmap scan, of which it visits the same pages: searches
 * that are broken off, if the first does not find all, and how it reads the table.  An estimate of
 * few entries may be wrong by some.
 */
static Cost
plain_more_cost(const RencoderCostPath *p, const HeapCosts *heap, Cost search)
{
	double		again = 0;

	for (double limit = RENCODER_PLAIN_FIRST_ENTRIES; limit <= RENCODER_PLAIN_LAST_ENTRIES;
		 limit *= RENCODER_PLAIN_LIMIT_FACTOR)
	{
		double		beyond = p->run_entries / (p->run_entries + limit);

		again += Min(limit, p->run_entries) * beyond * beyond;
	}
	search = search * again / Max(p->run_entries, 1) +
		p->heap_rows * ONE_BY_ONE_TUPLES * cpu_tuple_cost;
	if (p->heap_pages > RENCODER_PLAIN_FIRST_ENTRIES)
		search += NOT_READ_AHEAD * heap_cost(heap, p->heap_pages, 0);
	return search;
}

/*
 * The correlation by which a plain scan costs so much more than a bitmap scan, with what is
 * reported else: as cost_index() has it.  Repeated scans have 0, as they share pages.
 */
static double
plain_correlation(const RencoderCostPath *p, const HeapCosts *heap, const RencoderCostReport *report,
				  Cost more)
{
	double		rows = clamp_row_est(report->selectivity * heap->rows);
	Cost		most;
	Cost		least;
	Cost		target;

	if (p->loop_count > 1)
		return 0;
	most = heap->random_page_cost *
		index_pages_fetched(rows, p->index->rel->pages, p->index->pages, p->root);
	least = in_order_heap_cost(heap, ceil(report->selectivity * heap->pages));
	target = heap_cost(heap, heap_pages_of_rows(heap, rows), 0) + more;
	if (most <= least || target >= most)
		return 0;
	return sqrt(Min((most - target) / (most - least), 1));
}

/*
 * Beside a BRIN index, as many rows as leave no more than its cost for the index.  Not if others leave so
 * few pages that an AND with it would cost a third of what it may save, or more.  If nothing stands beside
 * it, not if a sequential scan is cheaper; and so few rows, which makes it cheaper, that a plain scan, of
 * which the planner thinks that conditions are not checked again, costs more than a bitmap scan.
 */
static Cost
outdo_brin(const RencoderCostPath *p, const HeapCosts *heap, Cost index, Cost *total, Cost seen,
		   Selectivity *selectivity)
{
	bool		alone;
	double		left = rencoder_cost_rows_beside(p, &alone);
	double		rows;
	Cost		spared;
	Cost		random;
	Cost		target = *total - p->rival.index / DEARER;

	if (seen >= target || (alone && *total >= seq_scan_cost(heap)) ||
		(left < p->index->rel->tuples && heap_pages_of_rows(heap, left) * heap->seq_page_cost <= 3 * index))
		return seen;
	seen = select_heap_cost(heap, target, Min(p->rows, heap->rows), heap->rows, selectivity);
	rows = *selectivity * heap->rows;
	spared = rows * (heap->cpu_per_row - cpu_tuple_cost);
	random = heap_pages_of_rows(heap, rows) * heap->random_page_cost + rows * heap->cpu_per_row - DEARER * seen;
	if (alone && random < spared)
	{
		*total -= seen;
		seen = select_heap_rows(heap, Max(rows * random / spared, Min(p->rows, rows)), selectivity);
		*total += seen;
	}
	return seen;
}

/*
 * A scan in order fetches each row twice, and sorts it beside those of its slice.  What no run covers
 * it reads before the first one.  All else is as a btree has it.
 */
static void
report_in_order(const RencoderCostPath *p, const HeapCosts *heap, RencoderCostReport *report)
{
	double		rows = clamp_row_est(p->rows);
	double		slice = Min(RENCODER_ORDERED_FIRST_ENTRIES / rows, 1);
	double		tail = p->runs.uncovered / Max(p->loop_count, 1);
	double		visited = p->path->indexclauses == NIL ? 0 :
		Max(p->heap_pages - p->runs.uncovered - heap_pages_of_rows(heap, rows), 0);
	Cost		begin = begin_cost(p) + tail * heap->seq_page_cost +
		p->runs.uncovered * rencoder_cost_rows_per_page(p) * cpu_operator_cost +
		tail * rencoder_cost_rows_per_page(p) * cpu_tuple_cost;
	Cost		search = index_pages_cost(p) - begin_cost(p) + p->run_entries * cpu_index_tuple_cost;

	if (p->path->indexclauses == NIL)
		search += p->runs.column[0].leaves * heap->random_page_cost +
			p->runs.column[0].entries * cpu_index_tuple_cost;
	search += visited * heap->random_page_cost +
		Max(p->heap_rows - p->runs.uncovered * rencoder_cost_rows_per_page(p), rows) *
		(heap->cpu_per_row + IN_ORDER_TUPLES * cpu_tuple_cost) +
		rows * log2(rows + 1) * cpu_operator_cost;
	report->selectivity = Min(rows / heap->rows, 1);
	report->correlation = p->column[0].correlation;
	if (p->rival.kind == RENCODER_RIVAL_EXACT)
		report->correlation *= p->rival.correlation;
	report->startup = begin + search * slice;
	report->total = begin + search;
}

RencoderCostReport
rencoder_cost_report(const RencoderCostPath *p)
{
	RencoderCostReport report = {0};
	HeapCosts	heap;
	double		least;
	double		most;
	Cost		search;
	Cost		index;
	Cost		total;
	Cost		seen;

	heap_costs_init(p, &heap);
	if (rencoder_cost_is_in_order(p))
	{
		report_in_order(p, &heap, &report);
		return report;
	}

	search = index_pages_cost(p) + p->run_entries * cpu_index_tuple_cost;
	index = search + p->heap_pages * OPERATORS_PER_BITMAP_PAGE * cpu_operator_cost;
	report.startup = first_search_cost(p, search);
	if (p->rival.kind == RENCODER_RIVAL_EXACT)
	{
		report_heap_beside_exact(p, &heap, index, &report);
		return report;
	}

	/* As many rows as cost what the heap does, at most two a page: README.md. */
	total = index + visited_heap_cost(&heap, p->heap_pages, p->heap_rows, p->heap_places);
	least = Min(p->rows, heap.rows);
	most = heap_cost_may_be_shared(p) ? heap.rows : Min(Max(least, 2 * p->heap_pages), heap.rows);
	seen = select_heap_rows(&heap, least, &report.selectivity);
	if (seen <= total - index)
	{
		index += p->run_entries * OPERATORS_PER_BITMAP_ENTRY * cpu_operator_cost;
		total = Max(total, index + seen);
	}
	seen = select_heap_cost(&heap, total - index, least, most, &report.selectivity);

	/* It takes its pages to be more than they are. */
	if (p->rival.kind == RENCODER_RIVAL_BRIN && brin_is_better(p, &heap, total))
		seen = 0;
	else if (p->rival.kind == RENCODER_RIVAL_BRIN)
		seen = outdo_brin(p, &heap, index, &total, seen, &report.selectivity);

	/*
	 * Of an index-only scan, which asks for no column, the planner takes
	 * pages that are all visible for spared.  They are not (plain_scan.h).
	 */
	if (p->path->path.pathtype == T_IndexOnlyScan)
		seen = select_heap_rows(&heap, 1, &report.selectivity);
	else
		report.correlation = plain_correlation(p, &heap, &report, plain_more_cost(p, &heap, search));
	report.total = Max(total - seen, 0);
	report.startup = Min(report.startup, report.total);
	return report;
}
