/*
 * range_keys.c
 *		The distinct keys of block ranges, collected while their rows are read.
 */
#include "key/range_keys.h"

#include "utils/memutils.h"

#include "base/workspace.h"
#include "store/run_format.h"

/* sort_uint64: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_uint64
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : (*(a) > *(b) ? 1 : 0))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define INITIAL_KEYS	1024

RencoderRangeKeys *
rencoder_range_keys_create(int natts)
{
	RencoderRangeKeys *c = palloc0(sizeof(RencoderRangeKeys));

	c->natts = natts;
	c->column = palloc0(natts * sizeof(RencoderRangeColumn));
	for (int col = 0; col < natts; col++)
	{
		c->column[col].allocated = INITIAL_KEYS;
		c->column[col].key = palloc(INITIAL_KEYS * sizeof(uint64));
	}
	return c;
}

void
rencoder_range_keys_reset(RencoderRangeKeys *c)
{
	c->nslots = 0;
	c->open = false;
	for (int col = 0; col < c->natts; col++)
		c->column[col].nkeys = 0;
}

static void
begin_collected_slot(RencoderRangeKeys *c)
{
	for (int col = 0; col < c->natts; col++)
	{
		RencoderRangeColumn *column = &c->column[col];
		RencoderRangeSummary *range = &column->range[c->nslots];

		column->start[c->nslots] = column->nkeys;
		range->min = PG_UINT64_MAX;
		range->max = 0;
		range->distinct = 0;
		range->has_null = false;
		range->keyless = false;
	}
	c->nslots++;
	c->open = true;
}

/* Sorts the open slot's keys and drops the duplicates. */
static void
end_collected_slot(RencoderRangeKeys *c)
{
	for (int col = 0; col < c->natts; col++)
	{
		RencoderRangeColumn *column = &c->column[col];
		RencoderRangeSummary *range = &column->range[c->nslots - 1];
		uint64	   *key = column->key + column->start[c->nslots - 1];
		size_t		n = column->nkeys - column->start[c->nslots - 1];
		size_t		kept = 0;

		if (n > 0)
		{
			sort_uint64(key, n);
			for (size_t i = 1; i < n; i++)
				if (key[i] != key[kept])
					key[++kept] = key[i];
			kept++;
			range->min = key[0];
			range->max = key[kept - 1];
		}
		range->distinct = (uint32) kept;
		column->nkeys = column->start[c->nslots - 1] + kept;
		column->start[c->nslots] = column->nkeys;
	}
	c->open = false;
}

void
rencoder_range_keys_open(RencoderRangeKeys *c, int slot)
{
	Assert(slot >= c->nslots - 1 && slot < RENC_GROUP_RANGES);
	if (c->open && slot == c->nslots - 1)
		return;
	rencoder_range_keys_close(c, slot);
	begin_collected_slot(c);
}

void
rencoder_range_keys_add(RencoderRangeKeys *c, int tree, uint64 key)
{
	RencoderRangeColumn *column = &c->column[tree % c->natts];

	Assert(c->open);
	if (tree >= c->natts)
	{
		if (key == RENCODER_RUN_NULL)
			column->range[c->nslots - 1].has_null = true;
		else
			column->range[c->nslots - 1].keyless = true;
		return;
	}
	column->key = rencoder_list_with_room(column->key, column->nkeys, &column->allocated, sizeof(uint64));
	column->key[column->nkeys++] = key;
}

void
rencoder_range_keys_close(RencoderRangeKeys *c, int nslots)
{
	if (c->open)
		end_collected_slot(c);
	while (c->nslots < nslots)
	{
		begin_collected_slot(c);
		end_collected_slot(c);
	}
}

void
rencoder_range_keys_drop(RencoderRangeKeys *c)
{
	Assert(!c->open);
	for (int col = 0; col < c->natts; col++)
	{
		c->column[col].nkeys = 0;
		memset(c->column[col].start, 0, sizeof(c->column[col].start));
	}
}

Size
rencoder_range_keys_memory(const RencoderRangeKeys *c)
{
	Size		memory = 0;

	for (int col = 0; col < c->natts; col++)
		memory += c->column[col].nkeys * sizeof(uint64);
	return memory;
}

renc_keys
rencoder_range_keys_get(const RencoderRangeKeys *c, int col, int slot)
{
	const RencoderRangeColumn *column = &c->column[col];
	renc_keys	keys;

	Assert(slot < c->nslots - (c->open ? 1 : 0));
	keys.key = column->key + column->start[slot];
	keys.n = column->start[slot + 1] - column->start[slot];
	return keys;
}
