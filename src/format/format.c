/*
 * format.c
 *		Choosing and finding group formats.
 */
#include "format/format.h"

#include "filter/renc_dict.h"

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

const RencoderFormat *
rencoder_format_require(Relation index, const RencoderConfig *config)
{
	const RencoderFormat *format = rencoder_format_of(config);

	if (format == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has a group of an unknown format %d",
						RelationGetRelationName(index), config->format),
				 errhint("REINDEX INDEX rebuilds the index in a known format.")));
	return format;
}

bool
rencoder_format_fits(const RencoderConfig *config, uint32 distinct)
{
	if (config->format == RENCODER_FORMAT_FILTER)
		return !renc_rule_overfull(distinct, rencoder_filter_config(config)->capacity);

	/* All ranges of a slice must find room below one fence page. */
	return distinct <= renc_dict_max_pages(RENCODER_PAYLOAD_SIZE) *
		(renc_dict_capacity(RENCODER_PAYLOAD_SIZE, RENC_SLICE_WIDTH) / 2) /
		RENC_SLICE_RANGES;
}

uint32
rencoder_format_capacity(const RencoderConfig *config)
{
	return config->format == RENCODER_FORMAT_FILTER ? rencoder_filter_config(config)->capacity : 0;
}
