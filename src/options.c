/*
 * options.c
 *		Storage parameters of an index, and settings.
 *
 * Those that say how the index is built are read then and frozen in its
 * metapage; ALTER INDEX .. SET takes effect with the next REINDEX.  The others
 * ("autosummarize") take effect at once.
 */
#include "rencoder.h"

#include "access/reloptions.h"
#include "utils/guc.h"
#include "utils/rel.h"

bool		rencoder_enable_scan = true;

static relopt_kind rencoder_relopt_kind;

void
rencoder_options_init(void)
{
	rencoder_relopt_kind = add_reloption_kind();

	add_int_reloption(rencoder_relopt_kind, "pages_per_range",
					  "Heap pages in a block range; 0 chooses by the table's size",
					  RENCODER_DEFAULT_PAGES_PER_RANGE,
					  RENCODER_MIN_PAGES_PER_RANGE,
					  RENCODER_MAX_PAGES_PER_RANGE,
					  AccessExclusiveLock);
	add_int_reloption(rencoder_relopt_kind, "bits_per_key",
					  "Bits of a filter for each distinct key of a block range",
					  RENCODER_DEFAULT_BITS_PER_KEY,
					  RENCODER_MIN_BITS_PER_KEY,
					  RENCODER_MAX_BITS_PER_KEY,
					  AccessExclusiveLock);
	add_bool_reloption(rencoder_relopt_kind, "autosummarize",
					   "Summarizes block ranges as the table grows",
					   RENCODER_DEFAULT_AUTOSUMMARIZE,
					   ShareUpdateExclusiveLock);

	DefineCustomBoolVariable("rencoder.enable_scan",
							 "Enables the planner's use of rencoder indexes.",
							 NULL,
							 &rencoder_enable_scan,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
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
	};

	return (bytea *) build_reloptions(reloptions, validate, rencoder_relopt_kind,
									  sizeof(RencoderOptions), tab, lengthof(tab));
}

int
rencoder_options_pages_per_range(Relation index)
{
	RencoderOptions *options = (RencoderOptions *) index->rd_options;

	return options ? options->pages_per_range : RENCODER_DEFAULT_PAGES_PER_RANGE;
}

int
rencoder_options_bits_per_key(Relation index)
{
	RencoderOptions *options = (RencoderOptions *) index->rd_options;

	return options ? options->bits_per_key : RENCODER_DEFAULT_BITS_PER_KEY;
}

bool
rencoder_options_autosummarize(Relation index)
{
	RencoderOptions *options = (RencoderOptions *) index->rd_options;

	return options ? options->autosummarize : RENCODER_DEFAULT_AUTOSUMMARIZE;
}
