/*
 * named_rows.h
 *		CREATE INDEX CONCURRENTLY: which rows its second phase need not insert.
 */
#ifndef RENCODER_NAMED_ROWS_H
#define RENCODER_NAMED_ROWS_H

#include "rencoder.h"

#include "access/genam.h"

/*
 * Calls "callback" for the places of rows that the base runs of an index that is not valid yet
 * have already, and for unused ones, as ambulkdelete does for all of its entries: the second
 * phase inserts the others.  The caller is that phase: the index is open for inserts, and nobody
 * is left who has inserted rows before it was.  Takes maintenance_work_mem, and 16 bytes for each
 * group.  Locks: no content lock on entry and exit.
 */
extern void rencoder_named_rows_report(Relation index, Relation heap,
									   IndexBulkDeleteCallback callback, void *callback_state);

#endif							/* RENCODER_NAMED_ROWS_H */
