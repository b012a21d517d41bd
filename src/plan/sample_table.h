/*
 * sample_table.h
 *		Query samples from a table of intervals.
 */
#ifndef RENCODER_SAMPLE_TABLE_H
#define RENCODER_SAMPLE_TABLE_H

#include "store/sample_pages.h"

/*
 * Reads the columns lo and hi of a table, or a random choice of
 * RENCODER_SAMPLES_MAX rows, as samples of the index' first column, in a
 * build; palloc'd, *n is their number.  Rows with nulls, or whose lo is
 * greater than hi, are left out.  NULL if the table cannot be read and that is
 * no error.
 *
 * "rebuild": the index is being rebuilt.  Then no lock is waited for, the table
 * is read in a subtransaction, and any error but cancellation is a warning.
 *
 * The table is read as the current user, with a safe search path.  Errors: as
 * rencoder_sample_record_build() says.
 */
extern RencoderSample *rencoder_sample_table_read(Relation index, const char *schema,
												  const char *table, bool rebuild, int *n);

#endif							/* RENCODER_SAMPLE_TABLE_H */
