/*
 * choose.c
 *		What an index needs next.  Of deltas: make_delta.c.
 *
 * Each run costs a query a descent.  So where MERGE_RUNS neighbours are of about the same size, or MERGE_QUIET
 * when no rows come, one takes their place, which is made of the table, since cells do not have whole keys.
 */
#include "make/choose.h"

#include "catalog/index.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "design/run_samples.h"
#include "make/make_delta.h"
#include "make/stale_nulls.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/stats_page.h"
#include "table/coder_columns.h"

/*
 * So many neighbours become one, if the largest is not more than SIZES times as large as the others are; when no
 * rows come, not larger than all others together, so that a load does not have much of the table written again.
 */
#define MERGE_YOUNG		4		/* if that has no more than YOUNG_PAGES */
#define MERGE_RUNS		8
#define MERGE_QUIET		3		/* when no rows come */
#define MERGE_SIZES		4
#define YOUNG_PAGES		4096

/* No more pages than this are read to merge runs, or a share of the table. */
#define MERGE_PAGES		262144
#define MERGE_SHARE		4

/* With more runs, neighbours are merged, however different: deltas want room, too. */
#define MOST_RUNS		48

/*
 * A piece is made anew if so much of all rows came to it late: a quarter of the pages, or all of a table
 * of fewer pages than this.
 */
#define PIECES			4
#define LARGE_PAGES		131072
#define LATE_PART		20

/* A base run with so many times the rows of the table is worth making anew. */
#define GONE_ROWS		1.1

/* Pages to make a run of. */
typedef struct Choice
{
	BlockNumber from;
	BlockNumber to;				/* from: none */
} Choice;

static const Choice nothing = {0, 0};

bool
rencoder_choose_is_worth(Relation index, BlockNumber nblocks)
{
	return nblocks >= RENCODER_WORTH_PAGES ||
		(nblocks > 0 && rencoder_options_pages_per_range(index) != 0);
}

/* ---- Looking ---- */

/* The catalog, and who covers what of the table before the frontier. */
typedef struct Look
{
	Relation	index;
	BlockNumber nblocks;		/* of the table */
	bool		quiet;
	bool		read;			/* scans come */
	bool		tries;			/* does not wait for other maintainers */
	Choice		wanted;			/* pages that somebody names */
	RencoderCatalog catalog;
	BlockNumber end;			/* of what is covered */
	int			n;
	RencoderSegment segment[RENCODER_MAX_SEGMENTS];
	uint64		late[PIECES];	/* entries of deltas that are needed, by
								 * pieces, when renew() has counted them */
} Look;

static void
look_at_catalog(Look *look)
{
	rencoder_catalog_copy(look->index, &look->catalog, NULL, NULL, NULL);
	look->end = look->catalog.frontier;
	if (look->end == RENCODER_NO_FRONTIER)
		look->end = look->nblocks;
	look->n = rencoder_catalog_segments(&look->catalog, look->end, look->segment);
}

static Look *
begin_look(Relation index, Relation heap)
{
	Look	   *look = palloc0(sizeof(Look));

	look->index = index;
	look->nblocks = RelationGetNumberOfBlocks(heap);
	look_at_catalog(look);
	return look;
}

/* Rows that runs have on the pages that they cover, about, as the first column's keys tell. */
static double
count_base_rows(const Look *look)
{
	double		rows = 0;

	for (int i = 0; i < look->n; i++)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->run != NULL)
			rows += (double) s->run->first.rows * (s->to - s->from) / (Min(s->run->to, look->end) - s->run->from);
	}
	return rows;
}

/* Entries of all deltas, likewise. */
static double
count_delta_rows(const Look *look)
{
	double		rows = 0;

	for (uint32 i = 0; i < look->catalog.n; i++)
	{
		if (look->catalog.entry[i].kind == RENCODER_RUN_DELTA &&
			look->catalog.entry[i].state == RENCODER_RUN_LIVE)
			rows += (double) look->catalog.entry[i].first.rows;
	}
	return rows;
}

/* ---- Choosing ---- */

/* Neighbours that are worth merging, "count" of them from the i-th segment on. */
static bool
is_tier(const Look *look, int i, int count)
{
	uint64		sum = 0;
	uint64		greatest = 0;

	if (i + count > look->n)
		return false;
	for (int k = i; k < i + count; k++)
	{
		uint64		npages = look->segment[k].to - look->segment[k].from;

		sum += npages;
		greatest = Max(greatest, npages);
	}
	return look->quiet ? greatest <= sum - greatest :
		greatest * (count - 1) <= (sum - greatest) * MERGE_SIZES;
}

static Choice
segments_from(const Look *look, int i, int count)
{
	return (Choice)
	{
		look->segment[i].from, look->segment[i + count - 1].to
	};
}

/* The least neighbours, of MERGE_YOUNG. */
static Choice
choose_least_neighbours(const Look *look)
{
	Choice		least = nothing;

	for (int i = 0; i + MERGE_YOUNG <= look->n; i++)
	{
		Choice		choice = segments_from(look, i, MERGE_YOUNG);

		if (least.to == least.from || choice.to - choice.from < least.to - least.from)
			least = choice;
	}
	return least;
}

/* Neighbouring runs: the youngest tier comes first. */
static Choice
choose_merge(const Look *look)
{
	uint32		most = Max(MERGE_PAGES, look->end / MERGE_SHARE);

	for (int i = look->n - MERGE_QUIET; i >= 0; i--)
	{
		Choice		young = i + MERGE_YOUNG <= look->n ? segments_from(look, i, MERGE_YOUNG) : nothing;
		int			count = look->quiet ? MERGE_QUIET :
			young.to - young.from <= YOUNG_PAGES ? MERGE_YOUNG : MERGE_RUNS;

		if (is_tier(look, i, count) &&
			segments_from(look, i, count).to - look->segment[i].from <= most)
			return segments_from(look, i, count);
	}
	return look->catalog.n > MOST_RUNS ? choose_least_neighbours(look) : nothing;
}

/* Pages of a piece of what is covered. */
static BlockNumber
piece_pages(const Look *look)
{
	return look->end < LARGE_PAGES ? look->end : (look->end + PIECES - 1) / PIECES;
}

static Choice
piece_at(const Look *look, BlockNumber from)
{
	return (Choice)
	{
		from, Min(from + piece_pages(look), look->end)
	};
}

/* Are there so many entries in deltas that some pages may be worth reading again? */
static bool
many_are_late(const Look *look)
{
	return count_delta_rows(look) * LATE_PART > count_base_rows(look);
}

/* The piece that most rows came to since it was read, if these are many. */
static Choice
choose_late_piece(const Look *look)
{
	int			most = 0;

	for (int i = 1; i < PIECES; i++)
	{
		if (look->late[i] > look->late[most])
			most = i;
	}
	return (double) look->late[most] * LATE_PART <= count_base_rows(look) ? nothing :
		piece_at(look, most * piece_pages(look));
}

/* A piece whose run was made first of all. */
static Choice
choose_oldest_piece(const Look *look)
{
	const RencoderSegment *oldest = NULL;

	for (int i = 0; i < look->n; i++)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->run != NULL && (oldest == NULL || s->run->rank < oldest->run->rank))
			oldest = s;
	}
	return oldest == NULL ? nothing : piece_at(look, oldest->from);
}

/* Has a run keys by a coder that is not the newest of its column? */
static bool
has_old_coder(Relation index, const RencoderRunEntry *run)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_read_info(index, run, &fault);

	for (int col = 0; info != NULL && col < info->natts; col++)
	{
		if (info->column[col].entries > 0 &&
			info->column[col].coder != rencoder_coder_newest_generation(index, col))
			return true;
	}
	return false;
}

/* A piece that begins with a run by old coders. */
static Choice
choose_old_coder(const Look *look)
{
	for (int i = 0; i < look->n && rencoder_key_any_coded(look->index); i++)
	{
		if (look->segment[i].run != NULL && has_old_coder(look->index, look->segment[i].run))
			return piece_at(look, look->segment[i].from);
	}
	return nothing;
}

/*
 * The pages from the frontier on.  With a full catalog, neighbours before it, too.  Where scans come, also the
 * page before it, which the table may have ended in when it was read, so that its entries are not needed any
 * more; and young runs that are not larger than all of the tail behind them: so each is larger than all behind
 * it, and scans search few, as with deltas.
 */
static Choice
choose_tail(const Look *look)
{
	BlockNumber to = look->wanted.to;
	Choice		choice = {look->catalog.frontier, to};
	int			taken = 0;

	if (to <= look->catalog.frontier)
		return nothing;
	if (look->read && choice.from > 0)
		choice.from--;
	for (int i = look->n - 1; i >= 0 && look->catalog.n - taken > MOST_RUNS; i--, taken++)
		choice.from = look->segment[i].from;
	for (int i = look->n - 1; i >= 0 && look->read && to - look->segment[i].from <= YOUNG_PAGES; i--)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->to - s->from <= to - s->to)
			choice.from = Min(choice.from, s->from);
	}
	return choice;
}

/* The pages that somebody names, and those between the frontier and them. */
static Choice
choose_wanted(const Look *look)
{
	return (Choice)
	{
		Min(look->wanted.from, look->end), look->wanted.to
	};
}

/* ---- Doing ---- */

/* The caller has the maintainer lock. */
static void
clean_up(Relation index, BlockNumber nblocks)
{
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	bool		free = false;

	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	for (uint32 i = 0; i < catalog->n; i++)
		free |= catalog->entry[i].state != RENCODER_RUN_LIVE;
	if (free)
		rencoder_catalog_free(index, 0);
	if (catalog->entries_to > Min(catalog->frontier, nblocks) && catalog->frontier != RENCODER_NO_FRONTIER)
	{
		rencoder_catalog_lower(index, nblocks);
		rencoder_catalog_publish(index, NULL, 0, 0, NULL, 0, true);
		rencoder_catalog_free(index, 0);
	}
	pfree(catalog);
}

/* Nobody has the lock yet; a table that has become shorter counts, too. */
static void
clean_up_to_end(const Look *look)
{
	rencoder_meta_lock_maintainer(look->index);
	clean_up(look->index, look->nblocks);
	rencoder_stats_unlock_maintainer(look->index);
}

/* False: somebody else has the lock, and is not waited for. */
static bool
lock_maintainer(const Look *look)
{
	if (look->tries)
		return rencoder_meta_try_lock_maintainer(look->index);
	rencoder_meta_lock_maintainer(look->index);
	return true;
}

typedef Choice (*Chooser) (const Look *look);

/*
 * Makes one run.  The tail of the pending list is closed before the maintainer lock is asked
 * for (pending.h), and not if nothing is to be done, which is why it is looked for twice.  That
 * other pages are closed before the table is read does no harm: the cut is lower than it might
 * be (INV-13).
 */
static RencoderMade
make_one(Look *look, Relation heap, Chooser chooser, bool gives_way)
{
	Relation	index = look->index;
	RencoderMade result = RENCODER_MADE_NOTHING;
	Choice		choice;
	uint64		cut;

	look_at_catalog(look);
	choice = chooser(look);
	if (choice.to == choice.from)
		return RENCODER_MADE_NOTHING;
	cut = rencoder_pending_close(index);
	if (!lock_maintainer(look))
		return RENCODER_MADE_NOTHING;
	clean_up(index, MaxBlockNumber);
	look_at_catalog(look);
	choice = chooser(look);
	if (choice.to >= look->end && look->catalog.frontier == RENCODER_NO_FRONTIER)
		choice.to = RENCODER_NO_FRONTIER;
	if (choice.to != choice.from && choice.from <= look->catalog.frontier)
		result = rencoder_make_run(index, heap, choice.from, choice.to, cut, gives_way);
	rencoder_stats_unlock_maintainer(index);
	return result;
}

/*
 * Sees to it that columns have coders that serve the table: where it has grown by this factor (0: in
 * any case), or got so many late keys that others may have come in the place of those that a coder
 * knows, or others for certain.
 */
static void
train_coders(const Look *look, Relation heap, double growth)
{
	Relation	index = look->index;
	RencoderColumnCoders coders;
	bool		due = growth == 0 || many_are_late(look) ||
		rencoder_columns_are_outgrown(index, &look->catalog);

	if (!rencoder_key_any_coded(index) || !rencoder_choose_is_worth(index, look->nblocks) ||
		!lock_maintainer(look))
		return;
	rencoder_columns_train(heap, index, BuildIndexInfo(index), true,
						   due || rencoder_columns_train_is_due(heap, index, growth), &coders);
	rencoder_stats_unlock_maintainer(index);
}

/* Whoever asks says where the tail is to end. */
static RencoderMade
make_tail(Look *look, Relation heap, BlockNumber to, bool gives_way)
{
	look->wanted.to = Min(to, look->nblocks);
	if (!rencoder_choose_is_worth(look->index, look->nblocks) || look->wanted.to <= look->catalog.frontier)
		return RENCODER_MADE_NOTHING;
	train_coders(look, heap, RENCODER_GROWTH_OF_NEW);
	return make_one(look, heap, choose_tail, gives_way);
}

bool
rencoder_choose_pages(Relation index, Relation heap, BlockNumber from, BlockNumber to)
{
	Look	   *look = begin_look(index, heap);

	/* A full catalog would have no room to make one run of several, either. */
	while (look->catalog.n > MOST_RUNS && make_one(look, heap, choose_merge, false) == RENCODER_MADE_DONE)
		look_at_catalog(look);
	look->wanted = (Choice)
	{
		from, to
	};
	return make_one(look, heap, choose_wanted, false) == RENCODER_MADE_DONE;
}

/* Counts the entries of deltas that are needed, by pieces. */
static void
count_late(Look *look)
{
	look_at_catalog(look);
	rencoder_make_delta_count(look->index, piece_pages(look), look->late, PIECES);
}

/*
 * Writes the deltas anew, without entries that are not needed any more, where these are more than half, by
 * the last count: to write them takes more than to read the pages of as many rows.
 */
static void
drop_needless_entries(Look *look)
{
	double		needed = 0;

	for (int i = 0; i < PIECES; i++)
		needed += (double) look->late[i];
	if (needed < count_delta_rows(look) / 2)
		rencoder_make_delta_anew(look->index);
}

/* Reads a piece again that many rows came to. */
static RencoderMade
renew(Look *look, Relation heap, bool gives_way)
{
	RencoderMade result;

	look_at_catalog(look);
	if (look->end == 0 || !many_are_late(look))
		return RENCODER_MADE_NOTHING;
	count_late(look);
	result = make_one(look, heap, choose_late_piece, gives_way);
	if (result == RENCODER_MADE_WAITED_FOR)
		return result;
	if (result == RENCODER_MADE_DONE)
		count_late(look);
	drop_needless_entries(look);
	return result;
}

void
rencoder_choose_in_vacuum(Relation index, Relation heap, bool urgent)
{
	Look	   *look = begin_look(index, heap);

	clean_up_to_end(look);
	(void) make_tail(look, heap, look->nblocks, false);
	rencoder_make_delta_at_rest(index, true);
	if (!urgent)
	{
		bool		anew;

		look_at_catalog(look);
		train_coders(look, heap, RENCODER_GROWTH_IN_VACUUM);
		while (make_one(look, heap, choose_merge, false) == RENCODER_MADE_DONE)
			;
		(void) renew(look, heap, false);
		anew = make_one(look, heap, choose_old_coder, false) == RENCODER_MADE_DONE;
		if (rencoder_nulls_are_stale(index, heap))
			anew |= make_one(look, heap, choose_oldest_piece, false) == RENCODER_MADE_DONE;
		if (anew)
		{
			count_late(look);
			drop_needless_entries(look);
		}
	}
	rencoder_meta_lock_maintainer(index);
	rencoder_pending_free_spares(index);
	rencoder_stats_unlock_maintainer(index);
}

RencoderMade
rencoder_choose_step(Relation index, Relation heap, const RencoderDemand *demand)
{
	Look	   *look = begin_look(index, heap);
	RencoderMade result;

	look->quiet = demand->quiet;
	look->read = demand->read;
	look->tries = demand->tries;
	result = make_tail(look, heap, demand->tail_to, demand->gives_way);
	if (result == RENCODER_MADE_NOTHING)
		result = make_one(look, heap, choose_merge, demand->gives_way);
	if (result == RENCODER_MADE_NOTHING && demand->renew)
		result = renew(look, heap, demand->gives_way);
	return result;
}

/* ---- All of the table ---- */

/* The rows that a run has, in the column that has most; 0: it has gone meanwhile. */
static double
count_rows(Relation index, const RencoderRunEntry *entry)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_read_info(index, entry, &fault);
	double		most = 0;

	for (int col = 0; info != NULL && col < info->natts; col++)
		most = Max(most, (double) info->column[col].rows +
				   (double) info->column[rencoder_run_null_tree(info->natts, col)].rows);
	return most;
}

/* Has the table, as its statistics say, so few rows by now that many of the run's have gone? */
static bool
many_rows_have_gone(const Look *look, Relation heap, const RencoderRunEntry *entry)
{
	double		rows = (RelationGetIndexPredicate(look->index) != NIL ? look->index : heap)->rd_rel->reltuples;
	double		pages = heap->rd_rel->relpages;

	return rows >= 0 && pages > 0 && count_rows(look->index, entry) >
		rows / pages * look->nblocks * GONE_ROWS;
}

/*
 * Is the index one base run of all of the table, as the options and the coders want it, and nothing
 * late beside it?  Then to write it again would gain nothing.
 */
static bool
is_compact(const Look *look, Relation heap)
{
	const RencoderRunEntry *run = &look->catalog.entry[0];

	return look->catalog.n == 1 && look->n == 1 && look->segment[0].run == run &&
		run->to >= look->nblocks && run->stamp == rencoder_run_samples_stamp(look->index) &&
		rencoder_pending_is_empty(look->index) && choose_old_coder(look).to == 0 &&
		!many_rows_have_gone(look, heap, run) &&
		!(rencoder_key_any_coded(look->index) &&
		  rencoder_columns_train_is_due(heap, look->index, RENCODER_GROWTH_IN_VACUUM));
}

static Choice
choose_everything(const Look *look)
{
	return (Choice)
	{
		0, look->nblocks
	};
}

BlockNumber
rencoder_choose_all(Relation index, Relation heap)
{
	Look	   *look = begin_look(index, heap);

	if (!rencoder_choose_is_worth(index, look->nblocks) || is_compact(look, heap))
		return 0;
	train_coders(look, heap, 0);
	clean_up_to_end(look);
	return make_one(look, heap, choose_everything, false) == RENCODER_MADE_DONE ? look->nblocks : 0;
}
