/*
 * coder_columns.c
 *		The coders of all columns of an index: trained, loaded, applied.
 *
 * The sample is the rows of some hundred random blocks, as ANALYZE takes it,
 * read by the same function as a build reads the table, so that expressions
 * and predicates are those of the index.
 */
#include "table/coder_columns.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "key/coder_trainer.h"
#include "key/composite_trainer.h"
#include "store/run_pages.h"
#include "store/sample_pages.h"
#include "table/heap_read.h"

/* Blocks looked at: 30,000 rows of some 100 bytes. */
#define SAMPLED_BLOCKS	512

/* A coder of composite keys is trained anew if so much of all rows lie outside of what it knows. */
#define OUTSIDE_PART	10

/*
 * A fixed one: the same table makes the same index.  Which blocks it chooses
 * is as good as random to whoever filled the table.
 */
#define SAMPLE_SEED		20220612

typedef struct Training
{
	RencoderTrainer *trainer[INDEX_MAX_KEYS];	/* NULL: column wants no coder */
	RencoderCompositeTrainer *composite;	/* or NULL */
	MemoryContext row_context;
	int			natts;
	bool		in_use;			/* the table: others may change it meanwhile */
} Training;

/* A row's value in a column, and what becomes of it. */
typedef struct Value
{
	Relation	index;
	int			col;
	Datum		value;
	const RencoderCoder *coder; /* to be encoded, or */
	RencoderTrainer *trainer;	/* to be added to, if not NULL, */
	RencoderCompositeTrainer *composite;	/* or this one */
	uint64		key;
	bool		has_key;
} Value;

/* Does it stand in the TOAST table? */
static bool
column_is_toasted(const Value *v)
{
	return TupleDescAttr(RelationGetDescr(v->index), v->col)->attlen == -1 &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(v->value));
}

static void
use_value(void *arg)
{
	Value	   *v = (Value *) arg;

	if (v->composite != NULL)
		rencoder_composite_trainer_add(v->composite, v->col, v->value);
	else if (v->trainer == NULL)
		v->has_key = rencoder_key_encode(v->index, v->col, v->value, v->coder, &v->key);
	else
		FunctionCall2Coll(index_getprocinfo(v->index, v->col + 1, RENCODER_PROC_SAMPLE),
						  v->index->rd_indcollation[v->col], v->value,
						  PointerGetDatum(v->trainer));
}

/*
 * Uses a value of a table that is in use; false if it is gone.
 *
 * When the row was looked at its value was in TOAST.  But its transaction may have been
 * rolled back since, or, while VACUUM runs, whose snapshot holds nothing back, another
 * one may have deleted it; and then VACUUM of the TOAST table, or whoever comes by
 * one of its pages, may have removed the value.  That shows when it is fetched only.  So
 * it is fetched in a subtransaction.  A parallel VACUUM can have none, and may fail.
 */
static bool
use_for_coder_if_there(Value *v)
{
	ErrorData  *error;

	if (!column_is_toasted(v) || IsInParallelMode())
	{
		use_value(v);
		return true;
	}
	error = rencoder_subtransaction(use_value, v);
	if (error == NULL)
		return true;

	/* "missing chunk number", "unexpected chunk number" */
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

static void
coder_sample_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
					  bool tupleIsAlive, void *state)
{
	Training   *t = (Training *) state;
	MemoryContext old;

	/* What dead rows refer to in TOAST may be gone any moment. */
	if (!tupleIsAlive)
		return;
	old = MemoryContextSwitchTo(t->row_context);
	for (int col = 0; col < t->natts; col++)
	{
		Value		v = {index, col, values[col], NULL, t->trainer[col], t->composite, 0, false};

		if ((v.trainer == NULL && v.composite == NULL) || isnull[col])
			continue;
		if (t->in_use)
			(void) use_for_coder_if_there(&v);
		else
			use_value(&v);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(t->row_context);
}

static void
sample_coder_rows(Relation heap, Relation index, IndexInfo *indexInfo, int nblocks, Training *t)
{
	BlockSamplerData sampler;

	BlockSampler_Init(&sampler, RelationGetNumberOfBlocks(heap), nblocks, SAMPLE_SEED);
	while (BlockSampler_HasMore(&sampler))
	{
		CHECK_FOR_INTERRUPTS();

		/*
		 * With a snapshot, as CREATE INDEX CONCURRENTLY has it, not all are
		 * visible.
		 */
		(void) rencoder_heap_read(heap, index, indexInfo, !indexInfo->ii_Concurrent,
								  BlockSampler_Next(&sampler), 1, coder_sample_callback, t, NULL);
	}
}

bool
rencoder_columns_train_is_due(Relation heap, Relation index, double growth)
{
	RencoderCoderListData *list = rencoder_coder_copy_list(index);

	/*
	 * Or a crash came between a coder and the note of what it was trained on.
	 */
	bool		due = list->heap_blocks > 0 ?
		RelationGetNumberOfBlocks(heap) >= list->heap_blocks * growth : list->n > 0;

	pfree(list);
	return due;
}

bool
rencoder_columns_are_outgrown(Relation index, const RencoderCatalog *catalog)
{
	uint32		newest = rencoder_is_composite(index) ? rencoder_coder_newest_generation(index, 0) : 0;
	double		outside = 0;
	double		rows = 0;

	for (uint32 i = 0; i < catalog->n && newest != 0; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state != RENCODER_RUN_LIVE || run->kind != RENCODER_RUN_BASE)
			continue;
		rows += (double) run->first.rows;
		outside += run->first.coder == newest ? run->outside : 0;
	}
	return outside * OUTSIDE_PART > rows;
}

/* Has the owner said what is asked of the filters of the column, in keys of its newest coder? */
static bool
column_has_given_samples(Relation index, int col, uint32 generation)
{
	int			n;
	RencoderSample *samples = rencoder_samples_read(index, col, &generation, &n);

	for (int i = 0; i < n; i++)
	{
		if (samples[i].source == RENCODER_SAMPLE_ADDED)
			return true;
	}
	return false;
}

/* Is a coder to be trained for the column?  "due": so are later generations. */
static bool
column_wants_training(Relation index, int col, bool due)
{
	uint32		newest;

	if (!rencoder_key_is_coded(index, col) ||
		(!rencoder_is_composite(index) &&
		 !OidIsValid(index_getprocid(index, col + 1, RENCODER_PROC_SAMPLE))))
		return false;
	newest = rencoder_coder_newest_generation(index, col);
	return newest == 0 ||
		(due && (rencoder_options_use_runs(index) || !column_has_given_samples(index, col, newest)));
}

/* The newest coder of a column, or NULL. */
static const RencoderCoder *
newest_coder(Relation index, int col)
{
	RencoderColumnCoders coders;

	memset(&coders, 0, sizeof(coders));
	rencoder_columns_load_coders(index, col, rencoder_coder_newest_generation(index, col), &coders);
	return coders.coder[col];
}

/* Trains a coder of strings or points for a column; NULL if it has one that is as good. */
static void *
train_column(Relation index, int col, RencoderTrainer *trainer, uint16 *kind, uint32 *size)
{
	const RencoderCoder *older = newest_coder(index, col);
	void	   *data;

	if (rencoder_is_composite(index))
		older = rencoder_composite_column_coder(older, col);
	data = rencoder_trainer_finish(trainer, kind, size);
	return data == NULL || older == NULL || rencoder_trainer_gains(trainer, data, older) ? data : NULL;
}

/*
 * Trains a coder of composite keys; NULL if there is one that is as good.  The rows are read twice, if there are
 * columns whose own keys want a coder.
 */
static void *
train_composite(Relation heap, Relation index, IndexInfo *indexInfo, Training *t, uint32 *size)
{
	const RencoderCoder *older = newest_coder(index, 0);
	const RencoderCoder *own[RENC_COMPOSITE_MAX];
	bool		any = false;
	bool		better = older == NULL;
	void	   *data;

	t->natts = IndexRelationGetNumberOfKeyAttributes(index);
	for (int col = 0; col < t->natts; col++)
	{
		t->trainer[col] = rencoder_key_function(index, col).coded ? rencoder_trainer_create(t->in_use) : NULL;
		any |= t->trainer[col] != NULL;
	}
	if (any)
		sample_coder_rows(heap, index, indexInfo, SAMPLED_BLOCKS, t);
	for (int col = 0; col < t->natts; col++)
	{
		RencoderCoder newer = {0};

		own[col] = rencoder_composite_column_coder(older, col);
		if (t->trainer[col] != NULL)
			newer.data = train_column(index, col, t->trainer[col], &newer.kind, &newer.size);
		if (newer.data == NULL)
			continue;
		own[col] = memcpy(palloc(sizeof(newer)), &newer, sizeof(newer));
		better = true;
	}
	t->composite = rencoder_composite_trainer_create(index, own);
	sample_coder_rows(heap, index, indexInfo, SAMPLED_BLOCKS, t);
	data = rencoder_composite_trainer_finish(t->composite, size);
	return data == NULL || better || rencoder_composite_trainer_gains(t->composite, data, older) ? data : NULL;
}

void
rencoder_columns_train(Relation heap, Relation index, IndexInfo *indexInfo, bool log,
					   bool due, RencoderColumnCoders *coders)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "rencoder training",
												  ALLOCSET_DEFAULT_SIZES);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	bool		composite = rencoder_is_composite(index);
	bool		any = false;
	Training	t;

	memset(&t, 0, sizeof(t));
	memset(coders, 0, sizeof(*coders));
	MemoryContextSwitchTo(context);
	t.natts = rencoder_key_columns(index);
	t.in_use = log;
	t.row_context = AllocSetContextCreate(context, "rencoder sample row",
										  ALLOCSET_SMALL_SIZES);
	for (int col = 0; col < t.natts; col++)
	{
		if (!column_wants_training(index, col, due))
			continue;
		t.trainer[col] = rencoder_trainer_create(log);
		any = true;
	}
	if (any && log)
		(void) rencoder_columns_check_coders(index, ERROR);
	if (any && !composite)
		sample_coder_rows(heap, index, indexInfo, SAMPLED_BLOCKS, &t);
	for (int col = 0; col < rencoder_key_columns(index); col++)
	{
		uint32		generation;
		uint16		kind = RENCODER_CODER_COMPOSITE;
		uint32		size;
		void	   *data;

		if (t.trainer[col] == NULL)
			continue;
		data = composite ? train_composite(heap, index, indexInfo, &t, &size) :
			train_column(index, col, t.trainer[col], &kind, &size);
		if (data == NULL)
			continue;
		generation = rencoder_coder_store(index, col, kind, data, size, log);
		if (generation == 0)
			continue;			/* the list is full */
		MemoryContextSwitchTo(caller);
		rencoder_columns_load_coders(index, col, generation, coders);
		MemoryContextSwitchTo(context);
	}
	if (any && (due || rencoder_coder_copy_list(index)->heap_blocks == 0))
		rencoder_coder_set_heap_blocks(index, nblocks, log);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Is it in the list? */
static bool
is_column_listed(const RencoderCoderListData *list, int col, uint32 generation)
{
	for (uint32 i = list->n; i > 0; i--)
	{
		if (list->entry[i - 1].attno == col && list->entry[i - 1].generation == generation)
			return true;
	}
	return false;
}

/* Is there a tree of a run whose coder is missing? */
static bool
run_lacks_any_coder(const RencoderRunInfoData *info, const RencoderCoderListData *list)
{
	for (int tree = 0; tree < rencoder_run_ntrees(info->natts); tree++)
	{
		const RencoderRunColumn *column = &info->column[tree];

		if (column->coder != 0 && !is_column_listed(list, tree % info->natts, column->coder))
			return true;
	}
	return false;
}

/*
 * Where it seems that a coder is missing, the list is copied anew: others may have stored one meanwhile.
 * A run that has gone needs none.
 */
bool
rencoder_columns_check_coders(Relation index, int elevel)
{
	RencoderCatalog *catalog;
	RencoderCoderListData *list;
	bool		sound = true;

	if (!rencoder_key_any_coded(index))
		return true;

	catalog = palloc(sizeof(RencoderCatalog));
	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	list = rencoder_coder_copy_list(index);
	for (uint32 i = 0; i < catalog->n && sound; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];
		const char *fault;
		RencoderRunInfo info = run->state != RENCODER_RUN_LIVE ? NULL :
			rencoder_run_read_info(index, run, &fault);

		if (info == NULL || !run_lacks_any_coder(info, list))
			continue;
		pfree(list);
		list = rencoder_coder_copy_list(index);
		sound = !run_lacks_any_coder(info, list);
		if (!sound)
			rencoder_page_report(elevel, index, run->info, "The coder of a run's keys is missing.");
	}
	pfree(list);
	pfree(catalog);
	return sound;
}

void
rencoder_columns_load_coders(Relation index, int col, uint32 generation,
							 RencoderColumnCoders *coders)
{
	if (generation != 0 && coders->coder[col] != NULL && coders->generation[col] == generation)
		return;
	coders->generation[col] = generation;
	coders->coder[col] = rencoder_coder_for_many(rencoder_coder_require(rencoder_coders_create(false), index, col,
																		generation));
}

/* The row at hand. */
typedef struct CollectedRow
{
	Relation	index;
	const RencoderCollector *collector;
	bool		alive;
} CollectedRow;

/* Makes the key of a value that may be gone, or that is not to be looked for: a RencoderValueKey. */
static bool
make_column_key_if_there(void *arg, const RencoderKeyFunction *function, int col, Datum value,
						 const RencoderCoder *coder, uint64 *key)
{
	const CollectedRow *row = (const CollectedRow *) arg;
	bool		no_dead_toast = (MyProc->statusFlags & PROC_IN_VACUUM) != 0;
	Value		v = {row->index, col, value, coder, NULL, NULL, 0, false};

	if (!row->alive && no_dead_toast && column_is_toasted(&v))
		return false;
	if (!row->collector->in_use)
		use_value(&v);
	else if (!use_for_coder_if_there(&v))
		return false;
	*key = v.key;
	return v.has_key;
}

RencoderCollector *
rencoder_collect_create(int natts)
{
	RencoderCollector *collector = palloc0(sizeof(RencoderCollector));

	collector->natts = natts;
	collector->row_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder row",
												   ALLOCSET_SMALL_SIZES);
	return collector;
}

void
rencoder_columns_collect_row(Relation index, RencoderCollector *collector,
							 const RencoderColumnCoders *coders,
							 const Datum *values, const bool *isnull, bool alive)
{
	MemoryContext old = MemoryContextSwitchTo(collector->row_context);
	CollectedRow row = {index, collector, alive};

	for (int col = 0; col < collector->natts; col++)
	{
		RencoderRowFunctions *functions = &collector->functions[col];
		int			nulls = rencoder_run_null_tree(collector->natts, col);
		uint64		key;

		if (functions->n == 0)
			*functions = rencoder_key_row_functions(index, col);
		switch (rencoder_key_of_row(functions, values, isnull, coders->coder[col],
									alive && !collector->in_use ? NULL : make_column_key_if_there, &row,
									&key))
		{
			case RENCODER_ROW_KEY:
				collector->sink(collector->sink_arg, col, key);
				break;
			case RENCODER_ROW_NULL:
				collector->sink(collector->sink_arg, nulls, RENCODER_RUN_NULL);
				break;
			case RENCODER_ROW_KEYLESS:
				collector->sink(collector->sink_arg, nulls, RENCODER_RUN_KEYLESS);
				break;
		}
	}
	MemoryContextSwitchTo(old);
	if (!collector->row_context->isReset)
		MemoryContextReset(collector->row_context);
}
