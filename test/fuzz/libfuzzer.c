/*
 * libfuzzer.c
 *		The driver of clang -fsanitize=fuzzer: inputs are chosen by coverage.
 */
#include <stdio.h>

#include "fuzz.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void
fuzz_failed(const char *what)
{
	fprintf(stderr, "fuzz_filter: %s\n", what);
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_filter(data, size);
	return 0;
}
