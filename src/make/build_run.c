/*
 * build_run.c
 *		The run of a new index: where its keys go instead of filters.
 */
#include "make/build_run.h"

#include "commands/progress.h"
#include "pgstat.h"

#include "base/options.h"
#include "design/run_samples.h"
#include "store/covered_spans.h"
#include "table/heap_read.h"

struct RencoderBuildRun
{
	Relation	index;
	const RencoderBuildPlan *plan;
	int			natts;
	RencoderRunWriter *writer;
};

RencoderBuildRun *
rencoder_build_run_begin(Relation heap, Relation index, RencoderBuildPlan *plan)
{
	RencoderBuildRun *run;

	if (!rencoder_options_use_runs(index) || plan->nranges < RENC_SLICE_RANGES)
		return NULL;
	run = palloc(sizeof(RencoderBuildRun));
	run->index = index;
	run->plan = plan;
	run->natts = rencoder_meta_get(index)->natts;
	run->writer = rencoder_run_writer_begin(index, RENCODER_RUN_BASE, 0,
											rencoder_group_count(plan->nranges), false);
	if (run->writer == NULL)
		elog(ERROR, "the list of runs of new index \"%s\" is full",
			 RelationGetRelationName(index));
	plan->run = rencoder_run_writer_number(run->writer);
	plan->places = rencoder_heap_choose_places(heap, index, 0, plan->nblocks);
	return run;
}

/* The name of what a worker has sorted for a tree. */
static void
name_built_run_file(char *name, int worker, int tree)
{
	snprintf(name, MAXPGPATH, "rencoder.%d.%d", worker, tree);
}

/*
 * The memory of a column's two sorters.  Nulls come in the order of their places, so that a small
 * part does for them.
 */
#define NULLS_PART	16

void
rencoder_build_run_begin_sorters(RencoderRunSorter **sorter, int natts, Size memory,
								 uint32 nplaces, FileSet *fileset, int worker)
{
	char		name[MAXPGPATH];

	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
	{
		Size		nulls = memory / natts / NULLS_PART;
		Size		share = tree < natts ? memory / natts - nulls : nulls;

		name_built_run_file(name, worker, tree);
		sorter[tree] = fileset == NULL ? rencoder_run_sorter_begin(share, nplaces) :
			rencoder_run_sorter_begin_shared(share, nplaces, fileset, name);
	}
}

void
rencoder_build_run_export(RencoderRunSorter **sorter, int natts)
{
	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
		rencoder_run_sorter_export(sorter[tree]);
}

void
rencoder_build_run_import(RencoderRunSorter **sorter, int natts, FileSet *fileset, int nworkers)
{
	char		name[MAXPGPATH];

	for (int worker = 0; worker < nworkers; worker++)
	{
		for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
		{
			name_built_run_file(name, worker, tree);
			rencoder_run_sorter_import(sorter[tree], fileset, name);
		}
	}
}

void
rencoder_build_run_end_sorters(RencoderRunSorter **sorter, int natts)
{
	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
		rencoder_run_sorter_end(sorter[tree]);
}

static void
report_run_build_rows(int64 done)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
}

/* Writes the tree that was begun, the first pair of which has come. */
static int64
write_built_run_pairs(RencoderRunWriter *writer, RencoderRunSorter *sorter, RencoderRunPair pair,
					  bool report, int64 done)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_run_writer_push(writer, pair.key, pair.place, pair.rows);
		done += pair.rows;
		if (report)
			report_run_build_rows(done);
	} while (rencoder_run_sorter_next(sorter, &pair));
	rencoder_run_writer_end_tree(writer);
	return done;
}

/* The tree of a column's keys. */
static int64
write_built_run_keys(RencoderRunWriter *writer, Relation index, RencoderRunSorter *sorter, int col,
					 const RencoderBuildTrees *trees, int64 done)
{
	double		page_rows = trees->places.most < UINT16_MAX ? trees->places.most : 0;
	double		together;
	double		false_pages = rencoder_options_false_pages(index, trees->heap_pages, page_rows,
														   &together);
	double		share = trees->npages / Max(trees->heap_pages, trees->npages);
	bool		bits = rencoder_options_bits_are_given(index);
	uint32		coder = trees->coder[col];
	renc_run_samples *samples;
	RencoderRunPair pair;

	if (!rencoder_run_sorter_next(sorter, &pair))
		return done;
	samples = bits ? NULL : rencoder_run_samples_load(index, col, coder);
	rencoder_run_writer_begin_tree(writer, col, coder, trees->first_page, trees->npages, trees->places,
								   bits ? RENC_RUN_BITS : RENC_RUN_FALSE_PAGES,
								   bits ? rencoder_options_bits_per_key(index) :
								   false_pages * share, together * share, samples);
	done = write_built_run_pairs(writer, sorter, pair, trees->report, done);
	if (samples != NULL)
		pfree(samples);
	return done;
}

/* The tree of a column's rows without a key: nulls are told apart by their places only. */
static int64
write_built_run_nulls(RencoderRunWriter *writer, RencoderRunSorter *sorter, int tree,
					  const RencoderBuildTrees *trees, int64 done)
{
	RencoderRunPair pair;

	if (!rencoder_run_sorter_next(sorter, &pair))
		return done;
	rencoder_run_writer_begin_tree(writer, tree, 0, trees->first_page, trees->npages, trees->places,
								   RENC_RUN_DENSE, 0, 0, NULL);
	return write_built_run_pairs(writer, sorter, pair, trees->report, done);
}

void
rencoder_build_run_write_trees(RencoderRunWriter *writer, Relation index, RencoderRunSorter **sorter,
							   const RencoderBuildTrees *trees)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(index);
	int64		done = 0;

	for (int tree = 0; tree < rencoder_run_ntrees(natts); tree++)
	{
		if (trees->report)
			rencoder_build_group_report_phase(RENCODER_BUILD_SORTING);
		rencoder_run_sorter_sort(sorter[tree]);
		if (trees->report)
			rencoder_build_group_report_phase(RENCODER_BUILD_WRITING);
		done = tree < natts ? write_built_run_keys(writer, index, sorter[tree], tree, trees, done) :
			write_built_run_nulls(writer, sorter[tree], tree, trees, done);
		rencoder_run_sorter_end(sorter[tree]);
	}
}

void
rencoder_build_run_finish(RencoderBuildRun *run, RencoderRunSorter **sorter,
						  const RencoderBuildTotals *totals)
{
	RencoderNewRun made = {0};
	int64		total = (int64) (totals->index_tuples * run->natts);
	RencoderBuildTrees trees = {.coder = run->plan->coder,.npages = run->plan->nblocks,
	.places = run->plan->places,.heap_pages = run->plan->nblocks,.report = true};

	trees.places.most = totals->most_rows;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, total);
	rencoder_build_run_write_trees(run->writer, run->index, sorter, &trees);
	report_run_build_rows(total);
	rencoder_run_writer_finish(run->writer, &made);
	made.upto = rencoder_run_samples_stamp(run->index);
	rencoder_run_list_publish(run->index, &made, 1, 0, NULL, 0, false);
	rencoder_covered_spans_make(run->index, false);
	pfree(run);
}
