/*
 * handler.c
 *		Entry point of the module and of the access method.
 */
#include "rencoder.h"

#include "commands/vacuum.h"
#include "fmgr.h"

#include "base/options.h"
#include "cost/cost.h"
#include "key/key.h"
#include "make/build.h"
#include "scan/scan.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(rencoder_handler);

void		_PG_init(void);

void
_PG_init(void)
{
	rencoder_options_init();
	rencoder_scan_recheck_init();
	rencoder_cost_order_init();
}

/*
 * What the access method can do.  Members not named are false, zero or NULL,
 * also those that later versions of PostgreSQL add.
 */
static const IndexAmRoutine routine = {
	.type = T_IndexAmRoutine,
	.amstrategies = RENCODER_NSTRATEGIES,
	.amsupport = RENCODER_NPROCS,
	.amoptsprocnum = 0,
	.amcanmulticol = true,
	.amoptionalkey = true,
	.amsearcharray = true,
	.amsearchnulls = true,
#ifdef RENCODER_HAVE_SUMMARIZING
	.amsummarizing = true,
#endif
#ifdef RENCODER_HAVE_PARALLEL_BUILD
	.amcanbuildparallel = true,
#endif
	.amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_CLEANUP,
	.amkeytype = InvalidOid,

	.ambuild = rencoderbuild,
	.ambuildempty = rencoderbuildempty,
	.ambuildphasename = rencoderbuildphasename,
	.aminsert = rencoderinsert,
	.ambulkdelete = rencoderbulkdelete,
	.amvacuumcleanup = rencodervacuumcleanup,
	.amcostestimate = rencodercostestimate,
	.amoptions = rencoderoptions,
	.amvalidate = rencodervalidate,
	.ambeginscan = rencoderbeginscan,
	.amrescan = rencoderrescan,
	.amgettuple = rencodergettuple,
	.amgetbitmap = rencodergetbitmap,
	.amendscan = rencoderendscan,
};

Datum
rencoder_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(rencoder_give_routine(&routine));
}
