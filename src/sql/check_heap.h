/*
 * check_heap.h
 *		Are all rows covered by the summaries of their ranges?
 */
#ifndef RENCODER_CHECK_HEAP_H
#define RENCODER_CHECK_HEAP_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Raises ERRCODE_INDEX_CORRUPTED if a row that a new snapshot sees is not
 * covered by the summary of its range.  Evaluates the index's expressions.
 */
extern void rencoder_check_heap(Relation heap, Relation index);

#endif							/* RENCODER_CHECK_HEAP_H */
