/*
 * desummarize.h
 *		Taking the summary of a block range away.
 */
#ifndef RENCODER_DESUMMARIZE_H
#define RENCODER_DESUMMARIZE_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Takes the summary of a range away; false if it had none.  Takes the
 * maintainer lock.
 */
extern bool rencoder_desummarize(Relation index, uint64 range);

#endif							/* RENCODER_DESUMMARIZE_H */
