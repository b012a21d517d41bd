/*
 * cost_nulls.h
 *		What IS NULL, IS NOT NULL, and a partial index used for its predicate alone read of covered
 *		ranges.
 */
#ifndef RENCODER_COST_NULLS_H
#define RENCODER_COST_NULLS_H

#include "query/cost_path.h"

/* What is left of the covered pages. */
typedef struct RencoderCostNullsRate
{
	double		pages;			/* that have such rows */
	double		places;			/* that they are in, one after the other in
								 * each */
	double		rows;			/* to be checked there */
} RencoderCostNullsRate;

/*
 * Of "pages" covered pages, for a column that is asked for nulls, or for values, of which the
 * statistics expect "rows" there.  Adds to run_pages and run_entries of the path.
 */
extern RencoderCostNullsRate rencoder_cost_nulls_column(RencoderCostPath *p, int col, double pages,
														double rows);

/* The same for all rows of a partial index; "share" is the part of the table that is covered. */
extern RencoderCostNullsRate rencoder_cost_nulls_all(RencoderCostPath *p, double pages,
													 double share);

#endif							/* RENCODER_COST_NULLS_H */
