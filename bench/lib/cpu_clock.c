/*
 * cpu_clock.c
 *		bench_cpu(): the CPU time of the session so far, in us.
 *
 * /proc/self/schedstat is as much as a tick of the kernel behind, and takes longer to read than a
 * query that finds one row.
 */
#include "postgres.h"

#include <time.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_cpu);

Datum
bench_cpu(PG_FUNCTION_ARGS)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	PG_RETURN_FLOAT8(now.tv_sec * 1e6 + now.tv_nsec / 1e3);
}
