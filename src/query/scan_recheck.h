/*
 * scan_recheck.h
 *		How rows are compared with lists of values.
 */
#ifndef RENCODER_SCAN_RECHECK_H
#define RENCODER_SCAN_RECHECK_H

#include "base/compat.h"

#include "nodes/execnodes.h"

/*
 * Has the recheck of a scan that is about to begin, a bitmap heap scan or an index scan, look lists
 * up in hash tables, where it is certain that they stay as they are.  Evaluates no expression, and
 * raises no error.
 */
extern void rencoder_scan_recheck(PlanState *node);

#endif							/* RENCODER_SCAN_RECHECK_H */
