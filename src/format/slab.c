/*
 * slab.c
 *		Which slab of a column has a range.
 */
#include "format/slab.h"

bool
rencoder_slab_of(Relation index, const RencoderHeaderData *header, unsigned int slot,
				 RencoderSlab *slab, unsigned int *slab_slot)
{
	if (header->matrix.start != RENCODER_NO_BLOCK)
	{
		*slab = rencoder_slab_whole(index, &header->config, header->matrix);
		*slab_slot = slot;
	}
	else
	{
		*slab = rencoder_slab_of_slice(index, header, slot / RENC_SLICE_RANGES);
		*slab_slot = slot % RENC_SLICE_RANGES;
	}
	return slab->extent.start != RENCODER_NO_BLOCK;
}
