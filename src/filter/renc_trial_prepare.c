/*
 * renc_trial_prepare.c
 *		Preparing trials: which ranges and samples are looked at, and how they meet.
 */
#include "renc_trial_work.h"

#include <math.h>
#include <stdlib.h>

/* Keys in the filters that are built. */
#define FILLED_KEYS		1200.0

/* Where samples are made up, so many ranges tell enough. */
#define SOME_RANGES		32
#define SOME_BOXED_RANGES	64

/* Of fewer windows some are far fuller than others. */
#define LEAST_WINDOWS	16.0

/* What weighs less is not worth asking; but large boxes are not given up. */
#define LEAST_WEIGHT	0.1
#define LEAST_BOXED		0

/*
 * Where few of the queries at some distance from a value match few ranges, that distance hardly
 * counts.
 */
#define FEW_GAPS		6
#define FEW_GAPS_BOXED	4

/* So many pairs with a key in a node say less of those in the nodes below than the rule does. */
#define FEW_PAIRS		4

#define GOLDEN_RATIO	0.6180339887498949

/*
 * Shares of the kinds that are made up.  The kind that a shape is worst for decides nearly alone, so
 * these count little.  Few ask for points of the plane.
 */
static const double kind_share[RENC_SAMPLE_KINDS] = {
	0, 20, 1, 1, 0.5, 0.3, 0.1, 0.1, 1.5, 1.5, 1.5, 1.5
};
static const double boxed_share[RENC_SAMPLE_KINDS] = {
	0, 0.1, 0.16, 0.16, 0.16, 0.16, 0.3, 0.04, 0.04, 0.04, 0.04, 0.04
};

static bool
counts(const renc_trial_input *in, int r)
{
	return in->ranges[r].n > 0 &&
		!(in->capacity > 0 && renc_rule_overfull((double) in->ranges[r].n, in->capacity));
}

static int
compare_trial_ranges(const void *a, const void *b)
{
	const renc_keys *x = *(const renc_keys *const *) a;
	const renc_keys *y = *(const renc_keys *const *) b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return (x > y) - (x < y);
}

/*
 * The ranges looked at, ascending in their number of keys.  For boxes as many as have a number
 * of keys that can be sorted.
 */
static int
choose_trial_ranges(const renc_trial_input *in, const renc_keys **chosen, size_t *nkeys)
{
	const renc_keys *all[RENC_GROUP_RANGES];
	size_t		total = 0;
	int			n = 0;
	int			kept;

	for (int r = 0; r < in->nranges; r++)
	{
		if (counts(in, r))
		{
			all[n++] = &in->ranges[r];
			total += in->ranges[r].n;
		}
	}
	kept = in->asked_share < 1 ? (int) fmin(n, in->areal ? SOME_BOXED_RANGES : SOME_RANGES) : n;
	if (in->areal && (double) total * kept > (double) RENC_TRIAL_KEYS * n)
		kept = (int) ((double) n * RENC_TRIAL_KEYS / (double) total);
	if (kept < 1)
		kept = n < 1 ? 0 : 1;
	*nkeys = 0;
	for (int i = 0; i < kept; i++)
	{
		chosen[i] = all[(2 * i + 1) * n / (2 * kept)];
		*nkeys += in->areal ? chosen[i]->n : 0;
	}
	qsort(chosen, kept, sizeof(*chosen), compare_trial_ranges);
	return kept;
}

static size_t
aligned(size_t size)
{
	return (size + 63) & ~(size_t) 63;
}

size_t
renc_trial_size(const renc_trial_input *in)
{
	const renc_keys *chosen[RENC_GROUP_RANGES];
	size_t		nkeys;

	choose_trial_ranges(in, chosen, &nkeys);
	return aligned(sizeof(renc_trial)) + aligned(nkeys * sizeof(trial_key)) +
		aligned(in->nsamples * sizeof(asked_sample)) +
		aligned(renc_image_size(in->nwindows, in->rows, RENC_SLICE_WIDTH)) +
		aligned(in->nwindows * sizeof(float[LANES]));
}

/* Where the parts of the block are. */
static void
place_trial_parts(renc_trial *t)
{
	char	   *at = (char *) t + aligned(sizeof(renc_trial));

	t->key = (trial_key *) at;
	at += aligned(t->nkeys * sizeof(trial_key));
	t->asked = (asked_sample *) at;
	at += aligned(t->in.nsamples * sizeof(asked_sample));
	t->image = (uint8_t *) at;
	at += aligned(renc_image_size(t->in.nwindows, t->in.rows, RENC_SLICE_WIDTH));
	t->fill = (float (*)[LANES]) at;
}

static int
compare_trial_keys(const void *a, const void *b)
{
	uint64_t	x = ((const trial_key *) a)->key;
	uint64_t	y = ((const trial_key *) b)->key;

	return (x > y) - (x < y);
}

/*
 * Of a few keys the middle of a range is taken, and the part of the windows that there would be
 * for it.
 */
static void
choose_filled_for_trial(renc_trial *t)
{
	double		mean = (double) t->total / t->nchosen;
	double		part = fmin(1, fmax(FILLED_KEYS / mean, LEAST_WINDOWS / t->in.nwindows));

	t->nfilled = (int) fmax(1, fmin(fmin(LANES, t->nchosen), FILLED_KEYS / mean));
	t->nwindows = (uint32_t) ceil(part * t->in.nwindows);
	for (int i = 0; i < t->nfilled; i++)
	{
		const renc_keys *from = t->chosen[(2 * i + 1) * t->nchosen / (2 * t->nfilled)];

		t->filled[i].n = (size_t) ceil((double) from->n * t->nwindows / t->in.nwindows);
		t->filled[i].key = from->key + (from->n - t->filled[i].n) / 2;
	}
}

/* Positions: those of a lane have about as many keys as the range that is filled. */
static void
place_trial_ranges(renc_trial *t)
{
	const renc_keys **chosen = t->chosen;
	int			n = t->nchosen;
	size_t		total = 0;
	int			in_lane[LANES] = {0};

	t->used = renc_mask_none();
	t->npositions = LANES * ((n + LANES - 1) / LANES);
	memset(t->at, 0, sizeof(t->at));
	for (int r = 0; r < RENC_GROUP_RANGES; r++)
		t->position[r] = -1;
	for (int i = 0; i < n; i++)
	{
		int			lane = i * LANES / n;
		int			at = in_lane[lane]++ * LANES + lane;

		renc_mask_set(&t->used, at);
		t->at[at] = chosen[i];
		t->position[chosen[i] - t->in.ranges] = at;
		for (size_t k = 0; k < chosen[i]->n && t->in.areal; k++)
		{
			t->key[total].key = chosen[i]->key[k];
			t->key[total++].at = (uint32_t) at;
		}
	}
	qsort(t->key, total, sizeof(trial_key), compare_trial_keys);
}

static bool
same_mask_in_trial(renc_mask a, renc_mask b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

/* Adds the ranges that have a match among the keys of a slice. */
static void
add_trial_matches(const renc_trial *t, const renc_query *q, key_slice s, renc_mask *m)
{
	while (s.first < s.end && !same_mask_in_trial(*m, t->used))
	{
		/* The node that holds them all. */
		uint64_t	differing = t->key[s.first].key ^ t->key[s.end - 1].key;
		uint64_t	below = differing == 0 ? 0 : UINT64_MAX >> __builtin_clzll(differing);
		uint64_t	prefix = t->key[s.first].key & ~below;
		key_slice	left = s;

		switch (q->overlap(q->arg, prefix, prefix | below))
		{
			case RENC_DISJOINT:
				return;
			case RENC_INSIDE:
				for (size_t i = s.first; i < s.end; i++)
					renc_mask_set(m, t->key[i].at);
				return;
			case RENC_PARTIAL:
				break;
		}
		left.end = first_from(t, s, prefix | (below ^ below >> 1));
		if (differing == 0)
		{
			/* On doubt it is one. */
			for (size_t i = s.first; i < s.end; i++)
				renc_mask_set(m, t->key[i].at);
			return;
		}
		add_trial_matches(t, q, left, m);
		s.first = left.end;
	}
}

static void
set_trial_level(asked_sample *asked, renc_mask *masks, int at, int level)
{
	renc_mask_set(&masks[level], at);
	if (level > asked->level[at])
		asked->level[at] = (uint8_t) level;
}

/* Compares a range with an interval. */
static void
compare_trial_interval(asked_sample *asked, int at, const renc_keys *keys)
{
	const renc_sample *s = asked->sample;
	size_t		first = 0;
	size_t		end = keys->n;

	while (first < end)
	{
		size_t		middle = first + (end - first) / 2;

		if (keys->key[middle] < s->lo)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < keys->n && keys->key[first] <= s->hi)
	{
		renc_mask_set(&asked->excluded, at);
		renc_mask_set(&asked->below[RENC_KEY_BITS], at);
		return;
	}
	if (first > 0)
		set_trial_level(asked, asked->below, at, renc_common_prefix(keys->key[first - 1], s->lo));
	if (first < keys->n)
		set_trial_level(asked, asked->above, at, renc_common_prefix(keys->key[first], s->hi));
}

/* Compares all ranges with all intervals. */
static void
compare_intervals(renc_trial *t)
{
	for (size_t i = 0; i < t->nsamples; i++)
	{
		asked_sample *asked = &t->asked[i];

		for (int at = 0; at < t->npositions; at++)
			if (t->at[at] != NULL)
				compare_trial_interval(asked, at, t->at[at]);
		for (int l = RENC_KEY_BITS; l > 0; l--)
		{
			asked->below[l - 1] = renc_mask_or(asked->below[l - 1], asked->below[l]);
			asked->above[l - 1] = renc_mask_or(asked->above[l - 1], asked->above[l]);
		}
	}
}

/* Which ranges match a box?  All keys of a box are in its hull. */
static void
compare_trial_box(renc_trial *t, asked_sample *asked)
{
	key_slice	all = {0, t->nkeys};
	const renc_sample *s = asked->sample;

	add_trial_matches(t, s->query, slice_of(t, all, s->lo, s->hi), &asked->excluded);
}

static int
compare_trial_turns(const void *a, const void *b)
{
	const asked_sample *x = (const asked_sample *) a;
	const asked_sample *y = (const asked_sample *) b;

	return (x->turn > y->turn) - (x->turn < y->turn);
}

/*
 * Which share of the pairs have a key in a node of each level.  Of queries that are made up, the
 * closest pairs are few, and luck decides which levels they have in common.  With each level about
 * half as many are left: that counts as much as "few" pairs.
 */
static void
expect_close_in_trial(kind_sums *kind, double few)
{
	double		expected = 1;
	double		above = kind->empty;

	for (int l = RENC_KEY_BITS; l > 0; l--)
		kind->close[l - 1] += kind->close[l];
	for (int l = 1; l < RENC_KEY_BITS && above + few > 0; l++)
	{
		double		close = kind->close[l];

		expected *= (close + few / 2) / (above + few);
		kind->close[l] = expected;
		above = close;
	}
	kind->close[0] = 1;

	/* What has a key in a node of the last level is a match. */
	kind->close[RENC_KEY_BITS] = 0;
}

static void
count_close_in_trial(renc_trial *t)
{
	int			n[RENC_SAMPLE_KINDS] = {0};

	for (size_t i = 0; i < t->nsamples; i++)
	{
		const asked_sample *asked = &t->asked[i];
		renc_mask	empty = renc_mask_andnot(t->used, asked->excluded);

		n[asked->sample->kind]++;
		for (int at = 0; at < t->npositions; at++)
			if (renc_mask_test(empty, at))
				t->kind[asked->sample->kind].close[asked->level[at]] += asked->weight;
	}
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		if (n[k] > 0)
			expect_close_in_trial(&t->kind[k], k == RENC_SAMPLE_ASKED || t->in.areal ? 0 :
								  FEW_PAIRS * t->kind[k].weight / n[k]);
}

/*
 * What a sample counts for: what a false positive costs is seen in proportion to what the query
 * has to read.  A value was taken from one range, which does not count.  False if it tells
 * nothing.
 */
static bool
weigh(renc_trial *t, asked_sample *asked)
{
	const renc_sample *s = asked->sample;
	int			matching = renc_mask_count(asked->excluded);

	asked->weight = renc_trial_each_alike(&t->in, s->kind) ? 1 : s->weight;
	if (s->kind < RENC_SAMPLE_APART && matching > 0)
		matching--;
	if (s->kind != RENC_SAMPLE_ASKED && !renc_trial_each_alike(&t->in, s->kind))
		asked->weight = fmin(s->weight, 1 / (1 + t->in.table_ranges * matching / renc_mask_count(t->used)));
	if (s->anchor >= 0 && t->position[s->anchor] >= 0)
		renc_mask_set(&asked->excluded, t->position[s->anchor]);
	asked->empty = renc_mask_count(renc_mask_andnot(t->used, asked->excluded));
	if (asked->empty == 0 || (s->kind != RENC_SAMPLE_ASKED && asked->weight < (t->in.areal ? LEAST_BOXED : LEAST_WEIGHT)))
		return false;
	return true;
}

/* The turn of the i-th of n: steps of the golden ratio take the same share of any part. */
static double
turn_in_trial(size_t i, size_t n)
{
	double		golden = (double) i * GOLDEN_RATIO;

	return (golden - floor(golden)) * (double) n;
}

/*
 * Leaves the samples that tell something.  Of those that are made up as many points as intervals
 * of all sizes, and as those apart, have the first turns.
 */
static void
keep_telling_in_trial(renc_trial *t, const size_t *made)
{
	size_t		of_kind[RENC_SAMPLE_KINDS] = {0};
	size_t		before[RENC_SAMPLE_KINDS] = {0};
	size_t		kept = 0;

	for (size_t i = 0; i < t->nsamples; i++)
	{
		int			kind = t->asked[i].sample->kind;

		if (!weigh(t, &t->asked[i]))
			continue;
		t->kind[kind].gaps += t->asked[i].weight / (double) made[kind];
		of_kind[kind]++;
		t->asked[kept++] = t->asked[i];
	}
	for (size_t i = 0; i < kept; i++)
	{
		int			kind = t->asked[i].sample->kind;

		if (kind != RENC_SAMPLE_ASKED)
			t->asked[i].turn = turn_in_trial(before[kind]++, of_kind[kind]) *
				(kind == RENC_SAMPLE_POINT ? 1 : RENC_SAMPLE_SIZES);
	}
	qsort(t->asked, kept, sizeof(asked_sample), compare_trial_turns);
	t->nsamples = t->nknown = kept;
}

/* Compares samples with ranges. */
static void
compare_all(renc_trial *t)
{
	size_t		made[RENC_SAMPLE_KINDS] = {0};

	for (size_t i = 0; i < t->in.nsamples; i++)
	{
		const renc_sample *s = &t->in.sample[i];

		if (s->weight <= 0)
			continue;
		memset(&t->asked[t->nsamples], 0, sizeof(asked_sample));
		t->asked[t->nsamples].turn = turn_in_trial(i, t->in.nsamples);
		made[s->kind]++;
		t->asked[t->nsamples++].sample = s;
	}
	if (t->in.areal)
	{
		for (size_t i = 0; i < t->nsamples; i++)
			compare_trial_box(t, &t->asked[i]);
	}
	else
		compare_intervals(t);
	keep_telling_in_trial(t, made);
}

/* What each kind counts for, of those that there are; false if there are none. */
static bool
share_trial_kinds(renc_trial *t)
{
	const double *shares = t->in.areal ? boxed_share : kind_share;
	double		made_up = 0;
	double		asked = t->kind[RENC_SAMPLE_ASKED].empty > 0 ? t->in.asked_share : 0;

	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		t->kind[k].share = t->kind[k].empty > 0 ? shares[k] : 0;
		if (k >= RENC_SAMPLE_APART)
			t->kind[k].share *= pow(t->kind[k].gaps, t->in.areal ? FEW_GAPS_BOXED : FEW_GAPS);
		made_up += t->kind[k].share;
	}
	if (made_up == 0 && t->kind[RENC_SAMPLE_ASKED].empty > 0)
		asked = 1;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		t->kind[k].share = k == RENC_SAMPLE_ASKED ? asked : made_up > 0 ? (1 - asked) * t->kind[k].share / made_up : 0;
	return made_up > 0 || asked > 0;
}

bool
renc_trial_sum_up(renc_trial *t)
{
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		t->kind[k].weight = t->kind[k].empty = 0;
	for (size_t i = 0; i < t->nsamples; i++)
	{
		kind_sums  *kind = &t->kind[t->asked[i].sample->kind];

		kind->weight += t->asked[i].weight;
		kind->empty += t->asked[i].weight * t->asked[i].empty;
	}
	return share_trial_kinds(t);
}

bool
renc_trial_init(renc_trial *t, const renc_trial_input *in)
{
	t->in = *in;
	t->runs = 0;
	t->work = 0;
	t->nsamples = 0;
	t->most_nodes = RENC_MAX_NODES;
	memset(t->kind, 0, sizeof(t->kind));
	t->nchosen = choose_trial_ranges(in, t->chosen, &t->nkeys);
	if (t->nchosen == 0)
		return false;
	t->total = 0;
	for (int i = 0; i < t->nchosen; i++)
		t->total += t->chosen[i]->n;
	place_trial_parts(t);
	choose_filled_for_trial(t);
	place_trial_ranges(t);
	compare_all(t);
	if (!renc_trial_sum_up(t))
		return false;
	count_close_in_trial(t);
	return true;
}
