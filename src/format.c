/*
 * format.c
 *		Choosing and finding group formats.
 */
#include "format.h"

#include "renc_dict.h"
#include "renc_window.h"

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

/*
 * Would exact dictionaries of the collected keys, one for each slab, be
 * smaller than filters?
 */
static bool
dict_is_smaller(const RencoderCollector *c, int col, int width,
				uint32 bits_per_key)
{
	const RencoderCollectedColumn *column = &c->column[col];
	int			slab_ranges = width * 8;
	size_t		distinct = 0;
	renc_keys	ranges[RENC_GROUP_RANGES];

	/* No range has more distinct keys than its slab: a cheap way to say no. */
	for (int first = 0; first < c->nslots; first += slab_ranges)
	{
		uint32		most = 0;

		for (int slot = first; slot < Min(first + slab_ranges, c->nslots); slot++)
			most = Max(most, column->range[slot].distinct);
		distinct += most;
	}
	if (!renc_rule_use_dict(distinct, column->nkeys, c->nslots, width, bits_per_key))
		return false;

	for (int slot = 0; slot < c->nslots; slot++)
		ranges[slot] = rencoder_collect_keys(c, col, slot);
	distinct = 0;
	for (int first = 0; first < c->nslots; first += slab_ranges)
	{
		uint64	   *keys;
		renc_mask  *masks;
		size_t		n;

		n = rencoder_collect_distinct(ranges + first,
									  Min(slab_ranges, c->nslots - first),
									  &keys, &masks);
		pfree(keys);
		pfree(masks);
		if (renc_dict_npages(n, RENCODER_PAYLOAD_SIZE, width) == 0)
			return false;
		distinct += n;
	}
	return renc_rule_use_dict(distinct, column->nkeys, c->nslots, width,
							  bits_per_key);
}

void
rencoder_format_plan(const RencoderCollector *c, int col, int width,
					 uint32 bits_per_key, double min_capacity,
					 bool allow_dict, RencoderConfig *config)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	uint32		counts[RENC_GROUP_RANGES];
	renc_shape	shape;
	double		capacity;
	size_t		total = 0;
	int			n = 0;
	uint32		coder = config->coder;

	memset(config, 0, sizeof(*config));
	config->coder = coder;
	for (int slot = 0; slot < c->nslots; slot++)
	{
		renc_keys	keys = rencoder_collect_keys(c, col, slot);

		if (keys.n == 0)
			continue;
		ranges[n] = keys;
		counts[n] = (uint32) keys.n;
		total += keys.n;
		n++;
	}

	/*
	 * Without keys (all null, or deleted) there is nothing to learn from;
	 * a dictionary takes whatever comes.
	 */
	if (allow_dict &&
		(total == 0 || dict_is_smaller(c, col, width, bits_per_key)))
	{
		config->format = RENCODER_FORMAT_DICT;
		return;
	}

	if (total == 0)
	{
		static const uint64 zero = 0;

		ranges[0].key = &zero;
		ranges[0].n = 1;
		counts[0] = 1;
		n = 1;
	}
	renc_rule_shape(ranges, n, bits_per_key, &shape);
	capacity = renc_rule_capacity(counts, n);
	if (capacity < min_capacity)
		capacity = min_capacity;

	config->format = RENCODER_FORMAT_FILTER;
	renc_shape_pack(&shape, config->shape);
	config->nwindows = renc_windows_for(capacity, bits_per_key, RENCODER_ROWS);
	config->capacity = (uint32) Min(capacity, PG_UINT32_MAX);
}
