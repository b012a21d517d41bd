/*
 * run_pages.c
 *		Runs as pages of an index: leaves and inner pages, composed in run/, written and read.
 */
#include "store/run_pages.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/options.h"

/* ---- Writing ---- */

/* Extents of a run in use are a quarter of what it has, so that few do. */
#define FIRST_EXTENT	4
#define LARGEST_EXTENT	4096

struct RencoderRunWriter
{
	Relation	index;
	RencoderNewRun made;		/* to be */
	bool		log;
	BlockNumber info_page;
	BlockNumber from;			/* its extents are not before this block */
	RencoderRunInfo info;		/* to be */
	uint32		npages;			/* written, and the info page */
	uint32		unwritten;		/* at the end of the last extent */
	void	   *memory;
	renc_run_encoder *encoder;	/* of the tree, or NULL */
	int			tree;
	RencoderRunPageData *page;
};

RencoderRunWriter *
rencoder_run_writer_begin(Relation index, uint8 kind, BlockNumber from, BlockNumber to, uint64 cut,
						  bool log)
{
	BlockNumber info_page;
	uint32		number = rencoder_catalog_begin(index, kind, from, to, cut, log, &info_page);
	RencoderRunWriter *w;

	if (number == 0)
		return NULL;
	w = palloc0(sizeof(*w));
	w->index = index;
	w->made.number = number;
	w->made.from = from;
	w->made.to = to;
	w->made.cut = cut;
	w->log = log;
	w->info_page = info_page;
	w->info = palloc0(RENCODER_PAYLOAD_SIZE);
	w->info->number = number;
	w->info->natts = (uint16) rencoder_key_columns(index);
	w->npages = 1;
	w->memory = palloc(renc_run_encoder_size(RENCODER_RUN_PAYLOAD));
	w->page = palloc0(RENCODER_PAYLOAD_SIZE);
	return w;
}

void
rencoder_run_writer_keep_behind(RencoderRunWriter *w, BlockNumber from)
{
	w->from = from;
}

uint32
rencoder_run_writer_number(const RencoderRunWriter *w)
{
	return w->made.number;
}

/* Adds an extent to those of the run; one that begins where the last ends is united with it. */
static void
add_run_extent(RencoderRunWriter *w, RencoderExtent extent)
{
	RencoderExtent *extents = rencoder_run_extents(w->info);
	uint32		n = w->info->nextents;

	if (n > 0 && extents[n - 1].start + extents[n - 1].npages == extent.start)
	{
		extents[n - 1].npages += extent.npages;
		return;
	}
	if (n == rencoder_run_max_extents(w->info->natts))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a run of index \"%s\" would have too many extents",
						RelationGetRelationName(w->index)),
				 errhint("REINDEX INDEX gathers free space.")));
	extents[n] = extent;
	w->info->nextents++;
}

/* Puts what is known of the run on its info page. */
static void
put_run_info(Page page, const RencoderRunWriter *w)
{
	memcpy(RencoderPageGetPayload(page), w->info, RENCODER_PAYLOAD_SIZE);
	rencoder_page_trim_lower(page);
}

/* Writes the info page as it stands. */
static void
log_run_info(RencoderRunWriter *w)
{
	Buffer		buf = rencoder_page_read(w->index, w->info_page, BUFFER_LOCK_EXCLUSIVE,
										 RENCODER_PAGE_RUN_INFO);
	RencoderWal *wal = rencoder_wal_begin(w->index, w->log);

	put_run_info(rencoder_wal_register(wal, buf), w);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

/*
 * More room, for "least" pages.  In an index in use an extent must be in the file, also after a crash, before
 * the info page names it, since whoever finds the run BUILDING frees it.
 */
static void
extend_run(RencoderRunWriter *w, uint32 least)
{
	RencoderExtent extent;

	if (w->log)
	{
		uint32		n = Min(Max(FIRST_EXTENT, w->npages / 4), LARGEST_EXTENT);

		extent = rencoder_space_alloc(w->index, w->from, least, Max(n, least));
		rencoder_space_secure(w->index, extent);
	}
	else
	{
		extent.start = rencoder_space_extend(w->index, least);
		extent.npages = least;
	}
	add_run_extent(w, extent);
	w->unwritten = extent.npages;
	if (w->log)
		log_run_info(w);
}

/* A renc_run_write. */
static uint32_t
write_run_page(void *arg, const renc_run_page *page)
{
	RencoderRunWriter *w = (RencoderRunWriter *) arg;
	const RencoderExtent *last;
	BlockNumber blkno;

	CHECK_FOR_INTERRUPTS();
	if (w->unwritten == 0)
		extend_run(w, 1);
	last = &rencoder_run_extents(w->info)[w->info->nextents - 1];
	blkno = last->start + last->npages - w->unwritten--;
	w->page->number = w->made.number;
	w->page->tree = (uint16) w->tree;
	w->page->level = (uint16) page->level;
	memcpy(w->page->payload, page->payload, page->used);
	memset(w->page->payload + page->used, 0, RENCODER_RUN_PAYLOAD - page->used);
	rencoder_wal_write_fresh(w->index, blkno, RENCODER_PAGE_RUN, (char *) w->page, w->log);
	w->npages++;
	return blkno;
}

void
rencoder_run_writer_begin_tree(RencoderRunWriter *w, int tree, uint32 coder,
							   BlockNumber first_page, uint32 npages, renc_places places,
							   renc_run_target target, double wanted, double together)
{
	renc_run_options options = {0};
	RencoderRunColumn *column = &w->info->column[tree];

	Assert(w->encoder == NULL);
	options.payload = RENCODER_RUN_PAYLOAD;
	options.first_page = first_page;
	options.npages = npages;
	options.parts = places.parts;
	options.coarse = places.part_rows == 1 && rencoder_options(w->index)->resolution == RENCODER_RESOLUTION_AUTO;
	options.target = target;
	options.wanted = wanted;
	options.wanted_together = together;
	options.write = write_run_page;
	options.arg = w;
	w->encoder = renc_run_encoder_init(w->memory, &options);
	if (w->encoder == NULL)
		elog(ERROR, "options of a run of index \"%s\" are not valid",
			 RelationGetRelationName(w->index));
	w->tree = tree;
	column->coder = coder;
	column->first_page = first_page;
	column->npages = npages;
	column->parts = places.parts;
	column->part_rows = places.part_rows;
	column->most_rows = places.most;
}

void
rencoder_run_writer_push(RencoderRunWriter *w, uint64 key, uint32 place, uint32 rows)
{
	if (!renc_run_encoder_push(w->encoder, key, place, rows))
		elog(ERROR, "pairs of a run of index \"%s\" are not in order, or too many",
			 RelationGetRelationName(w->index));
}

void
rencoder_run_writer_end_tree(RencoderRunWriter *w)
{
	RencoderRunColumn *column = &w->info->column[w->tree];
	renc_run	run;
	double		false_pages;

	if (renc_run_encoder_finish(w->encoder, &run, &false_pages))
	{
		column->root = run.root;
		column->level = (uint16) run.level;
		column->nleaves = run.nleaves;
		column->ninner = run.ninner;
		column->entries = run.entries;
		column->rows = run.rows;
		column->least = run.least;
		column->greatest = run.greatest;
		column->false_pages = false_pages;
	}
	w->encoder = NULL;
}

/* Gives back what is not written of the last extent, in one record with the final info page. */
static void
log_final_run_info(RencoderRunWriter *w)
{
	RencoderExtent *last = &rencoder_run_extents(w->info)[w->info->nextents - 1];
	RencoderExtent rest = {last->start + last->npages - w->unwritten, w->unwritten};
	Buffer		freebuf = rencoder_space_prepare_release(w->index, 1);
	Buffer		buf = rencoder_page_read(w->index, w->info_page, BUFFER_LOCK_EXCLUSIVE,
										 RENCODER_PAGE_RUN_INFO);
	RencoderWal *wal;

	last->npages -= w->unwritten;
	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(w->index, true);
	put_run_info(rencoder_wal_register(wal, buf), w);
	rencoder_space_release(rencoder_wal_register(wal, freebuf), rest);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
	UnlockReleaseBuffer(buf);
}

RencoderExtent
rencoder_run_writer_reserve(RencoderRunWriter *w, uint32 npages)
{
	RencoderExtent extent = {RENCODER_NO_BLOCK, npages};
	const RencoderExtent *last;

	if (w->unwritten > 0 && w->unwritten < npages)
	{
		log_final_run_info(w);
		w->unwritten = 0;
	}
	if (w->unwritten < npages)
		extend_run(w, npages);
	last = &rencoder_run_extents(w->info)[w->info->nextents - 1];
	extent.start = last->start + last->npages - w->unwritten;
	w->unwritten -= npages;
	w->npages += npages;
	return extent;
}

void
rencoder_run_writer_put(RencoderRunWriter *w, BlockNumber blkno, uint16 page_id, const char *payload)
{
	rencoder_wal_write_fresh(w->index, blkno, page_id, payload, w->log);
}

void
rencoder_run_writer_set_matrices(RencoderRunWriter *w, const RencoderRunColumn *column, BlockNumber first)
{
	int			ntrees = rencoder_run_ntrees(w->info->natts);
	uint32		others = 1;

	memcpy(w->info->column, column, ntrees * sizeof(RencoderRunColumn));
	for (int tree = 0; tree < ntrees; tree++)
	{
		if (column[tree].entries > 0)
			w->info->column[tree].root = first;
		others += tree > 0 ? column[tree].nleaves : 0;
	}
	w->info->column[0].nleaves = w->npages - others;
}

void
rencoder_run_writer_finish(RencoderRunWriter *w, RencoderNewRun *made)
{
	*made = w->made;
	made->npages = w->npages;
	made->first = w->info->column[0];
	made->keyless = rencoder_run_has_keyless(w->info);
	Assert(w->encoder == NULL);
	if (w->unwritten > 0)
		log_final_run_info(w);
	else
		log_run_info(w);
	pfree(w->page);
	pfree(w->memory);
	pfree(w->info);
	pfree(w);
}

/* ---- Reading ---- */

/* May pages be divided so?  Of a part without rows no row would be found. */
static bool
run_pages_have_places(const RencoderRunColumn *column)
{
	return column->parts > 0 && column->part_rows > 0 && column->most_rows > 0 &&
		(column->parts == 1 ? column->part_rows == PG_UINT8_MAX :
		 column->part_rows < PG_UINT8_MAX && column->most_rows <= MaxHeapTuplesPerPage &&
		 (column->parts - 1) * column->part_rows < MaxHeapTuplesPerPage);
}

const char *
rencoder_run_tree_name(Relation index, int tree)
{
	int			natts = rencoder_key_columns(index);

	return psprintf(tree < natts ? "column %d" : "nulls of column %d", tree % natts + 1);
}

/*
 * What is wrong with the trees that an info page describes, or NULL.  A tree without a root is
 * taken for empty, so it must say that it is.
 */
static const char *
run_tree_fault(Relation index, RencoderRunInfo info, int ntrees)
{
	for (int tree = 0; tree < ntrees; tree++)
	{
		const RencoderRunColumn *column = &info->column[tree];

		if ((column->root == RENCODER_NO_BLOCK) != (column->entries == 0))
			return psprintf("Run %u has entries or pages, but not both, of %s.", info->number,
							rencoder_run_tree_name(index, tree));
		if (column->entries != 0 && !run_pages_have_places(column))
			return psprintf("Run %u names places that no page has, of %s.", info->number,
							rencoder_run_tree_name(index, tree));
	}
	return NULL;
}

/* A copy of what an info page says of a run; or NULL, with *fault. */
static RencoderRunInfo
take_run_info(Relation index, const RencoderRunEntry *entry, int natts, Page page, const char **fault)
{
	RencoderRunInfo info = RencoderPageGetRunInfo(page);
	RencoderRunInfo copy;
	Size		size;

	if (!rencoder_run_info_is_of(info, entry->number, natts))
		*fault = "The page describes another run.";
	else
		*fault = run_tree_fault(index, info, rencoder_run_ntrees(info->natts));
	if (*fault != NULL)
		return NULL;
	size = (char *) (rencoder_run_extents(info) + info->nextents) - (char *) info;
	copy = palloc(size);
	memcpy(copy, info, size);
	return copy;
}

/* rencoder_run_read_info(), the page perhaps being kept. */
static RencoderRunInfo
copy_run_info(Relation index, const RencoderRunEntry *entry, RencoderKept *kept, int64 *npages,
			  const char **fault)
{
	int			natts = rencoder_key_columns(index);	/* before a page is
														 * locked */
	PGAlignedBlock room;
	Page		page = rencoder_kept_read(kept, index, entry->info, RENCODER_PAGE_RUN_INFO, room.data,
										  npages, fault);

	return page == NULL ? NULL : take_run_info(index, entry, natts, page, fault);
}

RencoderRunInfo
rencoder_run_read_info(Relation index, const RencoderRunEntry *entry, const char **fault)
{
	return copy_run_info(index, entry, NULL, NULL, fault);
}

RencoderRunInfo
rencoder_run_read_trees(Relation index, const RencoderRunEntry *entry, int ntrees, RencoderKept *kept,
						int64 *npages, const char **fault)
{
	RencoderRunInfo info;
	const char *wrong;

	if (ntrees > 1 || entry->keyless)
		return copy_run_info(index, entry, kept, npages, fault);
	info = palloc0(offsetof(RencoderRunInfoData, column) + sizeof(RencoderRunColumn));
	info->number = entry->number;
	info->natts = 1;
	info->column[0] = entry->first;
	wrong = run_tree_fault(index, info, 1);
	if (wrong == NULL)
		return info;
	*fault = wrong;
	pfree(info);
	return NULL;
}

bool
rencoder_run_reader_begin(RencoderRunReader *reader, Relation index,
						  const RencoderRunInfoData *info, int tree)
{
	const RencoderRunColumn *column = &info->column[tree];

	memset(reader, 0, sizeof(*reader));
	if (column->root == RENCODER_NO_BLOCK)
		return false;
	reader->run.payload = RENCODER_RUN_PAYLOAD;
	reader->run.first_page = column->first_page;
	reader->run.npages = column->npages;
	reader->run.parts = column->parts;
	reader->run.root = column->root;

	/* What is not valid the run core says. */
	reader->run.level = (int) Min(column->level, RENC_RUN_MAX_LEVEL + 1);
	reader->run.nleaves = column->nleaves;
	reader->run.ninner = column->ninner;
	reader->run.entries = column->entries;
	reader->run.rows = column->rows;
	reader->run.least = column->least;
	reader->run.greatest = column->greatest;
	reader->index = index;
	reader->number = info->number;
	reader->tree = tree;
	return true;
}

/* ---- Pages, one after the other ---- */

static void
release_run_leaf(RencoderRunReader *reader)
{
	if (BufferIsValid(reader->leaf))
		UnlockReleaseBuffer(reader->leaf);
	reader->leaf = InvalidBuffer;
}

/* Where a page of a level is copied to. */
static char *
run_page_room(RencoderRunReader *reader, int level)
{
	if (reader->copy[level] == NULL)
		reader->copy[level] = palloc(BLCKSZ);
	return reader->copy[level];
}

/* An inner page: a copy, as far as it is in use, mostly a small part; of a root the one that is kept. */
static Page
copy_inner_run_page(RencoderRunReader *reader, BlockNumber blkno, int level)
{
	bool		is_root = level == reader->run.level && reader->roots;
	Page		copy = is_root ? rencoder_kept_root_find(reader->index, reader->number, reader->tree, blkno) : NULL;
	Buffer		buf;
	Page		page;
	Size		size;

	if (copy != NULL)
		return copy;
	buf = rencoder_page_try_read(reader->index, blkno, RENCODER_PAGE_RUN, &reader->fault);
	reader->npages++;
	if (!BufferIsValid(buf))
		return NULL;
	page = BufferGetPage(buf);
	size = (char *) RencoderPageGetRunPage(page)->payload - page +
		renc_run_inner_size(RencoderPageGetRunPage(page)->payload, RENCODER_RUN_PAYLOAD);
	copy = run_page_room(reader, level);
	memcpy(copy, page, size);
	UnlockReleaseBuffer(buf);
	if (is_root && reader->in_place && RencoderPageGetRunPage(copy)->number == reader->number)
		rencoder_kept_root_keep(reader->index, reader->number, reader->tree, blkno, copy, size);
	return copy;
}

const uint8_t *
rencoder_run_reader_read(void *arg, uint32_t page, int level)
{
	RencoderRunReader *reader = (RencoderRunReader *) arg;
	RencoderKept *kept = level > 0 && reader->prefetch != NULL ? reader->prefetch->kept : NULL;
	Page		copy;
	const RencoderRunPageData *data;

	if (reader->copied[level] == page && page != RENCODER_NO_BLOCK)
		return RencoderPageGetRunPage(reader->copy[level])->payload;
	release_run_leaf(reader);
	CHECK_FOR_INTERRUPTS();
	reader->fault_blkno = page;
	reader->copied[level] = RENCODER_NO_BLOCK;
	if (level == 0 && reader->in_place)
	{
		reader->npages++;
		reader->leaf = rencoder_page_try_read(reader->index, page, RENCODER_PAGE_RUN, &reader->fault);
		copy = BufferIsValid(reader->leaf) ? BufferGetPage(reader->leaf) : NULL;
	}
	else if (level > 0 && (kept == NULL || !kept->keeps))
		copy = copy_inner_run_page(reader, page, level);
	else
		copy = rencoder_kept_read(kept, reader->index, page, RENCODER_PAGE_RUN,
								  run_page_room(reader, level), &reader->npages, &reader->fault);
	if (copy == NULL)
		return NULL;
	data = RencoderPageGetRunPage(copy);
	if (data->number != reader->number || data->tree != reader->tree || data->level != level)
	{
		reader->fault = "The page is of another run.";
		return NULL;
	}
	if (copy == reader->copy[level])
		reader->copied[level] = page;
	return data->payload;
}

/*
 * A renc_run_tell.  Leaves mostly lie one behind the other, and where those that are read are no
 * farther apart than NEAR, the kernel reads ahead by itself, in larger pieces than it would be told
 * of here.
 */
#define NEAR	4

static void
expect_run_page(void *arg, uint32_t page)
{
	RencoderRunReader *reader = (RencoderRunReader *) arg;

	if (page <= reader->expected || page - reader->expected > NEAR)
		rencoder_kept_prefetch_page(reader->prefetch, page);
	reader->expected = page;
}

void
rencoder_run_reader_prefetch(RencoderRunReader *reader, renc_run_search *search,
							 const RencoderPrefetch *prefetch)
{
	reader->prefetch = prefetch;
	if (search != NULL && prefetch->distance > 0)
		renc_run_search_look_ahead(search, expect_run_page, prefetch->distance);
}

const char *
rencoder_run_reader_fault(const RencoderRunReader *reader, const char *failure, BlockNumber *blkno)
{
	if (reader->fault == NULL)
		return psprintf("Run %u, %s: %s.", reader->number,
						rencoder_run_tree_name(reader->index, reader->tree), failure);
	*blkno = reader->fault_blkno;
	return psprintf("Run %u, %s: %s", reader->number,
					rencoder_run_tree_name(reader->index, reader->tree), reader->fault);
}

void
rencoder_run_reader_end(RencoderRunReader *reader)
{
	release_run_leaf(reader);
	for (int level = 0; level <= RENC_RUN_MAX_LEVEL; level++)
	{
		if (reader->copy[level] != NULL)
			pfree(reader->copy[level]);
	}
}
