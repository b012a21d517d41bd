/*
 * renc_run_samples.h
 *		What known queries say about the width of cells.
 *
 * Used by the run core only.
 */
#ifndef RENC_RUN_SAMPLES_H
#define RENC_RUN_SAMPLES_H

#include "renc_run_plan.h"

/*
 * n pairs have become a block with cells of that width; "more": pair n is the next one,
 * else there is none.  "rule": false pages by the rule.
 */
extern void renc_run_samples_block(renc_run_samples *samples, const renc_run_pair *pair, uint32_t n,
								   bool more, int width, double rule);

/*
 * How many times as many false pages as the rule counts do the queries count, where "aim"
 * is what the rule aims at?  1 if there are none.
 */
extern double renc_run_samples_ratio(const renc_run_samples *samples, double aim);

#endif							/* RENC_RUN_SAMPLES_H */
