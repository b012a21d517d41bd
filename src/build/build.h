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

#endif							/* RENCODER_BUILD_H */
