/*
 * directory.c
 *		The directory: finding and making directory pages.
 */
#include "store/directory.h"

#include "store/space.h"

/* Block numbers in a directory map page. */
#define MAP_ENTRIES		(RENCODER_PAYLOAD_SIZE / sizeof(BlockNumber))

/* The most groups an index of this many columns can have. */
static uint64
max_groups(const RencoderMeta *meta)
{
	return (RENCODER_META_DIRECT + (uint64) RENCODER_META_MAPS * MAP_ENTRIES) *
		meta->entries_per_page;
}

/* Where in the maps directory page "dirpage" (>= RENCODER_META_DIRECT) stands. */
static void
locate_in_directory_maps(uint64 dirpage, uint32 *map, uint32 *slot)
{
	uint64		i = dirpage - RENCODER_META_DIRECT;

	*map = (uint32) (i / MAP_ENTRIES);
	*slot = (uint32) (i % MAP_ENTRIES);
}

static BlockNumber
read_directory_map(Relation index, BlockNumber map_blkno, uint32 slot)
{
	Buffer		buf = rencoder_page_read(index, map_blkno, BUFFER_LOCK_SHARE,
										 RENCODER_PAGE_DIRMAP);
	BlockNumber blkno;

	blkno = ((BlockNumber *) RencoderPageGetPayload(BufferGetPage(buf)))[slot];
	UnlockReleaseBuffer(buf);
	return blkno;
}

BlockNumber
rencoder_directory_find(Relation index, const RencoderMeta *meta,
						const RencoderMetaPageData *metadata, uint32 group,
						int64 *npages)
{
	uint64		dirpage = group / meta->entries_per_page;
	BlockNumber blkno;
	Buffer		buf = InvalidBuffer;
	uint32		map = 0;
	uint32		slot = 0;

	if (dirpage >= RENCODER_META_DIRECT)
	{
		locate_in_directory_maps(dirpage, &map, &slot);
		if (map >= RENCODER_META_MAPS)
			return RENCODER_NO_BLOCK;
	}
	if (metadata == NULL)
	{
		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
		metadata = RencoderPageGetMeta(BufferGetPage(buf));
		if (npages)
			(*npages)++;
	}
	blkno = dirpage < RENCODER_META_DIRECT ? metadata->direct[dirpage] :
		metadata->map[map];
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);

	if (dirpage >= RENCODER_META_DIRECT && blkno != RENCODER_NO_BLOCK)
	{
		blkno = read_directory_map(index, blkno, slot);
		if (npages)
			(*npages)++;
	}
	return blkno;
}

BlockNumber
rencoder_directory_read(Relation index, const RencoderMeta *meta,
						const RencoderMetaPageData *metadata, uint32 group, const char **fault,
						RencoderEntry copy)
{
	BlockNumber blkno = rencoder_directory_find(index, meta, metadata, group, NULL);
	Buffer		buf = InvalidBuffer;

	memset(copy, 0, meta->entry_size);
	if (blkno != RENCODER_NO_BLOCK)
		buf = fault != NULL ? rencoder_page_try_read(index, blkno, RENCODER_PAGE_DIRECTORY, fault) :
			rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_DIRECTORY);
	if (!BufferIsValid(buf))
		return RENCODER_NO_BLOCK;
	memcpy(copy, rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)), meta, group),
		   meta->entry_size);
	UnlockReleaseBuffer(buf);
	return blkno;
}

/* One more than the last entry that is a block; 0: there is none. */
static uint32
last_directory_entry(const BlockNumber *entries, uint32 n)
{
	while (n > 0 && entries[n - 1] == RENCODER_NO_BLOCK)
		n--;
	return n;
}

uint64
rencoder_directory_count_pages(Relation index, const RencoderMetaPageData *metadata)
{
	for (uint32 map = last_directory_entry(metadata->map, RENCODER_META_MAPS); map > 0;
		 map = last_directory_entry(metadata->map, map - 1))
	{
		Buffer		buf = rencoder_page_read(index, metadata->map[map - 1], BUFFER_LOCK_SHARE,
											 RENCODER_PAGE_DIRMAP);
		uint32		n = last_directory_entry((const BlockNumber *) RencoderPageGetPayload(BufferGetPage(buf)),
											 MAP_ENTRIES);

		UnlockReleaseBuffer(buf);
		if (n > 0)
			return RENCODER_META_DIRECT + (uint64) (map - 1) * MAP_ENTRIES + n;
	}
	return last_directory_entry(metadata->direct, RENCODER_META_DIRECT);
}

/* A zeroed page of the type, logged, that nothing refers to yet. */
static BlockNumber
fresh_directory_page(Relation index, uint16 page_id, bool log)
{
	BlockNumber blkno = rencoder_space_take(index, 1, log).start;

	rencoder_wal_write_fresh(index, blkno, page_id, NULL, log);
	return blkno;
}

/*
 * Stores a block number in an array of such, which begins at "offset" of a page's payload, in a record
 * of its own.
 */
static void
link_directory_block(Relation index, Buffer buf, Size offset, uint32 slot, BlockNumber blkno,
					 bool log)
{
	RencoderWal *wal = rencoder_wal_begin(index, log);
	char	   *payload = RencoderPageGetPayload(rencoder_wal_register(wal, buf));

	((BlockNumber *) (payload + offset))[slot] = blkno;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

BlockNumber
rencoder_directory_make(Relation index, const RencoderMeta *meta, uint32 group,
						bool log)
{
	uint64		dirpage = group / meta->entries_per_page;
	BlockNumber blkno = rencoder_directory_find(index, meta, NULL, group, NULL);
	RencoderMetaPageData *metadata;
	BlockNumber map_blkno;
	uint32		map;
	uint32		slot;

	if (blkno != RENCODER_NO_BLOCK)
		return blkno;
	if (group >= max_groups(meta))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" cannot have more than %llu groups of block ranges",
						RelationGetRelationName(index),
						(unsigned long long) max_groups(meta)),
				 errhint("Create the index with a larger \"pages_per_range\".")));

	blkno = fresh_directory_page(index, RENCODER_PAGE_DIRECTORY, log);
	if (dirpage < RENCODER_META_DIRECT)
	{
		link_directory_block(index, rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE),
							 offsetof(RencoderMetaPageData, direct), (uint32) dirpage, blkno, log);
		return blkno;
	}

	locate_in_directory_maps(dirpage, &map, &slot);
	metadata = rencoder_meta_copy(index);
	map_blkno = metadata->map[map];
	pfree(metadata);
	if (map_blkno == RENCODER_NO_BLOCK)
	{
		map_blkno = fresh_directory_page(index, RENCODER_PAGE_DIRMAP, log);
		link_directory_block(index, rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE),
							 offsetof(RencoderMetaPageData, map), map, map_blkno, log);
	}
	link_directory_block(index, rencoder_page_read(index, map_blkno, BUFFER_LOCK_EXCLUSIVE,
												   RENCODER_PAGE_DIRMAP),
						 0, slot, blkno, log);
	return blkno;
}

void
rencoder_directory_put(Relation index, const RencoderMeta *meta, uint32 group,
					   const RencoderEntryData *entry, bool log)
{
	BlockNumber blkno = rencoder_directory_make(index, meta, group, log);
	Buffer		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_EXCLUSIVE,
										 RENCODER_PAGE_DIRECTORY);
	RencoderWal *wal = rencoder_wal_begin(index, log);
	char	   *payload = RencoderPageGetPayload(rencoder_wal_register(wal, buf));

	memcpy(rencoder_directory_entry(payload, meta, group), entry, meta->entry_size);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}
