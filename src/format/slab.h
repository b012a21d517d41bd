/*
 * slab.h
 *		A slab: the storage of some ranges of one column of a group.
 *
 * Either all 128 ranges (matrix, width 16) or the 8 of a slice (width 1).  The
 * extent and the configuration are what header and directory entry say of it.
 */
#ifndef RENCODER_SLAB_H
#define RENCODER_SLAB_H

#include "store/group.h"

typedef struct RencoderSlab
{
	Relation	index;
	const RencoderConfig *config;
	RencoderExtent extent;
	int			width;			/* RENC_SLICE_WIDTH or RENC_MATRIX_WIDTH */

	/*
	 * Under construction: pages may not have been written yet.  An insert
	 * skips those; the maintainer copies its bits from the slices.
	 */
	bool		unfinished;
} RencoderSlab;

/* *config must live as long as the slab. */
static inline RencoderSlab
rencoder_slab(Relation index, const RencoderConfig *config, RencoderExtent extent, int width)
{
	RencoderSlab slab;

	slab.index = index;
	slab.config = config;
	slab.extent = extent;
	slab.width = width;
	slab.unfinished = false;
	return slab;
}

/* That of all ranges, and that of a slice. */
static inline RencoderSlab
rencoder_slab_whole(Relation index, const RencoderConfig *config, RencoderExtent extent)
{
	return rencoder_slab(index, config, extent, RENC_MATRIX_WIDTH);
}

static inline RencoderSlab
rencoder_slab_part(Relation index, const RencoderConfig *config, RencoderExtent extent)
{
	return rencoder_slab(index, config, extent, RENC_SLICE_WIDTH);
}

static inline bool
rencoder_slab_is_whole(const RencoderSlab *slab)
{
	return slab->width == RENC_MATRIX_WIDTH;
}

/* Block ranges of a slab. */
static inline int
rencoder_slab_ranges(const RencoderSlab *slab)
{
	return RENC_SLICE_RANGES * slab->width;
}

/* The slab of a range's slice, in a column that has slices. */
static inline RencoderSlab
rencoder_slab_of_slice(Relation index, const RencoderHeaderData *header, int slice)
{
	return rencoder_slab_part(index, &header->config, header->slice[slice]);
}

/*
 * The slab that has a range of the group ("slot"), and which of the slab's ranges it is;
 * false if the column has no storage for the range.  The header, a copy or a locked
 * page, must live as long as the slab.
 */
extern bool rencoder_slab_of(Relation index, const RencoderHeaderData *header,
							 unsigned int slot, RencoderSlab *slab,
							 unsigned int *slab_slot);

#endif							/* RENCODER_SLAB_H */
