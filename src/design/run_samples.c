/*
 * run_samples.c
 *		The query samples of a column, as the encoder of runs wants them.
 *
 * Boxes are left to the rule: what of a cell lies in a box, its keys do not tell.
 */
#include "design/run_samples.h"

#include "common/hashfn.h"

#include "base/options.h"
#include "store/sample_pages.h"

renc_run_samples *
rencoder_run_samples_load(Relation index, int col, uint32 coder)
{
	renc_interval *query;
	renc_run_samples *samples = NULL;
	RencoderSample *sample;
	uint32		n = 0;
	int			nread;

	sample = rencoder_samples_read(index, col, &coder, &nread);
	query = palloc(Max(nread, 1) * sizeof(renc_interval));
	for (int i = 0; i < nread; i++)
	{
		if (sample[i].kind != RENCODER_SAMPLE_INTERVAL)
			continue;
		query[n].lo = sample[i].lo;
		query[n++].hi = sample[i].hi;
	}
	if (n > 0)
	{
		Size		head = MAXALIGN(sizeof(renc_run_samples));
		Size		edges = MAXALIGN(2 * n * sizeof(renc_run_edge));
		char	   *room = palloc(head + edges + n * sizeof(renc_run_asked));

		samples = (renc_run_samples *) room;
		renc_run_samples_init(samples, query, n, (renc_run_edge *) (room + head),
							  (renc_run_asked *) (room + head + edges));
	}
	pfree(query);
	pfree(sample);
	return samples;
}

/* The order of the samples does not count. */
uint64
rencoder_run_samples_stamp(Relation index)
{
	uint64		stamp = rencoder_options_hash_for_runs(index);

	for (int col = 0; col < rencoder_key_columns(index); col++)
	{
		int			nread;
		RencoderSample *sample = rencoder_samples_read(index, col, NULL, &nread);

		for (int i = 0; i < nread; i++)
		{
			uint64		said[] = {col, sample[i].lo, sample[i].hi};

			if (sample[i].source == RENCODER_SAMPLE_ADDED)
				stamp += hash_bytes_extended((const unsigned char *) said, sizeof(said), 0);
		}
		pfree(sample);
	}
	return Max(stamp, 1);
}
