/*
 * train.c
 *		The coders of all columns of an index: trained, loaded, applied.
 *
 * The sample is the rows of some hundred random blocks, as ANALYZE takes it,
 * read by the same function as a build reads the table, so that expressions
 * and predicates are those of the index.
 */
#include "train.h"

#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "heapread.h"
#include "trainer.h"

/* Blocks looked at: 30,000 rows of some 100 bytes. */
#define SAMPLED_BLOCKS	512

/*
 * A fixed one: the same table makes the same index.  Which blocks it chooses
 * is as good as random to whoever filled the table.
 */
#define SAMPLE_SEED		20220612

/*
 * Coders that were trained when the table was small are looked at again when it
 * has grown by this factor: what came first, in the order of a load, may say
 * little of what came later.
 */
#define GROWTH	2

typedef struct Training
{
	RencoderTrainer *trainer[INDEX_MAX_KEYS];	/* NULL: column wants no coder */
	MemoryContext row_context;
	int			natts;
} Training;

static void
sample_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
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
		if (t->trainer[col] == NULL || isnull[col])
			continue;
		FunctionCall2Coll(index_getprocinfo(index, col + 1, RENCODER_PROC_SAMPLE),
						  index->rd_indcollation[col], values[col],
						  PointerGetDatum(t->trainer[col]));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(t->row_context);
}

static void
sample_rows(Relation heap, Relation index, IndexInfo *indexInfo, Training *t)
{
	BlockSamplerData sampler;

	BlockSampler_Init(&sampler, RelationGetNumberOfBlocks(heap), SAMPLED_BLOCKS, SAMPLE_SEED);
	while (BlockSampler_HasMore(&sampler))
	{
		CHECK_FOR_INTERRUPTS();

		/* With a snapshot, as CREATE INDEX CONCURRENTLY has it, not all are visible. */
		(void) rencoder_heapread(heap, index, indexInfo, !indexInfo->ii_Concurrent,
								 BlockSampler_Next(&sampler), 1, sample_callback, t);
	}
}

/* Default samples of queries for a column whose coder was stored. */
static void
store_samples(Relation heap, Relation index, int col, uint32 generation,
			  const RencoderTrainer *trainer, const void *data, bool log)
{
	RencoderSample *samples;
	int			n;

	if (generation == 0 || RelationGetNumberOfBlocks(heap) < RENCODER_SAMPLE_MIN_CODED_HEAP)
		return;
	samples = palloc(RENCODER_TRAINER_SAMPLES * sizeof(RencoderSample));
	n = rencoder_trainer_samples(trainer, data, samples);
	if (n == 0)
		return;
	for (int i = 0; i < n; i++)
		samples[i].coder = generation;
	rencoder_samples_make(index, log);
	rencoder_samples_store(index, col, samples, n, log);
}

bool
rencoder_train_is_due(Relation heap, Relation index)
{
	uint32		then = rencoder_coder_heap_blocks(index);

	return then > 0 && RelationGetNumberOfBlocks(heap) / GROWTH >= then;
}

/* Has the owner said what is asked of the column, in keys of its newest coder? */
static bool
has_given_samples(Relation index, int col, uint32 generation)
{
	int			n;
	RencoderSample *samples = rencoder_samples_read(index, col, generation, &n);

	for (int i = 0; i < n; i++)
	{
		if (samples[i].source == RENCODER_SAMPLE_TABLE ||
			samples[i].source == RENCODER_SAMPLE_ADDED)
			return true;
	}
	return false;
}

/* Is a coder to be trained for the column?  "due": so are later generations. */
static bool
wants_training(Relation index, int col, bool due)
{
	uint32		newest;

	if (!rencoder_key_is_coded(index, col) ||
		!OidIsValid(index_getprocid(index, col + 1, RENCODER_PROC_SAMPLE)))
		return false;
	newest = rencoder_coder_newest(index, col);
	return newest == 0 || (due && !has_given_samples(index, col, newest));
}

/* Is what was trained for the column any better than what it has? */
static bool
is_better(Relation index, int col, const RencoderTrainer *trainer, const void *data)
{
	uint32		newest = rencoder_coder_newest(index, col);
	RencoderColumnCoders older;

	if (newest == 0)
		return true;
	memset(&older, 0, sizeof(older));
	rencoder_coders_load(index, col, newest, &older);
	return rencoder_trainer_gains(trainer, data, older.coder[col]);
}

void
rencoder_train(Relation heap, Relation index, IndexInfo *indexInfo, bool log,
			   RencoderColumnCoders *coders)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "rencoder training",
												  ALLOCSET_DEFAULT_SIZES);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	bool		due = rencoder_train_is_due(heap, index);
	Training	t;
	bool		any = false;

	memset(&t, 0, sizeof(t));
	memset(coders, 0, sizeof(*coders));
	MemoryContextSwitchTo(context);
	t.natts = IndexRelationGetNumberOfKeyAttributes(index);
	t.row_context = AllocSetContextCreate(context, "rencoder sample row",
										  ALLOCSET_SMALL_SIZES);
	for (int col = 0; col < t.natts; col++)
	{
		if (!wants_training(index, col, due))
			continue;
		t.trainer[col] = rencoder_trainer_create(log);
		any = true;
	}
	if (any)
		sample_rows(heap, index, indexInfo, &t);
	for (int col = 0; col < t.natts; col++)
	{
		uint32		generation;
		uint16		kind;
		uint32		size;
		void	   *data;

		if (t.trainer[col] == NULL)
			continue;
		data = rencoder_trainer_finish(t.trainer[col], &kind, &size);
		if (data == NULL || !is_better(index, col, t.trainer[col], data))
			continue;
		generation = rencoder_coder_store(index, col, kind, data, size, log);
		store_samples(heap, index, col, generation, t.trainer[col], data, log);
		MemoryContextSwitchTo(caller);
		rencoder_coders_load(index, col, generation, coders);
		MemoryContextSwitchTo(context);
	}
	if (any && (due || rencoder_coder_heap_blocks(index) == 0))
		rencoder_coder_note_heap_blocks(index, nblocks, log);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

void
rencoder_coders_load(Relation index, int col, uint32 generation,
					 RencoderColumnCoders *coders)
{
	if (generation != 0 && coders->coder[col] != NULL && coders->generation[col] == generation)
		return;
	coders->generation[col] = generation;
	if (!rencoder_coder_find(rencoder_coders_create(), index, col, generation,
							 &coders->coder[col]))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" lacks coder %u of column %d",
						RelationGetRelationName(index), generation, col + 1),
				 errhint("REINDEX INDEX rebuilds the index from its table.")));
}

/* Does the value stand in the TOAST table? */
static bool
is_toasted(Relation index, int col, Datum value)
{
	return TupleDescAttr(RelationGetDescr(index), col)->attlen == -1 &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value));
}

void
rencoder_collect_row(Relation index, RencoderCollector *collector,
					 const RencoderColumnCoders *coders,
					 const Datum *values, const bool *isnull, bool alive)
{
	bool		in_vacuum = (MyProc->statusFlags & PROC_IN_VACUUM) != 0;
	MemoryContext old = MemoryContextSwitchTo(collector->row_context);

	for (int col = 0; col < collector->natts; col++)
	{
		uint64		key;

		if (isnull[col])
			rencoder_collect_add_null(collector, col);
		else if (!alive && (in_vacuum || collector->no_dead_toast) &&
				 is_toasted(index, col, values[col]))
			rencoder_collect_add_keyless(collector, col);
		else if (rencoder_key_encode(index, col, values[col], coders->coder[col], &key))
			rencoder_collect_add(collector, col, key);
		else
			rencoder_collect_add_keyless(collector, col);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(collector->row_context);
}
