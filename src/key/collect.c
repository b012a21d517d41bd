/*
 * collect.c
 *		Collecting the distinct keys of block ranges during a heap scan.
 */
#include "key/collect.h"

#include "utils/memutils.h"

#include "store/run_format.h"

/* sort_uint64: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_uint64
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : (*(a) > *(b) ? 1 : 0))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define INITIAL_KEYS	1024

RencoderCollector *
rencoder_collect_create(int natts)
{
	RencoderCollector *c = palloc0(sizeof(RencoderCollector));

	c->natts = natts;
	c->row_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder row",
										   ALLOCSET_SMALL_SIZES);
	c->column = palloc0(natts * sizeof(RencoderCollectedColumn));
	for (int col = 0; col < natts; col++)
	{
		c->column[col].allocated = INITIAL_KEYS;
		c->column[col].key = palloc(INITIAL_KEYS * sizeof(uint64));
	}
	return c;
}

void
rencoder_collect_reset(RencoderCollector *c)
{
	c->nslots = 0;
	c->open = false;
	for (int col = 0; col < c->natts; col++)
		c->column[col].nkeys = 0;
}

static void
begin_collected_slot(RencoderCollector *c)
{
	for (int col = 0; col < c->natts; col++)
	{
		RencoderCollectedColumn *column = &c->column[col];
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
end_collected_slot(RencoderCollector *c)
{
	for (int col = 0; col < c->natts; col++)
	{
		RencoderCollectedColumn *column = &c->column[col];
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
rencoder_collect_open(RencoderCollector *c, int slot)
{
	Assert(slot >= c->nslots - 1 && slot < RENC_GROUP_RANGES);
	if (c->open && slot == c->nslots - 1)
		return;
	if (c->open)
		end_collected_slot(c);
	while (c->nslots < slot)
	{
		begin_collected_slot(c);
		end_collected_slot(c);
	}
	begin_collected_slot(c);
}

void
rencoder_collect_add(RencoderCollector *c, int col, uint64 key)
{
	RencoderCollectedColumn *column = &c->column[col];

	Assert(c->open);
	if (c->sink != NULL)
	{
		RencoderRangeSummary *range = &column->range[c->nslots - 1];

		range->min = Min(range->min, key);
		range->max = Max(range->max, key);
		c->sink(c->sink_arg, col, key);
		return;
	}
	if (column->nkeys == column->allocated)
	{
		column->allocated *= 2;
		column->key = repalloc_huge(column->key, column->allocated * sizeof(uint64));
	}
	column->key[column->nkeys++] = key;
}

void
rencoder_collect_add_null(RencoderCollector *c, int col)
{
	Assert(c->open);
	if (c->sink != NULL)
		c->sink(c->sink_arg, rencoder_run_null_tree(c->natts, col), RENCODER_RUN_NULL);
	else
		c->column[col].range[c->nslots - 1].has_null = true;
}

void
rencoder_collect_add_keyless(RencoderCollector *c, int col)
{
	RencoderRangeSummary *range = &c->column[col].range[c->nslots - 1];

	Assert(c->open);
	if (c->sink != NULL)
	{
		range->min = 0;
		range->max = PG_UINT64_MAX;
		c->sink(c->sink_arg, rencoder_run_null_tree(c->natts, col), RENCODER_RUN_KEYLESS);
	}
	else
		range->keyless = true;
}

void
rencoder_collect_close(RencoderCollector *c, int nslots)
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
rencoder_collect_drop_keys(RencoderCollector *c)
{
	Assert(!c->open);
	for (int col = 0; col < c->natts; col++)
	{
		c->column[col].nkeys = 0;
		memset(c->column[col].start, 0, sizeof(c->column[col].start));
	}
}

renc_keys
rencoder_collect_keys(const RencoderCollector *c, int col, int slot)
{
	const RencoderCollectedColumn *column = &c->column[col];
	renc_keys	keys;

	Assert(slot < c->nslots - (c->open ? 1 : 0));
	keys.key = column->key + column->start[slot];
	keys.n = column->start[slot + 1] - column->start[slot];
	return keys;
}

Size
rencoder_collect_size(const RencoderCollector *c)
{
	Size		size = 0;

	for (int col = 0; col < c->natts; col++)
		size += c->column[col].nkeys * sizeof(uint64);
	return size;
}
