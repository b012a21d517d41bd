/*
 * check.h
 *		The two halves of rencoder_index_check().
 */
#ifndef RENCODER_CHECK_H
#define RENCODER_CHECK_H

#include "format.h"

/*
 * Raises ERRCODE_INDEX_CORRUPTED on the first violation of the index's
 * structure.  On a primary takes the maintainer lock, group by group; on a
 * standby holds a group's header locked while its storage is read, so that
 * replay waits.
 */
extern void rencoder_check_structure(Relation index);

/*
 * Raises ERRCODE_INDEX_CORRUPTED if a row that a new snapshot sees is not
 * covered by the summary of its range.  Evaluates the index's expressions.
 */
extern void rencoder_check_heap(Relation heap, Relation index);

#endif							/* RENCODER_CHECK_H */
