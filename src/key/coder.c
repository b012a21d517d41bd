/*
 * coder.c
 *		Coders: what was learnt of a column's values to make good keys of them.
 */
#include "key/coder.h"

#include <math.h>

#include "nodes/memnodes.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "filter/renc_strings.h"

/* Bytes of coders that a session keeps at most. */
#define KEPT_SIZE	(4 * 1024 * 1024)

typedef struct LoadedCoder
{
	int			col;
	RencoderCoder coder;
} LoadedCoder;

struct RencoderCoders
{
	MemoryContext context;
	List	   *loaded;			/* of LoadedCoder */
	bool		anew;			/* does not take what the session keeps */
};

/*
 * What this session has read of an index's coders.  It hangs on the index's relcache entry by a
 * callback of its memory context: an invalidation frees rd_amcache while a scan uses it.
 */
typedef struct KeptCoders
{
	MemoryContextCallback callback;
	RencoderLocator file;		/* that they were read from */
	RencoderCoders coders;		/* in a context of their own */
	Size		size;			/* bytes of it */
} KeptCoders;

static Size kept_size;			/* of all indexes */

RencoderCoders *
rencoder_coders_create(bool anew)
{
	RencoderCoders *coders = palloc(sizeof(RencoderCoders));

	coders->context = CurrentMemoryContext;
	coders->loaded = NIL;
	coders->anew = anew;
	return coders;
}

static void
subtract_coder_size(void *arg)
{
	kept_size -= ((KeptCoders *) arg)->size;
}

static KeptCoders *
find_kept_coders(Relation index)
{
	MemoryContextCallback *callback = index->rd_indexcxt->reset_cbs;

	while (callback != NULL && callback->func != subtract_coder_size)
		callback = callback->next;
	return callback == NULL ? NULL : (KeptCoders *) callback->arg;
}

void
rencoder_coders_forget(Relation index)
{
	KeptCoders *kept = find_kept_coders(index);

	if (kept == NULL)
		return;
	MemoryContextReset(kept->coders.context);
	kept->coders.loaded = NIL;
	kept_size -= kept->size;
	kept->size = 0;
}

/* What the session keeps of the index; empty if it has another file by now. */
static KeptCoders *
get_kept_coders(Relation index)
{
	RencoderLocator file = rencoder_relation_locator(index);
	KeptCoders *kept = find_kept_coders(index);

	if (kept == NULL)
	{
		kept = MemoryContextAllocZero(index->rd_indexcxt, sizeof(KeptCoders));
		kept->coders.context = AllocSetContextCreate(index->rd_indexcxt, "rencoder coders",
													 ALLOCSET_SMALL_SIZES);
		kept->callback.func = subtract_coder_size;
		kept->callback.arg = kept;
		MemoryContextRegisterResetCallback(index->rd_indexcxt, &kept->callback);
	}
	else if (memcmp(&kept->file, &file, sizeof(file)) != 0)
		rencoder_coders_forget(index);
	kept->file = file;
	return kept;
}

static const RencoderCoder *
add_coder(RencoderCoders *coders, int col, const RencoderCoder *coder)
{
	MemoryContext old = MemoryContextSwitchTo(coders->context);
	LoadedCoder *loaded = palloc(sizeof(LoadedCoder));

	loaded->col = col;
	loaded->coder = *coder;
	coders->loaded = lappend(coders->loaded, loaded);
	MemoryContextSwitchTo(old);
	return &loaded->coder;
}

static const RencoderCoderListData *
lock_coder_list(Relation index, BlockNumber blkno, int lockmode, Buffer *buf)
{
	const RencoderCoderListData *list;

	*buf = rencoder_page_read(index, blkno, lockmode, RENCODER_PAGE_CODERS);
	list = RencoderPageGetCoders(BufferGetPage(*buf));
	if (list->n > RENCODER_CODER_ENTRIES)
		rencoder_page_corrupted(index, blkno, "The list of coders is longer than its page.");
	return list;
}

/* Copies a coder's entry from the list. */
static bool
find_coder_entry(Relation index, int col, uint32 generation, RencoderCoderEntry *entry)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_CODERS);
	const RencoderCoderListData *list;
	bool		found = false;
	Buffer		buf;

	if (root == RENCODER_NO_BLOCK)
		return false;
	list = lock_coder_list(index, root, BUFFER_LOCK_SHARE, &buf);
	for (uint32 i = 0; i < list->n && !found; i++)
	{
		*entry = list->entry[i];
		found = entry->attno == col && entry->generation == generation;
	}
	UnlockReleaseBuffer(buf);
	return found;
}

/* Bounds of two axes: finite, from <= to. */
static bool
coder_axes_are_sound(const double *bounds)
{
	for (int i = 0; i < 4; i++)
	{
		if (!isfinite(bounds[i]))
			return false;
	}
	return bounds[0] <= bounds[1] && bounds[2] <= bounds[3];
}

/* Are the coders within a composite one those of strings? */
static bool
coder_columns_are_sound(const renc_composite *c)
{
	for (uint32 i = 0; i < c->n; i++)
	{
		const renc_composite_column *column = &c->column[i];

		if (column->coder_size > 0 &&
			(column->coder_kind != RENCODER_CODER_STRINGS ||
			 !renc_strings_valid((const char *) c + column->coder, column->coder_size)))
			return false;
	}
	return true;
}

/* What a composite coder has of its columns', "many" for making many keys; else NULL.  Palloc'd. */
static const RencoderCoder *
take_column_coders(const RencoderCoder *coder, bool many)
{
	const renc_composite *c = (const renc_composite *) coder->data;
	RencoderCoder *columns;

	if (coder->kind != RENCODER_CODER_COMPOSITE)
		return NULL;
	columns = palloc0(c->n * sizeof(RencoderCoder));
	for (uint32 i = 0; i < c->n; i++)
	{
		const renc_composite_column *column = &c->column[i];

		if (column->coder_size == 0)
			continue;
		columns[i].generation = coder->generation;
		columns[i].kind = column->coder_kind;
		columns[i].size = column->coder_size;
		columns[i].data = (const char *) c + column->coder;
		if (many)
			columns[i] = *rencoder_coder_for_many(&columns[i]);
	}
	return columns;
}

/*
 * A wrong byte in a coder would make wrong keys for all runs, which no other
 * check would notice.
 */
static bool
coder_is_sound(const RencoderCoderEntry *entry, const void *data)
{
	if (rencoder_checksum(data, entry->size) != entry->crc)
		return false;
	switch (entry->kind)
	{
		case RENCODER_CODER_STRINGS:
			return renc_strings_valid(data, entry->size);
		case RENCODER_CODER_AXES:
			return entry->size == 4 * sizeof(double) && coder_axes_are_sound((const double *) data);
		case RENCODER_CODER_COMPOSITE:
			return renc_composite_valid(data, entry->size) && coder_columns_are_sound(data);
	}
	return false;
}

/* Reads the bytes of a coder. */
static void *
read_coder_data(Relation index, const RencoderCoderEntry *entry)
{
	char	   *data;

	if (entry->size > RENCODER_CODER_MAX_COMPOSITE ||
		entry->extent.npages != (entry->size + RENCODER_PAYLOAD_SIZE - 1) / RENCODER_PAYLOAD_SIZE)
		rencoder_page_corrupted(index, entry->extent.start,
								"A coder has an extent of another size.");
	data = palloc((Size) entry->extent.npages * RENCODER_PAYLOAD_SIZE);
	for (uint32 i = 0; i < entry->extent.npages; i++)
	{
		Buffer		buf = rencoder_page_read(index, entry->extent.start + i, BUFFER_LOCK_SHARE,
											 RENCODER_PAGE_CODER);

		memcpy(data + (Size) i * RENCODER_PAYLOAD_SIZE,
			   RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
	}
	return data;
}

static const RencoderCoder *
find_loaded_coder(const RencoderCoders *coders, int col, uint32 generation)
{
	ListCell   *lc;

	foreach(lc, coders->loaded)
	{
		const LoadedCoder *loaded = (const LoadedCoder *) lfirst(lc);

		if (loaded->col == col && loaded->coder.generation == generation)
			return &loaded->coder;
	}
	return NULL;
}

bool
rencoder_coder_find(RencoderCoders *coders, Relation index, int col,
					uint32 generation, const RencoderCoder **coder)
{
	KeptCoders *kept = NULL;
	RencoderCoderEntry entry;
	RencoderCoder found;
	MemoryContext old;
	void	   *data;

	*coder = NULL;
	if (generation == 0)
		return true;
	*coder = find_loaded_coder(coders, col, generation);
	if (*coder == NULL && !coders->anew)
	{
		kept = get_kept_coders(index);
		*coder = find_loaded_coder(&kept->coders, col, generation);
	}
	if (*coder != NULL)
		return true;

	if (!find_coder_entry(index, col, generation, &entry))
		return false;
	data = read_coder_data(index, &entry);
	if (!coder_is_sound(&entry, data))
		rencoder_page_corrupted(index, entry.extent.start,
								"A coder of keys is not valid.");
	if (kept != NULL && kept_size + entry.size <= KEPT_SIZE)
	{
		kept->size += entry.size;
		kept_size += entry.size;
		coders = &kept->coders;
	}
	found = (RencoderCoder)
	{
		generation, entry.kind, entry.size, MemoryContextAlloc(coders->context, entry.size), NULL, NULL
	};
	memcpy(unconstify(void *, found.data), data, entry.size);
	pfree(data);
	old = MemoryContextSwitchTo(coders->context);
	found.column = take_column_coders(&found, false);
	MemoryContextSwitchTo(old);
	*coder = add_coder(coders, col, &found);
	return true;
}

const RencoderCoder *
rencoder_coder_require(RencoderCoders *coders, Relation index, int col, uint32 generation)
{
	const RencoderCoder *coder;

	/* Without a list it is block 0, the metapage, that should name one. */
	if (!rencoder_coder_find(coders, index, col, generation, &coder))
		rencoder_page_corrupted(index, rencoder_space_find_root(index, RENCODER_ROOT_CODERS),
								psprintf("Coder %u of column %d is missing.",
										 generation, col + 1));
	return coder;
}

const RencoderCoder *
rencoder_coder_for_many(const RencoderCoder *coder)
{
	const renc_strings *d;
	renc_strings_memo *memo;
	RencoderCoder *copy;

	if (coder == NULL || coder->kind == RENCODER_CODER_AXES)
		return coder;
	copy = palloc(sizeof(RencoderCoder));
	*copy = *coder;
	copy->column = take_column_coders(coder, true);
	if (coder->kind != RENCODER_CODER_STRINGS)
		return copy;
	d = (const renc_strings *) coder->data;
	memo = palloc((d->n + 1) * sizeof(renc_strings_memo));
	renc_strings_remember(d, memo);
	copy->memo = memo;
	return copy;
}

RencoderCoderListData *
rencoder_coder_copy_list(Relation index)
{
	RencoderCoderListData *copy = palloc0(RENCODER_PAYLOAD_SIZE);
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_CODERS);
	Buffer		buf;

	if (root != RENCODER_NO_BLOCK)
	{
		memcpy(copy, lock_coder_list(index, root, BUFFER_LOCK_SHARE, &buf), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
	}
	return copy;
}

/* Is the coder of an entry the same as these bytes? */
static bool
coders_are_same(Relation index, const RencoderCoderEntry *entry, const RencoderCoderEntry *other,
				const void *data)
{
	void	   *bytes;
	bool		same;

	if (entry->kind != other->kind || entry->size != other->size)
		return false;
	bytes = read_coder_data(index, entry);
	same = memcmp(bytes, data, entry->size) == 0;
	pfree(bytes);
	return same;
}

uint32
rencoder_coder_newest_generation(Relation index, int col)
{
	RencoderCoderListData *list = rencoder_coder_copy_list(index);
	uint32		generation = 0;

	for (uint32 i = 0; i < list->n; i++)
	{
		if (list->entry[i].attno == col)
			generation = list->entry[i].generation;
	}
	pfree(list);
	return generation;
}

/* Writes the bytes of a coder to new pages. */
static RencoderExtent
write_coder_data(Relation index, const char *data, uint32 size, bool log)
{
	RencoderExtent extent = rencoder_space_take(index, (size + RENCODER_PAYLOAD_SIZE - 1) / RENCODER_PAYLOAD_SIZE,
												log);
	char	   *payload = palloc(RENCODER_PAYLOAD_SIZE);

	for (uint32 i = 0; i < extent.npages; i++)
	{
		Size		offset = (Size) i * RENCODER_PAYLOAD_SIZE;

		memset(payload, 0, RENCODER_PAYLOAD_SIZE);
		memcpy(payload, data + offset, Min(RENCODER_PAYLOAD_SIZE, size - offset));
		rencoder_wal_write_fresh(index, extent.start + i, RENCODER_PAGE_CODER, payload, log);
	}
	pfree(payload);
	return extent;
}

uint32
rencoder_coder_store(Relation index, int col, uint16 kind, const void *data,
					 uint32 size, bool log)
{
	BlockNumber root = rencoder_space_make_root(index, RENCODER_ROOT_CODERS, RENCODER_PAGE_CODERS, 1, log);
	RencoderCoderListData *list = rencoder_coder_copy_list(index);
	bool		full = list->n == RENCODER_CODER_ENTRIES;
	RencoderCoderEntry entry = {0};
	RencoderCoderEntry other;
	RencoderWal *wal;
	Buffer		buf;

	Assert(size > 0 && size <= RENCODER_CODER_MAX_COMPOSITE);
	entry.attno = (uint16) col;
	entry.kind = kind;
	entry.size = size;
	entry.crc = rencoder_checksum(data, size);
	pfree(list);

	/*
	 * A number that is counted up would be given again when the page that it
	 * was counted on has been lost, and to a coder that makes other keys:
	 * runs that name the lost one would be asked for those, and rows be
	 * missed.  So the generation is a checksum of the coder's bytes: what has
	 * the same name makes the same keys.  0 is no coder.
	 */
	entry.generation = Max(entry.crc, 1);
	if (find_coder_entry(index, col, entry.generation, &other))
		return coders_are_same(index, &other, &entry, data) ? entry.generation : 0;
	if (full)
		return 0;
	entry.extent = write_coder_data(index, (const char *) data, size, log);

	/* Nobody else adds to the list: we are the maintainer. */
	(void) lock_coder_list(index, root, BUFFER_LOCK_EXCLUSIVE, &buf);
	wal = rencoder_wal_begin(index, log);
	list = RencoderPageGetCoders(rencoder_wal_register(wal, buf));
	list->entry[list->n++] = entry;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
	return entry.generation;
}

void
rencoder_coder_set_heap_blocks(Relation index, uint32 blocks, bool log)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_CODERS);
	RencoderWal *wal;
	Buffer		buf;

	if (root == RENCODER_NO_BLOCK)
		return;
	(void) lock_coder_list(index, root, BUFFER_LOCK_EXCLUSIVE, &buf);
	wal = rencoder_wal_begin(index, log);
	RencoderPageGetCoders(rencoder_wal_register(wal, buf))->heap_blocks = blocks;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}
