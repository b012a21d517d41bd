/*
 * sql_check.c
 *		rencoder_index_check(): is an index sound, and does it cover all rows?
 */
#include "postgres.h"

#include "fmgr.h"

#include "sql/check_heap.h"
#include "sql/check_structure.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_index_check);

/*
 * rencoder_index_check(index regclass, heapallindexed boolean) returns void
 *
 * AccessShareLock on table and index.  Not checked: bits that are set without
 * need (they only cost time), and pages that nothing refers to.
 */
Datum
rencoder_index_check(PG_FUNCTION_ARGS)
{
	bool		heapallindexed = PG_GETARG_BOOL(1);
	RencoderOpenIndex target;

	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_OWNER);
	rencoder_open_index_require_valid(&target);
	rencoder_check_structure(target.index);
	if (heapallindexed)
		rencoder_check_heap(target.heap, target.index);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}
