/*
 * sql_shown.h
 *		How functions show what they return.
 */
#ifndef RENCODER_SQL_SHOWN_H
#define RENCODER_SQL_SHOWN_H

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

/* A float8 with three significant digits: more would say nothing. */
static inline Datum
rencoder_sql_shown(double value)
{
	char	   *digits = psprintf("%.3g", value);
	double		shown = strtod(digits, NULL);

	pfree(digits);
	return Float8GetDatum(shown);
}

/* The result of a function that returns one row. */
static inline Datum
rencoder_sql_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), unconstify(Datum *, values),
											 unconstify(bool *, nulls)));
}

#endif							/* RENCODER_SQL_SHOWN_H */
