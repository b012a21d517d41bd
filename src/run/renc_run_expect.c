/*
 * renc_run_expect.c
 *		False pages that are to be expected of the blocks made so far.
 */
#include "renc_run_expect.h"

#include <math.h>

void
renc_run_expect_add(renc_run_expected *sum, const renc_run_piece *piece, const renc_run_pair *pair, uint32_t n)
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
