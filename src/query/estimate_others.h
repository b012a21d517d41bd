/*
 * estimate_others.h
 *		What a btree or a BRIN index on a column would take, told from a sample of the table.
 */
#ifndef RENCODER_ESTIMATE_OTHERS_H
#define RENCODER_ESTIMATE_OTHERS_H

#include "query/estimate_table.h"

/* Right after CREATE INDEX without options.  Not possible: the type has no order. */
extern void rencoder_estimate_btree(const RencoderTableSample *sample,
									const RencoderTableEstimate *table,
									RencoderMethodEstimate *estimate);

/* The same of BRIN, minmax. */
extern void rencoder_estimate_brin(const RencoderTableSample *sample,
								   const RencoderTableEstimate *table, const RencoderKeySet *keys,
								   RencoderMethodEstimate *estimate);

#endif							/* RENCODER_ESTIMATE_OTHERS_H */
