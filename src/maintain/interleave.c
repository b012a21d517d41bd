/*
 * interleave.c
 *		Turning the 16 slices of a full group into one matrix.
 *
 * For columns that did not grow in place (summarize.c).  A copy without heap
 * access: band by band what the slices have.  Filters (INV-7): the matrix' extent is
 * noted as "next" in the header, so that inserters set bits in the slices and
 * then in the matrix; its pages are written one by one, each under its lock
 * while the slices are read; then one record switches the header and the
 * directory to the matrix, bumps the epoch and frees the slices.  Scans
 * that are still looking at the slices find another epoch at their end.
 *
 * Dictionaries are rewritten, as a dictionary or as filters, whichever is
 * smaller for the whole group.  Until the switch nobody else knows of the
 * matrix, so inserters go on with the slices only; what they add meanwhile is
 * added to the matrix afterwards, page by page of the slices, a few rounds
 * without a lock and the last one under the locks of the switch.
 */
#include "maintain/interleave.h"

#include "miscadmin.h"

#include "plan/design.h"
#include "store/space.h"

/* Rounds of catching up with inserters before they are locked out. */
#define CATCH_UP_ROUNDS	3

typedef struct Interleaving
{
	Relation	index;
	const RencoderMeta *meta;
	uint32		group;
	BlockNumber header;
	BlockNumber directory;
	int			col;
} Interleaving;

static Buffer
lock_column(const Interleaving *il, int lockmode)
{
	return rencoder_group_read_header(il->index, il->header, il->group, il->col, lockmode);
}

/* Notes (or forgets) the matrix under construction in the column's header. */
static void
set_next(const Interleaving *il, RencoderExtent extent)
{
	Buffer		firstbuf = rencoder_group_read_header(il->index, il->header, il->group, 0,
													  BUFFER_LOCK_EXCLUSIVE);
	Buffer		buf = il->col == 0 ? firstbuf : lock_column(il, BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(il->index, true);

	RencoderPageGetHeader(rencoder_wal_register(wal, buf))->next = extent;
	rencoder_wal_finish(wal);
	if (buf != firstbuf)
		UnlockReleaseBuffer(buf);
	UnlockReleaseBuffer(firstbuf);
}

/* What a column is to be after the switch. */
typedef struct NewStorage
{
	RencoderConfig config;
	RencoderExtent matrix;
	renc_mask	always;			/* ranges that do not fit the new format */
	bool		recounted;		/* nset is that of the new format */
	uint32		nset[RENC_GROUP_RANGES];
	double		predicted_fpr;
	uint64		sample_stamp;
} NewStorage;

/*
 * The changes of the switch on the images of its four pages; "first" is the
 * group's first header.
 */
static void
apply_switch(const Interleaving *il, RencoderMetaPageData *metadata,
			 RencoderEntry entry, const RencoderHeaderData *first, RencoderHeader header,
			 Page freepage, const NewStorage *new)
{
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		rencoder_space_release(freepage, header->slice[s]);
		header->slice[s].start = RENCODER_NO_BLOCK;
		header->slice[s].npages = 0;
	}
	header->config = new->config;
	header->matrix = new->matrix;
	header->next.start = RENCODER_NO_BLOCK;
	header->next.npages = 0;
	if (new->recounted)
	{
		memcpy(header->nset, new->nset, sizeof(header->nset));
		header->predicted_fpr = header->best_fpr = new->predicted_fpr;
		header->sample_stamp = new->sample_stamp;
	}
	rencoder_set_put(header->always,
					 renc_mask_or(rencoder_set_get(header->always), new->always));
	if (!renc_mask_empty(new->always))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	entry->column[il->col].config = new->config;
	entry->column[il->col].matrix = new->matrix;
	entry->epoch = ++metadata->epoch;
	rencoder_group_seal(entry, il->meta, first);
}

/* The pages that a switch changes, locked in the order of INV-8. */
typedef struct SwitchLocks
{
	Buffer		meta;
	Buffer		directory;
	Buffer		first;			/* first header page */
	Buffer		column;			/* the column's header page, maybe the same */
} SwitchLocks;

static void
lock_for_switch(const Interleaving *il, SwitchLocks *locks)
{
	locks->meta = rencoder_meta_lock(il->index, BUFFER_LOCK_EXCLUSIVE);
	locks->directory = rencoder_page_read(il->index, il->directory,
										  BUFFER_LOCK_EXCLUSIVE,
										  RENCODER_PAGE_DIRECTORY);
	locks->first = rencoder_group_read_header(il->index, il->header, il->group, 0,
											  BUFFER_LOCK_EXCLUSIVE);
	locks->column = il->col == 0 ? locks->first :
		lock_column(il, BUFFER_LOCK_EXCLUSIVE);
}

static void
unlock_after_switch(const SwitchLocks *locks)
{
	if (locks->column != locks->first)
		UnlockReleaseBuffer(locks->column);
	UnlockReleaseBuffer(locks->first);
	UnlockReleaseBuffer(locks->directory);
	UnlockReleaseBuffer(locks->meta);
}

/* One record: metapage, directory, header, free list. */
static void
switch_column(const Interleaving *il, const SwitchLocks *locks, Buffer freebuf,
			  const NewStorage *new)
{
	RencoderWal *wal = rencoder_wal_begin(il->index, true);
	Page		metapage = rencoder_wal_register(wal, locks->meta);
	Page		dirpage = rencoder_wal_register(wal, locks->directory);
	Page		colpage = rencoder_wal_register(wal, locks->column);
	Page		freepage;

	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	freepage = rencoder_wal_register(wal, freebuf);
	apply_switch(il, RencoderPageGetMeta(metapage),
				 rencoder_directory_entry(RencoderPageGetPayload(dirpage), il->meta,
										  il->group),
				 RencoderPageGetHeader(BufferGetPage(locks->first)),
				 RencoderPageGetHeader(colpage), freepage, new);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
}

static void
interleave_filter(const Interleaving *il, const RencoderHeaderData *copy)
{
	RencoderSlab matrix = {il->index, &copy->config, {0, 0}, RENC_MATRIX_WIDTH, true};
	NewStorage	new;
	SwitchLocks locks;
	Buffer		freebuf;

	/* A crash may have left one behind; its pages are as good as any. */
	matrix.extent = copy->next;
	if (matrix.extent.start == RENCODER_NO_BLOCK)
	{
		matrix.extent = rencoder_space_alloc(il->index,
											 rencoder_filter_npages(&copy->config,
																	RENC_MATRIX_WIDTH));
		rencoder_space_secure(il->index, matrix.extent);
		set_next(il, matrix.extent);
	}
	for (uint32 page = 0; page < matrix.extent.npages; page++)
	{
		rencoder_vacuum_delay_point();
		rencoder_filter_interleave_page(&matrix, copy->slice, page);
	}

	memset(&new, 0, sizeof(new));
	new.config = copy->config;
	new.matrix = matrix.extent;
	freebuf = rencoder_space_prepare_release(il->index, RENC_GROUP_SLICES);
	lock_for_switch(il, &locks);
	switch_column(il, &locks, freebuf, &new);
	unlock_after_switch(&locks);
}

/*
 * The matrix image of a dictionary column, in the format that suits it best;
 * filters, as in a build, where the keys are too many to look for the other.
 */
static char *
rewrite_dict(const Interleaving *il, const RencoderHeaderData *copy,
			 RencoderDictMarks *marks, NewStorage *new, uint32 *npages)
{
	RencoderCollector *c = rencoder_dict_read_slices(il->index, &copy->config,
													 copy->slice, marks);
	bool		fits_memory = rencoder_collect_size(c) <=
		(Size) maintenance_work_mem * 1024 / 2;
	renc_mask	already = rencoder_set_get(copy->always);
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	RencoderDesigner *designer;
	RencoderPrediction prediction;
	char	   *image;

	new->config.coder = copy->config.coder; /* the keys are the same */
	designer = rencoder_designer_create(il->index, il->meta,
										(il->group + 1.0) * RENC_GROUP_RANGES);
	designer->first_column = il->col;
	rencoder_design_column(designer, c, 0, RENC_MATRIX_WIDTH, 0, fits_memory, &new->config, &prediction);
	new->predicted_fpr = prediction.fpr;
	new->sample_stamp = rencoder_designer_stamp(designer, 0, new->config.coder);
	new->always = already;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		renc_keys	keys = rencoder_collect_keys(c, 0, slot);

		if (renc_mask_test(already, slot))
			continue;
		if (rencoder_format_fits(&new->config, (uint32) keys.n))
			ranges[slot] = keys;
		else
			renc_mask_set(&new->always, slot);
	}
	image = rencoder_format_of(&new->config)->build(&new->config, RENC_MATRIX_WIDTH,
													ranges, npages);
	rencoder_collect_free(c);
	return image;
}

static void
interleave_dict(const Interleaving *il, const RencoderHeaderData *copy)
{
	NewStorage	new;
	RencoderSlab slab = {il->index, &new.config, {0, 0}, RENC_MATRIX_WIDTH, false};
	RencoderDictMarks marks;
	const RencoderFormat *format;
	SwitchLocks locks;
	Buffer		freebuf;
	uint32		npages;
	char	   *image;

	memset(&new, 0, sizeof(new));
	image = rewrite_dict(il, copy, &marks, &new, &npages);
	format = rencoder_format_of(&new.config);
	rencoder_vacuum_delay_point();
	new.matrix = slab.extent = rencoder_space_alloc(il->index, npages);

	/*
	 * Nobody refers to the new pages until the switch: if this was cancelled,
	 * they would be lost until REINDEX.  What took time is done; from here on
	 * pages are only copied.
	 */
	HOLD_INTERRUPTS();
	for (uint32 i = 0; i < npages; i++)
		rencoder_wal_write_fresh(il->index, slab.extent.start + i, format->page_id,
								 image + (Size) i * RENCODER_PAYLOAD_SIZE, true);
	pfree(image);
	format->count(&slab, renc_mask_all(), new.nset);
	new.recounted = true;

	/* The more is done now, the less there is to do under the locks. */
	for (int round = 0; round < CATCH_UP_ROUNDS; round++)
	{
		if (rencoder_dict_catch_up(&copy->config, copy->slice, &marks, &slab,
								   &new.always) == 0)
			break;
	}
	freebuf = rencoder_space_prepare_release(il->index, RENC_GROUP_SLICES);
	lock_for_switch(il, &locks);
	(void) rencoder_dict_catch_up(&copy->config, copy->slice, &marks, &slab, &new.always);
	switch_column(il, &locks, freebuf, &new);
	unlock_after_switch(&locks);
	RESUME_INTERRUPTS();
}

/* Is the group full, and is the column still in slices? */
static bool
is_ready(const RencoderHeaderData *first, const RencoderHeaderData *column)
{
	if (column->matrix.start != RENCODER_NO_BLOCK ||
		!renc_mask_empty(renc_mask_andnot(renc_mask_all(),
										  rencoder_set_get(first->summarized))))
		return false;
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		if (column->slice[s].start == RENCODER_NO_BLOCK)
			return false;
	}
	return true;
}

bool
rencoder_interleave(Relation index, uint32 group)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	Interleaving il;
	RencoderHeaderData first;
	RencoderHeaderData copy;
	Buffer		buf;
	bool		done = false;

	memset(&il, 0, sizeof(il));
	il.index = index;
	il.meta = &meta;
	il.group = group;
	il.directory = rencoder_directory_find(index, il.meta, NULL, group, NULL);
	il.header = rencoder_group_find(index, il.meta, group);
	if (il.header == RENCODER_NO_BLOCK)
		return false;
	buf = lock_column(&il, BUFFER_LOCK_SHARE);
	memcpy(&first, RencoderPageGetHeader(BufferGetPage(buf)), sizeof(first));
	UnlockReleaseBuffer(buf);

	for (il.col = il.meta->natts - 1; il.col >= 0; il.col--)
	{
		buf = lock_column(&il, BUFFER_LOCK_SHARE);
		memcpy(&copy, RencoderPageGetHeader(BufferGetPage(buf)), sizeof(copy));
		UnlockReleaseBuffer(buf);
		if (!is_ready(&first, &copy))
			continue;
		if (copy.config.format == RENCODER_FORMAT_DICT)
			interleave_dict(&il, &copy);
		else
			interleave_filter(&il, &copy);
		done = true;
	}
	return done;
}
