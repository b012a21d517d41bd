/*
 * format_dict_offer.c
 *		Dictionaries: how large would one be?
 */
#include "format/format_dict_work.h"

#include <math.h>

#include "filter/renc_dict.h"
#include "filter/renc_hash.h"

/* One in so many keys is counted to tell whether a dictionary may be smaller. */
#define HASHED_KEYS			8

/*
 * Distinct keys of an eighth of a group's ranges, which all of them have at
 * least: where hardly a key comes twice, that is too many for a dictionary
 * already, and sorting the keys of all ranges is spared.  Only the keys that a
 * hash picks are counted, and what they stand for is lessened by three standard
 * deviations.
 */
static size_t
distinct_of_some(const renc_keys *ranges)
{
	renc_keys	some[RENC_GROUP_SLICES];
	uint64	   *keys;
	renc_mask  *masks;
	double		n;

	for (int i = 0; i < RENC_GROUP_SLICES; i++)
	{
		const renc_keys *range = &ranges[i * RENC_SLICE_RANGES];
		uint64	   *picked = palloc(Max(range->n, 1) * sizeof(uint64));

		some[i].key = picked;
		some[i].n = 0;
		for (size_t k = 0; k < range->n; k++)
			if (renc_hash_node(range->key[k], RENC_KEY_BITS).a % HASHED_KEYS == 0)
				picked[some[i].n++] = range->key[k];
	}
	n = (double) rencoder_collect_distinct(some, RENC_GROUP_SLICES, &keys, &masks);
	pfree(keys);
	pfree(masks);
	for (int i = 0; i < RENC_GROUP_SLICES; i++)
		pfree((void *) some[i].key);
	return (size_t) Max(1, HASHED_KEYS * (n - 3 * sqrt(n)));
}

/* Distinct keys of the slabs, exactly; false if a slab has too many for the format. */
static bool
count_distinct(const renc_keys *ranges, int nslots, int width, size_t *distinct)
{
	int			slab_ranges = RENC_SLICE_RANGES * width;

	*distinct = 0;
	for (int first = 0; first < nslots; first += slab_ranges)
	{
		uint64	   *keys;
		renc_mask  *masks;
		size_t		n;

		n = rencoder_collect_distinct(ranges + first, Min(slab_ranges, nslots - first),
									  &keys, &masks);
		pfree(keys);
		pfree(masks);
		if (renc_dict_npages(n, RENCODER_PAYLOAD_SIZE, width) == 0)
			return false;
		*distinct += n;
	}
	return true;
}

/* No range has more distinct keys than its slab: the least there can be of all slabs. */
static size_t
least_distinct(const RencoderCollector *c, int col, int width)
{
	int			slab_ranges = RENC_SLICE_RANGES * width;
	size_t		distinct = 0;

	for (int first = 0; first < c->nslots; first += slab_ranges)
	{
		uint32		most = 0;

		for (int slot = first; slot < Min(first + slab_ranges, c->nslots); slot++)
			most = Max(most, c->column[col].range[slot].distinct);
		distinct += most;
	}
	return distinct;
}

/* Ways to say no come before the one that sorts all keys. */
bool
rencoder_dict_offer(const RencoderCollector *c, int col, int width, double bits_per_key,
					double limit, RencoderOffer *offer)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	size_t		distinct;

	offer->fpr = 0;
	offer->bits = 0;

	/*
	 * Without keys (all null, or deleted) there is nothing to learn from; a
	 * dictionary takes whatever comes.
	 */
	if (c->column[col].nkeys == 0)
		return true;
	if (renc_rule_dict_bits(least_distinct(c, col, width), c->nslots, width) > limit)
		return false;
	for (int slot = 0; slot < c->nslots; slot++)
		ranges[slot] = rencoder_collect_keys(c, col, slot);
	if (width == RENC_MATRIX_WIDTH && c->nslots == RENC_GROUP_RANGES &&
		renc_rule_dict_bits(distinct_of_some(ranges), c->nslots, width) > limit)
		return false;
	if (!count_distinct(ranges, c->nslots, width, &distinct))
		return false;
	offer->bits = renc_rule_dict_bits(distinct, c->nslots, width);
	return offer->bits <= limit;
}
