/*
 * filter_design.c
 *		Choosing shape and size of the filters of a column of a group.
 *
 * The shape is that of least cost in trials with a sample of queries (filter/renc_shape_search.c);
 * samples, sizes, and how much work the search may do, are chosen here.
 */
#include "design/filter_design.h"

#include <math.h>

#include "utils/memutils.h"

#include "key/key.h"
#include "store/sample_pages.h"

#include "filter/renc_window.h"
#include "filter/renc_zorder.h"

/*
 * A group of fewer keys is summarized in less time than a few trials take and has too few
 * pages to lose; the rule will do.  For boxes it will not: it lets a hundred times as much
 * through as need be.
 */
#define MIN_TRIED_KEYS		20000
#define MIN_BOXED_KEYS		5000

/*
 * Work of a search, in keys set in a filter (50 ns), for each key of the table or, later, of the
 * group: reading and building take ten times as much.  A trial takes some thousand.
 */
#define WORK_A_KEY			0.2
#define LEAST_WORK			120000.0
#define LEAST_BOXED_WORK	300000.0
#define MOST_WORK			1e6

/* For queries that were put: an index is made for these, however small the table. */
#define ASKED_WORK			4e6

/* Samples that are made; to compare boxes with keys takes longer. */
#define FEW_BOXES			128
#define MANY_SAMPLES		256
#define MANY_SAMPLES_WORK	1e6

/* Of queries that were put so many are asked. */
#define MOST_ASKED			600

/* Tables grow: what is matched counts as in a table of so many ranges at least. */
#define LEAST_RANGES		1024.0

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

/* Of boxes: how large they are is the least that own points can tell. */
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
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
		designer->boxed[col] = rencoder_key_is_boxed(index, col);
	return designer;
}

/* Are the keys of a column of the collector in Z-order? */
static bool
design_is_boxed(const RencoderDesigner *designer, int col)
{
	return designer->boxed[designer->first_column + col];
}

/* The known queries of a column, read if they are not here already. */
static RencoderKnownQueries *
load_design_queries(RencoderDesigner *designer, int col, uint32 generation)
{
	rencoder_known_queries_load(&designer->queries[col], designer->index,
								designer->first_column + col, design_is_boxed(designer, col),
								generation, designer->context);
	return &designer->queries[col];
}

/*
 * There must be something to make a shape for.  Of a column without any key so many that are
 * close to one another stand for those to come: their shape tells all values apart.
 */
#define KEYS_OF_NONE	64

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
	static uint64 near[KEYS_OF_NONE];

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
	if (k->n == 0)
	{
		for (int i = 0; i < KEYS_OF_NONE; i++)
			near[i] = i;
		k->ranges[0].key = near;
		k->ranges[0].n = KEYS_OF_NONE;
		k->counts[0] = 1;
		k->n = 1;
	}
}

/* The part of the weight of all samples that real queries have. */
static double
design_share_of_real(const RencoderDesigner *designer, int col, const RencoderKnownQueries *q)
{
	return Min(1.0, (double) q->nreal /
			   (design_is_boxed(designer, col) ? ENOUGH_BOXES : ENOUGH_QUERIES));
}

/*
 * The samples for a group: real queries; while there are not enough of them, also
 * default ones, or intervals between the group's own values, or boxes around them.
 */
static int
choose_design_samples(RencoderDesigner *designer, int col, const RencoderKnownQueries *q,
					  const ColumnKeys *k, double share, int own)
{
	int			n = Min(q->nreal, MOST_ASKED);

	for (int i = 0; i < n; i++)
		designer->sample[i] = q->sample[(int64) i * q->nreal / n];
	if (share >= 1)
		return n;
	if (q->n > q->nreal)
	{
		own = Min(own, q->n - q->nreal);
		memcpy(designer->sample + n, q->sample + q->nreal, own * sizeof(renc_sample));
		return n + own;
	}
	if (design_is_boxed(designer, col))
		return n + renc_own_samples_make_boxes(k->ranges, k->n, designer->table_ranges, OWN_SAMPLE_SEED,
											   designer->box, designer->sample + n, own);
	return n + renc_own_samples_make(k->ranges, k->n, designer->table_ranges, OWN_SAMPLE_SEED,
									 designer->sample + n, own);
}

/* The shape by rule. */
static void
design_by_rule(const RencoderDesigner *designer, int col, const ColumnKeys *k,
			   renc_shape *shape)
{
	if (design_is_boxed(designer, col))
		renc_rule_shape_areal(k->ranges, k->n, designer->bits_per_key, shape);
	else
		renc_rule_shape(k->ranges, k->n, designer->bits_per_key, shape);
}

/* Memory for a trial and for samples. */
static void
make_room_for_design(RencoderDesigner *designer, const renc_trial_input *in)
{
	MemoryContext old = MemoryContextSwitchTo(designer->context);
	Size		size = renc_trial_size(in);

	if (designer->trial_size < size)
	{
		if (designer->trial != NULL)
			pfree(designer->trial);
		designer->trial = MemoryContextAllocHuge(designer->context, size);
		designer->trial_size = size;
	}
	MemoryContextSwitchTo(old);
}

/* What work a search may take; 0: the rule is to choose.  "first": there is no shape yet. */
static double
allowed_design_work(const RencoderDesigner *designer, int col, const ColumnKeys *k, bool first,
					const RencoderKnownQueries *q)
{
	double		keys = first ? (double) k->total / k->n * designer->table_ranges : k->total;
	double		work = Min(WORK_A_KEY * Max(keys, k->total), MOST_WORK);

	if (!first)
		return Max(work, 1);
	if (q->nreal > 0)
		return ASKED_WORK;
	if (q->n > 0)
		return MANY_SAMPLES_WORK;
	if (k->total < (design_is_boxed(designer, col) ? MIN_BOXED_KEYS : MIN_TRIED_KEYS))
		return 0;
	return Max(work, design_is_boxed(designer, col) ? LEAST_BOXED_WORK : LEAST_WORK);
}

/* Prepares trials for a group; returns what work they may take, 0 if the rule is to choose. */
static double
prepare_design_trial(RencoderDesigner *designer, int col, const ColumnKeys *k,
					 const RencoderConfig *config, bool first, renc_trial_input *in)
{
	RencoderKnownQueries *q;
	double		share;
	double		work;

	if (k->total == 0)
		return 0;
	q = load_design_queries(designer, col, config->coder);
	share = design_share_of_real(designer, col, q);
	work = allowed_design_work(designer, col, k, first, q);
	if (work == 0)
		return 0;
	if (designer->sample == NULL)
	{
		designer->sample = MemoryContextAlloc(designer->context,
											  (MOST_ASKED + MANY_SAMPLES + RENCODER_SAMPLES_MAX) * sizeof(renc_sample));
		designer->box = MemoryContextAlloc(designer->context, MANY_SAMPLES * sizeof(renc_own_box));
	}
	memset(in, 0, sizeof(*in));
	in->ranges = k->ranges;
	in->nranges = k->n;
	in->group_ranges = RENC_GROUP_RANGES;
	in->nwindows = config->nwindows;
	in->rows = RENCODER_ROWS;
	in->capacity = config->capacity;
	in->table_ranges = Max(designer->table_ranges, LEAST_RANGES);
	in->pages_per_range = designer->pages_per_range;
	in->window_cost = WINDOW_COST;
	in->sample = designer->sample;
	in->areal = design_is_boxed(designer, col);
	in->nsamples = choose_design_samples(designer, col, q, k, share,
										 in->areal && work < MANY_SAMPLES_WORK ? FEW_BOXES :
										 MANY_SAMPLES);
	in->asked_share = share;
	in->max_kw = share > 0 ? RENC_SEARCH_ASKED_KW : RENC_SEARCH_KW;
	make_room_for_design(designer, in);
	return work;
}

/* Size of filters; config->coder is kept. */
static void
design_size(const RencoderDesigner *designer, ColumnKeys *k, double min_capacity,
			RencoderConfig *config)
{
	double		capacity = Max(renc_rule_capacity(k->counts, k->n), min_capacity);

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

double
rencoder_design_column(RencoderDesigner *designer, const RencoderRangeKeys *c, int col,
					   double min_capacity, RencoderConfig *config)
{
	RencoderFound *found = &designer->found[col];
	ColumnKeys	k;
	renc_shape	rule;
	renc_trial_input in;
	renc_choice choice;
	double		work;

	gather_design_keys(c, col, &k);
	design_size(designer, &k, min_capacity, config);
	design_by_rule(designer, col, &k, &rule);
	if (!found->known || !found->tried || !designs_are_alike(&rule, &found->rule))
	{
		work = prepare_design_trial(designer, col, &k, config, !found->known, &in);
		if (work == 0 || !renc_shape_search(designer->trial, &in, &rule,
											found->known ? &found->shape : NULL, work, &choice))
		{
			renc_shape_pack(&rule, config->shape);
			return -1;
		}
		found->known = found->tried = true;
		found->rule = rule;
		found->shape = choice.shape;
		found->fpr = choice.best.fpr;
		designer->searches++;
	}
	renc_shape_pack(&found->shape, config->shape);
	return found->fpr;
}
