/*
 * handler.c
 *		Entry point of the module and of the access method.
 */
#include "rencoder.h"

#include "access/parallel.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "base/options.h"
#include "build/build.h"
#include "key/key.h"
#include "query/cost.h"
#include "query/scan.h"
#include "query/scan_report.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(rencoder_handler);

void		_PG_init(void);

void
_PG_init(void)
{
	rencoder_options_init();

	/* Parallel workers do not plan what they execute. */
	if (IsParallelWorker() || process_shared_preload_libraries_in_progress)
		rencoder_scan_report_init();
}

/*
 * What the access method can do.  Members not named are false, zero or NULL,
 * also those that later versions of PostgreSQL add.
 */
Datum
rencoder_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = RENCODER_NSTRATEGIES;
	am->amsupport = RENCODER_NPROCS;
	am->amoptsprocnum = 0;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
#ifdef RENCODER_HAVE_SUMMARIZING
	am->amsummarizing = true;
#endif
#ifdef RENCODER_HAVE_PARALLEL_BUILD
	am->amcanbuildparallel = true;
#endif
	am->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_CLEANUP;
	am->amkeytype = InvalidOid;

	am->ambuild = rencoderbuild;
	am->ambuildempty = rencoderbuildempty;
	am->ambuildphasename = rencoderbuildphasename;
	am->aminsert = rencoderinsert;
	am->ambulkdelete = rencoderbulkdelete;
	am->amvacuumcleanup = rencodervacuumcleanup;
	am->amcostestimate = rencodercostestimate;
	am->amoptions = rencoderoptions;
	am->amvalidate = rencodervalidate;
	am->ambeginscan = rencoderbeginscan;
	am->amrescan = rencoderrescan;
	am->amgetbitmap = rencodergetbitmap;
	am->amendscan = rencoderendscan;

	PG_RETURN_POINTER(am);
}
