/*
 * read_rows.c
 *		Reading the rows of heap pages into the trees of a run.
 */
#include "make/read_rows.h"

#include "commands/progress.h"
#include "pgstat.h"

#include "base/options.h"
#include "table/heap_read.h"

/* The name of what a worker has sorted for a tree. */
static void
name_sorter_file(char *name, int worker, int tree)
{
	snprintf(name, MAXPGPATH, "rencoder.%d.%d", worker, tree);
}

/*
 * The memory of a column's two sorters.  Nulls come in the order of their places, so that a small
 * part does for them.
 */
#define NULLS_PART	16

static void
begin_row_sorters(RencoderReadRows *rows, Size memory, uint32 nplaces, FileSet *fileset, int worker)
{
	char		name[MAXPGPATH];
	int			natts = rows->collector->natts;

	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
	{
		Size		nulls = memory / natts / NULLS_PART;
		Size		share = tree < natts ? memory / natts - nulls : nulls;

		name_sorter_file(name, worker, tree);
		rows->sorter[tree] = fileset == NULL ? rencoder_run_sorter_begin(share, nplaces) :
			rencoder_run_sorter_begin_shared(share, nplaces, fileset, name);
	}
}

/* What the row that is read has for a tree. */
static void
sort_row_key(void *arg, int tree, uint64 key)
{
	RencoderReadRows *rows = (RencoderReadRows *) arg;

	rencoder_run_sorter_add(rows->sorter[tree], key, rows->place, 1);
}

void
rencoder_read_rows_begin(RencoderReadRows *rows, Size memory, BlockNumber end, FileSet *fileset,
						 int worker)
{
	uint64		nplaces = (uint64) end * rows->places.parts;

	rows->heap_tuples = rows->index_tuples = 0;
	rows->most_rows = 0;
	rows->broken_hot_chain = false;
	rows->horizon = 0;
	rows->outside = 0;
	rows->collector = rencoder_collect_create(rencoder_key_columns(rows->index));
	rows->collector->in_use = rows->in_use;
	rows->collector->sink = sort_row_key;
	rows->collector->sink_arg = rows;
	begin_row_sorters(rows, memory, (uint32) Min(nplaces, PG_UINT32_MAX), fileset, worker);
}

/* All pages before this one have been read. */
static void
count_read_pages(RencoderReadRows *rows, BlockNumber page)
{
	if (rows->counter != NULL && page > rows->counted)
		(void) pg_atomic_fetch_add_u64(rows->counter, page - rows->counted);
	rows->counted = page;
}

static void
read_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool tupleIsAlive, void *state)
{
	RencoderReadRows *rows = (RencoderReadRows *) state;
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);

	count_read_pages(rows, ItemPointerGetBlockNumber(tid));
	rows->place = renc_place_of(&rows->places, ItemPointerGetBlockNumber(tid), offset);
	rows->most_rows = Max(rows->most_rows, offset);
	rencoder_columns_collect_row(index, rows->collector, &rows->coders, values, isnull, tupleIsAlive);
	rows->index_tuples++;
}

void
rencoder_read_rows(RencoderReadRows *rows, BlockNumber first, BlockNumber npages)
{
	CHECK_FOR_INTERRUPTS();
	rows->counted = first;
	rows->heap_tuples += rencoder_heap_read(rows->heap, rows->index, rows->indexInfo, rows->in_use,
											first, npages, read_row, rows, &rows->horizon);
	count_read_pages(rows, first + npages);
	rows->broken_hot_chain |= rows->indexInfo->ii_BrokenHotChain;
}

void
rencoder_read_rows_export(RencoderReadRows *rows)
{
	for (int tree = 0; tree < rencoder_run_ntrees(rows->collector->natts); tree++)
		rencoder_run_sorter_export(rows->sorter[tree]);
}

void
rencoder_read_rows_import(RencoderReadRows *rows, FileSet *fileset, int nworkers)
{
	char		name[MAXPGPATH];

	for (int worker = 0; worker < nworkers; worker++)
	{
		for (int tree = 0; tree < rencoder_run_ntrees(rows->collector->natts); tree++)
		{
			name_sorter_file(name, worker, tree);
			rencoder_run_sorter_import(rows->sorter[tree], fileset, name);
		}
	}
}

void
rencoder_read_rows_give_up(RencoderReadRows *rows)
{
	for (int tree = 0; tree < rencoder_run_ntrees(rows->collector->natts); tree++)
		rencoder_run_sorter_end(rows->sorter[tree]);
}

/* ---- Writing ---- */

/* The trees that are written. */
typedef struct RowTrees
{
	RencoderReadRows *rows;
	RencoderRunWriter *writer;
	BlockNumber first;			/* pages that they are of */
	uint32		npages;
	BlockNumber heap_pages;		/* of the table, of whose false pages they get
								 * their share */
	bool		report;
	int64		done;			/* rows written */
} RowTrees;

static void
report_written_rows(int64 done)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
}

/* Others are looked after each time that so many pairs are written. */
#define PAUSE_PAIRS		4096

/* Writes the tree that was begun, the first pair of which has come.  "codes": of composite keys. */
static void
write_row_pairs(RowTrees *trees, RencoderRunSorter *sorter, RencoderRunPair pair,
				const renc_composite *codes)
{
	RencoderReadRows *rows = trees->rows;
	int64		n = 0;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (n++ % PAUSE_PAIRS == 0 && rows->pause != NULL)
			rows->pause(rows->pause_arg);
		rencoder_run_writer_push(trees->writer, pair.key, pair.place, pair.rows);
		trees->done += pair.rows;
		if (codes != NULL && renc_composite_is_outside(codes, pair.key))
			rows->outside += pair.rows;
		if (trees->report)
			report_written_rows(trees->done);
	} while (rencoder_run_sorter_next(sorter, &pair));
	rencoder_run_writer_end_tree(trees->writer);
}

/* The tree of a column's keys. */
static void
write_row_keys(RowTrees *trees, int col)
{
	RencoderReadRows *rows = trees->rows;
	Relation	index = rows->index;
	renc_places *places = &rows->places;
	double		page_rows = places->most < UINT16_MAX ? places->most : 0;
	double		together;
	double		false_pages = rencoder_options_false_pages(index, trees->heap_pages, page_rows,
														   &together);
	double		share = (double) trees->npages / Max(trees->heap_pages, trees->npages);
	RencoderRunPair pair;

	if (!rencoder_run_sorter_next(rows->sorter[col], &pair))
		return;
	rencoder_run_writer_begin_tree(trees->writer, col, rows->coders.generation[col], trees->first,
								   trees->npages, *places, RENC_RUN_FALSE_PAGES, false_pages * share,
								   together * share);
	write_row_pairs(trees, rows->sorter[col], pair, !rencoder_is_composite(index) ? NULL :
					rencoder_composite_codes(rows->coders.coder[col],
											 IndexRelationGetNumberOfKeyAttributes(index)));
}

/* The tree of a column's rows without a key: nulls are told apart by their places only. */
static void
write_row_nulls(RowTrees *trees, int tree)
{
	RencoderRunPair pair;

	if (!rencoder_run_sorter_next(trees->rows->sorter[tree], &pair))
		return;
	rencoder_run_writer_begin_tree(trees->writer, tree, 0, trees->first, trees->npages,
								   trees->rows->places, RENC_RUN_DENSE, 0, 0);
	write_row_pairs(trees, trees->rows->sorter[tree], pair, NULL);
}

void
rencoder_read_rows_write(RencoderReadRows *rows, RencoderRunWriter *writer, BlockNumber first,
						 uint32 npages, BlockNumber heap_pages, bool report)
{
	int			natts = rows->collector->natts;
	int64		total = (int64) (rows->index_tuples * natts);
	RowTrees	trees = {rows, writer, first, npages, heap_pages, report, 0};

	rows->places.most = rows->most_rows;
	if (report)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, total);
	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
	{
		if (report)
			rencoder_build_report_phase(RENCODER_BUILD_SORTING);
		rencoder_run_sorter_sort(rows->sorter[tree]);
		if (report)
			rencoder_build_report_phase(RENCODER_BUILD_WRITING);
		if (tree < natts)
			write_row_keys(&trees, tree);
		else
			write_row_nulls(&trees, tree);
		rencoder_run_sorter_end(rows->sorter[tree]);
	}
	if (report)
		report_written_rows(total);
}

void
rencoder_build_report_phase(RencoderBuildPhase phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}
