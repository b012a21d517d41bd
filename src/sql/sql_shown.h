/*
 * sql_shown.h
 *		How functions show what is measured or predicted.
 */
#ifndef RENCODER_SQL_SHOWN_H
#define RENCODER_SQL_SHOWN_H

#include "fmgr.h"

/* A float8 with three significant digits: more would say nothing. */
static inline Datum
rencoder_sql_shown(double value)
{
	char	   *digits = psprintf("%.3g", value);
	double		shown = strtod(digits, NULL);

	pfree(digits);
	return Float8GetDatum(shown);
}

#endif							/* RENCODER_SQL_SHOWN_H */
