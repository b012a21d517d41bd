/*
 * slice_edge.c
 *		Where a slice of an ordered scan is to end: behind so many entries.
 */
#include "scan/slice_edge.h"

#include "miscadmin.h"

#include "store/run_pages.h"

/* A cell with so many times the entries wanted is not taken along by a slice that has others. */
#define CROWDED		4

/* Intervals that are looked at, at most: the slice ends with the last of them. */
#define MOST_INTERVALS	64

/* Moves the edge to a key if it lies before. */
static void
move_edge(RencoderSliceEdge *edge, uint64 key, bool crowded)
{
	if (edge->backward ? key < edge->key : key > edge->key)
		return;
	edge->crowded = crowded || (edge->key == key && edge->crowded);
	edge->key = key;
}

/* The rank of a bound of an interval; false if a page was not what it should be. */
static bool
rank_bound(RencoderRunReader *reader, uint64 key, renc_run_side side, double *rank)
{
	return renc_run_rank(&reader->run, rencoder_run_reader_read, reader, key, side, rank) == NULL;
}

/*
 * Moves the edge to the cell of the need-th entry of an interval, if it has as many, with n - need in
 * those of the set before; "start" is the rank where it is entered.  A crowd is a slice of its own, behind
 * one that ends where it begins, unless the set does.
 */
static void
move_edge_to_entry(RencoderRunReader *reader, const renc_interval_set *set, const renc_interval *interval,
				   double start, double need, uint32 n, RencoderSliceEdge *edge)
{
	double		at = edge->backward ? start - need : start + need - 1;
	double		whole;
	renc_run_selected cell;
	bool		begins;

	if (at < 0 || at >= (double) reader->run.entries ||
		renc_run_select(&reader->run, rencoder_run_reader_read, reader, (uint64) at, *interval, &cell) != NULL ||
		!cell.is_there)
		return;
	if (!cell.whole)
	{
		if (!rank_bound(reader, edge->backward ? cell.lo : cell.hi,
						edge->backward ? RENC_RUN_BELOW : RENC_RUN_UPTO, &whole))
			return;
		whole = n - need + (edge->backward ? start - whole : whole - start);
	}
	else
		whole = (double) n + (edge->backward ? cell.before : cell.behind);
	begins = edge->backward ? cell.hi >= set->interval[set->n - 1].hi : cell.lo <= set->interval[0].lo;
	if (whole <= CROWDED * (double) n || begins)
		move_edge(edge, edge->backward ? cell.lo : cell.hi, whole > CROWDED * (double) n);
	else
		move_edge(edge, edge->backward ? cell.hi + 1 : cell.lo - 1, false);
}

/* Moves the edge to where a tree has n entries of the set. */
static void
move_edge_in_tree(RencoderRunReader *reader, const renc_interval_set *set, uint32 n,
				  RencoderSliceEdge *edge)
{
	double		before = 0;

	for (size_t k = 0; k < set->n; k++)
	{
		const renc_interval *interval = &set->interval[edge->backward ? set->n - 1 - k : k];
		bool		last = k + 1 == set->n;
		double		below = 0;
		double		upto = 0;

		if (k == MOST_INTERVALS)
		{
			interval = &set->interval[edge->backward ? set->n - k : k - 1];
			move_edge(edge, edge->backward ? interval->lo : interval->hi, false);
			return;
		}
		if (edge->backward ? interval->hi < edge->key : interval->lo > edge->key)
			return;
		if (interval->hi < reader->run.least || interval->lo > reader->run.greatest)
			continue;

		/*
		 * How many the last one has need not be known: the entry tells
		 * whether it is of it.
		 */
		if (((!last || !edge->backward) && !rank_bound(reader, interval->lo, RENC_RUN_BELOW, &below)) ||
			((!last || edge->backward) && !rank_bound(reader, interval->hi, RENC_RUN_UPTO, &upto)))
			return;
		if (last || before + upto - below >= n)
		{
			move_edge_to_entry(reader, set, interval, edge->backward ? upto : below, n - before, n, edge);
			return;
		}
		before += Max(upto - below, 0);
	}
}

/* Is a run to be asked?  Its keys are to be of the generation. */
static bool
has_entries(const RencoderCopies *copies, const RencoderRunEntry *entry, uint32 generation,
			const renc_interval_set *set)
{
	const RencoderRunColumn *first = &entry->first;

	if (entry->state != RENCODER_RUN_LIVE || entry->kind == RENCODER_RUN_MATRIX ||
		first->root == RENCODER_NO_BLOCK || first->coder != generation ||
		first->least > set->interval[set->n - 1].hi || first->greatest < set->interval[0].lo)
		return false;
	return !rencoder_run_covers(entry) || rencoder_copies_covered_pages(copies, entry) > 0;
}

void
rencoder_slice_edge_find(Relation index, RencoderCopies *copies, uint32 generation,
						 const renc_interval_set *set, uint32 n, RencoderSliceEdge *edge, int64 *npages)
{
	RencoderPrefetch prefetch;

	rencoder_kept_prefetch_begin(&prefetch, index, &copies->pages);
	for (uint32 i = 0; i < copies->catalog.n; i++)
	{
		const RencoderRunEntry *entry = &copies->catalog.entry[i];
		RencoderRunReader reader;
		RencoderRunInfo info;
		const char *fault;

		CHECK_FOR_INTERRUPTS();
		if (!has_entries(copies, entry, generation, set))
			continue;
		info = rencoder_run_read_trees(index, entry, 1, &copies->pages, npages, &fault);
		if (info == NULL || !rencoder_run_reader_begin(&reader, index, info, 0))
			continue;			/* who searches it will say so */
		reader.roots = true;
		rencoder_run_reader_prefetch(&reader, NULL, &prefetch);
		move_edge_in_tree(&reader, set, n, edge);
		*npages += reader.npages;
		rencoder_run_reader_end(&reader);
	}
}
