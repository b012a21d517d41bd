/*
 * coder_trainer.h
 *		Samples of a column's values, and training coders on them.
 */
#ifndef RENCODER_CODER_TRAINER_H
#define RENCODER_CODER_TRAINER_H

#include "filter/renc_strings.h"
#include "key/coder.h"

typedef struct RencoderTrainer RencoderTrainer;

/*
 * Lives in the current memory context; samples are bounded.  "growing": the sample is
 * not of all that will come, so room is left around it, where that costs little.
 */
extern RencoderTrainer *rencoder_trainer_create(bool growing);

/*
 * Adds a value, for the support functions of operator classes.  All values of
 * a column are of one kind.
 */
extern void rencoder_trainer_add_string(RencoderTrainer *trainer, renc_string s);
extern void rencoder_trainer_add_point(RencoderTrainer *trainer, double x, double y);

/*
 * Trains a coder; returns its bytes (palloc'd) and sets *kind and *size.
 * NULL if nothing was added.
 */
extern void *rencoder_trainer_finish(RencoderTrainer *trainer, uint16 *kind,
									 uint32 *size);

/*
 * Would this coder, which rencoder_trainer_finish() returned, tell the values
 * of the sample better apart than an older one of the column?
 */
extern bool rencoder_trainer_gains(const RencoderTrainer *trainer, const void *data,
								   const RencoderCoder *older);

#endif							/* RENCODER_CODER_TRAINER_H */
