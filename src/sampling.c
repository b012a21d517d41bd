/*
 * sampling.c
 *		Query samples: what scans ask for, and what an index is built with.
 */
#include "sampling.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "common/pg_prng.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "rencoder.h"
#include "sampletable.h"

/* A scan that passes all ranges is recorded with this probability. */
#define LEAST_PROBABILITY	0.25

/* Scans until the next one is recorded. */
static int	scans_to_go = -1;

/*
 * A session begins anywhere in a round, or short sessions would never be
 * recorded.
 */
static bool
is_its_turn(void)
{
	if (rencoder_sample_rate == 0)
		return false;
	if (scans_to_go < 0 || scans_to_go >= rencoder_sample_rate)
		scans_to_go = (int) pg_prng_uint64_range(&pg_global_prng_state, 0,
												 rencoder_sample_rate - 1);
	if (scans_to_go > 0)
	{
		scans_to_go--;
		return false;
	}
	scans_to_go = rencoder_sample_rate - 1;
	return true;
}

static void
record_column(const RencoderQuery *query, int col)
{
	RencoderSample samples[RENCODER_SAMPLING_INTERVALS];
	const RencoderKeySet *keys;
	uint32		generation = 0;
	int			n = 0;

	keys = rencoder_key_newest_set(query, col, &generation);
	if (keys == NULL || keys->none)
		return;
	for (size_t i = 0; i < Min(keys->set.n, RENCODER_SAMPLING_INTERVALS); i++)
	{
		const renc_interval *interval = &keys->set.interval[i];

		if (keys->set.n > RENCODER_SAMPLING_INTERVALS)
			interval = &keys->set.interval[pg_prng_uint64_range(&pg_global_prng_state, 0,
																keys->set.n - 1)];

		/* "<" and ">" are what min and max are for. */
		if (interval->lo == 0 || interval->hi == PG_UINT64_MAX)
			continue;
		samples[n++] = rencoder_sample_interval(interval->lo, interval->hi, generation,
												RENCODER_SAMPLE_SCAN);
	}
	if (n > 0)
		rencoder_samples_hint(query->index, col, samples, n);
}

/*
 * A query that passes few ranges is one whose false positives count, so it is
 * preferred.  But one that passes many may do so because the filters suit it
 * badly, so it is never ruled out.
 */
void
rencoder_sampling_scan(const RencoderQuery *query, double passed)
{
	if (!is_its_turn() ||
		pg_prng_double(&pg_global_prng_state) > Max(1 - passed, LEAST_PROBABILITY))
		return;
	for (int col = 0; col < query->natts; col++)
	{
		if (query->column[col].has_keys)
			record_column(query, col);
	}
}

void
rencoder_sampling_prepare(Relation index, BlockNumber heap_nblocks)
{
	if (heap_nblocks < RENCODER_SAMPLE_MIN_HEAP ||
		rencoder_samples_root(index) != RENCODER_NO_BLOCK)
		return;
	rencoder_meta_lock_maintainer(index);
	rencoder_samples_make(index, true);
	rencoder_meta_unlock_maintainer(index);
}

/* The file number of the index before the present command, or 0. */
static RencoderFileNumber
previous_file_number(Relation index)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetActiveSnapshot());
	RencoderFileNumber number = 0;
	SysScanDesc scan;
	HeapTuple	tuple;
	ScanKeyData key;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(index)));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		number = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(pg_class, AccessShareLock);
	return number;
}

/*
 * The storage that this build replaces.  The active snapshot was taken before
 * the command changed the catalog, so it still sees the old file; that this
 * transaction is to delete it says that it is the right one, and still there.
 */
static bool
find_replaced_storage(Relation index, RencoderLocator *old)
{
	RencoderLocator *pending;
	RencoderFileNumber number;
	int			npending;
	bool		found = false;

	if (!ReindexIsProcessingIndex(RelationGetRelid(index)) || !ActiveSnapshotSet() ||
		RelationUsesLocalBuffers(index))
		return false;
	number = previous_file_number(index);
	npending = smgrGetPendingDeletes(true, &pending);
	for (int i = 0; i < npending && !found; i++)
	{
		*old = pending[i];
		found = number != 0 && rencoder_locator_number(*old) == number &&
			rencoder_locator_database(*old) == MyDatabaseId;
	}
	return found;
}

/* Reads a page of a storage that is no relation's any more. */
static bool
copy_page(Relation index, RencoderLocator storage, BlockNumber nblocks,
		  BlockNumber blkno, uint16 page_id, char *payload)
{
	Buffer		buf;
	bool		sound;

	if (blkno >= nblocks)
		return false;
	buf = ReadBufferWithoutRelcache(storage, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR,
									NULL, RelationIsPermanent(index));
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	sound = rencoder_page_fault(BufferGetPage(buf), blkno, page_id) == NULL;
	if (sound)
		memcpy(payload, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
	UnlockReleaseBuffer(buf);
	return sound;
}

/*
 * Takes over the samples of a column without a coder: keys of another coder
 * would mean something else.
 */
static void
keep_column(Relation index, RencoderLocator storage, BlockNumber nblocks,
			BlockNumber root, int col, bool keep_table)
{
	RencoderSample *samples = palloc(RENCODER_SAMPLES_MAX * sizeof(RencoderSample));
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);
	int			n = 0;

	for (int i = 0; i < RENCODER_SAMPLE_PAGES; i++)
	{
		int			first = n;
		int			kept = n;

		if (!copy_page(index, storage, nblocks, root + col * RENCODER_SAMPLE_PAGES + i,
					   RENCODER_PAGE_SAMPLES, payload))
			continue;
		n += rencoder_samples_of_page(payload, 0, false, samples + first);
		for (int j = first; j < n; j++)
		{
			if (keep_table || samples[j].source != RENCODER_SAMPLE_TABLE)
				samples[kept++] = samples[j];
		}
		n = kept;
	}
	if (n > 0)
	{
		rencoder_samples_make(index, false);
		rencoder_samples_store(index, col, samples, n, false);
	}
	pfree(samples);
	pfree(payload);
}

/*
 * Samples outlive REINDEX: what users ask for did not change.  "keep_table":
 * also those that were read from a table, unless they are to be read again.
 */
static void
keep_samples(Relation index, bool keep_table)
{
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);
	RencoderMetaPageData *old = (RencoderMetaPageData *) payload;
	int			natts = IndexRelationGetNumberOfKeyAttributes(index);
	RencoderLocator storage;
	BlockNumber nblocks;

	if (find_replaced_storage(index, &storage))
	{
		nblocks = smgrnblocks(smgropen(storage, RENCODER_NO_BACKEND), MAIN_FORKNUM);
		if (copy_page(index, storage, nblocks, RENCODER_META_BLKNO, RENCODER_PAGE_META, payload) &&
			old->magic == RENCODER_MAGIC && old->version == RENCODER_VERSION &&
			old->natts == (uint32) natts && old->sample_root != RENCODER_NO_BLOCK)
		{
			for (int col = 0; col < natts; col++)
			{
				if (!rencoder_key_is_coded(index, col))
					keep_column(index, storage, nblocks, old->sample_root, col, keep_table);
			}
		}
	}
	pfree(payload);
}

void
rencoder_sampling_build(Relation index, BlockNumber heap_nblocks)
{
	char	   *schema;
	char	   *table;
	bool		named = rencoder_options_query_sample(index, &schema, &table);

	if (heap_nblocks >= RENCODER_SAMPLE_MIN_HEAP || named)
		rencoder_samples_make(index, false);
	keep_samples(index, !named);
	if (named)
		rencoder_sampletable_read(index, schema, table);
}
