/*
 * sample_record.c
 *		Query samples: what scans ask for.
 */
#include "design/sample_record.h"

#include "common/pg_prng.h"

#include "base/options.h"
#include "base/subtransaction.h"

/*
 * Scans that pass up to half of the ranges are all recorded, others the less
 * the more they pass, but with this probability at least.
 */
#define LEAST_PROBABILITY	0.25

/* Scans until the next one is recorded. */
static int	scans_to_go = -1;

/*
 * A session begins anywhere in a round, or short sessions would never be
 * recorded.
 */
static bool
is_turn_to_record(void)
{
	if (rencoder_sample_rate == 0)
		return false;
	if (scans_to_go < 0 || scans_to_go >= rencoder_sample_rate)
		scans_to_go = (int) pg_prng_uint64_range(&pg_global_prng_state, 0,
												 rencoder_sample_rate - 1);
	if (scans_to_go > 0)
	{
		scans_to_go--;
		return false;
	}
	scans_to_go = rencoder_sample_rate - 1;
	return true;
}

static void
record_column_sample(const RencoderQuery *query, int col)
{
	RencoderSample samples[RENCODER_SAMPLING_INTERVALS];
	const RencoderKeySet *keys = rencoder_key_newest_set(query, col);
	int			n = 0;

	if (keys == NULL || keys->none)
		return;
	for (size_t i = 0; i < Min(keys->set.n, RENCODER_SAMPLING_INTERVALS); i++)
	{
		const renc_interval *interval = &keys->set.interval[i];

		if (keys->set.n > RENCODER_SAMPLING_INTERVALS)
			interval = &keys->set.interval[pg_prng_uint64_range(&pg_global_prng_state, 0,
																keys->set.n - 1)];

		/* "<" and ">" are what min and max are for. */
		if (interval->lo == 0 || interval->hi == PG_UINT64_MAX)
			continue;
		samples[n++] = rencoder_sample_interval(interval->lo, interval->hi, keys->generation,
												RENCODER_SAMPLE_SCAN);
	}
	for (size_t i = 0; i < Min(keys->boxes.n, RENCODER_SAMPLING_INTERVALS); i++)
	{
		const renc_box *box = &keys->boxes.box[i];

		if (keys->boxes.n > RENCODER_SAMPLING_INTERVALS)
			box = &keys->boxes.box[pg_prng_uint64_range(&pg_global_prng_state, 0,
														keys->boxes.n - 1)];

		/* Points with a NaN are no place. */
		if (box->xlo == RENC_AXIS_NAN)
			continue;
		samples[n] = rencoder_sample_interval(renc_zorder(box->xlo, box->ylo),
											  renc_zorder(box->xhi, box->yhi), keys->generation,
											  RENCODER_SAMPLE_SCAN);
		samples[n++].kind = RENCODER_SAMPLE_BOX;
	}
	if (n > 0)
		rencoder_samples_store_as_hint(query->index, col, samples, n);
}

static void
record_column_samples(void *arg)
{
	const RencoderQuery *query = (const RencoderQuery *) arg;

	for (int col = 0; col < query->natts; col++)
	{
		if (query->column[col].has_keys)
			record_column_sample(query, col);
	}
}

/*
 * A query that passes few ranges is one whose false positives count, so it is
 * preferred.  But one that passes many may do so because the filters suit it
 * badly, so it is never ruled out.
 */
void
rencoder_sample_record_scan(const RencoderQuery *query, double passed)
{
	if (rencoder_options_use_runs(query->index) || !is_turn_to_record() || !rencoder_may_begin_subtransaction() ||
		pg_prng_double(&pg_global_prng_state) > Max(2 * (1 - passed), LEAST_PROBABILITY))
		return;
	(void) rencoder_best_effort(record_column_samples, unconstify(RencoderQuery *, query),
								query->index, "record a query sample");
}
