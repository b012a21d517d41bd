/*
 * run_list.c
 *		The list of runs.
 */
#include "store/run_list.h"

#include "store/pending.h"
#include "store/run_format.h"

static Buffer
lock_run_list(Relation index, BlockNumber blkno, int lockmode)
{
	return rencoder_page_read(index, blkno, lockmode, RENCODER_PAGE_RUN_LIST);
}

/* Does the metapage of "metabuf" have as many runs as can be, with a page where one is needed? */
static void
check_run_count(Relation index, Buffer metabuf)
{
	const RencoderMetaPageData *meta = RencoderPageGetMeta(BufferGetPage(metabuf));

	if (meta->nruns > (meta->run_list == RENCODER_NO_BLOCK ? RENCODER_META_RUNS : RENCODER_MAX_RUNS))
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"The list of runs has an impossible length.");
}

void
rencoder_runs_copy(Relation index, RencoderRuns *runs, int64 *npages)
{
	rencoder_runs_copy_with_meta(index, runs, NULL, NULL, npages);
}

void
rencoder_runs_copy_with_meta(Relation index, RencoderRuns *runs, RencoderMetaPageData *metadata,
							 Buffer *pinned, int64 *npages)
{
	bool		is_pinned = pinned != NULL && BufferIsValid(*pinned);
	Buffer		metabuf = is_pinned ? *pinned : rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	const RencoderMetaPageData *meta = RencoderPageGetMeta(BufferGetPage(metabuf));
	int64		nread = is_pinned ? 0 : 1;

	if (is_pinned)
		LockBuffer(metabuf, BUFFER_LOCK_SHARE);
	if (metadata != NULL)
		memcpy(metadata, meta, sizeof(*metadata));
	runs->changes = meta->run_changes;
	runs->pending = meta->pending;
	check_run_count(index, metabuf);
	runs->list.n = meta->nruns;
	memcpy(runs->list.entry, meta->run,
		   Min(meta->nruns, RENCODER_META_RUNS) * sizeof(RencoderRunEntry));
	if (meta->nruns > RENCODER_META_RUNS)
	{
		Buffer		buf = lock_run_list(index, meta->run_list, BUFFER_LOCK_SHARE);

		memcpy(runs->list.entry + RENCODER_META_RUNS, RencoderPageGetRunList(BufferGetPage(buf)),
			   (meta->nruns - RENCODER_META_RUNS) * sizeof(RencoderRunEntry));
		UnlockReleaseBuffer(buf);
		nread++;
	}
	LockBuffer(metabuf, BUFFER_LOCK_UNLOCK);
	if (pinned == NULL)
		ReleaseBuffer(metabuf);
	else
		*pinned = metabuf;
	if (npages != NULL)
		*npages += nread;
}

const RencoderRunEntry *
rencoder_runs_find(const RencoderRuns *runs, uint32 number)
{
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		if (runs->list.entry[i].number == number)
			return &runs->list.entry[i];
	}
	return NULL;
}

/* ---- Changes ---- */

/* Metapage and list, locked exclusively and in a record. */
typedef struct ListEdit
{
	Relation	index;
	Buffer		meta_buffer;
	Buffer		list_buffer;	/* or invalid: no entry of the page is in use */
	Buffer		other_buffer;	/* of another page that the record changes, or
								 * invalid */
	RencoderWal *wal;
	RencoderMetaPageData *meta;
	RencoderRunEntry *list;		/* that page, or NULL */
} ListEdit;

static void
begin_run_list_edit(ListEdit *edit, Relation index, bool log)
{
	const RencoderMetaPageData *meta;

	edit->index = index;
	edit->meta_buffer = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	check_run_count(index, edit->meta_buffer);
	meta = RencoderPageGetMeta(BufferGetPage(edit->meta_buffer));
	edit->list_buffer = InvalidBuffer;
	if (meta->nruns >= RENCODER_META_RUNS && meta->run_list != RENCODER_NO_BLOCK)
		edit->list_buffer = lock_run_list(index, meta->run_list, BUFFER_LOCK_EXCLUSIVE);
	edit->other_buffer = InvalidBuffer;
	edit->wal = rencoder_wal_begin(index, log);
	edit->meta = RencoderPageGetMeta(rencoder_wal_register(edit->wal, edit->meta_buffer));
	edit->list = NULL;
	if (BufferIsValid(edit->list_buffer))
		edit->list = RencoderPageGetRunList(rencoder_wal_register(edit->wal, edit->list_buffer));
}

static void
finish_run_list_edit(ListEdit *edit)
{
	rencoder_wal_finish(edit->wal);
	if (BufferIsValid(edit->other_buffer))
		UnlockReleaseBuffer(edit->other_buffer);
	if (BufferIsValid(edit->list_buffer))
		UnlockReleaseBuffer(edit->list_buffer);
	UnlockReleaseBuffer(edit->meta_buffer);
}

/* The entry at a place of the list, which may be one behind its end. */
static RencoderRunEntry *
run_list_entry_at(ListEdit *edit, uint32 i)
{
	return i < RENCODER_META_RUNS ? &edit->meta->run[i] : &edit->list[i - RENCODER_META_RUNS];
}

/* The entry of a run, or NULL. */
static RencoderRunEntry *
find_listed_run(ListEdit *edit, uint32 number)
{
	for (uint32 i = 0; i < edit->meta->nruns; i++)
	{
		if (run_list_entry_at(edit, i)->number == number)
			return run_list_entry_at(edit, i);
	}
	return NULL;
}

/* The entry of a run that must be there in this state. */
static RencoderRunEntry *
edit_run_list_entry(ListEdit *edit, uint32 number, uint16 state)
{
	RencoderRunEntry *entry = find_listed_run(edit, number);

	if (entry == NULL || entry->state != state)
		elog(ERROR, "run %u of index \"%s\" is in another state than expected",
			 number, RelationGetRelationName(edit->index));
	return entry;
}

/* Writes an info page without trees and extents. */
static BlockNumber
make_listed_run_info(Relation index, uint32 number, bool log)
{
	BlockNumber blkno = rencoder_space_take(index, 1, log).start;
	RencoderRunInfo info = palloc0(RENCODER_PAYLOAD_SIZE);

	info->number = number;
	info->natts = (uint16) IndexRelationGetNumberOfKeyAttributes(index);
	rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_RUN_INFO, (char *) info, log);
	pfree(info);
	return blkno;
}

uint32
rencoder_run_list_add(Relation index, uint16 kind, uint32 first_group, uint32 ngroups, bool log,
					  BlockNumber *info)
{
	RencoderMetaPageData metadata;
	RencoderRuns runs;
	RencoderRunEntry *entry;
	ListEdit	edit;
	uint32		number;

	rencoder_runs_copy_with_meta(index, &runs, &metadata, NULL, NULL);
	if (runs.list.n == RENCODER_MAX_RUNS)
		return 0;
	if (runs.list.n >= RENCODER_META_RUNS)
		(void) rencoder_space_make_root(index, RENCODER_PAGE_RUN_LIST, 1, log);
	number = metadata.last_run + 1;
	*info = make_listed_run_info(index, number, log);

	begin_run_list_edit(&edit, index, log);
	edit.meta->last_run = number;
	entry = run_list_entry_at(&edit, edit.meta->nruns++);
	memset(entry, 0, sizeof(*entry));
	entry->number = number;
	entry->kind = kind;
	entry->state = RENCODER_RUN_BUILDING;
	entry->first_group = first_group;
	entry->ngroups = ngroups;
	entry->info = *info;
	finish_run_list_edit(&edit);
	return number;
}

/* The block of the closed pending page of that number, and which comes after it. */
static BlockNumber
find_pending(Relation index, uint64 number, BlockNumber *next)
{
	RencoderPendingWalk walk;
	RencoderRuns runs;

	rencoder_runs_copy(index, &runs, NULL);
	if (runs.pending.first == RENCODER_NO_BLOCK ||
		number < runs.pending.first_number || number >= runs.pending.last_number)
		elog(ERROR, "pending page %llu of index \"%s\" is open, or not in the list",
			 (unsigned long long) number, RelationGetRelationName(index));
	rencoder_pending_walk_begin(&walk, index, &runs.pending, number);
	while (rencoder_pending_walk_next(&walk))
		;
	if (walk.fault != NULL)
		rencoder_page_corrupted(index, walk.blkno, walk.fault);
	*next = walk.copy.page->next;
	if (walk.copy.page->open != 0 || *next == RENCODER_NO_BLOCK)
		rencoder_page_corrupted(index, walk.blkno,
								"The pending list is not open at its last page, and only there.");
	rencoder_pending_walk_end(&walk);
	return walk.blkno;
}

/* The chain of pending pages that is taken away becomes the beginning of the spare one. */
void
rencoder_run_list_publish(Relation index, const RencoderNewRun *made, int nmade, uint64 upto,
						  const uint32 *replaced, int nreplaced, bool log)
{
	uint64		latest = upto;
	BlockNumber last = RENCODER_NO_BLOCK;
	BlockNumber next = RENCODER_NO_BLOCK;
	ListEdit	edit;

	if (upto != 0)
		last = find_pending(index, upto, &next);
	begin_run_list_edit(&edit, index, log);
	if (upto != 0)
		edit.other_buffer = rencoder_page_read(index, last, BUFFER_LOCK_EXCLUSIVE,
											   RENCODER_PAGE_PENDING);
	for (int i = 0; i < nreplaced; i++)
	{
		RencoderRunEntry *entry = edit_run_list_entry(&edit, replaced[i], RENCODER_RUN_LIVE);

		latest = Max(latest, entry->upto);
		entry->state = RENCODER_RUN_FREEING;
	}
	for (int i = 0; i < nmade; i++)
	{
		RencoderRunEntry *entry = edit_run_list_entry(&edit, made[i].number, RENCODER_RUN_BUILDING);

		entry->state = RENCODER_RUN_LIVE;
		entry->npages = made[i].npages;
		entry->upto = Max(latest, made[i].upto);
		entry->first = made[i].first;
		entry->keyless = made[i].keyless;
	}
	if (upto != 0)
	{
		RencoderPageGetPending(rencoder_wal_register(edit.wal, edit.other_buffer))->next =
			edit.meta->pending.spare;
		edit.meta->pending.spare = edit.meta->pending.first;
		edit.meta->pending.first = next;
		edit.meta->pending.first_number = upto + 1;
	}
	if (upto != 0 || nreplaced > 0)
		edit.meta->run_changes++;
	finish_run_list_edit(&edit);
}

/* ---- Freeing ---- */

/* Does an extent lie within the index? */
static void
check_listed_extent(Relation index, BlockNumber info, RencoderExtent extent)
{
	if (extent.start == RENCODER_NO_BLOCK || extent.npages == 0 ||
		(uint64) extent.start + extent.npages > RelationGetNumberOfBlocks(index))
		rencoder_page_corrupted(index, info, "A run has an extent that is not in the index.");
}

/* Frees the last of the extents that the info page names; false: it names none. */
static bool
free_last_run_extent(Relation index, const RencoderRunEntry *run)
{
	Buffer		freebuf = rencoder_space_prepare_release(index, 1);
	Buffer		infobuf = rencoder_page_read(index, run->info, BUFFER_LOCK_EXCLUSIVE,
											 RENCODER_PAGE_RUN_INFO);
	RencoderRunInfo info = RencoderPageGetRunInfo(BufferGetPage(infobuf));
	bool		frees;

	if (!rencoder_run_info_is_of(info, run->number, IndexRelationGetNumberOfKeyAttributes(index)))
		rencoder_page_corrupted(index, run->info, "The page describes another run.");
	frees = info->nextents > 0;
	if (frees)
	{
		RencoderExtent extent = rencoder_run_extents(info)[info->nextents - 1];
		RencoderWal *wal;

		check_listed_extent(index, run->info, extent);
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

/* Takes a run without extents off the list, and frees its info page. */
static void
remove_run_list_entry(Relation index, const RencoderRunEntry *run)
{
	Buffer		freebuf = rencoder_space_prepare_release(index, 1);
	RencoderExtent extent = {run->info, 1};
	ListEdit	edit;
	RencoderRunEntry *entry;
	RencoderRunEntry *last;

	begin_run_list_edit(&edit, index, true);
	edit.other_buffer = freebuf;
	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	entry = find_listed_run(&edit, run->number);
	Assert(entry != NULL);
	last = run_list_entry_at(&edit, --edit.meta->nruns);
	if (entry != last)
		*entry = *last;
	memset(last, 0, sizeof(RencoderRunEntry));
	rencoder_space_release(rencoder_wal_register(edit.wal, freebuf), extent);
	finish_run_list_edit(&edit);
}

void
rencoder_run_list_free(Relation index, uint32 keep)
{
	RencoderRuns runs;

	rencoder_runs_copy(index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		const RencoderRunEntry *run = &runs.list.entry[i];

		if (run->state == RENCODER_RUN_LIVE ||
			(run->state == RENCODER_RUN_BUILDING && run->number == keep))
			continue;
		while (free_last_run_extent(index, run))
			CHECK_FOR_INTERRUPTS();
		remove_run_list_entry(index, run);
	}
}
