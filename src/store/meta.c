/*
 * meta.c
 *		The metapage.
 */
#include "store/meta.h"

#include "executor/instrument.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "filter/renc_hash.h"

/* Bytes of WAL that the session had written when it became a maintainer. */
static uint64 wal_before;

void
rencoder_meta_create(Relation index, ForkNumber fork, int natts, uint32 pages_per_range,
					 uint32 bits_per_key)
{
	Buffer		buf;
	Page		page;
	RencoderMetaPageData *meta;

	/* Nobody else can see the fork yet, but extension asks for its lock. */
	if (RelationGetNumberOfBlocksInFork(index, fork) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));
	LockRelationForExtension(index, ExclusiveLock);
	buf = ReadBufferExtended(index, fork, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	UnlockRelationForExtension(index, ExclusiveLock);
	Assert(BufferGetBlockNumber(buf) == RENCODER_META_BLKNO);
	page = BufferGetPage(buf);

	START_CRIT_SECTION();
	rencoder_page_init(page, RENCODER_META_BLKNO, RENCODER_PAGE_META);
	meta = RencoderPageGetMeta(page);
	meta->magic = RENCODER_MAGIC;
	meta->version = RENCODER_VERSION;
	meta->hash_id = RENC_HASH_ID_XXH3;
	meta->pages_per_range = pages_per_range;
	meta->bits_per_key = bits_per_key;
	meta->natts = natts;
	meta->changes = 1;
	meta->pending.magic = RENCODER_MAGIC;
	MarkBufferDirty(buf);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buf);
}

/* Locks the metapage of an index of any format. */
static Buffer
lock_any_format(Relation index, int lockmode, bool *ours)
{
	Buffer		buf = rencoder_page_read(index, RENCODER_META_BLKNO, lockmode,
										 RENCODER_PAGE_META);
	const RencoderMetaPageData *meta = RencoderPageGetMeta(BufferGetPage(buf));

	if (meta->magic != RENCODER_MAGIC)
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The metapage has a wrong magic number.");
	*ours = (meta->version == RENCODER_VERSION || meta->version == RENCODER_VERSION_DEVELOPMENT) &&
		meta->hash_id == RENC_HASH_ID_XXH3;
	return buf;
}

bool
rencoder_meta_needs_reindex(Relation index)
{
	bool		ours;

	UnlockReleaseBuffer(lock_any_format(index, BUFFER_LOCK_SHARE, &ours));
	return !ours;
}

Buffer
rencoder_meta_lock(Relation index, int lockmode)
{
	bool		ours;
	Buffer		buf = lock_any_format(index, lockmode, &ours);
	RencoderMetaPageData *meta = RencoderPageGetMeta(BufferGetPage(buf));

	if (!ours)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has format version %u with hash %u",
						RelationGetRelationName(index), meta->version,
						meta->hash_id),
				 errdetail("This version of rencoder reads format version %d with hash %d.",
						   RENCODER_VERSION, RENC_HASH_ID_XXH3),
				 errhint("REINDEX INDEX rebuilds the index in the present format.")));
	if (meta->pending.magic != RENCODER_MAGIC)
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The metapage has lost what it says of runs and the pending list.");
	if (meta->pages_per_range == 0 || meta->bits_per_key == 0 ||
		(meta->natts != 1 && meta->natts != (uint32) IndexRelationGetNumberOfKeyAttributes(index)))
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The metapage describes another index.");
	return buf;
}

const RencoderMeta *
rencoder_meta_get(Relation index)
{
	if (index->rd_amcache == NULL)
	{
		Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
		RencoderMetaPageData *data = RencoderPageGetMeta(BufferGetPage(buf));
		RencoderCache *cache = MemoryContextAllocZero(index->rd_indexcxt,
													  sizeof(RencoderCache));
		RencoderMeta *meta = &cache->meta;

		meta->pages_per_range = data->pages_per_range;
		meta->bits_per_key = data->bits_per_key;
		meta->natts = data->natts;
		UnlockReleaseBuffer(buf);
		index->rd_amcache = cache;
	}
	return &((const RencoderCache *) index->rd_amcache)->meta;
}

RencoderCache *
rencoder_meta_cache(Relation index)
{
	(void) rencoder_meta_get(index);
	return (RencoderCache *) index->rd_amcache;
}

bool
rencoder_meta_takes_entries(Relation index, BlockNumber page)
{
	const RencoderMetaPageData *meta;
	RencoderCache *cache = rencoder_meta_cache(index);
	Buffer		buf;
	bool		takes;

	if (page < cache->frontier)
		return true;
	buf = rencoder_page_read_recent(index, RENCODER_META_BLKNO, RENCODER_PAGE_META, &cache->buffer);
	meta = RencoderPageGetMeta(BufferGetPage(buf));
	cache->frontier = meta->frontier;
	takes = page < meta->entries_to;
	UnlockReleaseBuffer(buf);
	return takes;
}

/*
 * The guesses are kept as long as smgr keeps a target block: a truncation makes all sessions forget that
 * before they can lock the index (INV-21).  Where no tail is known it is that of the metapage.
 */
BlockNumber
rencoder_meta_tail(Relation index)
{
	BlockNumber tail = RelationGetTargetBlock(index);

	return tail == InvalidBlockNumber ? RENCODER_NO_BLOCK : tail;
}

void
rencoder_meta_keep_tail(Relation index, BlockNumber tail)
{
	RencoderCache *cache = (RencoderCache *) index->rd_amcache;

	if (cache != NULL && RelationGetTargetBlock(index) == InvalidBlockNumber)
		cache->nblocks = 0;
	RelationSetTargetBlock(index, tail);
}

bool
rencoder_meta_has_block(Relation index, BlockNumber blkno)
{
	RencoderCache *cache = (RencoderCache *) index->rd_amcache;
	BlockNumber nblocks;

	if (cache != NULL && blkno < cache->nblocks && RelationGetTargetBlock(index) != InvalidBlockNumber)
		return true;
	nblocks = RelationGetNumberOfBlocks(index);
	rencoder_meta_keep_tail(index, rencoder_meta_tail(index));
	if (cache != NULL)
		cache->nblocks = nblocks;
	return blkno < nblocks;
}

RencoderMetaPageData *
rencoder_meta_copy(Relation index)
{
	RencoderMetaPageData *copy = palloc(sizeof(RencoderMetaPageData));
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);

	memcpy(copy, RencoderPageGetMeta(BufferGetPage(buf)), sizeof(*copy));
	UnlockReleaseBuffer(buf);
	return copy;
}

/*
 * Asks for the maintainer lock; false if others have it and this does not wait.  "held": the
 * session has had it before, as when an expression of the index modifies the table it is of; then
 * nothing has changed.
 */
static bool
acquire_maintainer(Relation index, bool wait, bool *held)
{
	LOCKTAG		tag;
	LockAcquireResult result;

	SET_LOCKTAG_PAGE(tag, index->rd_lockInfo.lockRelId.dbId,
					 index->rd_lockInfo.lockRelId.relId, RENCODER_META_BLKNO);
	result = LockAcquire(&tag, ExclusiveLock, false, !wait);
	*held = result == LOCKACQUIRE_ALREADY_HELD;
	if (*held)
		LockRelease(&tag, ExclusiveLock, false);
	else
		wal_before = pgWalUsage.wal_bytes;
	return result != LOCKACQUIRE_NOT_AVAIL;
}

void
rencoder_meta_lock_maintainer(Relation index)
{
	bool		held;

	(void) acquire_maintainer(index, true, &held);
	if (held)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot maintain index \"%s\" while it is being maintained by the same session",
						RelationGetRelationName(index)),
				 errdetail("A function that the index calls has asked for it.")));
}

bool
rencoder_meta_try_lock_maintainer(Relation index)
{
	bool		held;

	return acquire_maintainer(index, false, &held) && !held;
}

uint64
rencoder_meta_unlock_maintainer(Relation index)
{
	uint64		wal = pgWalUsage.wal_bytes - wal_before;

	UnlockPage(index, RENCODER_META_BLKNO, ExclusiveLock);
	return wal;
}
