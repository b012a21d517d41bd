/*
 * composite_trainer.h
 *		Training coders of composite keys.
 */
#ifndef RENCODER_COMPOSITE_TRAINER_H
#define RENCODER_COMPOSITE_TRAINER_H

#include "key/key.h"

typedef struct RencoderCompositeTrainer RencoderCompositeTrainer;

/*
 * Of an index with composite keys, in the current memory context.  coder[] are those of the columns' own keys, or
 * NULL; they must live on.
 */
extern RencoderCompositeTrainer *rencoder_composite_trainer_create(Relation index,
																   const RencoderCoder *const *coder);

/* Adds a value of a column, not null. */
extern void rencoder_composite_trainer_add(RencoderCompositeTrainer *trainer, int col, Datum value);

/* Trains a coder; returns its bytes, palloc'd, and sets *size.  NULL if nothing was added. */
extern void *rencoder_composite_trainer_finish(RencoderCompositeTrainer *trainer, uint32 *size);

/*
 * Would this coder, which rencoder_composite_trainer_finish() returned, serve the values better than an older
 * one, which has the same coders of columns?
 */
extern bool rencoder_composite_trainer_gains(const RencoderCompositeTrainer *trainer, const void *data,
											 const RencoderCoder *older);

#endif							/* RENCODER_COMPOSITE_TRAINER_H */
