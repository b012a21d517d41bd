/*
 * slab.h
 *		A slab: the matrix of one column of a group, for the first ranges of the group or all.
 *
 * Extent and configuration are what header and directory entry say of it.
 */
#ifndef RENCODER_SLAB_H
#define RENCODER_SLAB_H

#include "store/group.h"

typedef struct RencoderSlab
{
	Relation	index;
	const RencoderConfig *config;
	RencoderExtent extent;
} RencoderSlab;

/* *config must live as long as the slab. */
static inline RencoderSlab
rencoder_slab(Relation index, const RencoderConfig *config, RencoderExtent extent)
{
	RencoderSlab slab = {index, config, extent};

	return slab;
}

/* That of a column, whose header, a copy or a locked page, must live as long as the slab. */
static inline RencoderSlab
rencoder_slab_of(Relation index, const RencoderHeaderData *header)
{
	return rencoder_slab(index, &header->config, header->matrix);
}

/* Has it bytes for all ranges of a group in each row? */
static inline bool
rencoder_slab_is_whole(const RencoderSlab *slab)
{
	return slab->config->width == RENC_MATRIX_WIDTH;
}

#endif							/* RENCODER_SLAB_H */
