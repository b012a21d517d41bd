/*
 * scan_recheck.h
 *		How rows are compared with lists of values.
 */
#ifndef RENCODER_SCAN_RECHECK_H
#define RENCODER_SCAN_RECHECK_H

#include "base/compat.h"

/*
 * When the library is loaded: from then on the recheck of a scan of ours looks lists up in hash
 * tables, where it is certain that they stay as they are.  Evaluates no expression, and raises no
 * error.
 */
extern void rencoder_scan_recheck_init(void);

#endif							/* RENCODER_SCAN_RECHECK_H */
