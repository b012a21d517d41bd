/*
 * space.c
 *		Allocation of extents.
 */
#include "store/space.h"

#include "catalog/storage.h"
#include "storage/lmgr.h"

#include "base/workspace.h"

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

/* May the list of the page have so many extents? */
static void
check_free_space_list(Relation index, BlockNumber blkno, const RencoderFreePageData *list)
{
	if (list->n > RENCODER_FREE_EXTENTS)
		rencoder_page_corrupted(index, blkno, "The free list has an impossible number of extents.");
}

/* The list of the page has fewer extents from now on. */
static void
shorten_free_space_list(RencoderFreePageData *list, uint32 n)
{
	memset(&list->extent[n], 0, (list->n - n) * sizeof(RencoderExtent));
	list->n = n;
}

/*
 * The first block of an extent of the page that has so many pages, not before "from", and lies before "before";
 * that if there is none.  The page is locked.
 */
static BlockNumber
first_space_on_page(Buffer buf, BlockNumber from, uint32 npages, BlockNumber before)
{
	const RencoderFreePageData *list = RencoderPageGetFree(BufferGetPage(buf));

	for (uint32 i = 0; i < list->n; i++)
	{
		const RencoderExtent *e = &list->extent[i];

		if (e->npages >= npages && e->start >= from)
			before = Min(before, e->start);
	}
	return before;
}

/*
 * Takes blocks off the extent of a page that begins at "start": all, or so many; returns how many.  The page is
 * locked and stays so.
 */
static uint32
take_space_from_page(Relation index, Buffer buf, BlockNumber start, uint32 npages)
{
	RencoderWal *wal = rencoder_wal_begin(index, true);
	RencoderFreePageData *list = RencoderPageGetFree(rencoder_wal_register(wal, buf));
	RencoderExtent *e = list->extent;

	while (e->start != start)
		e++;
	npages = Min(npages, e->npages);
	e->start += npages;
	e->npages -= npages;
	if (e->npages == 0)
	{
		*e = list->extent[--list->n];
		list->extent[list->n].start = RENCODER_NO_BLOCK;
	}
	rencoder_wal_finish(wal);
	return npages;
}

static BlockNumber *
root_in_space(RencoderMetaPageData *metadata, RencoderRoot which)
{
	switch (which)
	{
		case RENCODER_ROOT_CODERS:
			return &metadata->coder_root;
		case RENCODER_ROOT_STATS:
			return &metadata->stats_root;
		case RENCODER_ROOT_SAMPLES:
			return &metadata->samples_root;
		default:
			Assert(which == RENCODER_ROOT_FREE);
			return &metadata->free_root;
	}
}

BlockNumber
rencoder_space_find_root(Relation index, RencoderRoot which)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	BlockNumber root = *root_in_space(RencoderPageGetMeta(BufferGetPage(buf)), which);

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

/* With less than a quarter of "most" a run would have too many extents. */
RencoderExtent
rencoder_space_alloc(Relation index, BlockNumber from, uint32 least, uint32 most)
{
	RencoderExtent extent = {InvalidBlockNumber, most};
	BlockNumber list_page = RENCODER_NO_BLOCK;
	BlockNumber blkno = rencoder_space_find_root(index, RENCODER_ROOT_FREE);
	Buffer		buf;

	least = Max(Max(least, most / 4), 1);
	while (blkno != RENCODER_NO_BLOCK)
	{
		BlockNumber first;

		CHECK_FOR_INTERRUPTS();
		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_FREE);
		check_free_space_list(index, blkno, RencoderPageGetFree(BufferGetPage(buf)));
		first = first_space_on_page(buf, from, least, extent.start);
		if (first != extent.start)
			list_page = blkno;
		extent.start = first;
		blkno = RencoderPageGetFree(BufferGetPage(buf))->next;
		UnlockReleaseBuffer(buf);
	}
	if (list_page == RENCODER_NO_BLOCK)
		return take_space_from_end(index, most);
	buf = rencoder_page_read(index, list_page, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_FREE);
	extent.npages = take_space_from_page(index, buf, extent.start, most);
	UnlockReleaseBuffer(buf);
	return extent;
}

RencoderExtent
rencoder_space_take(Relation index, uint32 npages, bool log)
{
	RencoderExtent extent;

	if (log)
		return rencoder_space_alloc(index, 0, npages, npages);
	extent.start = rencoder_space_extend(index, npages);
	extent.npages = npages;
	return extent;
}

static void
set_space_root(Relation index, RencoderRoot which, BlockNumber root, bool log)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(index, log);
	RencoderMetaPageData *metadata = RencoderPageGetMeta(rencoder_wal_register(wal, buf));

	*root_in_space(metadata, which) = root;

	/*
	 * Development versions took what stands behind the counts for samples:
	 * their sessions are refused.
	 */
	if (which == RENCODER_ROOT_STATS)
		metadata->version = RENCODER_VERSION;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

BlockNumber
rencoder_space_make_root(Relation index, RencoderRoot which, uint16 page_id, uint32 npages, bool log)
{
	BlockNumber root = rencoder_space_find_root(index, which);

	if (root != RENCODER_NO_BLOCK)
		return root;
	root = rencoder_space_take(index, npages, log).start;
	for (uint32 i = 0; i < npages; i++)
		rencoder_wal_write_fresh(index, root + i, page_id, NULL, log);
	set_space_root(index, which, root, log);
	return root;
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
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_FREE);
	BlockNumber blkno;
	Buffer		buf;
	Buffer		metabuf;
	RencoderWal *wal;

	if (root != RENCODER_NO_BLOCK)
	{
		bool		room;

		buf = rencoder_page_read(index, root, BUFFER_LOCK_SHARE, RENCODER_PAGE_FREE);
		check_free_space_list(index, root, RencoderPageGetFree(BufferGetPage(buf)));
		room = RencoderPageGetFree(BufferGetPage(buf))->n + n <= RENCODER_FREE_EXTENTS;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		if (room)
			return buf;
		ReleaseBuffer(buf);
	}

	/* Put a new page at the head. */
	blkno = rencoder_space_alloc(index, 0, 1, 1).start;
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
	if (kept < list->n)
		shorten_free_space_list(list, kept);
	list->n = kept;
}

/* The extents of the list, and perhaps its own pages. */
typedef struct FreeSpace
{
	RencoderExtent *extent;
	uint32		n;
	size_t		allocated;
} FreeSpace;

static void
add_free_space(FreeSpace *space, RencoderExtent extent)
{
	space->extent = rencoder_list_with_room(space->extent, space->n, &space->allocated, sizeof(RencoderExtent));
	space->extent[space->n++] = extent;
}

static void
read_free_space(Relation index, FreeSpace *space, bool own)
{
	BlockNumber blkno = rencoder_space_find_root(index, RENCODER_ROOT_FREE);

	memset(space, 0, sizeof(*space));
	while (blkno != RENCODER_NO_BLOCK)
	{
		RencoderFreePageData *list = rencoder_page_copy(index, blkno, RENCODER_PAGE_FREE);
		RencoderExtent page = {blkno, own ? 1 : 0};

		CHECK_FOR_INTERRUPTS();
		check_free_space_list(index, blkno, list);
		if (space->n > RelationGetNumberOfBlocks(index))
			rencoder_page_corrupted(index, blkno, "The free list is circular.");
		for (uint32 i = 0; i < list->n; i++)
			add_free_space(space, list->extent[i]);
		add_free_space(space, page);
		blkno = list->next;
		pfree(list);
	}
}

uint64
rencoder_space_count_free_pages(Relation index, BlockNumber end, uint32 *nextents)
{
	uint64		npages = 0;
	uint32		n = 0;
	FreeSpace	space;

	read_free_space(index, &space, false);
	for (uint32 i = 0; i < space.n; i++)
	{
		n += space.extent[i].npages > 0;
		npages += space.extent[i].start < end ? space.extent[i].npages : 0;
	}
	if (nextents != NULL)
		*nextents = n;
	return npages;
}

static int
compare_extents(const void *a, const void *b)
{
	BlockNumber x = ((const RencoderExtent *) a)->start;
	BlockNumber y = ((const RencoderExtent *) b)->start;

	return x < y ? -1 : x > y;
}

/* All that is free, the pages of the list included, in the order of the file, neighbours united. */
static void
read_united_space(Relation index, FreeSpace *space)
{
	uint32		n = 0;

	read_free_space(index, space, true);
	if (space->n > 0)
		qsort(space->extent, space->n, sizeof(RencoderExtent), compare_extents);
	for (uint32 i = 0; i < space->n; i++)
	{
		RencoderExtent *last = &space->extent[n - 1];

		if (n > 0 && last->start + last->npages == space->extent[i].start)
			last->npages += space->extent[i].npages;
		else
			space->extent[n++] = space->extent[i];
	}
	space->n = n;
}

BlockNumber
rencoder_space_used_end(Relation index)
{
	BlockNumber end = RelationGetNumberOfBlocks(index);
	FreeSpace	space;

	read_united_space(index, &space);
	end -= rencoder_page_count_new(index, end, end);
	for (uint32 i = space.n; i > 0 && space.extent[i - 1].start + space.extent[i - 1].npages >= end; i--)
		end = Min(end, space.extent[i - 1].start);
	return end;
}

/* Writes a list of these extents on pages that it takes from the first of them; returns the first page. */
static BlockNumber
write_free_list(Relation index, RencoderExtent *extent, uint32 n)
{
	RencoderFreePageData *list = palloc0(RENCODER_PAYLOAD_SIZE);
	BlockNumber root = RENCODER_NO_BLOCK;

	while (n > 0)
	{
		BlockNumber blkno = extent->start++;

		if (--extent->npages == 0)
		{
			extent++;
			n--;
		}
		list->next = root;
		list->n = Min(n, RENCODER_FREE_EXTENTS);
		n -= list->n;
		memset(list->extent, 0, RENCODER_FREE_EXTENTS * sizeof(RencoderExtent));
		memcpy(list->extent, &extent[n], list->n * sizeof(RencoderExtent));
		rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_FREE, (char *) list, true);
		root = blkno;
	}
	pfree(list);
	return root;
}

/*
 * The new list may be written to pages of the old one, which must not be read as part of that: a crash would
 * leave a list that names pages twice.  So there is none meanwhile.
 */
void
rencoder_space_truncate(Relation index, BlockNumber end)
{
	FreeSpace	space;

	read_united_space(index, &space);
	while (space.n > 0 && space.extent[space.n - 1].start >= end)
		space.n--;
	set_space_root(index, RENCODER_ROOT_FREE, RENCODER_NO_BLOCK, true);
	set_space_root(index, RENCODER_ROOT_FREE, write_free_list(index, space.extent, space.n), true);
	RelationTruncate(index, end);
}
