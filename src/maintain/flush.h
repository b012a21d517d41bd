/*
 * flush.h
 *		Making a base run of groups of an index in use.
 */
#ifndef RENCODER_FLUSH_H
#define RENCODER_FLUSH_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Reads the rows of neighbouring groups and puts their keys into a new base run, which the
 * groups name from then on; their matrices are freed.  Keys are made by the newest coders.
 * Inserts and scans go on meanwhile.  Of these are all summarized ranges, and all before "nranges",
 * which are summarized then; *nsummarized rises by the number of those that were not before.
 *
 * "cut" is what rencoder_pending_close() returned before: rows whose keys are on pending pages up
 * to it are in the table by now.  False if there is no room in the list of runs, or, with
 * "gives_way", if somebody asks for a lock on the table, but to read or write.  What was begun is
 * to be cleaned up then (run_groups.h), also after an error.
 *
 * The caller has the maintainer lock, at least RowExclusiveLock on the heap, and no content lock.
 * Memory: maintenance_work_mem.  WAL: header pages of new groups, and their entries; headers and
 * entry (flushing) of each group; directory and header where bounds widen; of the run
 * (run_pages.h); metapage and list; then for each group metapage, directory, header and free list
 * for each column, and directory and header.
 */
extern bool rencoder_flush(Relation index, Relation heap, uint32 first, uint32 ngroups,
						   uint64 nranges, uint64 cut, bool gives_way, uint64 *nsummarized);

#endif							/* RENCODER_FLUSH_H */
