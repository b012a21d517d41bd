/*
 * trainer.c
 *		Samples of a column's values, and training coders on them.
 */
#include "trainer.h"

#include <math.h>

#include "renc_strings.h"

/* Strings kept: enough for quantiles a little finer than splitters. */
#define MAX_STRINGS		65536

struct RencoderTrainer
{
	MemoryContext context;
	uint16		kind;			/* 0: nothing added yet */

	/* Every "stride"th string. */
	renc_string *string;
	size_t		nstrings;
	size_t		stride;
	size_t		seen;

	/* Bounds of the finite points: x from, to, y from, to. */
	double		bounds[4];
};

RencoderTrainer *
rencoder_trainer_create(void)
{
	RencoderTrainer *trainer = palloc0(sizeof(RencoderTrainer));

	trainer->context = CurrentMemoryContext;
	return trainer;
}

static int
compare_strings(const renc_string *a, const renc_string *b)
{
	int			cmp = memcmp(a->data, b->data, Min(a->length, b->length));

	if (cmp != 0)
		return cmp;
	return (a->length > b->length) - (a->length < b->length);
}

/* sort_strings: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_strings
#define ST_ELEMENT_TYPE renc_string
#define ST_COMPARE(a, b) compare_strings(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Keeps every second string. */
static void
thin_out(RencoderTrainer *t)
{
	for (size_t i = 0; i < t->nstrings; i++)
	{
		if (i % 2 == 0)
			t->string[i / 2] = t->string[i];
		else
			pfree((void *) t->string[i].data);
	}
	t->nstrings = (t->nstrings + 1) / 2;
	t->stride *= 2;
}

void
rencoder_trainer_add_string(RencoderTrainer *t, const char *data, size_t length)
{
	MemoryContext old;
	uint8	   *copy;

	if (t->kind == 0)
	{
		t->kind = RENCODER_CODER_STRINGS;
		t->stride = 1;
		t->string = MemoryContextAlloc(t->context, MAX_STRINGS * sizeof(renc_string));
	}
	if (t->seen++ % t->stride != 0)
		return;
	if (t->nstrings == MAX_STRINGS)
	{
		thin_out(t);
		if ((t->seen - 1) % t->stride != 0)
			return;
	}
	old = MemoryContextSwitchTo(t->context);
	length = Min(length, RENC_STRINGS_MAX_LENGTH);
	copy = palloc(Max(length, 1));
	memcpy(copy, data, length);
	t->string[t->nstrings].data = copy;
	t->string[t->nstrings].length = length;
	t->nstrings++;
	MemoryContextSwitchTo(old);
}

void
rencoder_trainer_add_point(RencoderTrainer *t, double x, double y)
{
	if (!isfinite(x) || !isfinite(y))
		return;
	if (t->kind == 0)
	{
		t->kind = RENCODER_CODER_AXES;
		t->bounds[0] = t->bounds[1] = x;
		t->bounds[2] = t->bounds[3] = y;
	}
	t->bounds[0] = Min(t->bounds[0], x);
	t->bounds[1] = Max(t->bounds[1], x);
	t->bounds[2] = Min(t->bounds[2], y);
	t->bounds[3] = Max(t->bounds[3], y);
}

static void *
train_strings(RencoderTrainer *t, uint32 *size)
{
	size_t		n = 0;
	void	   *data = palloc(RENCODER_CODER_MAX_SIZE);

	sort_strings(t->string, t->nstrings);
	for (size_t i = 0; i < t->nstrings; i++)
	{
		if (n == 0 || compare_strings(&t->string[i], &t->string[n - 1]) != 0)
			t->string[n++] = t->string[i];
	}
	*size = (uint32) renc_strings_train(t->string, n, data, RENCODER_CODER_MAX_SIZE);
	return *size > 0 ? data : NULL;
}

void *
rencoder_trainer_finish(RencoderTrainer *t, uint16 *kind, uint32 *size)
{
	void	   *data;

	*kind = t->kind;
	switch (t->kind)
	{
		case RENCODER_CODER_STRINGS:
			return train_strings(t, size);
		case RENCODER_CODER_AXES:
			*size = sizeof(t->bounds);
			data = palloc(*size);
			memcpy(data, t->bounds, *size);
			return data;
	}
	return NULL;
}
