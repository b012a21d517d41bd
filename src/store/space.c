/*
 * space.c
 *		Allocation of extents.
 */
#include "store/space.h"

#include "storage/lmgr.h"

/* The caller has the extension lock. */
static BlockNumber
extend_space(Relation index, uint32 npages)
{
	BlockNumber first = InvalidBlockNumber;

	for (uint32 i = 0; i < npages; i++)
	{
		Buffer		buf = ReadBuffer(index, P_NEW);

		if (i == 0)
			first = BufferGetBlockNumber(buf);
		Assert(BufferGetBlockNumber(buf) == first + i);
		ReleaseBuffer(buf);
	}
	return first;
}

BlockNumber
rencoder_space_extend(Relation index, uint32 npages)
{
	BlockNumber first;

	LockRelationForExtension(index, ExclusiveLock);
	first = extend_space(index, npages);
	UnlockRelationForExtension(index, ExclusiveLock);
	return first;
}

BlockNumber
rencoder_space_extend_made(Relation index, uint16 page_id)
{
	BlockNumber blkno;

	LockRelationForExtension(index, ExclusiveLock);
	blkno = extend_space(index, 1);
	rencoder_wal_write_fresh(index, blkno, page_id, NULL, true);
	UnlockRelationForExtension(index, ExclusiveLock);
	return blkno;
}

static void
check_free_space_list(Relation index, Buffer buf)
{
	if (RencoderPageGetFree(BufferGetPage(buf))->n > RENCODER_FREE_EXTENTS)
		rencoder_page_corrupted(index, BufferGetBlockNumber(buf),
								"The free list has an impossible number of extents.");
}

/*
 * The first block of an extent of the page that is large enough, and lies before "before"; that if there
 * is none.  The page is locked.
 */
static BlockNumber
first_space_on_page(Buffer buf, uint32 npages, BlockNumber before)
{
	const RencoderFreePageData *list = RencoderPageGetFree(BufferGetPage(buf));

	for (uint32 i = 0; i < list->n; i++)
	{
		if (list->extent[i].npages >= npages)
			before = Min(before, list->extent[i].start);
	}
	return before;
}

/* Takes blocks off the extent of a page that begins at "start".  The page is locked and stays so. */
static void
take_space_from_page(Relation index, Buffer buf, BlockNumber start, uint32 npages)
{
	RencoderWal *wal = rencoder_wal_begin(index, true);
	RencoderFreePageData *list = RencoderPageGetFree(rencoder_wal_register(wal, buf));
	RencoderExtent *e = list->extent;

	while (e->start != start)
		e++;
	e->start += npages;
	e->npages -= npages;
	if (e->npages == 0)
	{
		*e = list->extent[--list->n];
		list->extent[list->n].start = RENCODER_NO_BLOCK;
	}
	rencoder_wal_finish(wal);
}

static BlockNumber *
root_in_space(RencoderMetaPageData *metadata, uint16 page_id)
{
	switch (page_id)
	{
		case RENCODER_PAGE_SAMPLES:
			return &metadata->sample_root;
		case RENCODER_PAGE_STATS:
			return &metadata->stats_page;
		case RENCODER_PAGE_CODERS:
			return &metadata->coder_root;
		case RENCODER_PAGE_RUN_LIST:
			return &metadata->run_list;
		default:
			Assert(page_id == RENCODER_PAGE_FREE);
			return &metadata->free_root;
	}
}

BlockNumber
rencoder_space_find_root(Relation index, uint16 page_id)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	BlockNumber root = *root_in_space(RencoderPageGetMeta(BufferGetPage(buf)), page_id);

	UnlockReleaseBuffer(buf);
	return root;
}

/*
 * From the end of the file.  Nothing refers to zero pages there: who refers to an extent has written all
 * of it before, or at least its last page (rencoder_space_secure).  They are what an extension was good
 * for before the disk was full, or what a crash or cancellation left unwritten; left alone, each new
 * attempt would add to them.  Counting them and extension are one step, because others extend, too
 * (rencoder_space_extend_made).
 */
static RencoderExtent
take_space_from_end(Relation index, uint32 npages)
{
	RencoderExtent extent;
	BlockNumber nblocks;
	uint32		tail;

	LockRelationForExtension(index, ExclusiveLock);
	nblocks = RelationGetNumberOfBlocks(index);
	tail = rencoder_page_count_new(index, nblocks, npages);
	if (tail < npages)
		(void) extend_space(index, npages - tail);
	UnlockRelationForExtension(index, ExclusiveLock);
	extent.start = nblocks - tail;
	extent.npages = npages;
	return extent;
}

/* Those nearest to the front: so the end of the file becomes free. */
RencoderExtent
rencoder_space_alloc(Relation index, uint32 npages)
{
	RencoderExtent extent = {InvalidBlockNumber, npages};
	BlockNumber list_page = RENCODER_NO_BLOCK;
	BlockNumber blkno = rencoder_space_find_root(index, RENCODER_PAGE_FREE);
	Buffer		buf;

	while (blkno != RENCODER_NO_BLOCK)
	{
		BlockNumber first;

		CHECK_FOR_INTERRUPTS();
		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_FREE);
		check_free_space_list(index, buf);
		first = first_space_on_page(buf, npages, extent.start);
		if (first != extent.start)
			list_page = blkno;
		extent.start = first;
		blkno = RencoderPageGetFree(BufferGetPage(buf))->next;
		UnlockReleaseBuffer(buf);
	}
	if (list_page == RENCODER_NO_BLOCK)
		return take_space_from_end(index, npages);
	buf = rencoder_page_read(index, list_page, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_FREE);
	take_space_from_page(index, buf, extent.start, npages);
	UnlockReleaseBuffer(buf);
	return extent;
}

RencoderExtent
rencoder_space_take(Relation index, uint32 npages, bool log)
{
	RencoderExtent extent;

	if (log)
		return rencoder_space_alloc(index, npages);
	extent.start = rencoder_space_extend(index, npages);
	extent.npages = npages;
	return extent;
}

BlockNumber
rencoder_space_make_root(Relation index, uint16 page_id, uint32 npages, bool log)
{
	BlockNumber root = rencoder_space_find_root(index, page_id);
	RencoderWal *wal;
	Buffer		buf;

	if (root != RENCODER_NO_BLOCK)
		return root;
	root = rencoder_space_take(index, npages, log).start;
	for (uint32 i = 0; i < npages; i++)
		rencoder_wal_write_fresh(index, root + i, page_id, NULL, log);
	buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, log);
	*root_in_space(RencoderPageGetMeta(rencoder_wal_register(wal, buf)), page_id) = root;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
	return root;
}

void
rencoder_space_ensure_root(Relation index, uint16 page_id, uint32 npages)
{
	if (rencoder_space_find_root(index, page_id) != RENCODER_NO_BLOCK)
		return;
	rencoder_meta_lock_maintainer(index);
	(void) rencoder_space_make_root(index, page_id, npages, true);
	(void) rencoder_meta_unlock_maintainer(index);
}

void
rencoder_space_secure(Relation index, RencoderExtent extent)
{
	rencoder_wal_write_fresh(index, extent.start + extent.npages - 1,
							 RENCODER_PAGE_RUN, NULL, true);
}

Buffer
rencoder_space_prepare_release(Relation index, uint32 n)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_PAGE_FREE);
	BlockNumber blkno;
	Buffer		buf;
	Buffer		metabuf;
	RencoderWal *wal;

	if (root != RENCODER_NO_BLOCK)
	{
		bool		room;

		buf = rencoder_page_read(index, root, BUFFER_LOCK_SHARE, RENCODER_PAGE_FREE);
		check_free_space_list(index, buf);
		room = RencoderPageGetFree(BufferGetPage(buf))->n + n <= RENCODER_FREE_EXTENTS;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		if (room)
			return buf;
		ReleaseBuffer(buf);
	}

	/* Put a new page at the head. */
	blkno = rencoder_space_extend(index, 1);
	rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_FREE, NULL, true);
	metabuf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	buf = rencoder_page_read(index, blkno, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_FREE);
	wal = rencoder_wal_begin(index, true);
	RencoderPageGetMeta(rencoder_wal_register(wal, metabuf))->free_root = blkno;
	RencoderPageGetFree(rencoder_wal_register(wal, buf))->next = root;
	rencoder_wal_finish(wal);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	UnlockReleaseBuffer(metabuf);
	return buf;
}

void
rencoder_space_release(Page image, RencoderExtent extent)
{
	RencoderFreePageData *list = RencoderPageGetFree(image);
	uint32		kept = 0;

	/*
	 * It swallows its neighbours, before and behind, so that larger requests
	 * fit later.  No two extents of the page are neighbours, so these are
	 * all.
	 */
	for (uint32 i = 0; i < list->n; i++)
	{
		RencoderExtent *e = &list->extent[i];

		if (e->start + e->npages == extent.start)
			extent.start = e->start;
		else if (extent.start + extent.npages != e->start)
		{
			list->extent[kept++] = *e;
			continue;
		}
		extent.npages += e->npages;
	}
	Assert(kept < RENCODER_FREE_EXTENTS);
	list->extent[kept++] = extent;
	for (uint32 i = kept; i < list->n; i++)
	{
		list->extent[i].start = RENCODER_NO_BLOCK;
		list->extent[i].npages = 0;
	}
	list->n = kept;
}

uint64
rencoder_space_count_free_pages(Relation index, uint32 *nextents)
{
	BlockNumber blkno = rencoder_space_find_root(index, RENCODER_PAGE_FREE);
	uint64		npages = 0;

	if (nextents)
		*nextents = 0;
	while (blkno != RENCODER_NO_BLOCK)
	{
		Buffer		buf;
		RencoderFreePageData *list;

		CHECK_FOR_INTERRUPTS();
		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_FREE);
		check_free_space_list(index, buf);
		list = RencoderPageGetFree(BufferGetPage(buf));
		for (uint32 i = 0; i < list->n; i++)
			npages += list->extent[i].npages;
		if (nextents)
			*nextents += list->n;
		blkno = list->next;
		UnlockReleaseBuffer(buf);
	}
	return npages;
}
