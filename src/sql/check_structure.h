/*
 * check_structure.h
 *		Is the structure of an index sound?
 */
#ifndef RENCODER_CHECK_STRUCTURE_H
#define RENCODER_CHECK_STRUCTURE_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Raises ERRCODE_INDEX_CORRUPTED on the first violation of the index's
 * structure.  On a primary takes the maintainer lock, group by group; on a
 * standby holds a group's header locked while its storage is read, so that
 * replay waits.
 */
extern void rencoder_check_structure(Relation index);

#endif							/* RENCODER_CHECK_STRUCTURE_H */
