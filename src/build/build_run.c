/*
 * build_run.c
 *		The run of a new index: where its keys go instead of filters.
 */
#include "build/build_run.h"

#include "commands/progress.h"
#include "pgstat.h"

#include "base/options.h"
#include "plan/run_samples.h"
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
	plan->places = rencoder_heap_places(heap, index, 0, plan->nblocks);
	return run;
}

/* The name of what a worker has sorted of a column. */
static void
name_file(char *name, int worker, int col)
{
	snprintf(name, MAXPGPATH, "rencoder.%d.%d", worker, col);
}

void
rencoder_build_run_sorters(RencoderRunSorter **sorter, int natts, Size memory,
						   uint32 nplaces, FileSet *fileset, int worker)
{
	char		name[MAXPGPATH];

	for (int col = 0; col < natts; col++)
	{
		name_file(name, worker, col);
		sorter[col] = fileset == NULL ? rencoder_run_sorter_begin(memory / natts, nplaces) :
			rencoder_run_sorter_begin_shared(memory / natts, nplaces, fileset, name);
	}
}

void
rencoder_build_run_export(RencoderRunSorter **sorter, int natts)
{
	for (int col = 0; col < natts; col++)
		rencoder_run_sorter_export(sorter[col]);
}

void
rencoder_build_run_import(RencoderRunSorter **sorter, int natts, FileSet *fileset, int nworkers)
{
	char		name[MAXPGPATH];

	for (int worker = 0; worker < nworkers; worker++)
	{
		for (int col = 0; col < natts; col++)
		{
			name_file(name, worker, col);
			rencoder_run_sorter_import(sorter[col], fileset, name);
		}
	}
}

/* Of an aim that is a number of bits. */
#define AIM_BITS	UINT32_C(0x80000000)

uint32
rencoder_build_run_aim(Relation index, int col, uint32 coder)
{
	return rencoder_options_bits_are_given(index) ? AIM_BITS | rencoder_options_bits_per_key(index) :
		rencoder_run_samples_summary(index, col, coder);
}

bool
rencoder_build_run_aim_changed(uint32 before, uint32 now)
{
	return ((before | now) & AIM_BITS) != 0 ? before != now :
		rencoder_run_samples_changed(before, now);
}

static void
report_rows(int64 done)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
}

int64
rencoder_build_run_column(RencoderRunWriter *writer, Relation index, RencoderRunSorter *sorter,
						  int col, uint32 coder, BlockNumber first_page, uint32 npages,
						  renc_places places, double heap_pages, int64 done)
{
	double		together;
	double		false_pages = rencoder_options_false_pages(index, heap_pages, &together);
	double		share = npages / Max(heap_pages, npages);
	bool		report = done >= 0;
	bool		bits = rencoder_options_bits_are_given(index);
	renc_run_samples *samples;
	RencoderRunPair pair;

	if (report)
		rencoder_build_group_phase(RENCODER_BUILD_SORTING);
	rencoder_run_sorter_sort(sorter);
	if (report)
		rencoder_build_group_phase(RENCODER_BUILD_WRITING);
	if (!rencoder_run_sorter_next(sorter, &pair))
		return done;
	samples = bits ? NULL : rencoder_run_samples(index, col, coder);
	rencoder_run_writer_begin_column(writer, col, coder, rencoder_build_run_aim(index, col, coder),
									 first_page, npages, places,
									 bits ? RENC_RUN_BITS : RENC_RUN_FALSE_PAGES,
									 bits ? rencoder_options_bits_per_key(index) :
									 false_pages * share, together * share, samples);
	do
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_run_writer_push(writer, pair.key, pair.place, pair.rows);
		done += pair.rows;
		if (report)
			report_rows(done);
	} while (rencoder_run_sorter_next(sorter, &pair));
	rencoder_run_writer_end_column(writer);
	if (samples != NULL)
		pfree(samples);
	return done;
}

void
rencoder_build_run_finish(RencoderBuildRun *run, RencoderRunSorter **sorter,
						  const RencoderBuildTotals *totals)
{
	RencoderNewRun made = {.rows = (float) totals->heap_tuples,
	.table_rows = (float) totals->heap_tuples};
	int64		total = (int64) (totals->index_tuples * run->natts);
	renc_places places = run->plan->places;
	int64		done = 0;

	places.most = totals->most_rows;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, total);
	for (int col = 0; col < run->natts; col++)
	{
		done = rencoder_build_run_column(run->writer, run->index, sorter[col], col,
										 run->plan->coder[col], 0, run->plan->nblocks,
										 places, run->plan->nblocks, done);
		rencoder_run_sorter_end(sorter[col]);
	}

	/* Nulls have no place in a run. */
	report_rows(total);
	rencoder_run_writer_finish(run->writer, &made);
	rencoder_run_list_publish(run->index, &made, 1, 0, NULL, 0, false);
	pfree(run);
}
