/*
 * run_samples.c
 *		The query samples of a column, as the encoder of runs wants them.
 *
 * Boxes are left to the rule: what of a cell lies in a box, its keys do not tell.
 */
#include "plan/run_samples.h"

#include "common/hashfn.h"

#include "store/sample_pages.h"

/*
 * Recorded ones weigh as much as the rule does when there are 16 (renc_run_samples.c), and tell
 * something new when there are twice as many.
 */
#define FEW_RECORDED	16
#define MORE_RECORDED	2

#define RECORDED(stamp)	((stamp) & 0xFFFF)
#define GIVEN(stamp)		((stamp) >> 16)

/* Does the encoder want it? */
static bool
is_of_use(const RencoderSample *sample)
{
	return sample->kind == RENCODER_SAMPLE_INTERVAL && sample->source != RENCODER_SAMPLE_DEFAULT;
}

renc_run_samples *
rencoder_run_samples(Relation index, int col, uint32 coder)
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
		if (!is_of_use(&sample[i]))
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

uint32
rencoder_run_samples_stamp(Relation index, int col, uint32 coder)
{
	int			nread;
	RencoderSample *sample = rencoder_samples_read(index, col, &coder, &nread);
	uint32		recorded = 0;
	uint32		given = 0;

	for (int i = 0; i < nread; i++)
	{
		if (!is_of_use(&sample[i]))
			continue;

		/* Samples have no order: a sum does not depend on it. */
		if (sample[i].source == RENCODER_SAMPLE_SCAN)
			recorded++;
		else
			given += hash_bytes((const unsigned char *) &sample[i], sizeof(sample[i]));
	}
	pfree(sample);
	return (given >> 17) << 16 | Min(recorded, 0xFFFF);
}

bool
rencoder_run_samples_changed(uint32 before, uint32 now)
{
	return GIVEN(before) != GIVEN(now) ||
		(RECORDED(now) >= FEW_RECORDED && RECORDED(now) >= MORE_RECORDED * RECORDED(before));
}
