/*
 * options.c
 *		Storage parameters of an index, and settings.
 *
 * Those that say how filters are made, and "composite", are read when the index is built and frozen
 * in its metapage; ALTER INDEX .. SET takes effect with the next REINDEX.  Those of runs ("storage",
 * "resolution", "false_pages") are read whenever a run is to be made.  The others ("autosummarize")
 * take effect at once.
 */
#include "base/options.h"

#include "access/reloptions.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "filter/renc_base.h"

/*
 * False pages where table and index fit the cache, and at least: to halve them costs a bit for each row,
 * and saves a read where it does not fit.
 */
#define FALSE_PAGES_CACHED	0.5
#define LEAST_FALSE_PAGES	0.1

/* About so many bits has a run for each row and column. */
#define BITS_OF_A_ROW			26

/*
 * Where each page has a stretch of keys, a value between two of them is told from them by some bits
 * for each row, not one.
 */
#define FALSE_PAGES_TOGETHER	1.0

bool		rencoder_enable_scan = true;
bool		rencoder_enable_ordered_scan = true;
int			rencoder_sample_rate = RENCODER_DEFAULT_SAMPLE_RATE;
int			rencoder_max_workers = RENCODER_DEFAULT_MAX_WORKERS;

static relopt_kind rencoder_relopt_kind;

static relopt_enum_elt_def storage_values[] = {
	{"auto", RENCODER_STORAGE_AUTO},
	{"filter", RENCODER_STORAGE_FILTER},
	{"run", RENCODER_STORAGE_RUN},
	{NULL, 0}
};

static relopt_enum_elt_def resolution_values[] = {
	{"auto", RENCODER_RESOLUTION_AUTO},
	{"pages", RENCODER_RESOLUTION_PAGES},
	{"rows", RENCODER_RESOLUTION_ROWS},
	{NULL, 0}
};

void
rencoder_options_init(void)
{
	rencoder_relopt_kind = add_reloption_kind();

	add_int_reloption(rencoder_relopt_kind, "pages_per_range",
					  "Heap pages in a block range of filters; 0 chooses by the table's size",
					  RENCODER_DEFAULT_PAGES_PER_RANGE,
					  RENCODER_MIN_PAGES_PER_RANGE,
					  RENCODER_MAX_PAGES_PER_RANGE,
					  AccessExclusiveLock);
	add_int_reloption(rencoder_relopt_kind, "bits_per_key",
					  "Bits of a filter for each distinct value in a block range",
					  RENCODER_DEFAULT_BITS_PER_KEY,
					  RENCODER_MIN_BITS_PER_KEY,
					  RENCODER_MAX_BITS_PER_KEY,
					  AccessExclusiveLock);
	add_real_reloption(rencoder_relopt_kind, "false_pages",
					   "Heap pages without a match that a query reads, on average; 0 chooses by the table's size",
					   0, 0, 100,
					   AccessExclusiveLock);
	add_bool_reloption(rencoder_relopt_kind, "autosummarize",
					   "Lets a background worker index new rows as the table grows",
					   RENCODER_DEFAULT_AUTOSUMMARIZE,
					   ShareUpdateExclusiveLock);
	add_bool_reloption(rencoder_relopt_kind, "composite",
					   "Combines all columns into one key, in their order",
					   false,
					   AccessExclusiveLock);
	add_enum_reloption(rencoder_relopt_kind, "storage",
					   "Stores values in sorted runs or in a filter for each block range",
					   storage_values, RENCODER_STORAGE_AUTO,
					   gettext_noop("Valid values are \"auto\", \"filter\" and \"run\"."),
					   AccessExclusiveLock);
	add_enum_reloption(rencoder_relopt_kind, "resolution",
					   "Sorted runs name heap pages or single rows; auto also names small groups of rows",
					   resolution_values, RENCODER_RESOLUTION_AUTO,
					   gettext_noop("Valid values are \"auto\", \"pages\" and \"rows\"."),
					   AccessExclusiveLock);

	DefineCustomBoolVariable("rencoder.enable_scan",
							 "Enables the planner's use of rencoder indexes.",
							 NULL,
							 &rencoder_enable_scan,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("rencoder.enable_ordered_scan",
							 "Enables the planner's use of rencoder indexes to return rows in order.",
							 NULL,
							 &rencoder_enable_ordered_scan,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("rencoder.sample_rate",
							"Records one of so many scans as a query sample, in indexes of filters.",
							"Zero records no scan.",
							&rencoder_sample_rate,
							RENCODER_DEFAULT_SAMPLE_RATE,
							0, INT_MAX,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("rencoder.max_workers",
							"Sets the maximum number of background workers that maintain rencoder indexes in all databases.",
							"Zero starts no worker: inserting sessions and VACUUM maintain the indexes.",
							&rencoder_max_workers,
							RENCODER_DEFAULT_MAX_WORKERS,
							0, RENCODER_LIMIT_MAX_WORKERS,
							PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("rencoder");
}

bytea *
rencoderoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt tab[] = {
		{.optname = "pages_per_range",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(RencoderOptions, pages_per_range)},
		{.optname = "bits_per_key",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(RencoderOptions, bits_per_key)},
		{.optname = "autosummarize",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(RencoderOptions, autosummarize)},
		{.optname = "storage",.opttype = RELOPT_TYPE_ENUM,
		.offset = offsetof(RencoderOptions, storage)},
		{.optname = "resolution",.opttype = RELOPT_TYPE_ENUM,
		.offset = offsetof(RencoderOptions, resolution)},
		{.optname = "false_pages",.opttype = RELOPT_TYPE_REAL,
		.offset = offsetof(RencoderOptions, false_pages)},
		{.optname = "composite",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(RencoderOptions, composite)},
	};
	RencoderOptions *options = (RencoderOptions *)
		build_reloptions(reloptions, validate, rencoder_relopt_kind, sizeof(RencoderOptions), tab,
						 lengthof(tab));

	if (validate && options != NULL && options->composite && options->storage == RENCODER_STORAGE_FILTER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"composite\" cannot be combined with \"storage = filter\""),
				 errdetail("Composite keys are for sorted runs."),
				 errhint("Leave out one of the two.")));
	return (bytea *) options;
}

const RencoderOptions *
rencoder_options(Relation index)
{
	static const RencoderOptions defaults = {
		.pages_per_range = RENCODER_DEFAULT_PAGES_PER_RANGE,
		.bits_per_key = RENCODER_DEFAULT_BITS_PER_KEY,
		.autosummarize = RENCODER_DEFAULT_AUTOSUMMARIZE
	};

	return index->rd_options == NULL ? &defaults : (const RencoderOptions *) index->rd_options;
}

/*
 * Largest power of two that leaves 128 ranges, at most 32.  A table of next to no pages
 * is one whose rows are yet to come.
 */
static uint32
choose_pages_per_range(BlockNumber nblocks)
{
	uint32		pages = RENCODER_AUTO_MAX_PAGES_PER_RANGE;

	if (nblocks < RENCODER_AUTO_EMPTY_PAGES)
		return RENCODER_AUTO_EMPTY_PAGES_PER_RANGE;
	while (pages > 1 && nblocks / pages < RENC_GROUP_RANGES)
		pages /= 2;
	return pages;
}

uint32
rencoder_options_build_pages_per_range(Relation index, BlockNumber nblocks)
{
	int			pages = rencoder_options(index)->pages_per_range;

	return pages != 0 ? (uint32) pages : choose_pages_per_range(nblocks);
}

Size
rencoder_options_sort_memory(void)
{
	return (Size) maintenance_work_mem * 1024;
}

/* The last run of a constraint covers all pages to come: filters would be for billions of pages. */
bool
rencoder_options_use_runs(Relation index)
{
	return rencoder_options(index)->storage != RENCODER_STORAGE_FILTER ||
		index->rd_index->indisexclusion;
}

uint32
rencoder_options_part_rows(Relation index)
{
	return rencoder_options(index)->resolution == RENCODER_RESOLUTION_PAGES ? 0 : 1;
}

/* The server's effective_cache_size, whatever the session has set, so that all processes agree. */
static double
cache_pages_by_setting(void)
{
	const char *pages = GetConfigOptionResetString("effective_cache_size");

	return pages == NULL ? effective_cache_size : atof(pages);
}

double
rencoder_options_false_pages(Relation index, double heap_pages, double page_rows, double *together)
{
	int			natts = rencoder_options(index)->composite ? 1 : IndexRelationGetNumberOfKeyAttributes(index);
	double		bits = page_rows * BITS_OF_A_ROW * natts;
	double		pages = heap_pages * (1 + bits / (BITS_PER_BYTE * BLCKSZ));

	*together = rencoder_options(index)->false_pages;
	if (*together > 0)
		return *together;
	*together = FALSE_PAGES_TOGETHER;
	return Max(FALSE_PAGES_CACHED * Min(cache_pages_by_setting() / Max(pages, 1), 1),
			   LEAST_FALSE_PAGES);
}
