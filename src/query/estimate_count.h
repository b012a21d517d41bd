/*
 * estimate_count.h
 *		How many rows have keys that a query asks for, from the index alone.
 */
#ifndef RENCODER_ESTIMATE_COUNT_H
#define RENCODER_ESTIMATE_COUNT_H

#include "key/key.h"

/*
 * Rows whose keys of the first column satisfy the query, about; "heap" is the index's table.
 * Dead ones count until their run is made anew, unless VACUUM has found more than a tenth.  Locks:
 * directory and header pages, pages of runs and of the pending list, share, one at a time (of the
 * list of runs, two), released.  Works on a standby.  Errors: ERRCODE_INDEX_CORRUPTED.
 */
extern double rencoder_estimate_count_rows(Relation index, Relation heap, RencoderQuery *query);

#endif							/* RENCODER_ESTIMATE_COUNT_H */
