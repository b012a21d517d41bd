/*
 * table_sample.c
 *		A sample of a table's pages: the keys of a column that stand on them.
 *
 * Whole pages are read, since an entry of a run stands for a page.  They are scans of
 * ranges of TIDs: what is seen is what a query sees, and any server has them.
 */
#include "table/table_sample.h"

#include "access/detoast.h"
#include "access/itup.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "utils/memutils.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"

#include "key/coder_trainer.h"
#include "table/heap_read.h"

/* Rows wanted: a fourth of them is enough to see how keys of the column crowd. */
#define SAMPLE_ROWS		400000
#define SAMPLE_PAGES	1000	/* at least, if there are */
#define SAMPLE_MAX_PAGES	30000

/* Pages that a build trains coders on (coder_columns.c), and its seed. */
#define TRAINED_PAGES	512
#define SAMPLE_SEED		20220612

typedef struct Reading
{
	Relation	heap;
	AttrNumber	attnum;			/* of the table, or, if there is a model, of
								 * it */
	IndexInfo  *model;			/* the index whose rows and values these are,
								 * or NULL */
	EState	   *estate;			/* for its predicate and expressions */
	ExprState  *predicate;
	RencoderTableSample *sample;
	RencoderTrainer *trainer;	/* values are for it, else for the sample */
	MemoryContext row_context;
	size_t		capacity;		/* of the sample's keys */
} Reading;

/* Bytes of a value in an index tuple. */
static Size
sampled_value_size(const Reading *r, Datum value)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(r->sample->index), 0);

	if (attribute->attlen != -1)
		return attribute->attlen > 0 ? (Size) attribute->attlen : strlen(DatumGetCString(value)) + 1;
	if (VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		return toast_datum_size(value);
	return VARSIZE_ANY(DatumGetPointer(value));
}

static void
add_sampled_key(Reading *r, uint64 key, OffsetNumber offset)
{
	RencoderTableSample *sample = r->sample;
	RencoderSampledPage *page = &sample->page[sample->npages - 1];

	if (sample->nkeys == r->capacity)
	{
		r->capacity *= 2;
		sample->key = repalloc_huge(sample->key, r->capacity * sizeof(RencoderSampledKey));
	}
	sample->key[sample->nkeys].key = key;
	sample->key[sample->nkeys].page = sample->npages - 1;
	sample->key[sample->nkeys].part = (uint16) renc_part_of(&sample->places, offset);
	sample->key[sample->nkeys++].rows = 1;
	page->min = Min(page->min, key);
	page->max = Max(page->max, key);
}

static void
add_sampled_value(Reading *r, Datum value, OffsetNumber offset)
{
	RencoderTableSample *sample = r->sample;
	uint64		key;
	bool		has_key;
	MemoryContext old = MemoryContextSwitchTo(r->row_context);

	if (r->trainer != NULL)
		FunctionCall2Coll(index_getprocinfo(sample->index, 1, RENCODER_PROC_SAMPLE),
						  sample->index->rd_indcollation[0], value, PointerGetDatum(r->trainer));
	else
	{
		sample->bytes += sampled_value_size(r, value);
		has_key = rencoder_key_encode(sample->index, 0, value,
									  sample->coder.generation == 0 ? NULL : &sample->coder, &key);
		if (has_key)
			add_sampled_key(r, key, offset);
		else
			sample->keyless++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
}

/* False if the row is none of the index's. */
static bool
get_sampled_value(Reading *r, TupleTableSlot *slot, Datum *value, bool *isnull)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	ExprContext *context;

	if (r->model == NULL)
	{
		*value = slot_getattr(slot, r->attnum, isnull);
		return true;
	}
	context = GetPerTupleExprContext(r->estate);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	if (!ExecQual(r->predicate, context))
		return false;
	FormIndexDatum(r->model, slot, r->estate, values, nulls);
	*value = values[r->attnum - 1];
	*isnull = nulls[r->attnum - 1];
	return true;
}

static void
add_sampled_rows(Reading *r, TableScanDesc scan, TupleTableSlot *slot)
{
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value;

		if (!get_sampled_value(r, slot, &value, &isnull))
			continue;
		if (r->trainer == NULL)
			r->sample->rows++;
		if (!isnull)
			add_sampled_value(r, value, ItemPointerGetOffsetNumber(&slot->tts_tid));
		else if (r->trainer == NULL)
			r->sample->nulls++;
	}
}

/* Adds a page. */
static void
read_sampled_page(Reading *r, TableScanDesc *scan, TupleTableSlot *slot, BlockNumber blkno)
{
	RencoderTableSample *sample = r->sample;
	ItemPointerData first;
	ItemPointerData last;

	CHECK_FOR_INTERRUPTS();
	ItemPointerSet(&first, blkno, 1);
	ItemPointerSet(&last, blkno, PG_UINT16_MAX);
	if (*scan == NULL)
		*scan = rencoder_beginscan_tidrange(r->heap, GetActiveSnapshot(), &first, &last);
	else
		table_rescan_tidrange(*scan, &first, &last);
	if (r->trainer == NULL)
	{
		RencoderSampledPage page = {blkno, PG_UINT64_MAX, 0};

		sample->page[sample->npages++] = page;
	}
	add_sampled_rows(r, *scan, slot);
}

/* Reads random stretches of so many pages each, in ascending order. */
static void
read_sampled_stretches(Reading *r, BlockNumber nstretches, BlockNumber stretch)
{
	BlockNumber nblocks = r->sample->nblocks;
	TupleTableSlot *slot = table_slot_create(r->heap, NULL);
	TableScanDesc scan = NULL;
	BlockSamplerData sampler;

	BlockSampler_Init(&sampler, nblocks / stretch + (nblocks % stretch != 0), nstretches,
					  SAMPLE_SEED);
	while (BlockSampler_HasMore(&sampler))
	{
		BlockNumber first = BlockSampler_Next(&sampler) * stretch;

		for (BlockNumber i = 0; i < stretch && first + i < nblocks; i++)
			read_sampled_page(r, &scan, slot, first + i);
	}
	if (scan != NULL)
		table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* As rencoder_columns_train(), of an index that has no page to store it on. */
static void
train(Reading *r)
{
	RencoderCoder *coder = &r->sample->coder;

	if (!rencoder_key_is_coded(r->sample->index, 0) ||
		!OidIsValid(index_getprocid(r->sample->index, 1, RENCODER_PROC_SAMPLE)))
		return;
	r->trainer = rencoder_trainer_create(false);
	read_sampled_stretches(r, TRAINED_PAGES, 1);
	coder->data = rencoder_trainer_finish(r->trainer, &coder->kind, &coder->size);
	coder->generation = coder->data == NULL ? 0 : 1;
	r->trainer = NULL;
}

static int
compare_keys(const void *a, const void *b)
{
	const RencoderSampledKey *x = (const RencoderSampledKey *) a;
	const RencoderSampledKey *y = (const RencoderSampledKey *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* Equal ones of a page become one. */
static void
unite_sampled_keys(RencoderTableSample *sample)
{
	size_t		n = 0;
	uint16		part = 0;

	for (size_t i = 0; i < sample->nkeys; i++)
	{
		RencoderSampledKey k = sample->key[i];

		if (n > 0 && sample->key[n - 1].key == k.key && sample->key[n - 1].page == k.page)
		{
			sample->key[n - 1].rows++;
			sample->key[n - 1].parts += k.part != part;
		}
		else
		{
			sample->key[n] = k;
			sample->key[n++].parts = 1;
		}
		part = k.part;
	}
	sample->nkeys = n;
}

const char *
rencoder_table_sample_problem(Relation heap)
{
	if (RELATION_IS_OTHER_TEMP(heap))
		return "the table is a temporary one of another session";
	if (heap->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
		return "an unlogged table has no rows during recovery";
	if (heap->rd_tableam->scan_getnextslot_tidrange == NULL)
		return "the table's access method does not scan ranges of TIDs";
	return NULL;
}

void
rencoder_table_sample_read(Relation heap, Relation index, Relation model, AttrNumber attnum,
						   RencoderTableSample *sample)
{
	Reading		reading = {.heap = heap,.attnum = attnum,.sample = sample};
	Reading    *r = &reading;
	BlockNumber pages;
	double		tuples;
	double		allvisible;
	BlockNumber wanted;

	memset(sample, 0, sizeof(*sample));
	sample->index = index;
	if (model != NULL)
	{
		r->model = BuildIndexInfo(model);
		r->estate = CreateExecutorState();
		r->predicate = ExecPrepareQual(r->model->ii_Predicate, r->estate);
	}
	r->capacity = 1024;
	r->row_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder sample row",
										   ALLOCSET_SMALL_SIZES);
	estimate_rel_size(r->heap, NULL, &pages, &tuples, &allvisible);
	sample->nblocks = RelationGetNumberOfBlocks(r->heap);
	sample->places = rencoder_heap_choose_places(r->heap, index, 0, sample->nblocks);
	wanted = (BlockNumber) Min(SAMPLE_MAX_PAGES,
							   Max(SAMPLE_PAGES, SAMPLE_ROWS * (double) pages / Max(tuples, 1)));
	wanted = Min(wanted, sample->nblocks);
	wanted = TYPEALIGN(RENCODER_SAMPLE_STRETCH, wanted);
	sample->page = palloc_extended(Max(wanted, 1) * sizeof(RencoderSampledPage), MCXT_ALLOC_HUGE);
	sample->key = palloc(r->capacity * sizeof(RencoderSampledKey));
	train(r);
	read_sampled_stretches(r, wanted / RENCODER_SAMPLE_STRETCH, RENCODER_SAMPLE_STRETCH);
	qsort(sample->key, sample->nkeys, sizeof(RencoderSampledKey), compare_keys);
	unite_sampled_keys(sample);
	MemoryContextDelete(r->row_context);
	if (model != NULL)
		FreeExecutorState(r->estate);
}
