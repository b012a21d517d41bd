/*
 * known_queries.c
 *		The query samples of a column, as trials of filters want them.
 */
#include "design/filter_design.h"

#include "utils/memutils.h"

#include "filter/renc_zorder.h"
#include "store/sample_pages.h"

/* What a sample asks for. */
static void
take_known_query(const RencoderSample *from, renc_sample *to)
{
	to->lo = from->lo;
	to->hi = from->hi;
	to->anchor = -1;
	to->query = NULL;
	to->kind = RENC_SAMPLE_ASKED;

	if (from->kind == RENCODER_SAMPLE_BOX)
	{
		renc_box   *box = palloc0(sizeof(renc_box));
		renc_box_set *set = palloc(sizeof(renc_box_set));
		renc_query *query = palloc(sizeof(renc_query));
		uint32		x;
		uint32		y;

		/* Two opposite corners; which, may be as whoever added it liked. */
		renc_zorder_split(from->lo, &box->xlo, &box->ylo);
		renc_zorder_split(from->hi, &x, &y);
		box->xhi = Max(box->xlo, x);
		box->xlo = Min(box->xlo, x);
		box->yhi = Max(box->ylo, y);
		box->ylo = Min(box->ylo, y);
		set->box = box;
		set->n = renc_box_set_prepare(box, 1);
		*query = renc_query_boxes(set);
		to->lo = query->hull_lo;
		to->hi = query->hull_hi;
		to->query = query;
	}
}

void
rencoder_known_queries_load(RencoderKnownQueries *q, Relation index, int col,
							bool boxed, uint32 generation, MemoryContext context)
{
	RencoderSampleKind kind = boxed ? RENCODER_SAMPLE_BOX : RENCODER_SAMPLE_INTERVAL;
	MemoryContext old;
	RencoderSample *samples;
	int			n;

	if (q->loaded && q->generation == generation)
		return;
	old = MemoryContextSwitchTo(context);
	samples = rencoder_samples_read(index, col, &generation, &n);
	q->loaded = true;
	q->generation = generation;
	q->sample = palloc0(Max(n, 1) * sizeof(renc_sample));
	q->n = 0;
	for (int i = 0; i < n; i++)
	{
		if (samples[i].kind == kind)
			take_known_query(&samples[i], &q->sample[q->n++]);
	}
	pfree(samples);
	MemoryContextSwitchTo(old);
}
