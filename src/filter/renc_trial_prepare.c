/*
 * renc_trial_prepare.c
 *		What a trial knows before it sees a shape: ranges, and which samples meet which of them.
 */
#include "renc_trial_work.h"

#include <math.h>
#include <stdlib.h>

/* Keys in the filter that is built; of fewer windows some are far fuller than others. */
#define FILLED_KEYS		1200.0
#define LEAST_WINDOWS	16.0

/* What kinds that are made up count for. */
static const double kind_share[RENC_SAMPLE_KINDS] = {0, 8, 5, 5};

size_t
renc_trial_size(void)
{
	return sizeof(renc_trial);
}

/* ---------------------------------------------------------------- before a shape */

static int
compare_ranges(const void *a, const void *b)
{
	const renc_keys *x = *(const renc_keys *const *) a;
	const renc_keys *y = *(const renc_keys *const *) b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return (x > y) - (x < y);
}

/* The ranges looked at. */
static void
choose_ranges(renc_trial *t)
{
	const renc_trial_input *in = &t->in;
	const renc_keys *all[RENC_GROUP_RANGES];
	int			n = 0;

	for (int r = 0; r < in->nranges; r++)
	{
		double		keys = (double) in->ranges[r].n;

		if (keys == 0 || (in->capacity > 0 && renc_rule_overfull(keys, in->capacity)))
			continue;
		all[n++] = &in->ranges[r];
	}
	t->n = n < RANGES ? n : RANGES;
	for (int i = 0; i < t->n; i++)
		t->at[i] = all[(2 * i + 1) * n / (2 * t->n)];
	qsort(t->at, t->n, sizeof(t->at[0]), compare_ranges);
}

/*
 * The keys of the filter that is built: of many, the middle, and the part of the windows that there would
 * be for them.
 */
static void
gather_keys(renc_trial *t)
{
	const renc_keys *from = t->at[t->n / 2];
	double		part = fmax(FILLED_KEYS / (double) from->n, LEAST_WINDOWS / t->in.nwindows);

	part = fmin(fmin(1, part), MOST_WINDOWS / t->in.nwindows);
	t->nwindows = (uint32_t) fmin(ceil(part * t->in.nwindows), MOST_WINDOWS);
	t->filled.n = (size_t) ceil((double) from->n * t->nwindows / t->in.nwindows);
	t->filled.key = from->key + (from->n - t->filled.n) / 2;
}

/* Which ranges match an interval, and with which levels do others have keys beside it? */
static void
compare_interval(renc_trial *t, asked_sample *asked)
{
	const renc_sample *s = asked->sample;

	for (int at = 0; at < t->n; at++)
	{
		const renc_keys *keys = t->at[at];
		size_t		first = renc_keys_first_from(keys, s->lo);
		uint64_t	bit = UINT64_C(1) << at;

		if (first < keys->n && keys->key[first] <= s->hi)
		{
			asked->empty &= ~bit;
			continue;
		}
		if (first > 0)
			asked->below[renc_common_prefix(keys->key[first - 1], s->lo)] |= bit;
		if (first < keys->n)
			asked->above[renc_common_prefix(keys->key[first], s->hi)] |= bit;
	}
	for (int l = RENC_KEY_BITS; l > 0; l--)
	{
		asked->below[l - 1] |= asked->below[l];
		asked->above[l - 1] |= asked->above[l];
	}
}

/* Compares samples with ranges; leaves those that tell something. */
static void
compare_all(renc_trial *t)
{
	for (size_t i = 0; i < t->in.nsamples && t->nasked < RENC_TRIAL_SAMPLES; i++)
	{
		asked_sample *asked = &t->asked[t->nasked];
		const renc_sample *s = &t->in.sample[i];
		int			matching;

		if (s->kind == RENC_SAMPLE_POINT)
			continue;
		memset(asked, 0, sizeof(*asked));
		asked->sample = s;
		asked->empty = ~UINT64_C(0) >> (64 - t->n);
		compare_interval(t, asked);

		/* The range of a value is no match that a query like it has. */
		matching = t->n - __builtin_popcountll(asked->empty) - (s->kind == RENC_SAMPLE_NEAR);
		asked->must = fmax(0, matching) / t->n * t->in.group_ranges * t->in.pages_per_range;
		for (int at = 0; at < t->n && s->anchor >= 0; at++)
			if (t->at[at] == &t->in.ranges[s->anchor])
				asked->empty &= ~(UINT64_C(1) << at);
		t->kind[s->kind].made++;

		/* An interval that matches much reads much in any case. */
		if (asked->empty == 0 || (s->kind != RENC_SAMPLE_ASKED && asked->must > 0))
			continue;
		t->kind[s->kind].without += asked->must == 0;
		t->kind[s->kind].n++;
		t->kind[s->kind].pairs += __builtin_popcountll(asked->empty);
		t->order[t->nasked++] = asked;
	}
}

/*
 * What each kind counts for, of those that there are.  Where few queries that lie apart are without a
 * match there are no gaps.
 */
static void
share_kinds(renc_trial *t)
{
	double		made_up = 0;
	const kind_sums *apart = &t->kind[RENC_SAMPLE_APART];
	double		gaps = apart->made > 0 ? (double) apart->without / apart->made : 0;
	double		asked = t->kind[RENC_SAMPLE_ASKED].n > 0 ? t->in.asked_share : 0;

	t->kind[RENC_SAMPLE_POINT].n = 1;
	t->kind[RENC_SAMPLE_POINT].pairs = 1;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		if (t->kind[k].n > 0)
			t->kind[k].share = kind_share[k] * (k == RENC_SAMPLE_APART ? gaps : 1);
		made_up += t->kind[k].share;
	}
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		t->kind[k].share *= (1 - asked) / made_up;
	t->kind[RENC_SAMPLE_ASKED].share = asked;
}

bool
renc_trial_init(renc_trial *t, const renc_trial_input *in)
{
	t->in = *in;
	t->runs = 0;
	t->most_nodes = RENC_MAX_NODES;
	t->nasked = 0;
	memset(t->kind, 0, sizeof(t->kind));
	choose_ranges(t);
	if (t->n == 0)
		return false;
	gather_keys(t);
	compare_all(t);
	share_kinds(t);
	renc_rule_profile(in->ranges, in->nranges, &t->profile);
	return t->nasked > 0;
}
