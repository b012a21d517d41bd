/*
 * sql_count.c
 *		About how many rows lie between two values, from a few pages of each run.
 */
#include "scan/scan_copies.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "key/boxes.h"
#include "sql/sql_bounds.h"
#include "sql/sql_shown.h"
#include "store/open_index.h"
#include "store/run_pages.h"

PG_FUNCTION_INFO_V1(rencoder_estimate_count);

/* Entries of a leaf name rows, others parts of pages, or pages: so many leaves are asked, about. */
#define LEAVES	16

/* Rows of a run whose keys are asked for; < 0: the run cannot be read. */
static double
count_rows_of_run(Relation index, const RencoderRunEntry *entry, RencoderQuery *query)
{
	const RencoderRunColumn *tree = &entry->first;
	const RencoderKeySet *keys = rencoder_key_get_set(query, 0, tree->coder);
	RencoderRunReader reader;
	RencoderRunInfo info;
	const char *fault;
	const char *wrong = NULL;
	double		sum = 0;

	if (keys == NULL)
		return -1;
	if (keys->none || tree->root == RENCODER_NO_BLOCK)
		return 0;
	info = rencoder_run_read_trees(index, entry, 1, NULL, NULL, &fault);
	if (info == NULL || !rencoder_run_reader_begin(&reader, index, info, 0))
		return -1;
	for (size_t i = 0; i < keys->cover.n && wrong == NULL; i++)
	{
		const renc_interval *interval = &keys->cover.interval[i];
		double		below = 0;
		double		upto = 0;
		double		rows = 0;

		CHECK_FOR_INTERRUPTS();
		if (interval->hi < tree->least || interval->lo > tree->greatest)
			continue;
		wrong = renc_run_rank(&reader.run, rencoder_run_reader_read, &reader, interval->lo, RENC_RUN_BELOW,
							  &below);
		if (wrong == NULL)
			wrong = renc_run_rank(&reader.run, rencoder_run_reader_read, &reader, interval->hi, RENC_RUN_UPTO,
								  &upto);
		if (wrong == NULL)
			wrong = renc_run_rows(&reader.run, rencoder_run_reader_read, &reader, below, upto,
								  keys->cover.n > 1 ? 1 : LEAVES, &rows);
		sum += Max(rows, 0);
	}
	rencoder_run_reader_end(&reader);
	if (keys->boxes.n > 0)
		sum *= rencoder_boxes_covered_part(&keys->boxes, keys->cover);
	return wrong == NULL ? sum : -1;
}

/*
 * Rows of all runs, and as many of pages that none covers; < 0: there is no run of sorted keys.  Where
 * runs have more rows than the table, which VACUUM has counted, all are taken to have as many dead ones.
 */
static double
count_rows(const RencoderCopies *copies, const RencoderOpenIndex *target, RencoderQuery *query)
{
	const FormData_pg_class *table = target->heap->rd_rel;
	double		rows = 0;
	double		late = 0;
	double		covered = 0;
	double		all = 0;
	double		all_late = 0;

	for (uint32 i = 0; i < copies->catalog.n; i++)
	{
		const RencoderRunEntry *entry = &copies->catalog.entry[i];
		double		pages = rencoder_copies_covered_pages(copies, entry);
		double		found;

		if (entry->state != RENCODER_RUN_LIVE || entry->kind == RENCODER_RUN_MATRIX ||
			(pages == 0 && entry->kind != RENCODER_RUN_DELTA))
			continue;
		found = count_rows_of_run(target->index, entry, query);
		if (found < 0)
			continue;			/* it may be gone: others stand for it */
		if (entry->kind == RENCODER_RUN_DELTA)
		{
			late += found;
			all_late += (double) entry->first.rows;
			continue;
		}
		rows += found * pages / (Min(entry->to, copies->nblocks) - entry->from);
		all += (double) entry->first.rows * pages / (Min(entry->to, copies->nblocks) - entry->from);
		covered += pages;
	}
	if (covered == 0)
		return -1;
	rows = rows * copies->nblocks / covered + late;
	all = all * copies->nblocks / covered + all_late;
	if (table->reltuples >= 0 && table->relpages > 0)
		rows *= Min(1, (double) table->reltuples / table->relpages * copies->nblocks / Max(all, 1));
	return rint(rows);
}

/*
 * rencoder_estimate_count(index regclass, lo anycompatible, hi anycompatible) returns bigint
 *
 * Of "first column BETWEEN lo AND hi", as the present snapshot may see it; NULL if nothing is known.
 * AccessShareLock on table and index.
 */
Datum
rencoder_estimate_count(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	RencoderCopies *copies = rencoder_copies_create(CurrentMemoryContext);
	RencoderQuery *query;
	int64		npages = 0;
	double		rows;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock, RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(target.index);
	query = rencoder_bounds_query(fcinfo, &target, 0);
	rencoder_copies_begin(copies, target.index, GetActiveSnapshot(), &npages);
	rows = query->empty ? 0 : count_rows(copies, &target, query);
	rencoder_open_index_close(&target);
	if (rows < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) rows);
}
