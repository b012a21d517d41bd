/*
 * sample_keep.c
 *		Query samples that outlive the index that recorded them.
 *
 * A build takes over the samples of what it replaces: REINDEX, TRUNCATE,
 * CLUSTER and VACUUM FULL give an index new storage, and the old one is still
 * there when it is built; REINDEX CONCURRENTLY makes another index beside the
 * old one, as does who wants other options.  Both are read past the relation
 * cache, and what goes wrong with that is no error, since the old index may be
 * damaged or its file gone, which is what REINDEX is for.
 */
#include "plan/sample_keep.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "base/subtransaction.h"
#include "key/key.h"
#include "store/sample_pages.h"

/* Storage to take samples from. */
typedef struct Source
{
	RencoderLocator storage;
	bool		permanent;
	BlockNumber nblocks;
	BlockNumber root;			/* of the samples */
} Source;

/*
 * The file number of the index before the present command, or 0, and whether that
 * file is of a permanent index: ALTER TABLE .. SET UNLOGGED makes another kind of
 * it.  Both are of one row.
 */
static RencoderFileNumber
previous_file(Relation index, bool *permanent)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetActiveSnapshot());
	RencoderFileNumber number = 0;
	SysScanDesc scan;
	HeapTuple	tuple;
	ScanKeyData key;

	*permanent = true;
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(index)));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		number = form->relfilenode;
		*permanent = form->relpersistence == RELPERSISTENCE_PERMANENT;
	}
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
find_replaced_storage(Relation index, RencoderLocator *old, bool *permanent)
{
	RencoderLocator *pending;
	RencoderFileNumber number;
	int			npending;
	bool		found = false;

	if (!ActiveSnapshotSet() || RelationUsesLocalBuffers(index))
		return false;
	number = previous_file(index, permanent);
	npending = smgrGetPendingDeletes(true, &pending);
	for (int i = 0; i < npending && !found; i++)
	{
		*old = pending[i];
		found = number != 0 && rencoder_locator_number(*old) == number &&
			rencoder_locator_database(*old) == MyDatabaseId;
	}
	return found;
}

/*
 * Reads a page; false if it is not of the type.
 *
 * What ReadBufferWithoutRelcache() is told of persistence stays with the buffer as
 * long as the page is in the pool, also if the command is rolled back and the old
 * storage goes on being used.  Checkpoints would not write a page of a permanent
 * index that was read as one of an unlogged index, and a crash would lose its changes.
 */
static bool
copy_page(const Source *source, BlockNumber blkno, uint16 page_id, char *payload)
{
	Buffer		buf;
	bool		sound;

	if (blkno >= source->nblocks)
		return false;
	buf = ReadBufferWithoutRelcache(source->storage, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR,
									NULL, source->permanent);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	sound = rencoder_page_fault(BufferGetPage(buf), blkno, page_id) == NULL;
	if (sound)
		memcpy(payload, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
	UnlockReleaseBuffer(buf);
	return sound;
}

/* Is there an index with samples in the storage? */
static bool
open_source(Source *source, RencoderLocator storage, bool permanent, int natts)
{
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);
	const RencoderMetaPageData *meta = (const RencoderMetaPageData *) payload;
	bool		found;

	source->storage = storage;
	source->permanent = permanent;
	source->nblocks = smgrnblocks(smgropen(storage, RENCODER_NO_BACKEND), MAIN_FORKNUM);
	found = copy_page(source, RENCODER_META_BLKNO, RENCODER_PAGE_META, payload) &&
		meta->magic == RENCODER_MAGIC && meta->version == RENCODER_VERSION &&
		meta->natts == (uint32) natts && meta->sample_root != RENCODER_NO_BLOCK;
	source->root = found ? meta->sample_root : RENCODER_NO_BLOCK;
	pfree(payload);
	return found;
}

/* Takes over the samples of a column of the source. */
static void
keep_column(Relation index, int col, const Source *source, int source_col, bool keep_table)
{
	RencoderSample *samples = palloc(RENCODER_SAMPLES_MAX * sizeof(RencoderSample));
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);
	int			n = 0;

	for (int i = 0; i < RENCODER_SAMPLE_PAGES; i++)
	{
		int			first = n;
		int			end;

		if (!copy_page(source, source->root + source_col * RENCODER_SAMPLE_PAGES + i,
					   RENCODER_PAGE_SAMPLES, payload))
			continue;
		end = first + rencoder_samples_of_page(payload, 0, false, samples + first);
		for (int j = first; j < end; j++)
		{
			if (keep_table || samples[j].source != RENCODER_SAMPLE_TABLE)
				samples[n++] = samples[j];
		}
	}
	if (n > 0)
	{
		rencoder_samples_make(index, false);
		rencoder_samples_store(index, col, samples, n, false);
	}
	pfree(samples);
	pfree(payload);
}

static void
keep_of_replaced_storage(Relation index, RencoderLocator storage, bool permanent, bool keep_table)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(index);
	Source		source;

	if (!open_source(&source, storage, permanent, natts))
		return;
	for (int col = 0; col < natts; col++)
	{
		/* Keys of another coder would mean something else. */
		if (!rencoder_key_is_coded(index, col))
			keep_column(index, col, &source, col, keep_table);
	}
}

/* Have the columns the same values, and the same keys for them? */
static bool
same_column(Relation index, int col, Relation other, int other_col)
{
	AttrNumber	attnum = index->rd_index->indkey.values[col];

	return attnum != InvalidAttrNumber &&
		attnum == other->rd_index->indkey.values[other_col] &&
		index->rd_opfamily[col] == other->rd_opfamily[other_col] &&
		index->rd_opcintype[col] == other->rd_opcintype[other_col] &&
		!rencoder_key_is_coded(index, col);
}

static void
keep_of_index(Relation index, Relation other, bool keep_table)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(other);
	Source		source;

	if (!other->rd_index->indisvalid || RelationUsesLocalBuffers(other) ||
		other->rd_rel->relam != index->rd_rel->relam ||
		!open_source(&source, rencoder_relation_locator(other), RelationIsPermanent(other), natts))
		return;
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		for (int other_col = 0; other_col < natts; other_col++)
		{
			if (same_column(index, col, other, other_col))
				keep_column(index, col, &source, other_col, keep_table);
		}
	}
}

/* Other indexes of the table.  One that is locked is about to go. */
static void
keep_of_other_indexes(Relation heap, Relation index, bool keep_table)
{
	List	   *list = RelationGetIndexList(heap);
	ListCell   *lc;

	foreach(lc, list)
	{
		Oid			other = lfirst_oid(lc);
		Relation	rel;

		if (other == RelationGetRelid(index) ||
			!ConditionalLockRelationOid(other, AccessShareLock))
			continue;
		rel = index_open(other, NoLock);
		keep_of_index(index, rel, keep_table);
		index_close(rel, AccessShareLock);
	}
	list_free(list);
}

/* Have two indexes of a table the same definition and options? */
static bool
is_twin(Relation index, Relation other)
{
	int			natts = RelationGetNumberOfAttributes(index);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	bytea	   *options = index->rd_options;	/* null: none are given */
	bytea	   *other_options = other->rd_options;

	return other->rd_index->indisvalid &&
		other->rd_rel->relam == index->rd_rel->relam &&
		RelationGetNumberOfAttributes(other) == natts &&
		memcmp(other->rd_index->indkey.values, index->rd_index->indkey.values,
			   natts * sizeof(int16)) == 0 &&
		memcmp(other->rd_opfamily, index->rd_opfamily, nkeys * sizeof(Oid)) == 0 &&
		memcmp(other->rd_indcollation, index->rd_indcollation, nkeys * sizeof(Oid)) == 0 &&
		equal(RelationGetIndexExpressions(other), RelationGetIndexExpressions(index)) &&
		equal(RelationGetIndexPredicate(other), RelationGetIndexPredicate(index)) &&
		(options == NULL) == (other_options == NULL) &&
		(options == NULL ||
		 (VARSIZE(other_options) == VARSIZE(options) &&
		  memcmp(other_options, options, VARSIZE(options)) == 0));
}

bool
rencoder_sample_keep_rebuilds(Relation heap, Relation index)
{
	bool		found = ReindexIsProcessingIndex(RelationGetRelid(index));
	List	   *list;
	ListCell   *lc;

	/* Only CONCURRENTLY builds an index that is not valid yet. */
	if (found || index->rd_index->indisvalid)
		return found;
	list = RelationGetIndexList(heap);
	foreach(lc, list)
	{
		Oid			other = lfirst_oid(lc);
		Relation	rel;

		if (found || other == RelationGetRelid(index) ||
			!ConditionalLockRelationOid(other, AccessShareLock))
			continue;
		rel = index_open(other, NoLock);
		found = is_twin(index, rel);
		index_close(rel, AccessShareLock);
	}
	list_free(list);
	return found;
}

/* What rencoder_best_effort() does. */
typedef struct KeepWork
{
	Relation	heap;
	Relation	index;
	bool		keep_table;
	bool		replaced;		/* is there storage that this build replaces? */
	RencoderLocator storage;
	bool		permanent;
} KeepWork;

static void
keep_samples(void *arg)
{
	const KeepWork *work = (const KeepWork *) arg;

	if (work->replaced)
		keep_of_replaced_storage(work->index, work->storage, work->permanent, work->keep_table);
	else
		keep_of_other_indexes(work->heap, work->index, work->keep_table);
}

/* What a subtransaction is told of storage to be deleted is only its own. */
void
rencoder_sample_keep(Relation heap, Relation index, bool keep_table)
{
	KeepWork	work = {.heap = heap,.index = index,.keep_table = keep_table};

	/*
	 * Temporary ones keep none.  They are also built at commit (ON COMMIT
	 * DELETE ROWS), when it is too late for a subtransaction.
	 */
	if (RelationUsesLocalBuffers(index))
		return;
	if (ReindexIsProcessingIndex(RelationGetRelid(index)))
	{
		work.replaced = find_replaced_storage(index, &work.storage, &work.permanent);
		if (!work.replaced)
			return;
	}
	(void) rencoder_best_effort(keep_samples, &work, index, "take over the query samples");
}
