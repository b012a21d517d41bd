/*
 * sql_estimate.c
 *		SQL functions that answer with an estimate.  All of them only read, and work on a standby.
 */
#include "query/estimate_count.h"

#include "fmgr.h"

#include "sql/sql_bounds.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_estimate_count);

/*
 * rencoder_estimate_count(index regclass, lo anycompatible, hi anycompatible)
 *		returns bigint
 *
 * Rows of "first column BETWEEN lo AND hi", about; sql_bounds.h says what that means for other
 * types than numbers.  AccessShareLock on table and index.
 */
Datum
rencoder_estimate_count(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	ScanKeyData keys[RENCODER_BOUND_KEYS];
	int			nkeys;
	double		rows;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(&target);
	nkeys = rencoder_bounds_keys(&target, 0, get_fn_expr_argtype(fcinfo->flinfo, 1),
								 &fcinfo->args[1], keys);
	rows = rencoder_estimate_count_rows(target.index, target.heap,
										rencoder_key_query(target.index, keys, nkeys));
	rencoder_open_index_close(&target);
	PG_RETURN_INT64((int64) rows);
}
