/*
 * test_exhaustive_10.c
 *		All intervals of domains of 10 bits, with random shapes.
 *
 * A program of its own, because it takes as long as all of test_exhaustive.c.
 */
#include "sweep.h"

int
main(int argc, char **argv)
{
	const placement places[] = {
		{"top", 0, 0},
		{"bottom", 54, UINT64_C(0x9249249249249) << 12},
		{"middle", 27, 0}
	};
	const sweep_plan plan = {10, 64, 32, true};

	tap_start(argc, argv, "test_exhaustive_10");
	for (int p = 0; p < 3; p++)
	{
		renc_shape	shape;

		random_shape(&shape, places[p].above + 1, places[p].above + 10);
		test_sweep(&shape, &places[p], &plan);
	}
	return tap_finish();
}
