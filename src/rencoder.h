/*
 * rencoder.h
 *		Callbacks of the access method that stand above all folders.
 */
#ifndef RENCODER_H
#define RENCODER_H

#include "base/compat.h"

#include "access/amapi.h"

/* insert.c */
extern bool rencoderinsert(Relation index, Datum *values, bool *isnull,
						   ItemPointer heap_tid, Relation heap,
						   IndexUniqueCheck checkUnique, bool indexUnchanged,
						   struct IndexInfo *indexInfo);

/* vacuum.c */
extern IndexBulkDeleteResult *rencoderbulkdelete(IndexVacuumInfo *info,
												 IndexBulkDeleteResult *stats,
												 IndexBulkDeleteCallback callback,
												 void *callback_state);
extern IndexBulkDeleteResult *rencodervacuumcleanup(IndexVacuumInfo *info,
													IndexBulkDeleteResult *stats);

/* validate.c */
extern bool rencodervalidate(Oid opclassoid);

#endif							/* RENCODER_H */
