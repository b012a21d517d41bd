/*
 * format.c
 *		The formats there are, and what serves all of them.
 */
#include "format/format.h"

#include "miscadmin.h"

#include <math.h>

/* A Bloom filter of the best number of hashes: its false positive rate, per bit of a key. */
#define BLOOM_RATE_PER_BIT	0.6185

/* Pages that probing storage takes of which nothing is known. */
#define USUAL_PROBE_PAGES	2

static const RencoderFormat *const formats[RENCODER_FORMATS] = {
	[RENCODER_FORMAT_FILTER] = &rencoder_format_filter,
	[RENCODER_FORMAT_DICT] = &rencoder_format_dict,
};

const RencoderFormat *
rencoder_format_number(uint8 number)
{
	return number < RENCODER_FORMATS ? formats[number] : NULL;
}

const RencoderFormat *
rencoder_format_of(const RencoderConfig *config)
{
	return rencoder_format_number(config->format);
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

renc_mask
rencoder_format_keys(const RencoderConfig *config, const RencoderCollector *c, int col,
					 renc_mask slots, renc_keys *ranges)
{
	const RencoderFormat *format = rencoder_format_of(config);
	renc_mask	always = renc_mask_none();

	for (int slot = 0; slot < c->nslots; slot++)
	{
		const RencoderRangeSummary *range = &c->column[col].range[slot];

		ranges[slot].key = NULL;
		ranges[slot].n = 0;
		if (!renc_mask_test(slots, slot))
			continue;
		if (!range->keyless && format->fits(config, range->distinct))
			ranges[slot] = rencoder_collect_keys(c, col, slot);
		else
			renc_mask_set(&always, slot);
	}
	return always;
}

uint32
rencoder_format_capacity(const RencoderConfig *config)
{
	const RencoderFormat *format = rencoder_format_of(config);

	return format == NULL ? 0 : format->capacity(config);
}

uint32
rencoder_format_npages(const RencoderConfig *config)
{
	const RencoderFormat *format = rencoder_format_of(config);

	return format == NULL ? 0 : format->npages(config, RENC_MATRIX_WIDTH);
}

RencoderEstimate
rencoder_format_estimate(const RencoderConfig *config, double bits_per_key,
						 const RencoderKeySet *keys)
{
	const RencoderFormat *format = rencoder_format_of(config);
	RencoderEstimate estimate = {pow(BLOOM_RATE_PER_BIT, bits_per_key), USUAL_PROBE_PAGES};

	if (format != NULL)
		format->estimate(config, keys, &estimate);
	return estimate;
}

void
rencoder_format_write(const RencoderSlab *slab, const char *image, bool log)
{
	const RencoderFormat *format = rencoder_format_of(slab->config);

	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_wal_write_fresh(slab->index, slab->extent.start + i,
								 format->page_id(slab->extent.npages, i),
								 image + (Size) i * RENCODER_PAYLOAD_SIZE, log);
	}
}
