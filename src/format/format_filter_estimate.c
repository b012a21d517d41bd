/*
 * format_filter_estimate.c
 *		Filters: what the planner may expect of a shape.
 */
#include "format/format_filter_work.h"

#include <math.h>

/* A Bloom filter of the best number of hashes: its false positive rate, per bit of a key. */
#define BLOOM_RATE_PER_BIT	0.6185

/* Pages that probing storage takes of which nothing is known. */
#define USUAL_PROBE_PAGES	2

/* Nodes of a level that a query touches. */
static double
estimate_level_nodes(const RencoderKeySet *keys, int level)
{
	const renc_interval_set *set = &keys->set;
	double		nodes = 0;

	for (size_t i = 0; i < set->n; i++)
	{
		uint64		lo = level == 0 ? 0 : set->interval[i].lo >> (RENC_KEY_BITS - level);
		uint64		hi = level == 0 ? 0 : set->interval[i].hi >> (RENC_KEY_BITS - level);

		nodes += (double) (hi - lo) + 1;
	}
	for (size_t i = 0; i < keys->boxes.n; i++)
		nodes += renc_box_count_nodes(&keys->boxes.box[i], level);
	return nodes;
}

/*
 * Expected number of nodes that pass all tests from the root down, when every
 * second bit of a filter is set.  A node passes kw * kr tests; below a node
 * that passed stand as many as the query has there on average.  The descent
 * ends where the query has more nodes than a probe program would test.
 *
 * This is an upper bound for the probability that any passes, and neglects
 * keys beside the query in its deepest nodes; the shape rule makes those rare.
 */
static double
estimate_shape_fpr(const renc_shape *shape, const RencoderKeySet *keys)
{
	double		nodes = estimate_level_nodes(keys, shape->stage[0].root);
	double		passing = nodes;

	if (nodes > RENC_MAX_TREES)
		return 1;
	for (int i = 0; i < shape->nstages; i++)
	{
		const renc_stage *stage = &shape->stage[i];
		uint8_t		levels[RENC_KEY_BITS];
		int			nlevels = renc_stage_levels(stage, levels);

		for (int j = 0; j < nlevels; j++)
		{
			double		below = estimate_level_nodes(keys, levels[j]);

			if (below > RENC_MAX_NODES)
				return Min(passing, 1);
			passing *= below / nodes * pow(0.5, stage->kw * stage->kr);
			nodes = below;
		}
	}
	return Min(passing, 1);
}

RencoderEstimate
rencoder_filter_estimate(const RencoderConfig *config, double bits_per_key,
						 const RencoderKeySet *keys)
{
	RencoderEstimate estimate = {pow(BLOOM_RATE_PER_BIT, bits_per_key), USUAL_PROBE_PAGES};
	renc_shape	shape;

	if (!rencoder_is_configured(config) || !renc_shape_unpack(config->shape, &shape, NULL))
		return estimate;
	estimate.pages = shape.stage[0].kw;
	if (keys != NULL)
	{
		estimate.fpr = estimate_shape_fpr(&shape, keys);
		estimate.pages *= Min(estimate_level_nodes(keys, shape.stage[0].root), RENC_MAX_TREES);
	}
	estimate.pages = Min(estimate.pages, config->nwindows);
	return estimate;
}
