/*
 * format.c
 *		Choosing and finding group formats.
 */
#include "format.h"

#include "renc_dict.h"

const RencoderFormat *
rencoder_format_of(const RencoderConfig *config)
{
	switch (config->format)
	{
		case RENCODER_FORMAT_FILTER:
			return &rencoder_format_filter;
		case RENCODER_FORMAT_DICT:
			return &rencoder_format_dict;
	}
	return NULL;
}

bool
rencoder_format_fits(const RencoderConfig *config, uint32 distinct)
{
	if (config->format == RENCODER_FORMAT_FILTER)
		return !renc_rule_overfull(distinct, config->capacity);

	/* All ranges of a slice must find room below one fence page. */
	return distinct <= renc_dict_max_pages(RENCODER_PAYLOAD_SIZE) *
		(renc_dict_capacity(RENCODER_PAYLOAD_SIZE, RENC_SLICE_WIDTH) / 2) /
		RENC_SLICE_RANGES;
}
