/*
 * estimate_others.c
 *		What a btree or a BRIN index on a column would take, told from a sample of the table.
 */
#include "query/estimate_table.h"

#include <math.h>

#include "access/brin_page.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "commands/defrem.h"
#include "utils/lsyscache.h"

/* pages_per_range of BRIN by default. */
#define BRIN_RANGE	128

/* BRIN that reads so many pages more does as well as it needs to. */
#define BRIN_PAGES	256

/* The default operator class of the type, or InvalidOid. */
static Oid
find_other_opclass(const RencoderTableSample *sample, Oid am)
{
	return GetDefaultOpClass(sample->index->rd_opcintype[0], am);
}

/* Bytes of a value, on average. */
static double
btree_value_bytes(const RencoderTableSample *sample)
{
	return sample->bytes / Max(1, sample->rows - sample->nulls);
}

/* ---- btree ---- */

/* May equal keys be one tuple? */
static bool
btree_deduplicates(const RencoderTableSample *sample)
{
	Oid			opclass = find_other_opclass(sample, BTREE_AM_OID);

	return OidIsValid(get_opfamily_proc(get_opclass_family(opclass),
										get_opclass_input_type(opclass),
										get_opclass_input_type(opclass), BTEQUALIMAGE_PROC));
}

/* Bytes of leaves that n equal keys take, as nbtsort.c packs them; n may be an average. */
static double
btree_bytes_of_equals(double n, double tuple, bool deduplicate)
{
	double		most = MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData);
	double		lists;
	double		rest;

	if (!deduplicate || n < 2)
		return n * (tuple + sizeof(ItemIdData));
	most = floor((most - tuple) / sizeof(ItemPointerData));
	lists = floor(n / most);
	rest = n - lists * most;
	return lists * (MAXALIGN((Size) (tuple + most * sizeof(ItemPointerData))) + sizeof(ItemIdData)) +
		(rest < 1 ? 0 : sizeof(ItemIdData) + tuple +
		 (rest < 2 ? 0 : MAXALIGN((Size) (rest * sizeof(ItemPointerData)))));
}

/* Bytes of all leaves. */
static double
btree_leaf_bytes(const RencoderTableSample *sample, const RencoderTableEstimate *table,
				 double tuple)
{
	double		fraction = rencoder_table_sample_fraction(sample);
	bool		deduplicate = btree_deduplicates(sample);
	double		bytes = 0;
	double		rows = table->rows;
	double		distinct = table->distinct;

	/* Of what the sample has several of, it tells how many there are. */
	for (size_t i = 0; i < sample->nkeys;)
	{
		size_t		end = i;
		double		n = 0;

		for (; end < sample->nkeys && sample->key[end].key == sample->key[i].key; end++)
			n += sample->key[end].rows;
		if (end - i > 1 || fraction == 1)
		{
			bytes += btree_bytes_of_equals(n / fraction, tuple, deduplicate);
			rows -= n / fraction;
			distinct--;
		}
		i = end;
	}
	if (rows >= 1)
		bytes += Max(distinct, 1) *
			btree_bytes_of_equals(rows / Max(distinct, 1), tuple, deduplicate);
	return bytes + btree_bytes_of_equals(table->nulls, MAXALIGN(sizeof(IndexTupleData)) + 8,
										 deduplicate);
}

static void
estimate_btree(const RencoderTableSample *sample, const RencoderTableEstimate *table,
			   RencoderMethodEstimate *estimate)
{
	double		tuple = MAXALIGN(sizeof(IndexTupleData)) + 8 * ceil(btree_value_bytes(sample) / 8);
	double		room = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData));
	double		leaves;
	double		fanout;

	memset(estimate, 0, sizeof(*estimate));
	if (!OidIsValid(find_other_opclass(sample, BTREE_AM_OID)))
		return;
	estimate->possible = true;
	tuple = Min(tuple, BLCKSZ / 3);
	leaves = room - BLCKSZ * (100 - BTREE_DEFAULT_FILLFACTOR) / 100;
	leaves = Max(1, ceil(btree_leaf_bytes(sample, table, tuple) /
						 (leaves - tuple - sizeof(ItemIdData))));
	fanout = (room - BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100) / (tuple + sizeof(ItemIdData));
	estimate->size_pages = 1 + leaves;
	estimate->index_pages = Max(1, ceil(leaves * table->found / Max(table->rows, 1)));
	for (double level = leaves; level > 1;)
	{
		level = ceil(level / fanout);
		estimate->size_pages += level;
		estimate->index_pages++;
	}
	estimate->heap_pages = table->found_pages;
}

/* ---- BRIN ---- */

/* The sampled pages before and after a place, for what lies between. */
typedef struct Hull
{
	uint64		min;
	uint64		max;
} Hull;

static void
widen_brin_hull(Hull *hull, uint64 min, uint64 max)
{
	if (min > max)
		return;
	hull->min = Min(hull->min, min);
	hull->max = Max(hull->max, max);
}

static uint64
between(uint64 a, uint64 b, double part)
{
	return a < b ? a + (uint64) ((b - a) * part) : a - (uint64) ((a - b) * part);
}

/* Adds the keys that a page may have that lies between page i - 1 of the sample and page i. */
static void
widen_brin_hull_between(Hull *hull, const RencoderTableSample *sample, uint32 i, double blkno)
{
	const RencoderSampledPage *a = &sample->page[i - 1];
	const RencoderSampledPage *b = &sample->page[i];
	double		part;

	if (a->min > a->max || b->min > b->max)
		return;
	part = (blkno - a->blkno) / (b->blkno - a->blkno);
	widen_brin_hull(hull, between(a->min, b->min, part), between(a->max, b->max, part));
}

/*
 * Pages of ranges whose least and greatest key meet the query.  The keys of a range are
 * those of its sampled pages, and what these and the next ones make one expect of its ends:
 * of keys in the order of the table that is most of it.
 */
static double
meeting_brin_pages(const RencoderTableSample *sample, const RencoderKeySet *keys)
{
	double		pages = 0;
	uint32		i = 0;

	for (double first = 0; first < sample->nblocks; first += BRIN_RANGE)
	{
		double		end = Min(first + BRIN_RANGE, sample->nblocks);
		Hull		hull = {PG_UINT64_MAX, 0};

		if (i > 0 && i < sample->npages)
			widen_brin_hull_between(&hull, sample, i, first);
		for (; i < sample->npages && sample->page[i].blkno < end; i++)
			widen_brin_hull(&hull, sample->page[i].min, sample->page[i].max);
		if (i > 0 && i < sample->npages)
			widen_brin_hull_between(&hull, sample, i, end - 1);
		if (rencoder_key_set_meets_bounds(keys, hull.min, hull.max))
			pages += end - first;
	}
	return pages;
}

static void
estimate_brin(const RencoderTableSample *sample, const RencoderTableEstimate *table,
			  const RencoderKeySet *keys, RencoderMethodEstimate *estimate)
{
	double		ranges = ceil((double) sample->nblocks / BRIN_RANGE);
	double		tuple = 8 + 8 * ceil(2 * btree_value_bytes(sample) / 8) + sizeof(ItemIdData);
	double		room = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BrinSpecialSpace));

	memset(estimate, 0, sizeof(*estimate));
	if (!OidIsValid(find_other_opclass(sample, BRIN_AM_OID)) ||
		!OidIsValid(find_other_opclass(sample, BTREE_AM_OID)))
		return;
	estimate->possible = true;
	estimate->size_pages = 1 + ceil(Max(ranges, 1) / REVMAP_PAGE_MAXITEMS) +
		ceil(Max(ranges, 1) / Max(1, floor(room / tuple)));
	estimate->index_pages = estimate->size_pages;
	estimate->heap_pages = Max(meeting_brin_pages(sample, keys), Min(table->found_pages, 1));
	estimate->false_pages = Max(0, estimate->heap_pages - table->found_pages);
}

/* ---- All ---- */

void
rencoder_estimate_methods(const RencoderTableSample *sample, const RencoderKeySet *keys,
						  RencoderTableEstimate *table, RencoderMethodEstimate *method)
{
	rencoder_estimate_rows(sample, keys, table);
	rencoder_estimate_own(sample, table, keys, &method[RENCODER_METHOD_OWN]);
	estimate_btree(sample, table, &method[RENCODER_METHOD_BTREE]);
	estimate_brin(sample, table, keys, &method[RENCODER_METHOD_BRIN]);
}

bool
rencoder_estimate_brin_serves(const RencoderTableSample *sample, const RencoderMethodEstimate *method)
{
	const RencoderMethodEstimate *own = &method[RENCODER_METHOD_OWN];
	const RencoderMethodEstimate *brin = &method[RENCODER_METHOD_BRIN];

	return brin->possible && brin->size_pages < own->size_pages &&
		rencoder_estimate_reads(brin) <= rencoder_estimate_reads(own) + BRIN_PAGES &&
		brin->heap_pages <= RENCODER_SCAN_PART * sample->nblocks;
}
