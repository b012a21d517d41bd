/*
 * renc_search_group.c
 *		The search from group to group of a build.
 *
 * The next group starts from this one's shape, and is content with it unless its
 * predicted cost has drifted.  Work is counted in keys set in a filter, and what
 * checking and searching may take is a share of the build's.
 */
#include "renc_search_work.h"

#include <math.h>

/* Predictions of a search that only improves a known shape. */
#define CLIMB_PREDICTIONS 300

/* Those of a full search are fewer where a group has few keys; below MIN_GRID, no grid. */
#define KEYS_A_PREDICTION 100
#define MIN_GRID		200

/*
 * Work of the first search of a table, for each of its keys: reading and building take
 * some 4 units.
 */
#define FIRST_WORK		0.3
#define LEAST_PREDICTIONS 200

/*
 * Work in units of setting a key's bits (about 100 ns): a pair of a sample and a
 * range, and a prediction beside the throwing of some ranges' keys.
 */
#define PAIR_WORK		0.15
#define BOX_PAIR_WORK	0.75
#define PREDICT_WORK	1000.0
#define THROW_WORK		0.08

/* Samples that the previous shape is checked with when there is no credit left. */
#define MIN_CHECKED		128

/* Costs so many times what was expected: searched for again, whatever that takes. */
#define WRONG_SHAPE		4.0

/*
 * Few of the boxes drawn have a key of another range close by, and these decide; so what is
 * predicted from a part of them tells no less than this from 1.
 */
#define DRAWN_DRIFT		2.0

/* Share of the work of a build that checking and searching may take. */
#define WORK_SHARE		0.08

void
renc_search_start(renc_search *search, double bits_per_key)
{
	memset(search, 0, sizeof(*search));
	search->bits_per_key = bits_per_key;
	search->reference_fpr = -1;
}

void
renc_search_resume(renc_search *search, double bits_per_key,
				   const renc_shape *shape, double fpr)
{
	renc_search_start(search, bits_per_key);
	search->shape = *shape;
	search->reference_fpr = fpr;
	search->warm = true;
}

void
renc_search_adopt(renc_search *search, const renc_search *from)
{
	search->shape = from->shape;
	search->reference = from->reference;
	search->reference_fpr = from->reference_fpr;
	search->fresh = from->fresh;
	search->last = from->last;
	search->warm = from->warm;
	search->due = from->due;
}

static size_t
total_keys(const renc_model_input *in)
{
	size_t		n = 0;

	for (int r = 0; r < in->nranges; r++)
		n += in->ranges[r].n;
	return n;
}

static double
sample_work(const renc_model_input *in)
{
	return (in->areal ? BOX_PAIR_WORK : PAIR_WORK) * in->nranges;
}

static double
predict_work(const renc_model_input *in)
{
	return PREDICT_WORK + THROW_WORK * 2 * (double) total_keys(in) / in->nranges;
}

/*
 * Is a prediction at most so many times the reference?  A cost compares groups of one
 * build; a rate also those that were made at other times.
 */
static bool
within(renc_search *search, const renc_prediction *p, double times)
{
	if (search->reference > 0)
		return p->cost <= times * search->reference;
	if (search->reference_fpr < 0 || p->fpr > times * search->reference_fpr)
		return false;
	search->reference = p->cost;
	return true;
}

/*
 * For boxes the rule's shape differs more from group to group than any shape that is kept
 * can be good for: where it would be better, this group has it.
 */
static void
prefer_rule(const renc_search *search, renc_model *model, const renc_model_input *in,
			renc_choice *choice)
{
	renc_prediction p;
	renc_shape	rule;

	renc_search_rule(in, search->bits_per_key, &rule);
	renc_model_predict(model, &rule, choice->now.cost, &p);
	if (p.complete && p.cost < choice->now.cost)
	{
		choice->shape = rule;
		choice->best = p;
	}
}

/* Is the previous shape still good?  Looks at as many samples as work allows. */
static bool
still_good(renc_search *search, renc_model *model, const renc_model_input *in,
		   renc_choice *choice)
{
	renc_model_input few = *in;
	double		samples = (search->credit - predict_work(in)) / sample_work(in);
	double		limit = in->draw ? RENC_SEARCH_SAMPLES : fmax(1, (double) in->nsamples);
	bool		in_debt = samples < MIN_CHECKED;
	double		drift = in->draw ? DRAWN_DRIFT : RENC_SEARCH_DRIFT;

	/*
	 * Some are looked at in any case: that costs less than a hundredth of a
	 * group.
	 */
	choice->shape = search->shape;
	samples = fmin(fmax(samples, MIN_CHECKED), limit);
	if (in->draw)
		few.nsamples = in->draw(in->draw_arg, (size_t) samples);
	else
		few.max_samples = (size_t) samples;
	search->credit -= sample_work(in) * floor(samples) + predict_work(in);
	if (!renc_model_init(model, &few))
		return true;
	renc_model_predict(model, &search->shape, INFINITY, &choice->now);
	choice->best = search->last = choice->now;

	/* So few samples tell a wrong shape from a right one, but not 1.3 from 1. */
	if (!within(search, &choice->now, in_debt ? WRONG_SHAPE : drift))
		return false;
	if (search->fresh && !in_debt)
	{
		search->reference = fmax(search->reference, choice->now.cost);
		search->reference_fpr = fmax(search->reference_fpr, choice->now.fpr);
		search->fresh = false;
	}
	if (in->draw)
		prefer_rule(search, model, &few, choice);
	return true;
}

/*
 * Predictions of a full search of a group.  Whoever says what is asked wants the index
 * made for that, however small the table.  Of own values, the first search is what a build
 * costs at least: it is in proportion to the build.
 */
static int
full_predictions(const renc_search *search, const renc_model_input *in)
{
	double		keys = (double) total_keys(in);

	if (in->max_predictions > 0)
		return in->max_predictions;
	if (in->asked && search->reference <= 0)
		return SEARCH_PREDICTIONS;
	if (search->warm)
		return (int) fmin(SEARCH_PREDICTIONS, keys / KEYS_A_PREDICTION);
	keys = fmax(keys, in->table_keys);
	return (int) fmax(LEAST_PREDICTIONS,
					  fmin(SEARCH_PREDICTIONS, FIRST_WORK * keys / predict_work(in)));
}

/*
 * The previous shape improved.  Sets "due" if that does not make up for the drift;
 * true if the full search cannot wait.
 */
static bool
adapt(renc_search *search, renc_model *model, const renc_model_input *in, search_result *found)
{
	double		limit = RENC_SEARCH_DRIFT * search->reference;

	renc_search_model(model, in, search->bits_per_key, &search->shape, false,
					  CLIMB_PREDICTIONS, found);
	search->credit -= renc_model_predictions(model) * predict_work(in) +
		sample_work(in) * (double) in->nsamples;
	search->due = search->due || found->p.cost > limit;
	return search->due && (search->credit > 0 || search->reference <= 0 ||
						   found->p.cost > WRONG_SHAPE * search->reference);
}

/* All samples that a search is made with. */
static void
draw_all(renc_model_input *in)
{
	if (in->draw)
		in->nsamples = in->draw(in->draw_arg, RENC_SEARCH_SAMPLES);
}

void
renc_search_group(renc_search *search, renc_model *model,
				  const renc_model_input *given, renc_choice *choice)
{
	search_result found;
	renc_model_input all = *given;
	const renc_model_input *in = &all;

	memset(choice, 0, sizeof(*choice));
	memset(&found, 0, sizeof(found));
	search->groups++;
	search->credit += WORK_SHARE * (double) total_keys(in);
	if (search->warm && !(search->due && search->credit > 0) &&
		still_good(search, model, in, choice))
		return;
	draw_all(&all);
	if (!renc_model_init(model, in))
	{
		renc_search_rule(in, search->bits_per_key, &choice->shape);
		return;
	}
	if (search->warm)
	{
		renc_model_predict(model, &search->shape, INFINITY, &choice->now);

		/* All samples may say what the few did not. */
		if (in->draw && !search->due && within(search, &choice->now, DRAWN_DRIFT))
		{
			choice->shape = search->shape;
			choice->best = search->last = choice->now;
			prefer_rule(search, model, in, choice);
			return;
		}
	}

	/*
	 * The first search is what a build costs at least.  Later ones may go
	 * into debt, but until that is paid back nothing is looked at.
	 */
	if (!search->warm || adapt(search, model, in, &found))
	{
		int			before = renc_model_predictions(model);
		int			predictions = full_predictions(search, in);
		renc_shape	from = found.shape;

		/* A small group's search starts from the one shape alone. */
		renc_search_model(model, in, search->bits_per_key, search->warm ? &from : NULL,
						  predictions >= MIN_GRID, predictions, &found);
		if (search->warm)
			search->credit -= (renc_model_predictions(model) - before) * predict_work(in);
		search->due = false;
	}
	choice->shape = found.shape;
	choice->best = found.p;
	choice->searched = true;
	choice->predictions = renc_model_predictions(model);
	search->shape = found.shape;
	search->reference = found.p.cost;
	search->reference_fpr = found.p.fpr;
	search->fresh = true;
	search->last = found.p;
	search->warm = true;
	search->searches++;
}

void
renc_search_compare(renc_model *model, const renc_model_input *given,
					double bits_per_key, const renc_shape *now, renc_choice *choice)
{
	search_result found;
	renc_model_input all = *given;
	const renc_model_input *in = &all;

	draw_all(&all);
	memset(choice, 0, sizeof(*choice));
	choice->shape = *now;
	if (!renc_model_init(model, in))
		return;
	renc_model_predict(model, now, INFINITY, &choice->now);
	renc_search_model(model, in, bits_per_key, now, true, SEARCH_PREDICTIONS, &found);
	choice->shape = found.shape;
	choice->best = found.p;
	choice->searched = true;
	choice->predictions = renc_model_predictions(model);
}
