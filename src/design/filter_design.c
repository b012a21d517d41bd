/*
 * filter_design.c
 *		Choosing shape and size of the filters of a column of a group.
 *
 * The shape is that of least cost in trials with a sample of queries (filter/renc_shape_search.c);
 * samples and sizes are chosen here.
 */
#include "design/filter_design.h"

#include <math.h>

#include "utils/memutils.h"

#include "key/key.h"
#include "store/sample_pages.h"

#include "filter/renc_window.h"

/*
 * A block of fewer keys is read in less time than the trials take and has too few pages to lose; the
 * rule will do.
 */
#define MIN_TRIED_KEYS		5000

/* Samples that are made, and queries that were put that are asked. */
#define OWN_SAMPLES			128
#define MOST_ASKED			256

/* Fixed: the same table makes the same index. */
#define OWN_SAMPLE_SEED		20220612

/* A window read, in heap pages, both in shared buffers. */
#define WINDOW_COST			0.02

/*
 * Real queries that are enough; with fewer, own values count, too.  With more
 * they do not, as insurance against other queries to come: on random keys and
 * queries close to keys, a weight of 0.0003 already doubles the false positives
 * (2.0e-4, 4.2e-4), 0.01 makes them five times as many, and long intervals still
 * pass every range.  VACUUM adapts to what is asked instead.
 */
#define ENOUGH_QUERIES		200

/* Intervals of boxes.  With fewer the rule is as good. */
#define ENOUGH_BOXES		50

RencoderDesigner *
rencoder_designer_create(Relation index, const RencoderMeta *meta, double table_ranges)
{
	RencoderDesigner *designer = palloc0(sizeof(RencoderDesigner));

	designer->bits_per_key = meta->bits_per_key;
	designer->pages_per_range = meta->pages_per_range;
	designer->table_ranges = table_ranges;
	designer->index = index;
	designer->context = CurrentMemoryContext;
	for (int col = 0; col < rencoder_key_columns(index); col++)
		designer->boxed[col] = rencoder_key_is_boxed(index, col);
	return designer;
}

/* Reads the query samples of a column by this generation of its coder, unless they are here already. */
static void
load_known_queries(RencoderDesigner *designer, int col, uint32 generation)
{
	RencoderKnownQueries *q = &designer->queries[col];
	MemoryContext old;
	RencoderSample *samples;

	if (q->loaded && q->generation == generation)
		return;
	old = MemoryContextSwitchTo(designer->context);
	samples = rencoder_samples_read(designer->index, col, &generation, &q->n);
	q->loaded = true;
	q->generation = generation;
	q->sample = palloc0(Max(q->n, 1) * sizeof(renc_sample));
	for (int i = 0; i < q->n; i++)
		q->sample[i] = (renc_sample)
	{
		samples[i].lo, samples[i].hi, -1, RENC_SAMPLE_ASKED
	};
	pfree(samples);
	MemoryContextSwitchTo(old);
}

/* The keys of a column's ranges, as far as there are any. */
typedef struct ColumnKeys
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	uint32		counts[RENC_GROUP_RANGES];
	size_t		total;
	int			n;
} ColumnKeys;

static void
gather_design_keys(const RencoderRangeKeys *c, int col, ColumnKeys *k)
{
	memset(k, 0, sizeof(*k));
	for (int slot = 0; slot < c->nslots; slot++)
	{
		renc_keys	keys = rencoder_range_keys_get(c, col, slot);

		if (keys.n == 0)
			continue;
		k->ranges[k->n] = keys;
		k->counts[k->n] = (uint32) keys.n;
		k->total += keys.n;
		k->n++;
	}
}

/*
 * The samples for a group: queries; while there are not enough of them, also intervals between the
 * group's own values.
 */
static int
choose_design_samples(RencoderDesigner *designer, int col, const RencoderKnownQueries *q,
					  const ColumnKeys *k, double share)
{
	int			n = Min(q->n, MOST_ASKED);
	renc_sample *own = designer->sample + n;

	for (int i = 0; i < n; i++)
		designer->sample[i] = q->sample[(int64) i * q->n / n];
	if (share >= 1)
		return n;
	return n + renc_own_samples_make(k->ranges, k->n, designer->table_ranges, OWN_SAMPLE_SEED, own,
									 OWN_SAMPLES);
}

/* Prepares trials for a group; false if the rule is to choose. */
static bool
prepare_design_trial(RencoderDesigner *designer, int col, const ColumnKeys *k,
					 const RencoderConfig *config, renc_trial_input *in)
{
	bool		boxed = designer->boxed[col];
	RencoderKnownQueries *q = &designer->queries[col];

	load_known_queries(designer, col, config->coder);
	if (boxed ? q->n < ENOUGH_BOXES :
		!designer->found[col].known && q->n == 0 && k->total < MIN_TRIED_KEYS)
		return false;
	if (designer->sample == NULL)
		designer->sample = MemoryContextAlloc(designer->context,
											  (MOST_ASKED + OWN_SAMPLES) * sizeof(renc_sample));
	memset(in, 0, sizeof(*in));
	in->ranges = k->ranges;
	in->nranges = k->n;
	in->group_ranges = RENC_GROUP_RANGES;
	in->nwindows = config->nwindows;
	in->rows = RENCODER_ROWS;
	in->capacity = config->capacity;
	in->pages_per_range = designer->pages_per_range;
	in->window_cost = WINDOW_COST;
	in->sample = designer->sample;
	in->asked_share = boxed ? 1 : Min(1.0, (double) q->n / ENOUGH_QUERIES);
	in->nsamples = choose_design_samples(designer, col, q, k, in->asked_share);
	in->max_kw = q->n > 0 ? RENC_SEARCH_ASKED_KW : RENC_SEARCH_KW;
	if (designer->trial == NULL)
		designer->trial = MemoryContextAlloc(designer->context, renc_trial_size());
	return true;
}

/* Size of filters; config->coder is kept. */
static void
design_size(const RencoderDesigner *designer, ColumnKeys *k, RencoderConfig *config)
{
	double		capacity = renc_rule_capacity(k->counts, k->n);

	memset(config->shape, 0, sizeof(config->shape));
	config->nwindows = renc_window_count_for_keys(capacity, designer->bits_per_key, RENCODER_ROWS);
	config->capacity = (uint32) Min(capacity, PG_UINT32_MAX);
}

/* Do two shapes differ by no more than those of two groups with the same kind of keys do? */
static bool
designs_are_alike(const renc_shape *a, const renc_shape *b)
{
	if (a->nstages != b->nstages)
		return false;
	for (int s = 0; s < a->nstages; s++)
	{
		if (abs(a->stage[s].root - b->stage[s].root) > 1 ||
			abs(renc_stage_deepest(&a->stage[s]) - renc_stage_deepest(&b->stage[s])) > 1)
			return false;
	}
	return true;
}

void
rencoder_design_column(RencoderDesigner *designer, const RencoderRangeKeys *c, int col,
					   RencoderConfig *config)
{
	RencoderFound *found = &designer->found[col];
	ColumnKeys	k;
	renc_shape	rule;
	renc_trial_input in;
	renc_choice choice;

	gather_design_keys(c, col, &k);
	design_size(designer, &k, config);
	renc_rule_shape(k.ranges, k.n, designer->bits_per_key, designer->boxed[col], &rule);
	if (!found->known || !designs_are_alike(&rule, &found->rule))
	{
		if (!prepare_design_trial(designer, col, &k, config, &in) ||
			!renc_shape_search(designer->trial, &in, &rule, found->known ? &found->shape : NULL,
							   !found->known, &choice))
		{
			renc_shape_pack(&rule, config->shape);
			return;
		}
		found->known = true;
		found->rule = rule;
		found->shape = choice.shape;
	}
	renc_shape_pack(&found->shape, config->shape);
}
