/*
 * renc_run_expect.c
 *		False pages that are to be expected of the blocks made so far.
 */
#include "renc_run_expect.h"

#include <math.h>

void
renc_run_expect(renc_run_expected *sum, const renc_run_piece *piece, const renc_run_pair *pair, uint32_t n)
{
	double		part = (double) n / piece->n;

	for (uint32_t i = 0; i < n; i++)
		sum->rows += pair[i].rows;
	sum->bits += piece->bits * part;
	sum->keys += piece->keys * part;
	sum->own += piece->own * part;
	sum->gaps += piece->gaps * part;
	sum->absent += piece->absent * part;
}

void
renc_run_expect_fade(renc_run_expected *sum, double part)
{
	sum->bits *= part;
	sum->rows *= part;
	sum->keys *= part;
	sum->own *= part;
	sum->gaps *= part;
	sum->absent *= part;
}

double
renc_run_expect_mean(const renc_run_expected *sum)
{
	return fmax(sum->keys > 0 ? sum->own / sum->keys : 0, sum->gaps > 0 ? sum->absent / sum->gaps : 0);
}

/* Adds the pages of one tail, for all keys that it reaches. */
static void
add_tail(renc_run_piece *piece, const renc_run_tail *tail, const renc_run_pair *pair, uint32_t n)
{
	double		keys = 0;
	double		gaps = 0;

	for (uint32_t i = 0; i < n && pair[i].key <= tail->end; i++)
	{
		keys += pair[i].key != tail->key && (i == 0 || pair[i].key != pair[i - 1].key);
		gaps += i > 0 && pair[i].share > 0;
	}

	/* The piece is about to be scaled down to these pairs. */
	piece->own += keys * tail->pages * piece->n / n;
	piece->absent += gaps * tail->pages * piece->n / n;
}

/* The last cell of a block. */
static renc_run_tail
last_cell(const renc_run_pair *pair, uint32_t n, int width)
{
	renc_run_tail tail = {pair[n - 1].key, renc_run_ceiling(pair[n - 1].key, width), 0};

	for (uint32_t i = n; i > 0 && pair[i - 1].key >> width == tail.key >> width; i--)
		tail.pages++;
	return tail;
}

void
renc_run_expect_tails(renc_run_tails *tails, renc_run_piece *piece, const renc_run_pair *pair, uint32_t n)
{
	uint32_t	kept = 0;

	for (uint32_t i = 0; i < tails->n; i++)
	{
		add_tail(piece, &tails->tail[i], pair, n);
		if (tails->tail[i].end > pair[n - 1].key)
			tails->tail[kept++] = tails->tail[i];
	}

	/* Those that have come far matter least. */
	if (kept == EXPECT_TAILS)
		memmove(tails->tail, tails->tail + 1, --kept * sizeof(renc_run_tail));
	tails->tail[kept++] = last_cell(pair, n, piece->width);
	tails->n = kept;
}
