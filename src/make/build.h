/*
 * build.h
 *		Building an index: CREATE INDEX and REINDEX.
 */
#ifndef RENCODER_BUILD_H
#define RENCODER_BUILD_H

#include "base/compat.h"

#include "access/amapi.h"

/* Callbacks of the access method. */
extern IndexBuildResult *rencoderbuild(Relation heap, Relation index,
									   struct IndexInfo *indexInfo);
extern void rencoderbuildempty(Relation index);

/*
 * What pg_stat_progress_create_index calls a phase of RencoderBuildPhase; NULL: there is none of
 * that number.
 */
extern char *rencoderbuildphasename(int64 phase);

#endif							/* RENCODER_BUILD_H */
