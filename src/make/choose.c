/*
 * choose.c
 *		What an index needs next.  Of deltas: make_delta.c.
 */
#include "make/choose.h"

#include "catalog/index.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "make/make_delta.h"
#include "make/shrink.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/stats_page.h"
#include "table/coder_columns.h"
#include "table/heap_read.h"

/* All of a small table is read again to which so much of its rows came late; of a large one, to which so much did, */
#define LATE_PART		20
#define LATE_OF_LARGE	24
#define LATE_OF_PIECE	10		/* pieces to which this part of their own did */

/*
 * Pieces are read again, the oldest first, where runs have so many times the rows of the table, or of the pages that
 * they cover, and so many more, as take some pages: a run takes its space as long as it covers a page.
 */
#define DEAD_ROWS		1.3
#define LEAST_DEAD		4096

/* A session's run of the tail takes the place of young ones up to so many pages, for what comes meanwhile is read. */
#define SESSION_YOUNG	512

/* VACUUM reads no more of the table again than this to make the index smaller, with what else it has read. */
#define MOST_AGAIN		2.0

/* A base run with so many times the rows of the table is worth making anew. */
#define GONE_ROWS		1.1

static const RencoderPages nothing = {0, 0};

bool
rencoder_choose_is_worth(Relation index, BlockNumber nblocks)
{
	return nblocks >= RENCODER_WORTH_PAGES ||
		(nblocks > 0 && rencoder_options(index)->pages_per_range != 0);
}

/* ---- Choosing ---- */

/* Are there so many entries, in deltas and on closed pages, that some pages may be worth reading again? */
static bool
many_are_late(const RencoderLook *look)
{
	double		closed = Max((double) rencoder_pending_pages(&look->catalog.pending) - 1, 0) *
		(RENCODER_PAYLOAD_SIZE / rencoder_pending_entry_size(rencoder_key_columns(look->index)));

	return (rencoder_look_run_rows(look, true) + closed) *
		(rencoder_look_piece_pages(look) < look->end ? LATE_OF_LARGE : LATE_PART) >
		rencoder_look_base_rows(look);
}

/* The piece that most rows came to since it was read, if these are many of it. */
static RencoderPages
choose_late_piece(const RencoderLook *look)
{
	BlockNumber npages = rencoder_look_piece_pages(look);
	int			part = npages < look->end ? LATE_OF_PIECE : LATE_PART;
	int			most = 0;

	for (int i = 1; i < RENCODER_PIECES; i++)
	{
		if (look->late[i] > look->late[most])
			most = i;
	}
	return (double) look->late[most] * part * look->end <= rencoder_look_base_rows(look) * npages ? nothing :
		rencoder_look_piece(look, most * npages);
}

/* A piece whose run was made first of all. */
static RencoderPages
choose_oldest_piece(const RencoderLook *look)
{
	const RencoderSegment *oldest = NULL;

	for (int i = 0; i < look->n; i++)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->run != NULL && (oldest == NULL || s->run->rank < oldest->run->rank))
			oldest = s;
	}
	return oldest == NULL ? nothing : rencoder_look_piece(look, oldest->from);
}

/* That, if runs have many more rows than there are, as far as they have been counted. */
static RencoderPages
choose_dead_piece(const RencoderLook *look)
{
	double		stored = rencoder_look_run_rows(look, false);
	double		rows = rencoder_look_base_rows(look);

	if (look->rows >= 0)
		rows = Min(rows, look->rows);
	return stored > rows * DEAD_ROWS && stored > rows + LEAST_DEAD ? choose_oldest_piece(look) : nothing;
}

/* From the first page that a run covers to the last. */
static RencoderPages
find_covered(const RencoderLook *look, const RencoderRunEntry *run)
{
	RencoderPages pages = nothing;

	for (int i = 0; i < look->n && run != NULL; i++)
	{
		if (look->segment[i].run != run)
			continue;
		if (pages.to == 0)
			pages.from = look->segment[i].from;
		pages.to = look->segment[i].to;
	}
	return pages;
}

/*
 * What a run covers that may be written nearer to the front of the file; or of one that is too large for that a
 * piece, or what is left.
 */
static RencoderPages
choose_run_to_move(const RencoderLook *look)
{
	RencoderShrinkLook shrink;
	const RencoderRunEntry *run = rencoder_shrink_base_run(look->index, &look->catalog, look->busy, &shrink);
	RencoderPages pages = find_covered(look, run != NULL ? run : shrink.larger);
	BlockNumber npages = rencoder_look_piece_pages(look);
	double		share;

	if (run != NULL || shrink.larger == NULL)
		return pages;
	if (pages.to - pages.from > npages + npages / 2)
		pages = rencoder_look_piece(look, pages.from);
	share = (pages.to - pages.from) / (double) (Min(shrink.larger->to, look->end) - shrink.larger->from);
	return share < 1 && shrink.larger->npages * share < shrink.room ? pages : nothing;
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
static RencoderPages
choose_old_coder(const RencoderLook *look)
{
	for (int i = 0; i < look->n && rencoder_key_any_coded(look->index); i++)
	{
		if (look->segment[i].run != NULL && has_old_coder(look->index, look->segment[i].run))
			return rencoder_look_piece(look, look->segment[i].from);
	}
	return nothing;
}

/*
 * The pages from the frontier on.  With a full catalog, neighbours before it, too.  Where scans come, also the
 * page before it, which the table may have ended in when it was read, so that its entries are not needed any
 * more; and young runs that are not larger than all of the tail behind them: so each is larger than all behind
 * it, and scans search few, as with deltas.
 */
static RencoderPages
choose_tail(const RencoderLook *look)
{
	BlockNumber to = look->wanted.to;
	RencoderPages choice = {look->catalog.frontier, to};
	BlockNumber young = look->tries ? SESSION_YOUNG : RENCODER_YOUNG_PAGES;
	int			taken = 0;

	if (to <= look->catalog.frontier)
		return nothing;
	if (look->read && choice.from > 0)
		choice.from--;
	for (int i = look->n - 1; i >= 0 && look->catalog.n - taken > RENCODER_MOST_RUNS; i--, taken++)
		choice.from = look->segment[i].from;
	for (int i = look->n - 1; i >= 0 && look->read && to - look->segment[i].from <= young; i--)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->to - s->from <= to - s->to)
			choice.from = Min(choice.from, s->from);
	}
	return choice;
}

/* The pages that somebody names, and those between the frontier and them. */
static RencoderPages
choose_wanted(const RencoderLook *look)
{
	return (RencoderPages)
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

	rencoder_catalog_free(index, 0);
	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
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
clean_up_to_end(const RencoderLook *look)
{
	rencoder_meta_lock_maintainer(look->index);
	clean_up(look->index, look->nblocks);
	rencoder_stats_unlock_maintainer(look->index);
}

/* False: somebody else has the lock, and is not waited for. */
static bool
lock_maintainer(const RencoderLook *look)
{
	if (look->tries)
		return rencoder_meta_try_lock_maintainer(look->index);
	rencoder_meta_lock_maintainer(look->index);
	return true;
}

typedef RencoderPages (*Chooser) (const RencoderLook *look);

/*
 * Makes one run.  The tail of the pending list is closed before the maintainer lock is asked
 * for (pending.h), and not if nothing is to be done, which is why it is looked for twice.  That
 * other pages are closed before the table is read does no harm: the cut is lower than it might
 * be (INV-13).
 */
static RencoderMade
make_one(RencoderLook *look, Relation heap, Chooser chooser, bool gives_way)
{
	Relation	index = look->index;
	RencoderMade result = RENCODER_MADE_NOTHING;
	RencoderPages choice;
	uint64		cut;

	rencoder_look_again(look);
	choice = chooser(look);
	if (choice.to == choice.from)
		return RENCODER_MADE_NOTHING;
	if (look->tries)
	{
		/* Or each failure would close a page that has hardly an entry. */
		if (!rencoder_meta_try_lock_maintainer(index))
			return RENCODER_MADE_NOTHING;
		(void) rencoder_meta_unlock_maintainer(index);
	}
	cut = rencoder_pending_close(index);
	if (!lock_maintainer(look))
		return RENCODER_MADE_NOTHING;
	clean_up(index, MaxBlockNumber);
	rencoder_look_again(look);
	choice = chooser(look);
	if (choice.to >= look->end && look->catalog.frontier == RENCODER_NO_FRONTIER)
		choice.to = RENCODER_NO_FRONTIER;
	if (choice.to != choice.from && choice.from <= look->catalog.frontier)
		result = rencoder_make_run(index, heap, choice.from, choice.to, cut, gives_way, look->read);
	rencoder_stats_unlock_maintainer(index);
	if (result == RENCODER_MADE_DONE && choice.from < look->end)
		look->again += Min(choice.to, look->end) - choice.from;
	return result;
}

/*
 * Sees to it that columns have coders that serve the table: where it has grown by this factor (0: in
 * any case), or got so many late keys that others may have come in the place of those that a coder
 * knows, or others for certain.
 */
static void
train_coders(const RencoderLook *look, Relation heap, double growth)
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
make_tail(RencoderLook *look, Relation heap, BlockNumber to, bool gives_way)
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
	RencoderLook *look = rencoder_look_begin(index, heap);

	/* A full catalog would have no room to make one run of several, either. */
	while (look->catalog.n > RENCODER_MOST_RUNS && make_one(look, heap, rencoder_look_merge, false) == RENCODER_MADE_DONE)
		rencoder_look_again(look);
	look->wanted = (RencoderPages)
	{
		from, to
	};
	return make_one(look, heap, choose_wanted, false) == RENCODER_MADE_DONE;
}

/*
 * Writes the deltas anew, without entries that are not needed any more, where these are more than half, by
 * the last count: to write them takes more than to read the pages of as many rows.
 */
static void
drop_needless_entries(RencoderLook *look)
{
	double		needed = 0;

	for (int i = 0; i < RENCODER_PIECES; i++)
		needed += (double) look->late[i];
	if (needed < rencoder_look_run_rows(look, true) / 2)
		rencoder_make_delta_anew(look->index);
}

/* Reads a piece again that many rows came to. */
static RencoderMade
renew_late(RencoderLook *look, Relation heap, bool gives_way)
{
	RencoderMade result;

	rencoder_look_again(look);
	if (look->end == 0 || !many_are_late(look))
		return RENCODER_MADE_NOTHING;
	rencoder_look_count_late(look);
	result = make_one(look, heap, choose_late_piece, gives_way);
	if (result == RENCODER_MADE_WAITED_FOR)
		return result;
	if (result == RENCODER_MADE_DONE)
		rencoder_look_count_late(look);
	drop_needless_entries(look);
	return result;
}

/* Reads a piece again that is worth it. */
static RencoderMade
renew(RencoderLook *look, Relation heap, bool gives_way)
{
	RencoderMade result = renew_late(look, heap, gives_way);

	return result == RENCODER_MADE_NOTHING ? make_one(look, heap, choose_dead_piece, gives_way) : result;
}

/*
 * Where much of the index's file is free, writes a run that stands at its end, or the deltas, nearer to the front.
 * DONE: another may follow.
 */
static RencoderMade
move_run(RencoderLook *look, Relation heap, bool gives_way)
{
	RencoderShrinkLook before;
	RencoderShrinkLook now;
	BlockNumber end;
	BlockNumber deltas_end;
	bool		whole;
	RencoderMade result;

	rencoder_look_again(look);
	whole = rencoder_shrink_base_run(look->index, &look->catalog, look->busy, &before) != NULL;
	result = make_one(look, heap, choose_run_to_move, gives_way);
	if (result == RENCODER_MADE_DONE && whole)
	{
		rencoder_look_again(look);
		(void) rencoder_shrink_base_run(look->index, &look->catalog, look->busy, &now);
		result = now.ends < before.ends ? RENCODER_MADE_DONE : RENCODER_MADE_NOTHING;
	}
	if (result != RENCODER_MADE_NOTHING ||
		!rencoder_shrink_deltas(look->index, &look->catalog, &deltas_end))
		return result;
	rencoder_make_delta_anew(look->index);
	rencoder_look_again(look);
	(void) rencoder_shrink_deltas(look->index, &look->catalog, &end);
	return end < deltas_end ? RENCODER_MADE_DONE : RENCODER_MADE_NOTHING;
}

/* What VACUUM reads again, and makes of it. */
static void
renew_in_vacuum(RencoderLook *look, Relation heap)
{
	bool		anew;

	/* Functions of users are not asked for this. */
	if (!rencoder_heap_runs_functions(look->index))
		look->rows = rencoder_look_sample_rows(look->index, heap);
	for (int i = 0; i < 2 * RENCODER_PIECES && renew(look, heap, false) == RENCODER_MADE_DONE; i++)
		;
	anew = make_one(look, heap, choose_old_coder, false) == RENCODER_MADE_DONE;
	if (rencoder_look_nulls_are_stale(look->index, heap))
		anew |= make_one(look, heap, choose_oldest_piece, false) == RENCODER_MADE_DONE;
	if (anew)
	{
		rencoder_look_count_late(look);
		drop_needless_entries(look);
	}
}

static void
free_spares(Relation index)
{
	rencoder_meta_lock_maintainer(index);
	rencoder_pending_free_spares(index);
	rencoder_stats_unlock_maintainer(index);
}

void
rencoder_choose_in_vacuum(Relation index, Relation heap, bool urgent)
{
	RencoderLook *look = rencoder_look_begin(index, heap);

	clean_up_to_end(look);
	(void) make_tail(look, heap, look->nblocks, false);
	rencoder_make_delta_at_rest(index, true);
	if (!urgent)
	{
		rencoder_look_again(look);
		train_coders(look, heap, RENCODER_GROWTH_IN_VACUUM);
		while (make_one(look, heap, rencoder_look_merge, false) == RENCODER_MADE_DONE)
			;
		renew_in_vacuum(look, heap);
	}
	free_spares(index);
	while (!urgent && move_run(look, heap, false) == RENCODER_MADE_DONE &&
		   look->again <= MOST_AGAIN * look->end)
		;
}

RencoderMade
rencoder_choose_step(Relation index, Relation heap, const RencoderDemand *demand)
{
	RencoderLook *look = rencoder_look_begin(index, heap);
	RencoderMade result;

	look->quiet = demand->quiet;
	look->busy = !demand->quiet;
	look->read = demand->read;
	look->tries = demand->tries;
	result = make_tail(look, heap, demand->tail_to, demand->gives_way);
	if (demand->tries && demand->tail_to != 0)
		return result;
	if (result == RENCODER_MADE_NOTHING)
		result = make_one(look, heap, rencoder_look_merge, demand->gives_way);
	if (result == RENCODER_MADE_NOTHING && demand->renew)
		result = renew(look, heap, demand->gives_way);
	if (result == RENCODER_MADE_NOTHING && demand->quiet)
		rencoder_make_delta_at_rest(index, false);
	if (result == RENCODER_MADE_NOTHING && demand->renew)
	{
		free_spares(index);
		result = move_run(look, heap, demand->gives_way);
	}
	if (result == RENCODER_MADE_NOTHING && demand->renew && rencoder_shrink_is_due(index))
	{
		rencoder_make_delta_at_rest(index, true);
		rencoder_shrink_file(index, heap);
	}
	return result;
}

/* ---- All of the table ---- */

/*
 * Is the index one sorted run of all of the table, with nothing late beside it, and as the statistics
 * say hardly a row that has gone?  Then to write it again would gain nothing.
 */
static bool
is_compact(const RencoderLook *look, Relation heap)
{
	const RencoderRunEntry *run = &look->catalog.entry[0];
	FormData_pg_class *counted = (RelationGetIndexPredicate(look->index) != NIL ? look->index : heap)->rd_rel;
	double		rows = counted->reltuples / Max(heap->rd_rel->relpages, 1) * look->nblocks;

	return look->catalog.n == 1 && look->n == 1 && look->segment[0].run == run &&
		run->kind == RENCODER_RUN_BASE && run->to >= look->nblocks &&
		rencoder_pending_is_empty(look->index) && choose_old_coder(look).to == 0 &&
		(rows <= 0 || rencoder_look_run_rows(look, false) <= rows * GONE_ROWS);
}

BlockNumber
rencoder_choose_all(Relation index, Relation heap)
{
	RencoderLook *look = rencoder_look_begin(index, heap);

	if (!rencoder_choose_is_worth(index, look->nblocks) || is_compact(look, heap))
		return 0;
	train_coders(look, heap, 0);
	clean_up_to_end(look);
	look->wanted = (RencoderPages)
	{
		0, look->nblocks
	};
	return make_one(look, heap, choose_wanted, false) == RENCODER_MADE_DONE ? look->nblocks : 0;
}
