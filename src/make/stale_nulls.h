/*
 * stale_nulls.h
 *		Have runs nulls that the table has not, by now, and how many rows has it?
 */
#ifndef RENCODER_STALE_NULLS_H
#define RENCODER_STALE_NULLS_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Have the runs many more nulls in a column than a reading of the table would find now?  Reads 64 pages
 * of the table, and the info pages of runs.  Not asked of runs that have values without a key.
 */
extern bool rencoder_nulls_are_stale(Relation index, Relation heap);

/* How many rows a reading of the table would find now, about, by 64 pages. */
extern double rencoder_nulls_sample_rows(Relation index, Relation heap);

#endif							/* RENCODER_STALE_NULLS_H */
