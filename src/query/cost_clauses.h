/*
 * cost_clauses.h
 *		What the index clauses of a path ask of each column.
 */
#ifndef RENCODER_COST_CLAUSES_H
#define RENCODER_COST_CLAUSES_H

#include "query/cost_path.h"

/* Fills in what the columns are asked for, and the scan keys of what is known by now. */
extern void rencoder_cost_clauses(RencoderCostPath *p);

/*
 * Rows that satisfy the clauses of some columns and are in the index: as the statistics
 * have it.
 */
extern double rencoder_cost_rows(const RencoderCostPath *p, List *quals);

/* Those of a column alone, where the statistics know nothing, too. */
extern double rencoder_cost_column_rows(RencoderCostPath *p, int col);

/* And those where it is not null. */
extern double rencoder_cost_column_not_null(const RencoderCostPath *p, int col);

#endif							/* RENCODER_COST_CLAUSES_H */
