/*
 * sql_stats.c
 *		SQL functions that show and reset the counts of scans and of WAL.
 */
#include "scan/scan_stats.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "utils/timestamp.h"

#include "sql/sql_shown.h"
#include "store/catalog.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_index_stats);
PG_FUNCTION_INFO_V1(rencoder_index_stats_reset);

/*
 * Of rencoder_index_stats(): counts, what is predicted, since when, size, runs, pending pages, WAL,
 * whether it can be read.
 */
#define STATS_COLUMNS	(RENCODER_STATS_COUNTS + 7)

/* False pages that base runs expect of a query of the first column; false: there are none. */
static bool
predict_false_pages(const RencoderCatalog *catalog, double *pages)
{
	bool		any = false;

	*pages = 0;
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];

		if (entry->state != RENCODER_RUN_LIVE || !rencoder_run_covers(entry))
			continue;
		*pages += Max(entry->first.false_pages, 0);
		any = true;
	}
	return any;
}

static void
get_index_stats(Relation index, Datum *values, bool *nulls)
{
	RencoderStats stats = {0};
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	double		predicted;
	bool		kept;
	int			i;

	memset(nulls, false, STATS_COLUMNS * sizeof(bool));
	rencoder_scan_stats_write(index);
	kept = !RecoveryInProgress() && rencoder_stats_read(index, &stats);
	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	for (i = 0; i < RENCODER_STATS_COUNTS; i++)
	{
		values[i] = Int64GetDatum(stats.count[i]);
		nulls[i] = !kept;
	}
	nulls[i] = !predict_false_pages(catalog, &predicted);
	values[i++] = rencoder_sql_shown(predicted);
	nulls[i] = stats.since == 0;
	values[i++] = TimestampTzGetDatum(stats.since);
	values[i++] = Int64GetDatum((int64) RelationGetNumberOfBlocks(index) * BLCKSZ);
	values[i++] = Int32GetDatum(catalog->n);
	values[i++] = Int64GetDatum((int64) rencoder_pending_pages(&catalog->pending));
	nulls[i] = !kept;
	values[i++] = Int64GetDatum(stats.wal);
	values[i++] = BoolGetDatum(false);
	pfree(catalog);
	Assert(i == STATS_COLUMNS);
}

/*
 * rencoder_index_stats(index regclass, wait boolean) returns record
 *
 * Those of this session are added first.  A standby counts nothing, and what it has of the
 * primary's counts is as old as the last image of their page: null.  AccessShareLock on table and
 * index.  Without "wait" all is null if others have locked it, or the index has been dropped.  Of
 * an index of another disk format it says only that it needs a REINDEX.
 */
Datum
rencoder_index_stats(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	Datum		values[STATS_COLUMNS] = {0};
	bool		nulls[STATS_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	if (PG_GETARG_BOOL(1))
		rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock, RENCODER_PRIVILEGE_INSPECT);
	else if (rencoder_open_index_now(&target, PG_GETARG_OID(0),
									 RENCODER_PRIVILEGE_INSPECT) != RENCODER_TRY_OPENED)
		PG_RETURN_DATUM(rencoder_sql_row(fcinfo, values, nulls));
	if (rencoder_meta_needs_reindex(target.index))
	{
		values[STATS_COLUMNS - 1] = BoolGetDatum(true);
		nulls[STATS_COLUMNS - 1] = false;
	}
	else
		get_index_stats(target.index, values, nulls);
	rencoder_open_index_close(&target);
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, values, nulls));
}

/*
 * rencoder_index_stats_reset(index regclass) returns void
 *
 * What other sessions have not written yet counts as later.  RowExclusiveLock on table and
 * index.
 */
Datum
rencoder_index_stats_reset(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;

	rencoder_open_index(&target, PG_GETARG_OID(0), RowExclusiveLock, RENCODER_PRIVILEGE_OWNER);
	rencoder_open_index_require_valid(target.index);
	rencoder_scan_stats_write(target.index);
	rencoder_hints_ensure_pages(target.index, RENCODER_ROOT_STATS, true);
	rencoder_stats_reset(target.index);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}
