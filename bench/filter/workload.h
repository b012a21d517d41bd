/*
 * workload.h
 *		Keys and queries of the accuracy table.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "benchlib.h"

typedef struct key_kind
{
	const char *name;
	uint64_t	(*key) (size_t i);
	uint64_t	unit;			/* lengths and distances are multiples of it */
} key_kind;

/* Made keys; ends with a NULL name. */
extern const key_kind key_kinds[];

typedef struct query_kind
{
	const char *name;

	/* Fills in a query on "keys" (those of the whole group). */
	void		(*query) (const bench_group *g, uint64_t unit, uint64_t *lo, uint64_t *hi);
	bool		correlated;		/* close to a key of a range: of one range, for
								 * made keys, so that all queries are close */
} query_kind;

extern const query_kind query_kinds[];

#endif							/* WORKLOAD_H */
