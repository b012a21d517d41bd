/*
 * test_fuzz.c
 *		The plain driver of ../fuzz/fuzz_filter.c: random inputs.
 *
 *	test_fuzz [SEED [INPUTS]]
 *
 * Also run with the sanitizers.  "make -C test/fuzz" lets coverage choose the
 * inputs, which finds more, and takes longer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "../fuzz/fuzz.h"

#define MAX_SIZE	3000
#define INPUTS		56250

static long at;

void
fuzz_failed(const char *what)
{
	tap_ok(false, "input %ld: %s", at, what);
	exit(tap_finish());
}

int
main(int argc, char **argv)
{
	static uint8_t data[MAX_SIZE];
	long		inputs = argc > 2 ? atol(argv[2]) : INPUTS;

	tap_start(argc, argv, "test_fuzz");
	for (at = 0; at < inputs; at++)
	{
		/* Short ones more often; each target as often as the others. */
		size_t		size = 1 + rnd_below(rnd_below(2) ? 100 : MAX_SIZE);

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t) rnd();
		data[0] = (uint8_t) at;
		fuzz_filter(data, size);
	}
	tap_ok(true, "%ld random inputs: sound answers, or refused", inputs);
	return tap_finish();
}
