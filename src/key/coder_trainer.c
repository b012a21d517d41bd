/*
 * coder_trainer.c
 *		Samples of a column's values, and training coders on them.
 */
#include "key/coder_trainer.h"

#include <math.h>

/* Strings kept: enough for quantiles a little finer than splitters. */
#define MAX_STRINGS		65536

/* Points kept. */
#define MAX_POINTS		16384

/*
 * Most points lie between these quantiles of each axis.  What lies further
 * from them than OUTSKIRTS times their distance is not worth cells of its own:
 * a few stray points would make the cells of all others so much wider.
 */
#define STRAY_SHARE		0.01
#define OUTSKIRTS		16

/*
 * A coder is worth a generation of its own if an older one would give this share
 * of the sample keys, or cells, that tell nothing.
 */
#define GAIN_SHARE		0.02

struct RencoderTrainer
{
	MemoryContext context;
	uint16		kind;			/* 0: nothing added yet */
	bool		growing;

	/* Every "stride"th string. */
	renc_string *string;
	size_t		nstrings;
	size_t		stride;
	size_t		seen;

	/* The coordinates of every "stride"th finite point, by axis. */
	double	   *coordinate[2];
	size_t		npoints;
};

RencoderTrainer *
rencoder_trainer_create(bool growing)
{
	RencoderTrainer *trainer = palloc0(sizeof(RencoderTrainer));

	trainer->context = CurrentMemoryContext;
	trainer->growing = growing;
	return trainer;
}

static int
compare_trained_strings(const renc_string *a, const renc_string *b)
{
	int			cmp = memcmp(a->data, b->data, Min(a->length, b->length));

	if (cmp != 0)
		return cmp;
	return (a->length > b->length) - (a->length < b->length);
}

/* sort_strings: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_strings
#define ST_ELEMENT_TYPE renc_string
#define ST_COMPARE(a, b) compare_trained_strings(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Keeps every second string. */
static void
thin_out_training(RencoderTrainer *t)
{
	for (size_t i = 0; i < t->nstrings; i++)
	{
		if (i % 2 == 0)
			t->string[i / 2] = t->string[i];
		else
			pfree((void *) t->string[i].data);
	}
	t->nstrings /= 2;
	t->stride *= 2;
}

void
rencoder_trainer_add_string(RencoderTrainer *t, renc_string s)
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
	old = MemoryContextSwitchTo(t->context);
	s.length = Min(s.length, RENC_STRINGS_MAX_LENGTH);
	copy = palloc(Max(s.length, 1));
	memcpy(copy, s.data, s.length);
	s.data = copy;
	t->string[t->nstrings++] = s;
	MemoryContextSwitchTo(old);
	if (t->nstrings == MAX_STRINGS)
		thin_out_training(t);
}

void
rencoder_trainer_add_point(RencoderTrainer *t, double x, double y)
{
	if (!isfinite(x) || !isfinite(y))
		return;
	if (t->kind == 0)
	{
		t->kind = RENCODER_CODER_AXES;
		t->stride = 1;
		for (int axis = 0; axis < 2; axis++)
			t->coordinate[axis] = MemoryContextAlloc(t->context, MAX_POINTS * sizeof(double));
	}
	if (t->seen++ % t->stride != 0)
		return;
	t->coordinate[0][t->npoints] = x;
	t->coordinate[1][t->npoints] = y;
	if (++t->npoints < MAX_POINTS)
		return;

	/* Keep every second one. */
	t->npoints /= 2;
	t->stride *= 2;
	for (size_t i = 0; i < t->npoints; i++)
	{
		t->coordinate[0][i] = t->coordinate[0][2 * i];
		t->coordinate[1][i] = t->coordinate[1][2 * i];
	}
}

/* sort_coordinates: likewise; there are no NaN. */
#define ST_SORT sort_coordinates
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Between which coordinates the cells of an axis should lie. */
static void
train_axis(double *coordinate, size_t n, bool growing, double *bounds)
{
	size_t		strays = (size_t) (n * STRAY_SHARE);
	double		lo;
	double		hi;
	double		margin;

	sort_coordinates(coordinate, n);
	lo = coordinate[strays];
	hi = coordinate[n - 1 - strays];
	margin = (hi - lo) * OUTSKIRTS; /* infinite at worst */
	bounds[0] = coordinate[0];
	bounds[1] = coordinate[n - 1];
	if (margin > 0)
	{
		bounds[0] = Max(bounds[0], lo - margin);
		bounds[1] = Min(bounds[1], hi + margin);
	}

	/* Five bits of 32, for a table that comes in the order of places. */
	if (growing && isfinite(lo - margin) && isfinite(hi + margin))
	{
		bounds[0] = lo - margin;
		bounds[1] = hi + margin;
	}
}

static void *
train_strings(RencoderTrainer *t, uint32 *size)
{
	size_t		n = 0;
	void	   *data = palloc(RENCODER_CODER_MAX_SIZE);

	sort_strings(t->string, t->nstrings);
	for (size_t i = 0; i < t->nstrings; i++)
	{
		if (n == 0 || compare_trained_strings(&t->string[i], &t->string[n - 1]) != 0)
			t->string[n++] = t->string[i];
	}
	t->nstrings = n;
	*size = (uint32) renc_strings_train(t->string, n, data, RENCODER_CODER_MAX_SIZE);
	return *size > 0 ? data : NULL;
}

void *
rencoder_trainer_finish(RencoderTrainer *t, uint16 *kind, uint32 *size)
{
	double	   *bounds;

	*kind = t->kind;
	switch (t->kind)
	{
		case RENCODER_CODER_STRINGS:
			return train_strings(t, size);
		case RENCODER_CODER_AXES:
			*size = 4 * sizeof(double);
			bounds = palloc(*size);
			for (int axis = 0; axis < 2; axis++)
				train_axis(t->coordinate[axis], t->npoints, t->growing, bounds + 2 * axis);
			return bounds;
	}
	return NULL;
}

/* How many different keys the sample's strings have, which are sorted. */
static size_t
count_trained_keys(const RencoderTrainer *t, const renc_strings *d)
{
	size_t		n = 0;
	uint64		last = 0;

	for (size_t i = 0; i < t->nstrings; i++)
	{
		uint64		key = renc_strings_key(d, t->string[i].data, t->string[i].length);

		if (i == 0 || key != last)
			n++;
		last = key;
	}
	return n;
}

/* The greater share of sorted coordinates outside the bounds, of both axes. */
static double
trained_share_outside(const RencoderTrainer *t, const double *bounds)
{
	size_t		most = 0;

	for (int axis = 0; axis < 2; axis++)
	{
		size_t		n = 0;

		for (size_t i = 0; i < t->npoints; i++)
			n += t->coordinate[axis][i] < bounds[2 * axis] ||
				t->coordinate[axis][i] > bounds[2 * axis + 1];
		most = Max(most, n);
	}
	return (double) most / t->npoints;
}

/*
 * Will places soon come that lie outside, if they go on coming as they have?  Another look
 * is taken when there are twice as many.  Bounds that the sample fills were those of all
 * places, and it has not gone on.
 */
static bool
trained_lacks_room(const RencoderTrainer *t, const double *bounds)
{
	size_t		strays = (size_t) (t->npoints * STRAY_SHARE);

	for (int axis = 0; axis < 2; axis++)
	{
		double		lo = t->coordinate[axis][strays];
		double		hi = t->coordinate[axis][t->npoints - 1 - strays];
		double		from = bounds[2 * axis];
		double		to = bounds[2 * axis + 1];

		if (to - from > (hi - lo) * 1.5 && (lo - (hi - lo) < from || hi + (hi - lo) > to))
			return true;
	}
	return false;
}

bool
rencoder_trainer_gains(const RencoderTrainer *t, const void *data, const RencoderCoder *older)
{
	if (older->kind != t->kind)
		return true;
	switch (t->kind)
	{
		case RENCODER_CODER_STRINGS:
			return count_trained_keys(t, (const renc_strings *) data) >
				count_trained_keys(t, (const renc_strings *) older->data) + t->nstrings *
				GAIN_SHARE;
		case RENCODER_CODER_AXES:
			return trained_share_outside(t, (const double *) older->data) >
				trained_share_outside(t, (const double *) data) + GAIN_SHARE ||
				trained_lacks_room(t, (const double *) older->data);
	}
	return false;
}
