/*
 * remote_rows.h
 *		Rows of a table that are not in it, but on other servers, or in shards.
 *
 * A function works on the index that it is given.  These say when the caller may have
 * meant more.
 */
#ifndef RENCODER_REMOTE_ROWS_H
#define RENCODER_REMOTE_ROWS_H

#include "base/compat.h"

#include "utils/rel.h"

/* How many partitions of a table, at any depth, are foreign tables?  Takes no locks. */
extern int	rencoder_remote_rows_foreign_partitions(Oid heapoid);

/* A NOTICE if Citus has distributed the table: the index is not that of its rows. */
extern void rencoder_remote_rows_note_shards(Relation heap, Relation index);

#endif							/* RENCODER_REMOTE_ROWS_H */
