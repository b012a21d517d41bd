/*
 * renc_shape.c
 *		Shapes: validation, packed form, the positions of a key.  renc_rule.c and
 *		renc_shape_search.c choose them.
 */
#include "renc_shape.h"

#include "renc_hash.h"

#define NO_SECOND_ROOT	255

static bool
invalid(const char **reason, const char *why)
{
	if (reason)
		*reason = why;
	return false;
}

bool
renc_shape_valid(const renc_shape *shape, const char **reason)
{
	int			nbits = 0;

	if (shape->nstages < 1 || shape->nstages > RENC_MAX_STAGES)
		return invalid(reason, "number of stages is neither 1 nor 2");

	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];

		if (st->root >= RENC_KEY_BITS)
			return invalid(reason, "root length is over 63");
		if (st->kw < 1 || st->kw > RENC_MAX_KW)
			return invalid(reason, "number of windows per root is out of range");
		if (st->kr < 1 || st->kr > RENC_MAX_KR)
			return invalid(reason, "number of rows per level is out of range");
		if (st->levels == 0)
			return invalid(reason, "a stage has no levels");
		if (st->root > 0 && (st->levels & (~UINT64_C(0) >> (RENC_KEY_BITS - st->root))) != 0)
			return invalid(reason, "a level is not below its root");
		if (s > 0 && st->root < renc_stage_deepest(&shape->stage[s - 1]))
			return invalid(reason, "second root lies above the first stage's levels");
		nbits += st->kw * st->kr * __builtin_popcountll(st->levels);
	}
	if (nbits > RENC_MAX_POSITIONS)
		return invalid(reason, "a key would set too many bits");
	return true;
}

int
renc_shape_nbits(const renc_shape *shape)
{
	int			nbits = 0;

	for (int s = 0; s < shape->nstages; s++)
		nbits += shape->stage[s].kw * shape->stage[s].kr *
			__builtin_popcountll(shape->stage[s].levels);
	return nbits;
}

int
renc_stage_deepest(const renc_stage *stage)
{
	return RENC_KEY_BITS - __builtin_clzll(stage->levels);
}

int
renc_stage_levels(const renc_stage *stage, uint8_t *levels)
{
	int			n = 0;

	for (uint64_t rest = stage->levels; rest != 0; rest &= rest - 1)
		levels[n++] = (uint8_t) (__builtin_ctzll(rest) + 1);
	return n;
}

void
renc_shape_pack(const renc_shape *shape, uint8_t *out)
{
	const renc_stage *first = &shape->stage[0];
	uint64_t	levels = first->levels;

	memset(out, 0, RENC_SHAPE_PACKED_SIZE);
	out[8] = first->root;
	out[9] = NO_SECOND_ROOT;
	out[10] = first->kw;
	out[11] = first->kr;
	if (shape->nstages > 1)
	{
		const renc_stage *second = &shape->stage[1];

		levels |= second->levels;
		out[9] = second->root;
		out[12] = second->kw;
		out[13] = second->kr;
	}
	renc_store64(out, levels);
}

bool
renc_shape_unpack(const uint8_t *in, renc_shape *shape, const char **reason)
{
	uint64_t	levels = renc_load64(in);

	memset(shape, 0, sizeof(*shape));
	shape->nstages = in[9] == NO_SECOND_ROOT ? 1 : 2;
	shape->stage[0].root = in[8];
	shape->stage[0].kw = in[10];
	shape->stage[0].kr = in[11];
	shape->stage[0].levels = levels;
	if (shape->nstages > 1)
	{
		uint64_t	above;

		if (in[9] >= RENC_KEY_BITS || in[9] == 0)
			return invalid(reason, "second root length is out of range");
		above = ~UINT64_C(0) >> (RENC_KEY_BITS - in[9]);
		shape->stage[0].levels = levels & above;
		shape->stage[1].levels = levels & ~above;
		shape->stage[1].root = in[9];
		shape->stage[1].kw = in[12];
		shape->stage[1].kr = in[13];
		if (shape->stage[0].levels == 0)
			return invalid(reason, "a stage has no levels");
	}
	else if (in[12] != 0 || in[13] != 0)
		return invalid(reason, "a second stage is described that there is not");
	if (in[14] != 0 || in[15] != 0)
		return invalid(reason, "a byte that must be zero is not");
	return renc_shape_valid(shape, reason);
}

int
renc_shape_positions(const renc_shape *shape, uint64_t key,
					 uint32_t nwindows, uint32_t rows, renc_position *out)
{
	int			n = 0;

	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];
		renc_hash	root = renc_hash_root(renc_prefix(key, st->root), st->root);

		for (uint64_t rest = st->levels; rest != 0; rest &= rest - 1)
		{
			int			level = __builtin_ctzll(rest) + 1;
			renc_hash	node = renc_hash_node(renc_prefix(key, level), level);

			for (uint32_t w = 0; w < st->kw; w++)
			{
				uint32_t	window = renc_hash_position(root, w, nwindows);

				for (uint32_t r = 0; r < st->kr; r++)
				{
					out[n].window = window;
					out[n].row = renc_hash_position(node, w * st->kr + r, rows);
					n++;
				}
			}
		}
	}
	return n;
}
