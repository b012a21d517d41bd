/*
 * run_data.c
 *		Keys in the order of a table, made or from a file.
 */
#include "run_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF	(UINT64_C(1) << 63)

static double
exponential(double mean)
{
	return -log(1 - rnd_unit()) * mean;
}

static void
uniform(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = rnd();
}

static void
dense(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		size_t		j = rnd() % (i + 1);

		key[i] = key[j];
		key[j] = HALF + i;
	}
}

/* As bench/checks/runs.sh has them: two thirds of the integers below n, each once or a few times. */
static void
drawn(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = HALF + rnd() % n;
}

/* Few large clusters and many small ones, 2^4 to 2^50 wide. */
static void
clusters(uint64_t *key, size_t n)
{
	enum
	{
		CLUSTERS = 20000
	};
	static uint64_t start[CLUSTERS];
	static int	width[CLUSTERS];

	for (int c = 0; c < CLUSTERS; c++)
	{
		start[c] = rnd();
		width[c] = 4 + (int) (rnd() % 47);
	}
	for (size_t i = 0; i < n; i++)
	{
		int			c = (int) (CLUSTERS * pow(rnd_unit(), 3));

		key[i] = start[c] + (rnd() & ((UINT64_C(1) << width[c]) - 1));
	}
}

/* Clusters of 10 keys, 2^4 to 2^40 wide. */
static void
tens(uint64_t *key, size_t n)
{
	size_t		nclusters = n / 10;
	uint64_t   *start = (uint64_t *) test_alloc(nclusters * sizeof(uint64_t));
	uint8_t    *width = (uint8_t *) test_alloc(nclusters);

	for (size_t c = 0; c < nclusters; c++)
	{
		start[c] = rnd();
		width[c] = (uint8_t) (4 + rnd() % 37);
	}
	for (size_t i = 0; i < n; i++)
	{
		size_t		c = rnd() % nclusters;

		key[i] = start[c] + (rnd() & ((UINT64_C(1) << width[c]) - 1));
	}
	free(start);
	free(width);
}

static void
thousand(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = HALF + rnd() % 1000 * 7919;
}

static void
million(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = HALF + (rnd() % 1000000 * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static void
hot(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = rnd() % 10 > 0 ? HALF : rnd();
}

/* Microseconds, 20 rows a second; as they come, or 5 seconds late on average. */
static void
timestamps(uint64_t *key, size_t n)
{
	uint64_t	t = UINT64_C(1700000000000000);

	for (size_t i = 0; i < n; i++)
		key[i] = t += (uint64_t) exponential(50000);
}

static void
late(uint64_t *key, size_t n)
{
	timestamps(key, n);
	for (size_t i = 0; i < n; i++)
		key[i] -= (uint64_t) exponential(5e6);
}

/* Microseconds, one row each second. */
static void
seconds(uint64_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		key[i] = HALF + UINT64_C(789004800000000) + (i + 1) * 1000000;
}

static const struct
{
	const char *name;
	void		(*make) (uint64_t *key, size_t n);
}			kinds[] = {
	{"uniform", uniform},
	{"clusters", clusters},
	{"tens", tens},
	{"dense", dense},
	{"drawn", drawn},
	{"thousand", thousand},
	{"million", million},
	{"hot", hot},
	{"timestamps", timestamps},
	{"seconds", seconds},
	{"late", late},
	{NULL, NULL}
};

const char *const data_kinds[] = {
	"uniform", "clusters", "tens", "dense", "drawn", "thousand", "million", "hot", "timestamps", "seconds", "late",
	NULL
};

static uint64_t
key_of_line(const char *line, bool string)
{
	uint64_t	key = 0;

	if (!string)
		return strtoull(line, NULL, 10);
	for (int i = 0; i < 8; i++)
		key = key << 8 | (*line != '\0' && *line != '\n' ? (uint8_t) *line++ : 0);
	return key;
}

static uint64_t *
keys_of_file(const char *path, bool strings, size_t *n)
{
	FILE	   *f = fopen(path, "r");
	char		line[4096];
	size_t		capacity = 1 << 20;
	uint64_t   *key = (uint64_t *) test_alloc(capacity * sizeof(uint64_t));

	if (f == NULL)
	{
		perror(path);
		exit(EXIT_FAILURE);
	}
	for (*n = 0; fgets(line, sizeof(line), f) != NULL;)
	{
		if (*n == capacity)
			key = (uint64_t *) realloc(key, (capacity *= 2) * sizeof(uint64_t));
		key[(*n)++] = key_of_line(line, strings);
	}
	fclose(f);
	return key;
}

uint64_t *
data_keys(const char *name, size_t *n)
{
	if (strncmp(name, "s:", 2) == 0 || strncmp(name, "n:", 2) == 0)
		return keys_of_file(name + 2, name[0] == 's', n);
	for (int i = 0; kinds[i].name != NULL; i++)
		if (strcmp(kinds[i].name, name) == 0)
		{
			uint64_t   *key = (uint64_t *) test_alloc(*n * sizeof(uint64_t));

			kinds[i].make(key, *n);
			return key;
		}
	return NULL;
}
