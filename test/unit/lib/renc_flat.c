/*
 * renc_flat.c
 *		One filter by itself: the test oracle of the sliced form.
 */
#include "renc_flat.h"

#include "renc_hash.h"

/* A query in progress. */
typedef struct flat_query
{
	const uint8_t *bits;
	const renc_shape *shape;
	uint32_t	nwindows;
	uint32_t	rows;
	uint64_t	lo;
	uint64_t	hi;
} flat_query;

static size_t
bit_number(uint32_t window, uint32_t row, uint32_t rows)
{
	return (size_t) window * rows + row;
}

void
renc_flat_fill(uint8_t *bits, const renc_shape *shape, uint32_t nwindows,
			   uint32_t rows, const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		renc_position pos[RENC_MAX_POSITIONS];
		int			npos = renc_shape_positions(shape, keys[i], nwindows, rows, pos);

		for (int p = 0; p < npos; p++)
		{
			size_t		bit = bit_number(pos[p].window, pos[p].row, rows);

			bits[bit / 8] |= (uint8_t) (1 << (bit % 8));
		}
	}
}

/* Are all bits of the node set? */
static bool
node_present(const flat_query *q, const renc_stage *st, uint64_t prefix, int level)
{
	renc_hash	root = renc_hash_root(renc_prefix(prefix, st->root), st->root);
	renc_hash	node = renc_hash_node(prefix, level);

	for (uint32_t k = 0; k < (uint32_t) st->kw * st->kr; k++)
	{
		size_t		bit = bit_number(renc_hash_position(root, k / st->kr, q->nwindows),
									 renc_hash_position(node, k, q->rows), q->rows);

		if (!(q->bits[bit / 8] & (1 << (bit % 8))))
			return false;
	}
	return true;
}

/*
 * May the interval's part in the node [first, last] hold a key?  "stage" and
 * "above" (the levels up to it are done with) say how far the path has come.
 */
static bool
may_contain(const flat_query *q, int stage, int above, uint64_t first, uint64_t last)
{
	uint64_t	rest;
	uint64_t	node;
	int			level;

	if (stage == q->shape->nstages)
		return true;
	rest = q->shape->stage[stage].levels;
	if (above > 0)
		rest = above == RENC_KEY_BITS ? 0 : rest & (~UINT64_C(0) << above);
	if (rest == 0)
		return may_contain(q, stage + 1, above, first, last);
	level = __builtin_ctzll(rest) + 1;

	if (first < q->lo)
		first = q->lo;
	if (last > q->hi)
		last = q->hi;
	for (node = renc_prefix(first, level);; node = renc_prefix_end(node, level) + 1)
	{
		uint64_t	end = renc_prefix_end(node, level);

		if (node_present(q, &q->shape->stage[stage], node, level) &&
			may_contain(q, stage, level, node, end))
			return true;
		if (end >= last)
			return false;
	}
}

bool
renc_flat_may_contain(const uint8_t *bits, const renc_shape *shape,
					  uint32_t nwindows, uint32_t rows, uint64_t lo, uint64_t hi)
{
	flat_query	q = {bits, shape, nwindows, rows, lo, hi};

	return may_contain(&q, 0, 0, 0, ~UINT64_C(0));
}
