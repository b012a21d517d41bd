/*
 * catalog.c
 *		The catalog of runs.
 */
#include "store/catalog.h"

#include "store/pending.h"
#include "store/run_format.h"

/* What the metapage of "metabuf", which is locked, says; an error if that cannot be. */
static void
read_catalog(Relation index, RencoderCatalog *catalog, Buffer metabuf)
{
	const RencoderMetaPageData *meta = RencoderPageGetMeta(BufferGetPage(metabuf));

	if (meta->nruns > RENCODER_MAX_RUNS)
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The catalog has an impossible number of runs.");
	if (meta->frontier > meta->entries_to)
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The catalog's frontier is beyond the pages whose rows are entries.");

	catalog->version = meta->changes;
	catalog->frontier = meta->frontier;
	catalog->entries_to = meta->entries_to;
	catalog->pending = meta->pending;
	catalog->n = meta->nruns;
	memcpy(catalog->entry, meta->run, meta->nruns * sizeof(RencoderRunEntry));
}

void
rencoder_catalog_copy(Relation index, RencoderCatalog *catalog, RencoderMetaPageData *metadata,
					  Buffer *pinned, int64 *npages)
{
	bool		is_pinned = pinned != NULL && BufferIsValid(*pinned);
	Buffer		metabuf = is_pinned ? *pinned : rencoder_meta_lock(index, BUFFER_LOCK_SHARE);

	if (is_pinned)
		LockBuffer(metabuf, BUFFER_LOCK_SHARE);
	read_catalog(index, catalog, metabuf);
	if (metadata != NULL)
		memcpy(metadata, RencoderPageGetMeta(BufferGetPage(metabuf)), sizeof(*metadata));
	LockBuffer(metabuf, BUFFER_LOCK_UNLOCK);
	if (pinned == NULL)
		ReleaseBuffer(metabuf);
	else
		*pinned = metabuf;
	if (npages != NULL && !is_pinned)
		(*npages)++;
}

/* ---- Questions ---- */

static RencoderRunEntry *
find_run(RencoderCatalog *catalog, uint32 number)
{
	for (uint32 i = 0; i < catalog->n; i++)
	{
		if (catalog->entry[i].number == number)
			return &catalog->entry[i];
	}
	return NULL;
}

const RencoderRunEntry *
rencoder_catalog_find(const RencoderCatalog *catalog, uint32 number)
{
	return find_run(unconstify(RencoderCatalog *, catalog), number);
}

const RencoderRunEntry *
rencoder_catalog_covering(const RencoderCatalog *catalog, BlockNumber page)
{
	const RencoderRunEntry *newest = NULL;

	for (uint32 i = 0; i < catalog->n && page < catalog->frontier; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_LIVE && rencoder_run_covers(run) &&
			run->from <= page && page < run->to && (newest == NULL || run->rank > newest->rank))
			newest = run;
	}
	return newest;
}

/* Adds a segment, unless it is empty; returns how many there are now. */
static int
add_segment(RencoderSegment *segment, int n, BlockNumber from, BlockNumber to,
			const RencoderRunEntry *run)
{
	segment[n].from = from;
	segment[n].to = to;
	segment[n].run = run;
	return from < to ? n + 1 : n;
}

/* Puts a run over the segments of [from, to); likewise. */
static int
cover_segments(RencoderSegment *segment, int n, BlockNumber from, BlockNumber to,
			   const RencoderRunEntry *run)
{
	RencoderSegment before[RENCODER_MAX_SEGMENTS];
	RencoderSegment last = segment[n - 1];
	int			nbefore = n;

	/* Mostly runs follow each other. */
	if (last.from == from)
		return add_segment(segment, add_segment(segment, n - 1, from, to, run), to, last.to, last.run);
	memcpy(before, segment, n * sizeof(RencoderSegment));
	n = 0;
	for (int i = 0; i < nbefore; i++)
		n = add_segment(segment, n, before[i].from, Min(before[i].to, from), before[i].run);
	n = add_segment(segment, n, from, to, run);
	for (int i = 0; i < nbefore; i++)
		n = add_segment(segment, n, Max(before[i].from, to), before[i].to, before[i].run);
	return n;
}

int
rencoder_catalog_segments(const RencoderCatalog *catalog, BlockNumber nblocks,
						  RencoderSegment *segment)
{
	BlockNumber end = Min(catalog->frontier, nblocks);
	const RencoderRunEntry *run[RENCODER_MAX_RUNS]; /* by rank */
	int			nruns = 0;
	int			n = add_segment(segment, 0, 0, end, NULL);

	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];
		int			at = nruns;

		if (entry->state != RENCODER_RUN_LIVE || !rencoder_run_covers(entry) ||
			entry->from >= Min(entry->to, end))
			continue;
		for (; at > 0 && run[at - 1]->rank > entry->rank; at--)
			run[at] = run[at - 1];
		run[at] = entry;
		nruns++;
	}
	for (int i = 0; i < nruns; i++)
		n = cover_segments(segment, n, run[i]->from, Min(run[i]->to, end), run[i]);
	return add_segment(segment, n, end, nblocks, NULL);
}

/* Is a run being made that may need entries of this number, of a page of [from, to)? */
static bool
building_needs(const RencoderCatalog *catalog, BlockNumber from, BlockNumber to, uint64 number)
{
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_BUILDING && rencoder_run_covers(run) &&
			run->from < to && from < run->to && number > run->cut)
			return true;
	}
	return false;
}

bool
rencoder_catalog_needs(const RencoderCatalog *catalog, BlockNumber page, uint64 number)
{
	const RencoderRunEntry *run = rencoder_catalog_covering(catalog, page);

	return run != NULL ? number > run->cut : building_needs(catalog, page, page + 1, number);
}

/* Is an entry of some page of [from, to) with the number needed? */
static bool
needs_any(const RencoderCatalog *catalog, BlockNumber from, BlockNumber to, uint64 number)
{
	RencoderSegment segment[RENCODER_MAX_SEGMENTS];
	int			n = rencoder_catalog_segments(catalog, to, segment);

	for (int i = 0; i < n; i++)
	{
		const RencoderSegment *s = &segment[i];

		if (s->to > from && (s->run != NULL ? number > s->run->cut :
							 building_needs(catalog, Max(s->from, from), s->to, number)))
			return true;
	}
	return false;
}

/* ---- Changes ---- */

/* A change of the metapage, which is locked exclusively, of "catalog", its copy. */
typedef struct CatalogEdit
{
	Relation	index;
	Buffer		meta_buffer;
	Buffer		other_buffer;	/* of another page that the record changes, or
								 * invalid */
	RencoderWal *wal;
	RencoderMetaPageData *meta;
	RencoderCatalog *catalog;	/* what is to be */
} CatalogEdit;

static void
begin_catalog_edit(CatalogEdit *edit, Relation index, bool log)
{
	edit->index = index;
	edit->catalog = palloc(sizeof(RencoderCatalog));
	edit->meta_buffer = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	edit->other_buffer = InvalidBuffer;
	read_catalog(index, edit->catalog, edit->meta_buffer);
	edit->wal = rencoder_wal_begin(index, log);
	edit->meta = RencoderPageGetMeta(rencoder_wal_register(edit->wal, edit->meta_buffer));
}

static void
finish_catalog_edit(CatalogEdit *edit)
{
	const RencoderCatalog *catalog = edit->catalog;
	RencoderMetaPageData *meta = edit->meta;

	meta->changes = catalog->version;
	meta->frontier = catalog->frontier;
	meta->entries_to = catalog->entries_to;
	meta->pending = catalog->pending;
	meta->nruns = catalog->n;
	memset(meta->run, 0, sizeof(meta->run));
	memcpy(meta->run, catalog->entry, catalog->n * sizeof(RencoderRunEntry));
	rencoder_wal_finish(edit->wal);
	if (BufferIsValid(edit->other_buffer))
		UnlockReleaseBuffer(edit->other_buffer);
	UnlockReleaseBuffer(edit->meta_buffer);
	pfree(edit->catalog);
}

/* The entry of a run that must be there in this state. */
static RencoderRunEntry *
require_run(CatalogEdit *edit, uint32 number, uint8 state)
{
	RencoderRunEntry *entry = find_run(edit->catalog, number);

	if (entry == NULL || entry->state != state)
		elog(ERROR, "run %u of index \"%s\" is in another state than expected",
			 number, RelationGetRelationName(edit->index));
	return entry;
}

/* Writes an info page without trees and extents. */
static BlockNumber
make_run_info(Relation index, uint32 number, bool log)
{
	BlockNumber blkno = rencoder_space_take(index, 1, log).start;
	RencoderRunInfo info = palloc0(RENCODER_PAYLOAD_SIZE);

	info->number = number;
	info->natts = (uint16) rencoder_key_columns(index);
	rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_RUN_INFO, (char *) info, log);
	pfree(info);
	return blkno;
}

uint32
rencoder_catalog_begin(Relation index, uint8 kind, BlockNumber from, BlockNumber to,
					   uint64 cut, bool log, BlockNumber *info)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	uint32		nruns = metadata->nruns;
	uint32		number = metadata->last_run + 1;
	RencoderRunEntry *entry;
	CatalogEdit edit;

	Assert(from < to);
	pfree(metadata);
	if (nruns >= RENCODER_MAX_RUNS)
		return 0;
	*info = make_run_info(index, number, log);

	begin_catalog_edit(&edit, index, log);
	edit.meta->last_run = number;
	entry = &edit.catalog->entry[edit.catalog->n++];
	memset(entry, 0, sizeof(*entry));
	entry->number = number;
	entry->kind = kind;
	entry->state = RENCODER_RUN_BUILDING;
	entry->from = from;
	entry->to = to;
	entry->cut = cut;
	entry->info = *info;
	if (rencoder_run_covers(entry))
	{
		entry->rank = ++edit.meta->last_rank;
		edit.catalog->entries_to = Max(edit.catalog->entries_to, to);
	}
	finish_catalog_edit(&edit);
	return number;
}

/* Makes a run LIVE. */
static void
make_run_live(CatalogEdit *edit, const RencoderNewRun *made)
{
	RencoderRunEntry *entry = require_run(edit, made->number, RENCODER_RUN_BUILDING);

	entry->state = RENCODER_RUN_LIVE;
	entry->npages = made->npages;
	entry->from = made->from;
	entry->to = made->to;
	entry->cut = made->cut;
	entry->horizon = made->horizon;
	entry->outside = made->outside;
	entry->first = made->first;
	entry->keyless = made->keyless;
	if (!rencoder_run_covers(entry))
		return;
	if (made->from > edit->catalog->frontier)
		elog(ERROR, "run %u of index \"%s\" begins behind the frontier",
			 made->number, RelationGetRelationName(edit->index));
	edit->catalog->frontier = Max(edit->catalog->frontier, made->to);
}

/* Makes runs FREEING that nobody needs; true if there are any. */
static bool
drop_needless_runs(RencoderCatalog *catalog)
{
	RencoderSegment segment[RENCODER_MAX_SEGMENTS];
	int			n = rencoder_catalog_segments(catalog, catalog->frontier, segment);
	bool		any = false;

	for (uint32 i = 0; i < catalog->n; i++)
	{
		RencoderRunEntry *run = &catalog->entry[i];
		bool		needed = false;

		if (run->state != RENCODER_RUN_LIVE)
			continue;
		for (int s = 0; s < n && rencoder_run_covers(run); s++)
			needed |= segment[s].run == run;
		if (!rencoder_run_covers(run))
			needed = needs_any(catalog, run->from, run->to, run->cut);
		if (needed)
			continue;
		run->state = RENCODER_RUN_FREEING;
		any = true;
	}
	return any;
}

/* Up to which pending page no entry is needed, whatever its heap page is. */
static uint64
least_cut(const RencoderCatalog *catalog)
{
	RencoderSegment segment[RENCODER_MAX_SEGMENTS];
	int			n = rencoder_catalog_segments(catalog, catalog->frontier, segment);
	uint64		least = PG_UINT64_MAX;

	for (int i = 0; i < n; i++)
		least = Min(least, segment[i].run != NULL ? segment[i].run->cut : least);
	for (uint32 i = 0; i < catalog->n; i++)
	{
		if (catalog->entry[i].state == RENCODER_RUN_BUILDING && rencoder_run_covers(&catalog->entry[i]))
			least = Min(least, catalog->entry[i].cut);
	}
	return least;
}

/* Is an entry of the page that a walk has come to needed? */
static bool
needs_pending_page(const RencoderCatalog *catalog, const RencoderPendingWalk *walk)
{
	bool		any = false;

	for (int i = 0; i < walk->copy.nentries && !any; i++)
		any = rencoder_catalog_needs(catalog, rencoder_pending_entry(&walk->copy, i)->page, walk->number);
	return any;
}

/* The last closed pending page, number "upto" at least, up to which no entry is needed, or 0; which comes then. */
static uint64
find_needless_pending(Relation index, const RencoderCatalog *catalog, uint64 upto, BlockNumber *blkno,
					  BlockNumber *next)
{
	uint64		least = Max(upto, least_cut(catalog));
	uint64		last = 0;
	RencoderPendingWalk walk;

	if (rencoder_pending_pages(&catalog->pending) < 2)
		return 0;
	rencoder_pending_walk_begin(&walk, index, &catalog->pending, catalog->pending.last_number - 1);
	while (rencoder_pending_walk_next(&walk) &&
		   (walk.number <= least || !needs_pending_page(catalog, &walk)))
	{
		last = walk.number;
		*blkno = walk.blkno;
		*next = walk.copy.page->next;
		if (walk.copy.page->open != 0 || *next == RENCODER_NO_BLOCK)
			walk.fault = "The pending list is not open at its last page, and only there.";
	}
	if (walk.fault != NULL)
		rencoder_page_corrupted(index, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
	return last;
}

/* What the catalog says of runs when the change is made. */
static void
apply_publication(CatalogEdit *edit, const RencoderNewRun *made, int nmade,
				  const uint32 *replaced, int nreplaced)
{
	for (int i = 0; i < nreplaced; i++)
		require_run(edit, replaced[i], RENCODER_RUN_LIVE)->state = RENCODER_RUN_FREEING;
	for (int i = 0; i < nmade; i++)
		make_run_live(edit, &made[i]);
	if (drop_needless_runs(edit->catalog) || nreplaced > 0)
		edit->catalog->version++;
}

/* Which pending pages go is found out before the record: whatever decides it is the maintainer's. */
void
rencoder_catalog_publish(Relation index, const RencoderNewRun *made, int nmade, uint64 upto,
						 const uint32 *replaced, int nreplaced, bool log)
{
	BlockNumber last = RENCODER_NO_BLOCK,
				next = RENCODER_NO_BLOCK;
	CatalogEdit edit = {.index = index,.catalog = palloc(sizeof(RencoderCatalog))};
	RencoderPendingList *pending;

	rencoder_catalog_copy(index, edit.catalog, NULL, NULL, NULL);
	apply_publication(&edit, made, nmade, replaced, nreplaced);
	upto = find_needless_pending(index, edit.catalog, upto, &last, &next);
	pfree(edit.catalog);

	begin_catalog_edit(&edit, index, log);
	apply_publication(&edit, made, nmade, replaced, nreplaced);
	if (upto != 0)
	{
		edit.other_buffer = rencoder_page_read(index, last, BUFFER_LOCK_EXCLUSIVE,
											   RENCODER_PAGE_PENDING);
		pending = &edit.catalog->pending;
		RencoderPageGetPending(rencoder_wal_register(edit.wal, edit.other_buffer))->next =
			pending->spare;
		pending->spare = pending->first;
		pending->first = next;
		pending->first_number = upto + 1;
		edit.catalog->version++;
	}
	finish_catalog_edit(&edit);
}

void
rencoder_catalog_lower(Relation index, BlockNumber nblocks)
{
	CatalogEdit edit;
	RencoderCatalog *catalog;

	begin_catalog_edit(&edit, index, true);
	catalog = edit.catalog;
	catalog->entries_to = catalog->frontier = Min(catalog->frontier, nblocks);
	for (uint32 i = 0; i < catalog->n; i++)
	{
		RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_BUILDING)
			run->state = RENCODER_RUN_FREEING;
		if (run->state != RENCODER_RUN_LIVE || !rencoder_run_covers(run) || run->to <= nblocks)
			continue;
		if (run->from >= nblocks)
			run->state = RENCODER_RUN_FREEING;
		else
			run->to = nblocks;
	}
	(void) drop_needless_runs(catalog);
	catalog->version++;
	finish_catalog_edit(&edit);
}

/* ---- Freeing ---- */

/* Frees the last of the extents that the info page names; false: it names none. */
static bool
free_last_run_extent(Relation index, const RencoderRunEntry *run)
{
	int			natts = rencoder_key_columns(index);
	Buffer		freebuf = rencoder_space_prepare_release(index, 1);
	Buffer		infobuf = rencoder_page_read(index, run->info, BUFFER_LOCK_EXCLUSIVE,
											 RENCODER_PAGE_RUN_INFO);
	RencoderRunInfo info = RencoderPageGetRunInfo(BufferGetPage(infobuf));
	bool		frees;

	if (!rencoder_run_info_is_of(info, run->number, natts))
		rencoder_page_corrupted(index, run->info, "The page describes another run.");
	frees = info->nextents > 0;
	if (frees)
	{
		RencoderExtent extent = rencoder_run_extents(info)[info->nextents - 1];
		RencoderWal *wal;

		if (extent.start == RENCODER_NO_BLOCK || extent.npages == 0 ||
			(uint64) extent.start + extent.npages > RelationGetNumberOfBlocks(index))
			rencoder_page_corrupted(index, run->info, "A run has an extent that is not in the index.");
		LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
		wal = rencoder_wal_begin(index, true);
		RencoderPageGetRunInfo(rencoder_wal_register(wal, infobuf))->nextents--;
		rencoder_space_release(rencoder_wal_register(wal, freebuf), extent);
		rencoder_wal_finish(wal);
		LockBuffer(freebuf, BUFFER_LOCK_UNLOCK);
	}
	UnlockReleaseBuffer(infobuf);
	ReleaseBuffer(freebuf);
	return frees;
}

/* Takes a run without extents off the catalog, and frees its info page. */
static void
remove_run(Relation index, const RencoderRunEntry *run)
{
	Buffer		freebuf = rencoder_space_prepare_release(index, 1);
	RencoderExtent extent = {run->info, 1};
	CatalogEdit edit;

	begin_catalog_edit(&edit, index, true);
	edit.other_buffer = freebuf;
	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	*require_run(&edit, run->number, run->state) = edit.catalog->entry[edit.catalog->n - 1];
	edit.catalog->n--;
	rencoder_space_release(rencoder_wal_register(edit.wal, freebuf), extent);
	finish_catalog_edit(&edit);
}

void
rencoder_catalog_free(Relation index, uint32 keep)
{
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));

	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_LIVE ||
			(run->state == RENCODER_RUN_BUILDING && run->number == keep))
			continue;
		while (free_last_run_extent(index, run))
			CHECK_FOR_INTERRUPTS();
		remove_run(index, run);
	}
	pfree(catalog);
}
