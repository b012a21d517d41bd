/*
 * filter_config.h
 *		What the filter format keeps in a configuration, on disk.
 *
 *		 0              16         20
 *		 | packed shape | nwindows | capacity |
 */
#ifndef RENCODER_FILTER_CONFIG_H
#define RENCODER_FILTER_CONFIG_H

#include "filter/renc_shape.h"
#include "store/entry.h"

typedef struct RencoderFilterConfig
{
	uint8		shape[RENC_SHAPE_PACKED_SIZE];
	uint32		nwindows;		/* of a matrix and of each slice */
	uint32		capacity;		/* distinct keys a range that they are made
								 * for */
} RencoderFilterConfig;

StaticAssertDecl(sizeof(RencoderFilterConfig) == RENCODER_CONFIG_WORDS * sizeof(uint64),
				 "RencoderFilterConfig is on disk");

/* The filter's part of a configuration. */
static inline const RencoderFilterConfig *
rencoder_filter_config(const RencoderConfig *config)
{
	return (const RencoderFilterConfig *) config->own;
}

#endif							/* RENCODER_FILTER_CONFIG_H */
