/*
 * sample_record.c
 *		Query samples: what scans ask for.
 */
#include "design/sample_record.h"

#include "common/pg_prng.h"

#include "base/options.h"
#include "base/subtransaction.h"

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

/* One of the intervals that a column was asked for, or that cover the boxes. */
static void
record_column_sample(const RencoderQuery *query, int col)
{
	const RencoderKeySet *keys = rencoder_key_newest_set(query, col);
	const renc_interval *interval;
	RencoderSample sample;

	if (keys == NULL || keys->none)
		return;
	interval = &keys->cover.interval[pg_prng_uint64_range(&pg_global_prng_state, 0, keys->cover.n - 1)];

	/* "<" and ">" are what min and max are for; points with a NaN are no place. */
	if (interval->lo == 0 || interval->hi == PG_UINT64_MAX)
		return;
	sample = rencoder_sample_interval(interval->lo, interval->hi, keys->generation, RENCODER_SAMPLE_SCAN);
	rencoder_samples_store_as_hint(query->index, col, &sample);
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

void
rencoder_sample_record_scan(const RencoderQuery *query)
{
	if (rencoder_options_use_runs(query->index) || !is_turn_to_record() || !rencoder_may_begin_subtransaction())
		return;
	(void) rencoder_best_effort(record_column_samples, unconstify(RencoderQuery *, query),
								query->index, "record a query sample");
}
