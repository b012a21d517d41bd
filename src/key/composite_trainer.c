/*
 * composite_trainer.c
 *		Training coders of composite keys.
 */
#include "key/composite_trainer.h"

/*
 * A coder is worth a generation of its own if of an older one's this share of the values of a column lies
 * outside of what that was trained on, or so many more share their codes with others.
 */
#define OUTSIDE_SHARE	0.05
#define ALIKE_SHARE		0.02

typedef struct TrainedColumn
{
	RencoderKeyFunction function;
	const RencoderCoder *coder;
	renc_composite_value *value;
	size_t		n;
	size_t		room;
} TrainedColumn;

struct RencoderCompositeTrainer
{
	MemoryContext context;
	Relation	index;
	int			n;
	TrainedColumn column[RENC_COMPOSITE_MAX];
};

RencoderCompositeTrainer *
rencoder_composite_trainer_create(Relation index, const RencoderCoder *const *coder)
{
	RencoderCompositeTrainer *t = palloc0(sizeof(RencoderCompositeTrainer));

	t->context = CurrentMemoryContext;
	t->index = index;
	t->n = IndexRelationGetNumberOfKeyAttributes(index);
	for (int col = 0; col < t->n; col++)
	{
		t->column[col].function = rencoder_key_function(index, col);
		t->column[col].coder = coder[col];
	}
	return t;
}

void
rencoder_composite_trainer_add(RencoderCompositeTrainer *t, int col, Datum value)
{
	TrainedColumn *column = &t->column[col];
	renc_composite_value *added;
	MemoryContext old;
	uint64		key;

	if (!rencoder_key_call(&column->function, value, column->coder, &key))
		return;
	old = MemoryContextSwitchTo(t->context);
	column->value = rencoder_list_with_room(column->value, column->n, &column->room,
											sizeof(renc_composite_value));
	MemoryContextSwitchTo(old);
	added = &column->value[column->n++];
	added->key = key;
	added->exact = rencoder_key_is_own(t->index, col, value, column->coder, key);
}

/* sort_trained: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_trained
#define ST_ELEMENT_TYPE renc_composite_value
#define ST_COMPARE(a, b) (((a)->key > (b)->key) - ((a)->key < (b)->key))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void *
rencoder_composite_trainer_finish(RencoderCompositeTrainer *t, uint32 *size)
{
	char	   *data = palloc0(RENCODER_CODER_MAX_COMPOSITE);
	renc_composite *c = (renc_composite *) data;
	renc_composite_sample sample[RENC_COMPOSITE_MAX];
	size_t		n = 0;

	for (int col = 0; col < t->n; col++)
	{
		if (t->column[col].n > 0)
			sort_trained(t->column[col].value, t->column[col].n);
		sample[col] = (renc_composite_sample)
		{
			t->column[col].value, t->column[col].n
		};
		n += t->column[col].n;
	}
	if (n == 0)
		return NULL;
	*size = (uint32) renc_composite_train(sample, t->n, data);
	for (int col = 0; col < t->n; col++)
	{
		const RencoderCoder *coder = t->column[col].coder;

		if (coder == NULL)
			continue;
		memcpy(data + *size, coder->data, coder->size);
		c->column[col].coder = *size;
		c->column[col].coder_size = coder->size;
		c->column[col].coder_kind = coder->kind;
		*size += MAXALIGN(coder->size);
	}
	return data;
}

bool
rencoder_composite_trainer_gains(const RencoderCompositeTrainer *t, const void *data,
								 const RencoderCoder *older)
{
	const renc_composite *newer = (const renc_composite *) data;
	const renc_composite *c = rencoder_composite_codes(older, t->n);

	for (int col = 0; col < t->n; col++)
	{
		const renc_composite_sample sample = {t->column[col].value, t->column[col].n};

		if (renc_composite_share_outside(c, col, &sample) > OUTSIDE_SHARE ||
			renc_composite_share_alike(c, col, &sample) >
			renc_composite_share_alike(newer, col, &sample) + ALIKE_SHARE)
			return true;
	}
	return false;
}
