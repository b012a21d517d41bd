/*
 * sql_inspect.c
 *		SQL functions that show what is in an index.  All of them only read, and work on a standby.
 *
 * Keys are shown as 16 hexadecimal digits after "0x": the whole unsigned
 * range, of one width, so that they sort as text.
 */
#include "scan/candidates.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/xid8.h"

#include "base/options.h"
#include "sql/sql_bounds.h"
#include "sql/sql_shown.h"
#include "store/catalog.h"
#include "store/open_index.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/space.h"

PG_FUNCTION_INFO_V1(rencoder_metapage);
PG_FUNCTION_INFO_V1(rencoder_runs);
PG_FUNCTION_INFO_V1(rencoder_candidates);

/* A row under construction. */
#define ROW_COLUMNS	20

/* Of rencoder_runs(). */
#define RUN_COLUMNS	19

typedef struct Row
{
	int			n;
	Datum		values[ROW_COLUMNS];
	bool		nulls[ROW_COLUMNS];
} Row;

/* The value if it is known, else null. */
static void
put_inspected_if(Row *row, bool known, Datum value)
{
	Assert(row->n < ROW_COLUMNS);
	row->values[row->n] = value;
	row->nulls[row->n++] = !known;
}

static void
put(Row *row, Datum value)
{
	put_inspected_if(row, true, value);
}

static void
put_inspected_null(Row *row)
{
	put_inspected_if(row, false, (Datum) 0);
}

static void
put_inspected_text(Row *row, const char *text)
{
	put(row, CStringGetTextDatum(text));
}

/* A key, if there is one and the caller may see it. */
static void
put_inspected_key(Row *row, bool show, uint64 key)
{
	if (show)
		put_inspected_text(row, psprintf("0x%016llx", (unsigned long long) key));
	else
		put_inspected_null(row);
}

static void
emit(FunctionCallInfo fcinfo, Row *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	Assert(row->n == rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->nulls);
	row->n = 0;
}

/*
 * rencoder_metapage(index regclass) returns record
 *
 * AccessShareLock on table and index.
 */
Datum
rencoder_metapage(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	RencoderMetaPageData metadata;
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	uint64		free_pages;
	uint32		free_extents;
	Row			row = {0};

	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	rencoder_catalog_copy(target.index, catalog, &metadata, NULL, NULL);
	free_pages = rencoder_space_count_free_pages(target.index, InvalidBlockNumber, &free_extents);

	put_inspected_text(&row, psprintf("0x%08X", metadata.magic));
	put(&row, Int32GetDatum(metadata.version));
	put(&row, Int32GetDatum(metadata.hash_id));
	put(&row, Int32GetDatum(metadata.natts));
	put(&row, Int32GetDatum(metadata.pages_per_range));
	put(&row, Int32GetDatum(metadata.bits_per_key));
	put(&row, Int64GetDatum((int64) catalog->version));
	put(&row, Int64GetDatum(catalog->frontier));
	put(&row, Int64GetDatum(catalog->entries_to));
	put(&row, Int32GetDatum(catalog->n));
	put(&row, Int64GetDatum((int64) rencoder_pending_pages(&catalog->pending)));
	put(&row, Int64GetDatum((int64) rencoder_pending_count_spares(target.index)));
	put(&row, Int64GetDatum(free_extents));
	put(&row, Int64GetDatum((int64) free_pages));
	put(&row, Int32GetDatum(rencoder_options_build_pages_per_range(target.index,
																   RelationGetNumberOfBlocks(target.heap))));
	rencoder_open_index_close(&target);
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, row.values, row.nulls));
}

static const char *
run_kind_name(uint8 kind)
{
	return kind == RENCODER_RUN_BASE ? "base" : kind == RENCODER_RUN_DELTA ? "delta" :
		kind == RENCODER_RUN_MATRIX ? "matrix" : "unknown";
}

static const char *
run_state_name(uint8 state)
{
	switch (state)
	{
		case RENCODER_RUN_BUILDING:
			return "building";
		case RENCODER_RUN_LIVE:
			return "live";
		case RENCODER_RUN_FREEING:
			return "freeing";
	}
	return "unknown";
}

/* A column of a run: the trees of its keys and nulls, which are NULL if the run is not live. */
static void
inspect_run_column(FunctionCallInfo fcinfo, const RencoderRunEntry *entry, int col,
				   const RencoderRunColumn *column, const RencoderRunColumn *nulls,
				   bool show_keys)
{
	Row			row = {0};
	int64		npages;

	put(&row, Int64GetDatum(entry->number));
	put(&row, Int16GetDatum(col + 1));
	put_inspected_text(&row, run_kind_name(entry->kind));
	put_inspected_text(&row, run_state_name(entry->state));
	put_inspected_if(&row, entry->rank != 0, Int64GetDatum(entry->rank));
	put(&row, Int64GetDatum(entry->from));
	put(&row, Int64GetDatum(entry->to));
	put(&row, Int64GetDatum((int64) entry->cut));
	put_inspected_if(&row, entry->horizon != 0,
					 FullTransactionIdGetDatum(FullTransactionIdFromU64(entry->horizon)));
	if (column == NULL)
	{
		while (row.n < RUN_COLUMNS)
			put_inspected_null(&row);
	}
	else
	{
		npages = (int64) column->nleaves + column->ninner;
		put(&row, Int64GetDatum((int64) column->entries));
		put(&row, Int64GetDatum((int64) column->rows));
		put(&row, Int64GetDatum(npages));
		put_inspected_if(&row, column->entries > 0,
						 rencoder_sql_shown((double) npages * BLCKSZ * 8 / Max(column->entries, 1)));
		put(&row, rencoder_sql_shown(column->false_pages));
		put(&row, Int32GetDatum(column->parts));
		put_inspected_key(&row, show_keys && column->entries > 0, column->least);
		put_inspected_key(&row, show_keys && column->entries > 0, column->greatest);
		put(&row, Int64GetDatum((int64) nulls->rows));
		put(&row, Int64GetDatum((int64) nulls->nleaves + nulls->ninner));
	}
	emit(fcinfo, &row);
}

/* Is the run, as it was in the catalog once, still there? */
static bool
run_is_listed(Relation index, const RencoderRunEntry *entry)
{
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	const RencoderRunEntry *now;
	bool		listed;

	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	now = rencoder_catalog_find(catalog, entry->number);
	listed = now != NULL && now->state == entry->state;
	pfree(catalog);
	return listed;
}

/*
 * rencoder_runs(index regclass) returns setof record
 *
 * One row for each run in the catalog and each column.  AccessShareLock on table and
 * index.
 */
Datum
rencoder_runs(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	int			natts;

	InitMaterializedSRF(fcinfo, 0);
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	natts = rencoder_meta_get(target.index)->natts;
	rencoder_catalog_copy(target.index, catalog, NULL, NULL, NULL);
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];
		RencoderRunInfo info = NULL;
		const char *fault = NULL;

		CHECK_FOR_INTERRUPTS();
		if (entry->state == RENCODER_RUN_LIVE)
		{
			info = rencoder_run_read_info(target.index, entry, &fault);
			if (info == NULL && !run_is_listed(target.index, entry))
				continue;
			if (info == NULL)
				rencoder_page_corrupted(target.index, entry->info, fault);
		}
		for (int col = 0; col < natts; col++)
			inspect_run_column(fcinfo, entry, col, info == NULL ? NULL : &info->column[col],
							   info == NULL ? NULL :
							   &info->column[rencoder_run_null_tree(natts, col)], target.may_read);
	}
	rencoder_open_index_close(&target);
	return (Datum) 0;
}

/*
 * rencoder_candidates(index regclass, lo anycompatible, hi anycompatible)
 *		returns record
 *
 * What a scan with the present snapshot would visit for "first column BETWEEN lo AND hi":
 * sql_bounds.h says what that means for other types than numbers.  AccessShareLock on table and
 * index.
 */
Datum
rencoder_candidates(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	RencoderCandidates candidates;
	RencoderQuery *query;
	Row			row = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock, RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(target.index);
	query = rencoder_bounds_query(fcinfo, &target, 0);

	/*
	 * The count is that of a session's first query: roots that this session
	 * keeps do not matter.
	 */
	rencoder_run_roots_forget(target.index);
	rencoder_candidates_find(target.index, query, GetActiveSnapshot(), NULL, NULL, false, &candidates);
	rencoder_run_roots_forget(target.index);
	put(&row, Int64GetDatum(candidates.nblocks));
	put(&row, Int64GetDatum((int64) renc_stretches_count_pages(&candidates.rows)));
	put(&row, Int64GetDatum(candidates.whole));
	put(&row, Int64GetDatum(candidates.index_pages));
	rencoder_open_index_close(&target);
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, row.values, row.nulls));
}
