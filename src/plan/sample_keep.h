/*
 * sample_keep.h
 *		Query samples that outlive the index that recorded them.
 */
#ifndef RENCODER_SAMPLE_KEEP_H
#define RENCODER_SAMPLE_KEEP_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * In a build, stores the samples of the storage that is being replaced, or, if
 * the index is a new one, those that other indexes of the table have for
 * the same columns.  Only columns without coders: the keys of others depend on
 * the coder, which is trained anew.  "keep_table": also samples that came from
 * a table.
 *
 * Locks: AccessShareLock on other indexes, if obtained at once, released.
 */
extern void rencoder_sample_keep(Relation heap, Relation index, bool keep_table);

/*
 * Does the build rebuild an index that is there?  So does REINDEX CONCURRENTLY,
 * which is told by a valid index of the same definition and options.  Locks: as
 * above.
 */
extern bool rencoder_sample_keep_rebuilds(Relation heap, Relation index);

#endif							/* RENCODER_SAMPLE_KEEP_H */
