/*
 * design.c
 *		Choosing shape and size of the filters of a column of a group.
 */
#include "plan/design.h"

#include <math.h>

#include "utils/memutils.h"

#include "key/key.h"
#include "store/sample_pages.h"

#include "filter/renc_window.h"
#include "filter/renc_zorder.h"

/*
 * A search takes some hundredths of a second at least.  A group of fewer keys is
 * summarized in less and has too few pages to lose; the rule will do.
 */
#define MIN_SEARCHED_KEYS	20000

/* For boxes it will not: it lets a hundred times as much through as need be. */
#define MIN_BOXED_KEYS		5000

/* Fixed: the same table makes the same index. */
#define OWN_SAMPLE_SEED		20220612

/* Tables grow: what is matched counts as in a table of so many ranges at least. */
#define LEAST_RANGES		1024.0

/* Whole strings are looked up more often than all beginnings together. */
#define EQUALITY_WEIGHT		3.0

/* A window read, in heap pages, both in shared buffers. */
#define WINDOW_COST			0.02

/*
 * Strings ask for short and for long intervals at once: shapes that serve both
 * take longer to find.
 */
#define MANY_PREDICTIONS	600

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
	for (int col = 0; col < INDEX_MAX_KEYS; col++)
		renc_search_start(&designer->search[col], meta->bits_per_key);
	return designer;
}

void
rencoder_designer_resume(RencoderDesigner *designer, int col, const RencoderConfig *previous,
						 uint64 stamp, double best_fpr)
{
	renc_shape	shape;

	if (rencoder_is_configured(previous) && renc_shape_unpack(previous->shape, &shape, NULL))
		renc_search_resume(&designer->search[col], designer->bits_per_key, &shape,
						   stamp == rencoder_designer_stamp(designer, col, previous->coder) ?
						   best_fpr : -1);
}

/* Are the keys of a column of the collector in Z-order? */
static bool
is_boxed(const RencoderDesigner *designer, int col)
{
	return designer->boxed[designer->first_column + col];
}

/* The known queries of a column, read if they are not here already. */
static RencoderKnownQueries *
load_queries(RencoderDesigner *designer, int col, uint32 generation)
{
	rencoder_known_queries_load(&designer->queries[col], designer->index,
								designer->first_column + col, is_boxed(designer, col),
								generation, designer->context);
	return &designer->queries[col];
}

uint64
rencoder_designer_stamp(RencoderDesigner *designer, int col, uint32 coder)
{
	return load_queries(designer, col, coder)->stamp;
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
gather_keys(const RencoderCollector *c, int col, ColumnKeys *k)
{
	static uint64 near[KEYS_OF_NONE];

	memset(k, 0, sizeof(*k));
	for (int slot = 0; slot < c->nslots; slot++)
	{
		renc_keys	keys = rencoder_collect_keys(c, col, slot);

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

/* What draw_samples() needs to know. */
typedef struct SampleDrawing
{
	RencoderDesigner *designer;
	int			col;
	const ColumnKeys *k;
} SampleDrawing;

/* Memory for the model and for samples. */
static void
make_room(RencoderDesigner *designer)
{
	MemoryContext old = MemoryContextSwitchTo(designer->context);

	designer->model = palloc(renc_model_size());
	designer->sample = palloc((RENC_SEARCH_SAMPLES + RENCODER_SAMPLES_MAX) * sizeof(renc_sample));
	designer->box = palloc(RENC_SEARCH_SAMPLES * sizeof(renc_own_box));
	MemoryContextSwitchTo(old);
}

/* Is there a key in [lo, hi]? */
static bool
has_key(const renc_keys *keys, uint64 lo, uint64 hi)
{
	size_t		left = 0;
	size_t		right = keys->n;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (keys->key[mid] < lo)
			left = mid + 1;
		else
			right = mid;
	}
	return left < keys->n && keys->key[left] <= hi;
}

/*
 * Weighs default samples by one over the ranges of the table that they match,
 * as renc_search_own_samples() does: what a false positive costs is seen in
 * proportion to what the query must read.  One range does not count: the value
 * was taken from there.
 */
static void
weigh_defaults(const RencoderDesigner *designer, RencoderKnownQueries *q, const ColumnKeys *k)
{
	double		table_ranges = Max(designer->table_ranges, LEAST_RANGES);

	for (int i = q->nreal; i < q->n; i++)
	{
		int			matching = 0;

		for (int r = 0; r < k->n; r++)
			matching += has_key(&k->ranges[r], q->sample[i].lo, q->sample[i].hi);
		q->sample[i].weight =
			(float) (1 / (1 + table_ranges * Max(matching - 1, 0) / k->n));
		if (q->sample[i].lo == q->sample[i].hi)
			q->sample[i].weight *= EQUALITY_WEIGHT;
	}
	q->weighed = true;
}

/* The part of the weight of all samples that real queries have. */
static double
share_of_real(const RencoderDesigner *designer, int col, const RencoderKnownQueries *q)
{
	return Min(1.0, (double) q->nreal / (is_boxed(designer, col) ? ENOUGH_BOXES : ENOUGH_QUERIES));
}

/*
 * The samples for a group: real queries; while there are not enough of them, also
 * default ones, or "own" intervals between the group's own values, or boxes around them.
 * Together the real ones weigh as much as there are of the number that is enough.
 */
static int
choose_samples(RencoderDesigner *designer, int col, RencoderKnownQueries *q, const ColumnKeys *k, int own)
{
	double		share = share_of_real(designer, col, q);
	int			n = q->nreal;

	if (!q->weighed && q->n > q->nreal)
		weigh_defaults(designer, q, k);
	memcpy(designer->sample, q->sample, q->n * sizeof(renc_sample));
	if (share >= 1)
		return n;
	if (q->n > q->nreal)
		n = q->n;
	else if (is_boxed(designer, col))
		n += renc_search_own_boxes(k->ranges, k->n, designer->table_ranges, OWN_SAMPLE_SEED,
								   designer->box, designer->sample + n, own);
	else
		n += renc_search_own_samples(k->ranges, k->n, designer->table_ranges, OWN_SAMPLE_SEED,
									 designer->sample + n, own);
	if (q->nreal > 0 && n > q->nreal)
	{
		double		others = 0;

		for (int i = q->nreal; i < n; i++)
			others += designer->sample[i].weight;
		for (int i = 0; i < q->nreal; i++)
			designer->sample[i].weight =
				(float) (share / (1 - share) * others / q->nreal);
	}
	return n;
}

/* Boxes take long to make: to look whether a shape still does, a search wants few. */
static size_t
draw_samples(void *arg, size_t own)
{
	const SampleDrawing *d = arg;

	return choose_samples(d->designer, d->col, &d->designer->queries[d->col], d->k, (int) own);
}

/* The shape by rule. */
static void
design_by_rule(const RencoderDesigner *designer, int col, const ColumnKeys *k,
			   renc_shape *shape)
{
	if (is_boxed(designer, col))
		renc_rule_shape_areal(k->ranges, k->n, designer->bits_per_key, shape);
	else
		renc_rule_shape(k->ranges, k->n, designer->bits_per_key, shape);
}

/* Are there so few keys that the rule is to choose, where no queries are known? */
static bool
are_few(const RencoderDesigner *designer, int col, const ColumnKeys *k)
{
	/* What was found for the group before costs little to look at. */
	return is_boxed(designer, col) ? k->total < MIN_BOXED_KEYS && !designer->search[col].warm :
		k->total < MIN_SEARCHED_KEYS;
}

/* Prepares the model for a group; false if the rule is to choose. */
static bool
prepare_model(RencoderDesigner *designer, int col, const ColumnKeys *k,
			  const RencoderConfig *config, SampleDrawing *draw, renc_model_input *in)
{
	RencoderKnownQueries *q;

	if (k->total == 0)
		return false;
	q = load_queries(designer, col, config->coder);
	if (q->n == 0 && are_few(designer, col, k))
		return false;
	if (designer->model == NULL)
		make_room(designer);
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
	in->table_keys = (double) k->total / k->n * designer->table_ranges;
	in->areal = is_boxed(designer, col);
	in->asked = share_of_real(designer, col, q) >= 1;
	if (in->areal && !in->asked)
	{
		draw->designer = designer;
		draw->col = col;
		draw->k = k;
		in->draw = draw_samples;
		in->draw_arg = draw;
	}
	else
		in->nsamples = choose_samples(designer, col, q, k, RENC_SEARCH_SAMPLES);
	if (!in->asked && q->n > q->nreal)
		in->max_predictions = MANY_PREDICTIONS;
	return true;
}

/* Size of filters; config->coder is kept. */
static void
design_size(const RencoderDesigner *designer, ColumnKeys *k, double min_capacity,
			RencoderConfig *config)
{
	double		capacity = Max(renc_rule_capacity(k->counts, k->n), min_capacity);

	memset(config->shape, 0, sizeof(config->shape));
	config->nwindows = renc_windows_for(capacity, designer->bits_per_key, RENCODER_ROWS);
	config->capacity = (uint32) Min(capacity, PG_UINT32_MAX);
}

/* The search for a group, from the shape found last by whichever process. */
static void
search_group(RencoderDesigner *designer, int col, const renc_model_input *in,
			 renc_choice *choice)
{
	renc_search *search = &designer->search[col];
	bool		claimed = false;

	if (designer->share != NULL)
		claimed = rencoder_design_share_begin(designer->share, col, search,
											  &designer->share_version[col]);

	renc_search_group(search, designer->model, in, choice);
	if (designer->share != NULL)
		rencoder_design_share_end(designer->share, col, search, claimed, choice->searched,
								  &designer->share_version[col]);
}

void
rencoder_design_column(RencoderDesigner *designer, const RencoderCollector *c, int col,
					   double min_capacity, RencoderConfig *config,
					   RencoderPrediction *prediction)
{
	ColumnKeys	k;
	SampleDrawing draw;
	renc_shape	shape;
	renc_model_input in;
	renc_choice choice;

	prediction->fpr = prediction->best_fpr = prediction->cost = -1;
	gather_keys(c, col, &k);
	design_size(designer, &k, min_capacity, config);
	if (prepare_model(designer, col, &k, config, &draw, &in))
	{
		search_group(designer, col, &in, &choice);
		shape = choice.shape;
		prediction->fpr = choice.best.fpr;
		prediction->cost = choice.best.cost;
		prediction->best_fpr = prediction->fpr;
		if (designer->search[col].reference_fpr >= 0)
			prediction->best_fpr = Min(prediction->fpr, designer->search[col].reference_fpr);
	}
	else
		design_by_rule(designer, col, &k, &shape);
	renc_shape_pack(&shape, config->shape);
}

void
rencoder_design_again(RencoderDesigner *designer, const RencoderCollector *c, int col,
					  double min_capacity, const RencoderConfig *present,
					  RencoderConfig *config,
					  RencoderPrediction *now, RencoderPrediction *best)
{
	ColumnKeys	k;
	SampleDrawing draw;
	renc_shape	shape;
	renc_model_input in;
	renc_choice choice;

	config->coder = present->coder;
	now->fpr = now->cost = -1;
	best->fpr = best->best_fpr = best->cost = -1;
	gather_keys(c, col, &k);
	design_size(designer, &k, min_capacity, config);
	design_by_rule(designer, col, &k, &shape);
	if (prepare_model(designer, col, &k, config, &draw, &in))
	{
		bool		filter = rencoder_is_configured(present) &&
			renc_shape_unpack(present->shape, &shape, NULL);

		/*
		 * The present filters may be smaller or larger than new ones would
		 * be.
		 */
		if (filter)
			in.nwindows = present->nwindows;
		renc_search_compare(designer->model, &in, designer->bits_per_key, &shape, &choice);
		if (filter)
		{
			now->fpr = choice.now.fpr;
			now->cost = choice.now.cost;
		}
		best->fpr = choice.best.fpr;
		best->cost = choice.best.cost;
		shape = choice.shape;
	}
	renc_shape_pack(&shape, config->shape);
}
