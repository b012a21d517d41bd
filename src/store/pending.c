/*
 * pending.c
 *		The pending list: entries are appended and read here.  store/catalog.c takes them away.
 */
#include "store/pending.h"

#include "access/htup_details.h"

#include "storage/lmgr.h"

#include "base/options.h"
#include "base/workspace.h"

/* Bytes of a page that entries may take. */
#define PENDING_ROOM \
	(RENCODER_PAYLOAD_SIZE - offsetof(RencoderPendingPageData, entries))

/* Line pointers of a part of a page that deltas name, at most. */
#define MAX_PART_ROWS	128

static RencoderPendingList
read_pending_bounds(Relation index)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	RencoderPendingList bounds = RencoderPageGetMeta(BufferGetPage(buf))->pending;

	UnlockReleaseBuffer(buf);
	return bounds;
}

/* Bytes of entries on a page. */
static Size
used_bytes(Page page)
{
	return ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData) -
		offsetof(RencoderPendingPageData, entries);
}

static bool
pending_has_room(Page page, Size size)
{
	return used_bytes(page) + size <= PENDING_ROOM;
}

/*
 * The linker's lock: who links a page, one at a time.  A tuple lock, since no other lock may
 * be asked for while one holds a page lock, but for that of extension.
 */
static void
lock_pending_linker(Relation index, bool lock)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, RENCODER_META_BLKNO, FirstOffsetNumber);
	if (lock)
		LockTuple(index, &tid, ExclusiveLock);
	else
		UnlockTuple(index, &tid, ExclusiveLock);
}

/* Makes the image of a page that becomes the tail. */
static void
init_pending_tail(Page page, BlockNumber blkno, uint64 number)
{
	RencoderPendingPageData *pending;

	rencoder_page_init(page, blkno, RENCODER_PAGE_PENDING);
	((PageHeader) page)->pd_lower = (LocationIndex)
		(MAXALIGN(SizeOfPageHeaderData) + offsetof(RencoderPendingPageData, entries));
	pending = RencoderPageGetPending(page);
	pending->number = number;
	pending->open = 1;
}

/*
 * A page to link where none is spare: a free one of the second half of the file, where no run looks for space
 * first, unless somebody maintains the index; else the file is extended.  The caller has the linker's lock.
 */
static BlockNumber
take_pending_page(Relation index)
{
	BlockNumber blkno;

	if (rencoder_space_find_root(index, RENCODER_ROOT_FREE) == RENCODER_NO_BLOCK ||
		!rencoder_meta_try_lock_maintainer(index))
		return rencoder_space_extend_made(index, RENCODER_PAGE_PENDING);
	blkno = rencoder_space_alloc(index, RelationGetNumberOfBlocks(index) / 2, 1, 1).start;
	rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_PENDING, NULL, true);
	(void) rencoder_meta_unlock_maintainer(index);
	return blkno;
}

/*
 * Links a page behind "tail" (RENCODER_NO_BLOCK: the first of all), unless that is not the
 * tail any more.
 *
 * Only a holder of the linker's lock takes pages off the spare chain, so what is spare
 * stays so until the metapage is locked.  A crash after it was taken loses the page.
 */
static void
link_pending_page(Relation index, BlockNumber tail)
{
	Buffer		metabuf;
	Buffer		tailbuf = InvalidBuffer;
	Buffer		newbuf;
	RencoderMetaPageData *meta;
	RencoderWal *wal;
	BlockNumber spare;
	BlockNumber blkno;

	lock_pending_linker(index, true);
	metabuf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	meta = RencoderPageGetMeta(BufferGetPage(metabuf));
	spare = meta->pending.spare;
	if (meta->pending.last != tail)
	{
		UnlockReleaseBuffer(metabuf);
		lock_pending_linker(index, false);
		return;
	}
	UnlockReleaseBuffer(metabuf);
	blkno = spare != RENCODER_NO_BLOCK ? spare : take_pending_page(index);

	metabuf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	if (spare != RENCODER_NO_BLOCK)
		blkno = spare = RencoderPageGetMeta(BufferGetPage(metabuf))->pending.spare;
	if (tail != RENCODER_NO_BLOCK)
		tailbuf = rencoder_page_read(index, tail, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_PENDING);
	newbuf = rencoder_page_read(index, blkno, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_PENDING);
	wal = rencoder_wal_begin(index, true);
	meta = RencoderPageGetMeta(rencoder_wal_register(wal, metabuf));
	if (spare != RENCODER_NO_BLOCK)
		meta->pending.spare = RencoderPageGetPending(BufferGetPage(newbuf))->next;
	if (tail != RENCODER_NO_BLOCK)
	{
		RencoderPendingPageData *old =
			RencoderPageGetPending(rencoder_wal_register(wal, tailbuf));

		old->next = blkno;
		old->open = 0;
	}
	else
	{
		meta->pending.first = blkno;
		meta->pending.first_number = meta->pending.last_number + 1;
	}
	meta->pending.last = blkno;
	meta->pending.last_number++;
	init_pending_tail(rencoder_wal_register_new(wal, newbuf), blkno, meta->pending.last_number);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(newbuf);
	if (tail != RENCODER_NO_BLOCK)
		UnlockReleaseBuffer(tailbuf);
	UnlockReleaseBuffer(metabuf);
	lock_pending_linker(index, false);
}

renc_places
rencoder_pending_places(Relation index, uint64 npages)
{
	renc_places places = renc_whole_pages();
	uint32		rows = rencoder_options_part_rows(index);

	if (rows == 0 || MaxHeapTuplesPerPage > RENC_MAX_PAGE_ROWS)
		return places;
	while ((MaxHeapTuplesPerPage + rows - 1) / rows * npages > PG_UINT32_MAX)
		rows *= 2;
	if (rows <= MAX_PART_ROWS)
	{
		places.parts = (uint16) ((MaxHeapTuplesPerPage + rows - 1) / rows);
		places.part_rows = (uint16) rows;
		places.most = MaxHeapTuplesPerPage;
	}
	return places;
}

bool
rencoder_pending_append(Relation index, const RencoderPendingEntry *entry, BlockNumber tail)
{
	Size		size = rencoder_pending_entry_size(rencoder_key_columns(index));
	Buffer		buf;
	Page		page;
	bool		appends;

	if (tail == RENCODER_NO_BLOCK)
		return false;
	buf = ReadBuffer(index, tail);
	page = BufferGetPage(buf);

	/* The guess may be old, and the page be anything by now. */
	if (rencoder_page_fault(page, tail, RENCODER_PAGE_PENDING) != NULL)
	{
		ReleaseBuffer(buf);
		return false;
	}
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	appends = rencoder_page_fault(page, tail, RENCODER_PAGE_PENDING) == NULL &&
		RencoderPageGetPending(page)->open == 1 && pending_has_room(page, size);
	if (appends)
		rencoder_wal_append(index, buf, entry, size);
	UnlockReleaseBuffer(buf);
	return appends;
}

/*
 * Bytes of entries on a page; SIZE_MAX if it is freed by now, or, unless "closed", closed: who links
 * a page looks for damage.
 */
static Size
pending_page_bytes(Relation index, BlockNumber blkno, bool closed)
{
	const char *fault;
	Buffer		buf = rencoder_page_try_read(index, blkno, RENCODER_PAGE_PENDING, &fault);
	Size		used = SIZE_MAX;

	if (!BufferIsValid(buf))
		return used;
	if (closed || RencoderPageGetPending(BufferGetPage(buf))->open == 1)
		used = used_bytes(BufferGetPage(buf));
	UnlockReleaseBuffer(buf);
	return used;
}

BlockNumber
rencoder_pending_find_tail(Relation index, bool *closed, uint64 *npages)
{
	Size		size = rencoder_pending_entry_size(rencoder_key_columns(index));
	bool		linked = false;
	RencoderPendingList bounds;

	for (;;)
	{
		Size		used = SIZE_MAX;

		CHECK_FOR_INTERRUPTS();
		bounds = read_pending_bounds(index);
		if (bounds.last != RENCODER_NO_BLOCK)
			used = pending_page_bytes(index, bounds.last, false);
		if (used != SIZE_MAX && used + size <= PENDING_ROOM)
			break;
		link_pending_page(index, bounds.last);
		linked = true;
	}
	if (closed != NULL)
		*closed = linked;
	if (npages != NULL)
		*npages = rencoder_pending_pages(&bounds);
	return bounds.last;
}

uint64
rencoder_pending_close(Relation index)
{
	RencoderPendingList bounds = read_pending_bounds(index);

	if (bounds.last != RENCODER_NO_BLOCK && pending_page_bytes(index, bounds.last, false) > 0)
		link_pending_page(index, bounds.last);
	bounds = read_pending_bounds(index);
	return bounds.last_number - (bounds.last == RENCODER_NO_BLOCK ? 0 : 1);
}

bool
rencoder_pending_has_closed(Relation index, uint64 npages)
{
	RencoderPendingList bounds = read_pending_bounds(index);

	return rencoder_pending_pages(&bounds) > npages;
}

bool
rencoder_pending_is_empty(Relation index)
{
	RencoderPendingList bounds = read_pending_bounds(index);

	return bounds.last == RENCODER_NO_BLOCK ||
		(rencoder_pending_pages(&bounds) <= 2 && pending_page_bytes(index, bounds.first, true) == 0 &&
		 pending_page_bytes(index, bounds.last, true) == 0);
}

bool
rencoder_pending_can_be_given_up(Relation index)
{
	return read_pending_bounds(index).last != RENCODER_NO_BLOCK && rencoder_pending_is_empty(index);
}

/* ---- Spare pages ---- */

/* So many are freed in a record. */
#define SPARE_BATCH		64

/* Adds a page. */
static void
add_pending_spare(RencoderSpareChain *chain, BlockNumber blkno)
{
	chain->page = rencoder_list_with_room(chain->page, chain->n, &chain->allocated, sizeof(RencoderSparePage));
	chain->page[chain->n++].blkno = blkno;
}

const char *
rencoder_pending_read_spares(Relation index, BlockNumber first, RencoderSpareChain *chain)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	for (BlockNumber blkno = first; blkno != RENCODER_NO_BLOCK;)
	{
		const char *fault;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		if (chain->n > nblocks)
			return "The list of spare pages is circular.";
		add_pending_spare(chain, blkno);
		if (blkno >= nblocks)
			return "The list of spare pages goes on behind the end of the index.";
		buf = rencoder_page_try_read(index, blkno, RENCODER_PAGE_PENDING, &fault);
		if (!BufferIsValid(buf))
			return fault;
		chain->page[chain->n - 1].number = RencoderPageGetPending(BufferGetPage(buf))->number;
		blkno = RencoderPageGetPending(BufferGetPage(buf))->next;
		UnlockReleaseBuffer(buf);
	}
	return NULL;
}

uint64
rencoder_pending_count_spares(Relation index)
{
	for (;;)
	{
		RencoderMetaPageData *metadata = rencoder_meta_copy(index);
		RencoderSpareChain chain = {0};
		const char *fault = rencoder_pending_read_spares(index, metadata->pending.spare, &chain);

		if (fault == NULL)
			return chain.n;
		if (!rencoder_pending_has_moved(index, metadata))
			rencoder_page_corrupted(index, chain.page[chain.n - 1].blkno, fault);
		pfree(metadata);
	}
}

/*
 * The chain, for the maintainer; false if it is damaged, which rencoder_index_check reports, or if
 * pages have been linked meanwhile.  Whatever else could stand there has a number that is in the list,
 * or none.
 */
static bool
read_pending_spares(Relation index, RencoderSpareChain *chain)
{
	RencoderMetaPageData *meta = rencoder_meta_copy(index);
	bool		sound = rencoder_pending_read_spares(index, meta->pending.spare, chain) == NULL;

	for (uint64 i = 0; i < chain->n; i++)
		sound &= chain->page[i].number < meta->pending.first_number;
	pfree(meta);
	return sound;
}

/*
 * Frees spare pages from the place "first" of the chain on, unless "most" or fewer would be left; returns the place
 * behind them.  Who links pages takes them from the beginning, too: those are passed over.  The catalog's
 * version stays: it has risen since a scan came to these pages, and who counts them sees that the chain
 * begins with another one.
 */
static uint64
free_pending_spares(Relation index, const RencoderSpareChain *chain, uint64 first, uint64 most)
{
	Buffer		freebuf = rencoder_space_prepare_release(index, SPARE_BATCH);
	Buffer		metabuf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	BlockNumber spare = RencoderPageGetMeta(BufferGetPage(metabuf))->pending.spare;
	uint64		end;

	while (first < chain->n && chain->page[first].blkno != spare)
		first++;
	end = Min(first + SPARE_BATCH, chain->n - most);
	if (first < end)
	{
		RencoderWal *wal = rencoder_wal_begin(index, true);
		Page		freepage;

		LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
		RencoderPageGetMeta(rencoder_wal_register(wal, metabuf))->pending.spare = chain->page[end].blkno;
		freepage = rencoder_wal_register(wal, freebuf);
		for (; first < end; first++)
		{
			RencoderExtent extent = {chain->page[first].blkno, 1};

			rencoder_space_release(freepage, extent);
		}
		rencoder_wal_finish(wal);
		LockBuffer(freebuf, BUFFER_LOCK_UNLOCK);
	}
	UnlockReleaseBuffer(metabuf);
	ReleaseBuffer(freebuf);
	return first;
}

void
rencoder_pending_free_spares(Relation index)
{
	RencoderSpareChain chain = {0};
	uint64		most = Max(Min(RelationGetNumberOfBlocks(index) / 32, RENCODER_SPARE_PAGES), 2);

	if (!read_pending_spares(index, &chain))
		return;
	for (uint64 first = 0; first + most < chain.n;)
	{
		CHECK_FOR_INTERRUPTS();
		first = free_pending_spares(index, &chain, first, most);
	}
}

/*
 * Looks under the lock, since rows may have come after it was known that there are no entries; and gives up a list
 * of one page only, which is what is freed.  The old tail is closed, too: a session that takes it for the tail yet
 * must not find it open.  The catalog's version stays: who knows the catalog, also on a standby, has the index locked.
 */
void
rencoder_pending_give_up(Relation index)
{
	RencoderPendingList bounds = read_pending_bounds(index);
	RencoderSpareChain chain = {0};
	RencoderWal *wal;
	RencoderMetaPageData *meta;
	RencoderPendingList *pending;
	Buffer		freebuf;
	Buffer		metabuf;
	Buffer		tailbuf;
	Page		freepage;

	if (bounds.last == RENCODER_NO_BLOCK || bounds.first != bounds.last ||
		pending_page_bytes(index, bounds.last, false) > 0 || !read_pending_spares(index, &chain) ||
		chain.n > SPARE_BATCH)
		return;
	add_pending_spare(&chain, bounds.last);
	freebuf = rencoder_space_prepare_release(index, (uint32) chain.n);
	metabuf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	tailbuf = rencoder_page_read(index, bounds.last, BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_PENDING);
	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, true);
	meta = RencoderPageGetMeta(rencoder_wal_register(wal, metabuf));
	pending = &meta->pending;
	pending->first = pending->last = pending->spare = RENCODER_NO_BLOCK;
	pending->first_number = pending->last_number + 1;
	RencoderPageGetPending(rencoder_wal_register(wal, tailbuf))->open = 0;
	freepage = rencoder_wal_register(wal, freebuf);
	for (uint64 i = 0; i < chain.n; i++)
	{
		RencoderExtent extent = {chain.page[i].blkno, 1};

		rencoder_space_release(freepage, extent);
	}
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
	UnlockReleaseBuffer(tailbuf);
	UnlockReleaseBuffer(metabuf);
}

/* ---- Reading ---- */

/* Copies the page, which is locked, but for the misses it begins with. */
static void
copy_pending_entries(RencoderPendingWalk *walk)
{
	RencoderPendingCopy *copy = &walk->copy;
	RencoderPendingPageData *room = (RencoderPendingPageData *) copy->room;
	int			first = walk->misses == NULL ? 0 : rencoder_pending_skip_misses(copy, 0, walk->misses);

	copy->nentries -= first;
	memcpy(room, copy->page, offsetof(RencoderPendingPageData, entries));
	memcpy(room->entries, copy->page->entries + first * copy->entry_size,
		   copy->nentries * copy->entry_size);
	copy->page = room;
}

/* Reads the page that the walk has come to; false if the block holds something else. */
static bool
read_walked_pending_page(RencoderPendingWalk *walk)
{
	RencoderPendingCopy *copy = &walk->copy;
	Buffer		buf = InvalidBuffer;
	Page		page;

	if (copy->room == NULL)
		copy->room = palloc(BLCKSZ);
	if (walk->kept != NULL && walk->kept->keeps)
		page = rencoder_kept_read(walk->kept, walk->index, walk->blkno, RENCODER_PAGE_PENDING,
								  copy->room, &walk->npages, &walk->fault);
	else
	{
		buf = rencoder_page_try_read(walk->index, walk->blkno, RENCODER_PAGE_PENDING, &walk->fault);
		page = BufferIsValid(buf) ? BufferGetPage(buf) : NULL;
		walk->npages++;
	}
	if (page == NULL)
		return false;
	copy->page = RencoderPageGetPending(page);
	if (copy->page->number != walk->number)
		walk->fault = "The page of the pending list has another number.";
	else if (((PageHeader) page)->pd_lower < MAXALIGN(SizeOfPageHeaderData) +
			 offsetof(RencoderPendingPageData, entries) ||
			 used_bytes(page) % copy->entry_size != 0)
		walk->fault = "The page's free space pointers are wrong.";
	copy->nentries = (int) (used_bytes(page) / copy->entry_size);
	if (BufferIsValid(buf) && walk->fault == NULL)
		copy_pending_entries(walk);
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
	return walk->fault == NULL;
}

void
rencoder_pending_walk_begin(RencoderPendingWalk *walk, Relation index,
							const RencoderPendingList *list, uint64 last_number)
{
	memset(walk, 0, sizeof(*walk));
	walk->index = index;
	walk->copy.entry_size = rencoder_pending_entry_size(rencoder_key_columns(index));
	walk->blkno = RENCODER_META_BLKNO;
	walk->next = list->first;
	walk->next_number = list->first_number;
	walk->last_number = last_number;
}

bool
rencoder_pending_walk_next(RencoderPendingWalk *walk)
{
	if (walk->next == RENCODER_NO_BLOCK)
		return false;
	CHECK_FOR_INTERRUPTS();
	walk->from = walk->blkno;
	walk->blkno = walk->next;
	walk->number = walk->next_number++;
	if (!rencoder_meta_has_block(walk->index, walk->blkno))
	{
		walk->fault = "The pending list goes on behind the end of the index.";
		return false;
	}
	if (!read_walked_pending_page(walk))
		return false;
	walk->next = walk->copy.page->next;
	if (walk->number >= walk->last_number)
		walk->next = RENCODER_NO_BLOCK; /* what was linked since is not ours */
	else if (walk->next == RENCODER_NO_BLOCK)
	{
		/* Or it is the last of those that a delta has taken over. */
		walk->fault = "The pending list ends before its last page.";
		return false;
	}
	return true;
}

void
rencoder_pending_walk_end(RencoderPendingWalk *walk)
{
	if (walk->copy.room != NULL)
		pfree(walk->copy.room);
}

bool
rencoder_pending_has_moved(Relation index, const RencoderMetaPageData *metadata)
{
	RencoderMetaPageData *now = rencoder_meta_copy(index);
	bool		moved = now->changes != metadata->changes ||
		now->pending.last_number != metadata->pending.last_number ||
		now->pending.spare != metadata->pending.spare;

	pfree(now);
	return moved;
}
