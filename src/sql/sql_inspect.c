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
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/xid8.h"

#include "base/options.h"
#include "format/format_filter.h"
#include "sql/sql_bounds.h"
#include "sql/sql_shown.h"
#include "store/group_copy.h"
#include "store/open_index.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/space.h"

PG_FUNCTION_INFO_V1(rencoder_metapage);
PG_FUNCTION_INFO_V1(rencoder_groups);
PG_FUNCTION_INFO_V1(rencoder_ranges);
PG_FUNCTION_INFO_V1(rencoder_runs);
PG_FUNCTION_INFO_V1(rencoder_candidates);

/* A row under construction. */
#define ROW_COLUMNS	24

/* Of rencoder_runs(). */
#define RUN_COLUMNS	14

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

/* A bound of keys; null if there are no keys or the caller must not see them. */
static void
put_inspected_key(Row *row, uint64 key, bool show)
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

/* Directory pages and maps. */
static uint32
count_directory_pages(Relation index, const RencoderMetaPageData *metadata)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	uint64		npages = rencoder_directory_count_pages(index, metadata);
	uint32		n = 0;

	for (uint64 i = 0; i < npages; i++)
		n += rencoder_directory_find(index, &meta, metadata, (uint32) (i * meta.entries_per_page),
									 NULL) != RENCODER_NO_BLOCK;
	for (int i = 0; i < RENCODER_META_MAPS; i++)
		n += metadata->map[i] != RENCODER_NO_BLOCK;
	return n;
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
	RencoderMetaPageData *metadata;
	RencoderRuns runs;
	uint64		free_pages;
	uint32		free_extents;
	Row			row = {0};

	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	metadata = rencoder_meta_copy(target.index);
	rencoder_runs_copy(target.index, &runs, NULL);
	free_pages = rencoder_space_count_free_pages(target.index, &free_extents);

	put_inspected_text(&row, psprintf("0x%08X", metadata->magic));
	put(&row, Int32GetDatum(metadata->version));
	put(&row, Int32GetDatum(metadata->hash_id));
	put(&row, Int32GetDatum(metadata->rows_per_window));
	put(&row, Int32GetDatum(metadata->group_ranges));
	put(&row, Int32GetDatum(metadata->pages_per_range));
	put(&row, Int32GetDatum(metadata->bits_per_key));
	put(&row, Int32GetDatum(metadata->natts));
	put(&row, Int64GetDatum((int64) metadata->epoch));
	put(&row, Int64GetDatum(count_directory_pages(target.index, metadata)));
	put(&row, Int64GetDatum(free_extents));
	put(&row, Int64GetDatum((int64) free_pages));
	put(&row, Int32GetDatum(rencoder_options_build_pages_per_range(target.index,
																   RelationGetNumberOfBlocks(target.heap))));
	put(&row, Int32GetDatum(runs.list.n));
	put(&row, Int64GetDatum((int64) rencoder_pending_pages(&runs.pending)));
	put(&row, Int64GetDatum((int64) rencoder_pending_count_spares(target.index)));
	put_inspected_if(&row, rencoder_options_use_runs(target.index) &&
					 rencoder_options_bits_are_given(target.index),
					 Int32GetDatum(rencoder_options_bits_per_key(target.index)));
	rencoder_open_index_close(&target);
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, row.values, row.nulls));
}

static void
inspect_group_column(FunctionCallInfo fcinfo, const RencoderGroupCopy *copy, int col,
					 bool show_keys)
{
	const RencoderHeaderData *first = copy->header[0];
	const RencoderHeaderData *header = copy->header[col];
	const RencoderEntryColumn *bounds = &copy->entry->column[col];
	renc_mask	summarized = rencoder_set_get(first->summarized);
	bool		has_keys = bounds->min <= bounds->max;
	uint64		horizon = 0;
	Row			row = {0};

	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(summarized, slot))
			horizon = Max(horizon, first->horizon[slot]);
	}

	put(&row, Int64GetDatum(copy->group));
	put(&row, Int16GetDatum(col + 1));
	put(&row, Int64GetDatum((int64) copy->entry->header + col));
	put(&row, BoolGetDatum((copy->entry->flags & RENCODER_ENTRY_SEALED) != 0));
	put(&row, Int32GetDatum(renc_mask_count(summarized)));
	put(&row, Int32GetDatum(renc_mask_count(rencoder_set_get(first->summarizing))));
	put(&row, Int32GetDatum(renc_mask_count(renc_mask_or(rencoder_set_get(header->always),
														 rencoder_set_get(header->keyless)))));
	if (rencoder_is_configured(&header->config))
		put_inspected_text(&row, rencoder_filter_describe(&header->config));
	else
		put_inspected_null(&row);
	put(&row, Int64GetDatum(header->config.nwindows));
	put(&row, Int64GetDatum(header->config.capacity));
	put_inspected_text(&row, header->matrix.start == RENCODER_NO_BLOCK ? "none" : "matrix");
	put(&row, Int64GetDatum(header->matrix.start == RENCODER_NO_BLOCK ? 0 : header->matrix.npages));
	put_inspected_key(&row, bounds->min, show_keys && has_keys);
	put_inspected_key(&row, bounds->max, show_keys && has_keys);
	put_inspected_if(&row, horizon != 0,
					 FullTransactionIdGetDatum(FullTransactionIdFromU64(horizon)));
	put_inspected_if(&row, header->predicted_fpr >= 0, rencoder_sql_shown(header->predicted_fpr));
	put_inspected_if(&row, header->best_fpr >= 0, rencoder_sql_shown(header->best_fpr));
	put_inspected_if(&row, first->run != 0, Int64GetDatum(first->run));
	put(&row, Int32GetDatum(renc_mask_count(rencoder_set_get(first->covered))));
	put(&row, Int32GetDatum(renc_mask_count(rencoder_set_get(first->noted))));
	emit(fcinfo, &row);
}

/* Puts what is known of a range that is being or has been summarized. */
static void
put_inspected_summary(Row *row, const RencoderGroupCopy *copy, uint32 slot, int col,
					  bool show_keys)
{
	const RencoderHeaderData *first = copy->header[0];
	const RencoderHeaderData *header = copy->header[col];

	show_keys = show_keys && header->min[slot] <= header->max[slot];
	put(row, BoolGetDatum(rencoder_set_test(header->always, slot) ||
						  rencoder_set_test(header->keyless, slot)));
	put(row, BoolGetDatum(rencoder_set_test(header->has_null, slot)));
	put(row, BoolGetDatum(renc_mask_test(rencoder_header_has_value(header), slot)));
	put_inspected_key(row, header->min[slot], show_keys);
	put_inspected_key(row, header->max[slot], show_keys);
	put(row, Int64GetDatum(header->distinct[slot]));
	put_inspected_if(row, rencoder_set_test(first->summarized, slot),
					 FullTransactionIdGetDatum(FullTransactionIdFromU64(first->horizon[slot])));
	put(row, BoolGetDatum(rencoder_set_test(first->covered, slot)));
}

/*
 * The ranges of a group: those of the table, which has "nranges", and those
 * behind its end that have a summary.  "exists": has the group a header?
 */
static void
inspect_ranges(FunctionCallInfo fcinfo, const RencoderMeta *meta,
			   const RencoderGroupCopy *copy, bool exists, uint64 nranges,
			   bool show_keys)
{
	renc_mask	summarized = renc_mask_none();
	renc_mask	summarizing = renc_mask_none();

	if (exists)
	{
		summarized = rencoder_set_get(copy->header[0]->summarized);
		summarizing = rencoder_set_get(copy->header[0]->summarizing);
	}
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		uint64		range = (uint64) copy->group * RENC_GROUP_RANGES + slot;
		bool		done = renc_mask_test(summarized, slot);
		bool		doing = renc_mask_test(summarizing, slot);

		if (range >= nranges && !done && !doing)
			continue;
		for (int col = 0; col < meta->natts; col++)
		{
			Row			row = {0};

			put(&row, Int64GetDatum((int64) range));
			put(&row, Int64GetDatum((int64) (range * meta->pages_per_range)));
			put(&row, Int16GetDatum(col + 1));
			put_inspected_text(&row, done &&
							   rencoder_set_test(copy->header[0]->noted, slot) ? "noted" :
							   done ? "summarized" : doing ? "summarizing" : "unsummarized");
			if (done || doing)
				put_inspected_summary(&row, copy, slot, col, show_keys);
			else
			{
				/* What an old summary may have left means nothing. */
				for (int i = 0; i < 8; i++)
					put_inspected_null(&row);
			}
			emit(fcinfo, &row);
		}
	}
}

/* The rows of all groups, those of one group at a time in memory. */
static Datum
inspect_groups(FunctionCallInfo fcinfo, bool by_range)
{
	RencoderOpenIndex target;
	RencoderMeta meta;
	RencoderGroupCopy *copy;
	MemoryContext group_context;
	MemoryContext old_context;
	uint64		nranges;
	uint32		ngroups;

	InitMaterializedSRF(fcinfo, 0);
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	meta = *rencoder_meta_get(target.index);
	copy = rencoder_group_copy_create(&meta);
	nranges = by_range ?
		rencoder_range_count(&meta, RelationGetNumberOfBlocks(target.heap)) : 0;
	ngroups = rencoder_group_copy_count_groups(target.index, &meta,
											   rencoder_meta_copy(target.index), nranges);
	group_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder group",
										  ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(group_context);
	for (uint32 group = 0; group < ngroups; group++)
	{
		bool		exists;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(group_context);
		exists = rencoder_group_copy_read(target.index, &meta, group, copy);
		if (by_range)
			inspect_ranges(fcinfo, &meta, copy, exists, nranges, target.may_read);
		for (int col = 0; col < meta.natts && exists && !by_range; col++)
			inspect_group_column(fcinfo, copy, col, target.may_read);
	}
	MemoryContextSwitchTo(old_context);
	rencoder_open_index_close(&target);
	return (Datum) 0;
}

static const char *
run_kind_name(uint8 kind)
{
	return kind == RENCODER_RUN_BASE ? "base" : kind == RENCODER_RUN_DELTA ? "delta" : "unknown";
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
				   const RencoderRunColumn *column, const RencoderRunColumn *nulls)
{
	Row			row = {0};
	int64		npages;

	put(&row, Int64GetDatum(entry->number));
	put(&row, Int16GetDatum(col + 1));
	put_inspected_text(&row, run_kind_name(entry->kind));
	put_inspected_text(&row, run_state_name(entry->state));
	put(&row, Int64GetDatum(entry->first_group));
	put(&row, Int64GetDatum(entry->ngroups));
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
		put(&row, Int64GetDatum((int64) nulls->rows));
		put(&row, Int64GetDatum((int64) nulls->nleaves + nulls->ninner));
	}
	emit(fcinfo, &row);
}

/* Is the run, as it was in the list once, still there? */
static bool
run_is_listed(Relation index, const RencoderRunEntry *entry)
{
	RencoderRuns runs;
	const RencoderRunEntry *now;

	rencoder_runs_copy(index, &runs, NULL);
	now = rencoder_runs_find(&runs, entry->number);
	return now != NULL && now->state == entry->state;
}

/*
 * rencoder_runs(index regclass) returns setof record
 *
 * One row for each run in the list and each column.  AccessShareLock on table and
 * index.
 */
Datum
rencoder_runs(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	RencoderRuns runs;
	int			natts;

	InitMaterializedSRF(fcinfo, 0);
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	natts = rencoder_meta_get(target.index)->natts;
	rencoder_runs_copy(target.index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		const RencoderRunEntry *entry = &runs.list.entry[i];
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
							   &info->column[rencoder_run_null_tree(natts, col)]);
	}
	rencoder_open_index_close(&target);
	return (Datum) 0;
}

/*
 * rencoder_groups(index regclass) returns setof record
 *
 * One row for each group with a header and each column.  AccessShareLock on
 * table and index.
 */
Datum
rencoder_groups(PG_FUNCTION_ARGS)
{
	return inspect_groups(fcinfo, false);
}

/*
 * rencoder_ranges(index regclass) returns setof record
 *
 * One row for each block range and each column.  AccessShareLock on table and
 * index.
 */
Datum
rencoder_ranges(PG_FUNCTION_ARGS)
{
	return inspect_groups(fcinfo, true);
}

/* A page of candidates: a range may be one with some of its pages. */
static void
count_candidate_page(void *arg, BlockNumber page, const uint64 *row)
{
	(*(int64 *) arg)++;
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
	RencoderCandidateCounts counts = {0};
	int64		npages = 0;
	RencoderEmit emit = {.page = count_candidate_page,.arg = &npages};
	ScanKeyData keys[RENCODER_BOUND_KEYS];
	RencoderQuery *query;
	int			nkeys;
	Row			row = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock, RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(target.index);
	rencoder_open_index_switch_to_caller(&target);
	nkeys = rencoder_bounds_scankeys(target.index, 0, get_fn_expr_argtype(fcinfo->flinfo, 1),
									 &fcinfo->args[1], keys);
	rencoder_open_index_switch_to_owner(&target);
	query = rencoder_key_make_query(target.index, keys, nkeys);

	/*
	 * The count is that of a session's first query: roots that this session
	 * keeps do not matter.
	 */
	rencoder_run_roots_forget(target.index);
	(void) rencoder_candidates_find(target.index, RelationGetNumberOfBlocks(target.heap), query,
									GetActiveSnapshot(), NULL, &emit, NULL, &counts);
	rencoder_run_roots_forget(target.index);
	put(&row, Int64GetDatum(counts.ranges));
	put(&row, Int64GetDatum(counts.skipped));
	put(&row, Int64GetDatum(counts.candidates));
	put(&row, Int64GetDatum(counts.unsummarized));
	put(&row, Int64GetDatum(npages));
	put(&row, Int64GetDatum(counts.index_pages));
	rencoder_open_index_close(&target);
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, row.values, row.nulls));
}
