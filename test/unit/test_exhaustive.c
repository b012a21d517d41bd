/*
 * test_exhaustive.c
 *		All intervals of domains of 8 bits: shapes of every kind, keys at all
 *		places of the 64 bits.
 */
#include "sweep.h"

/* Shapes for small keys; levels and roots count from the top of the domain. */
static const struct
{
	int			nstages;
	renc_stage stage[RENC_MAX_STAGES];
}			small_shapes[] = {
	{1, {{0xff, 0, 2, 1}}},
	{1, {{0xfc, 2, 1, 1}}},
	{1, {{0xa8, 3, 2, 2}}},
	{1, {{0x80, 0, 4, 3}}},
	{1, {{0x52, 1, 3, 1}}},
	{1, {{0x93, 0, 1, 3}}},
	{1, {{0x80, 7, 2, 1}}},
	{2, {{0x06, 0, 2, 1}, {0xd0, 4, 1, 2}}},
	{2, {{0x04, 1, 1, 1}, {0xf8, 3, 3, 1}}},
	{2, {{0x0c, 2, 2, 2}, {0x80, 6, 4, 1}}},
	{2, {{0x05, 0, 1, 3}, {0xa0, 5, 1, 1}}},
};

/* Puts a shape for small keys where the keys are. */
static renc_shape
place_shape(int i, const placement *at)
{
	renc_shape	shape;

	memset(&shape, 0, sizeof(shape));
	shape.nstages = small_shapes[i].nstages;
	for (int s = 0; s < shape.nstages; s++)
	{
		shape.stage[s] = small_shapes[i].stage[s];
		shape.stage[s].levels <<= at->above;
		/* Root 0 stays: one tree over all 64-bit keys. */
		if (shape.stage[s].root > 0)
			shape.stage[s].root += (uint8_t) at->above;
	}
	return shape;
}

int
main(int argc, char **argv)
{
	const placement places[] = {
		{"top", 0, 0},
		{"bottom", 56, 0},
		{"middle", 27, 0},
		{"middle, other bits set", 29, UINT64_C(0xa5a5a5a5) << 35}
	};
	const sweep_plan some = {8, 8, 16, false};
	const sweep_plan more = {8, 2, RENC_GROUP_RANGES, false};
	const sweep_plan below = {8, 8, 16, true};
	int			nshapes = (int) (sizeof(small_shapes) / sizeof(small_shapes[0]));
	renc_shape	shape;

	tap_start(argc, argv, "test_exhaustive");
	for (int p = 0; p < 4; p++)
	{
		for (int i = p == 3 ? 5 : 0; i < nshapes; i++)
		{
			/* At most 511 nodes of the tree's 8 levels: within the budget. */
			shape = place_shape(i, &places[p]);
			test_sweep(&shape, &places[p], i % 4 == 0 ? &more : &some);
		}
	}
	for (int p = 0; p < 4; p++)
	{
		/* Levels below the small keys too: some descents exceed the budget. */
		random_shape(&shape, places[p].above + 1,
					 p == 1 ? RENC_KEY_BITS : places[p].above + 11);
		test_sweep(&shape, &places[p], &below);
	}
	return tap_finish();
}
