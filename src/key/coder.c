/*
 * coder.c
 *		Coders: what was learnt of a column's values to make good keys of them.
 */
#include "key/coder.h"

#include <math.h>

#include "nodes/pg_list.h"

#include "filter/renc_strings.h"

typedef struct LoadedCoder
{
	int			col;
	RencoderCoder coder;
} LoadedCoder;

struct RencoderCoders
{
	MemoryContext context;
	List	   *loaded;			/* of LoadedCoder */
};

RencoderCoders *
rencoder_coders_create(void)
{
	RencoderCoders *coders = palloc(sizeof(RencoderCoders));

	coders->context = CurrentMemoryContext;
	coders->loaded = NIL;
	return coders;
}

const RencoderCoder *
rencoder_coders_add(RencoderCoders *coders, int col, const RencoderCoder *coder)
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
lock_list(Relation index, BlockNumber blkno, int lockmode, Buffer *buf)
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
find_entry(Relation index, int col, uint32 generation, RencoderCoderEntry *entry)
{
	BlockNumber root = rencoder_space_root(index, RENCODER_PAGE_CODERS);
	const RencoderCoderListData *list;
	bool		found = false;
	Buffer		buf;

	if (root == RENCODER_NO_BLOCK)
		return false;
	list = lock_list(index, root, BUFFER_LOCK_SHARE, &buf);
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
axes_sound(const double *bounds)
{
	for (int i = 0; i < 4; i++)
	{
		if (!isfinite(bounds[i]))
			return false;
	}
	return bounds[0] <= bounds[1] && bounds[2] <= bounds[3];
}

/*
 * A wrong byte in a coder would make wrong keys for all groups, which no other
 * check would notice.
 */
static bool
is_sound(const RencoderCoderEntry *entry, const void *data)
{
	if (rencoder_checksum(data, entry->size) != entry->crc)
		return false;
	switch (entry->kind)
	{
		case RENCODER_CODER_STRINGS:
			return renc_strings_valid(data, entry->size);
		case RENCODER_CODER_AXES:
			return entry->size == 4 * sizeof(double) && axes_sound((const double *) data);
	}
	return false;
}

/*
 * Reads the bytes of a coder.  NULL if a page is not one of a coder's, which
 * may be so when it was removed meanwhile.
 */
static void *
read_data(Relation index, const RencoderCoderEntry *entry)
{
	char	   *data;

	if (entry->size > RENCODER_CODER_MAX_SIZE ||
		entry->extent.npages != (entry->size + RENCODER_PAYLOAD_SIZE - 1) / RENCODER_PAYLOAD_SIZE)
		rencoder_page_corrupted(index, entry->extent.start,
								"A coder has an extent of another size.");
	data = palloc((Size) entry->extent.npages * RENCODER_PAYLOAD_SIZE);
	for (uint32 i = 0; i < entry->extent.npages; i++)
	{
		const char *fault;
		Buffer		buf = rencoder_page_try_read(index, entry->extent.start + i,
												 RENCODER_PAGE_CODER, &fault);

		if (!BufferIsValid(buf))
		{
			pfree(data);
			return NULL;
		}
		memcpy(data + (Size) i * RENCODER_PAYLOAD_SIZE,
			   RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
	}
	return data;
}

bool
rencoder_coder_find(RencoderCoders *coders, Relation index, int col,
					uint32 generation, const RencoderCoder **coder)
{
	RencoderCoderEntry entry;
	RencoderCoderEntry again;
	RencoderCoder found;
	MemoryContext old;
	ListCell   *lc;
	void	   *data;

	*coder = NULL;
	if (generation == 0)
		return true;
	foreach(lc, coders->loaded)
	{
		const LoadedCoder *loaded = (const LoadedCoder *) lfirst(lc);

		if (loaded->col == col && loaded->coder.generation == generation)
		{
			*coder = &loaded->coder;
			return true;
		}
	}

	if (!find_entry(index, col, generation, &entry))
		return false;
	old = MemoryContextSwitchTo(coders->context);
	data = read_data(index, &entry);

	/* Its pages may have been freed and used for something else meanwhile. */
	if (!find_entry(index, col, generation, &again))
	{
		MemoryContextSwitchTo(old);
		return false;
	}
	if (data == NULL || !is_sound(&entry, data))
		rencoder_page_corrupted(index, entry.extent.start,
								"A coder of keys is not valid.");
	MemoryContextSwitchTo(old);
	found = (RencoderCoder)
	{
		generation, entry.kind, entry.size, data, NULL
	};
	*coder = rencoder_coders_add(coders, col, &found);
	return true;
}

const RencoderCoder *
rencoder_coder_require(RencoderCoders *coders, Relation index, int col, uint32 generation)
{
	const RencoderCoder *coder;

	/* Without a list it is block 0, the metapage, that should name one. */
	if (!rencoder_coder_find(coders, index, col, generation, &coder))
		rencoder_page_corrupted(index, rencoder_space_root(index, RENCODER_PAGE_CODERS),
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

	if (coder == NULL || coder->kind != RENCODER_CODER_STRINGS)
		return coder;
	d = (const renc_strings *) coder->data;
	memo = palloc((d->n + 1) * sizeof(renc_strings_memo));
	renc_strings_remember(d, memo);
	copy = palloc(sizeof(RencoderCoder));
	*copy = *coder;
	copy->memo = memo;
	return copy;
}

RencoderCoderListData *
rencoder_coder_list(Relation index)
{
	RencoderCoderListData *copy = palloc0(RENCODER_PAYLOAD_SIZE);
	BlockNumber root = rencoder_space_root(index, RENCODER_PAGE_CODERS);
	Buffer		buf;

	if (root != RENCODER_NO_BLOCK)
	{
		memcpy(copy, lock_list(index, root, BUFFER_LOCK_SHARE, &buf), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
	}
	return copy;
}

/*
 * The generation of a new coder.  A number that is counted up would be given again
 * when the page that it was counted on has been lost, and to a coder that makes
 * other keys: groups that name the lost one would be asked for those, and rows be
 * missed.  So it is a checksum of the coder's bytes: what has the same name makes
 * the same keys.  0 is no coder.
 */
static uint32
name_coder(uint32 crc)
{
	return Max(crc, 1);
}

/* Is the coder of an entry the same as these bytes? */
static bool
is_same(Relation index, const RencoderCoderEntry *entry, const RencoderCoderEntry *other,
		const void *data)
{
	void	   *bytes;
	bool		same;

	if (entry->kind != other->kind || entry->size != other->size)
		return false;
	bytes = read_data(index, entry);
	if (bytes == NULL)
		rencoder_page_corrupted(index, entry->extent.start, "A coder of keys is not valid.");
	same = memcmp(bytes, data, entry->size) == 0;
	pfree(bytes);
	return same;
}

/*
 * Names a new coder; true if it is there already.  Checksums of different bytes may be
 * equal: a name that is taken by others is not given, but the next one.
 */
static bool
find_name(Relation index, const RencoderCoderListData *list, RencoderCoderEntry *entry,
		  const void *data)
{
	entry->generation = name_coder(entry->crc);
	for (uint32 i = 0; i < list->n;)
	{
		if (list->entry[i].attno != entry->attno ||
			list->entry[i].generation != entry->generation)
		{
			i++;
			continue;
		}
		if (is_same(index, &list->entry[i], entry, data))
			return true;
		entry->generation = name_coder(entry->generation + 1);
		i = 0;
	}
	return false;
}

uint32
rencoder_coder_newest(Relation index, int col)
{
	RencoderCoderListData *list = rencoder_coder_list(index);
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
write_data(Relation index, const char *data, uint32 size, bool log)
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
	BlockNumber root = rencoder_space_make_root(index, RENCODER_PAGE_CODERS, 1, log);
	RencoderCoderListData *list = rencoder_coder_list(index);
	RencoderCoderEntry entry = {0};
	RencoderWal *wal;
	bool		found;
	bool		full = list->n == RENCODER_CODER_ENTRIES;
	Buffer		buf;

	Assert(size > 0 && size <= RENCODER_CODER_MAX_SIZE);
	entry.attno = (uint16) col;
	entry.kind = kind;
	entry.size = size;
	entry.crc = rencoder_checksum(data, size);
	found = find_name(index, list, &entry, data);
	pfree(list);
	if (found || full)
		return found ? entry.generation : 0;
	entry.extent = write_data(index, (const char *) data, size, log);

	/* Nobody else adds to the list: we are the maintainer. */
	(void) lock_list(index, root, BUFFER_LOCK_EXCLUSIVE, &buf);
	wal = rencoder_wal_begin(index, log);
	list = RencoderPageGetCoders(rencoder_wal_register(wal, buf));
	list->entry[list->n++] = entry;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
	return entry.generation;
}

void
rencoder_coder_note_heap_blocks(Relation index, uint32 blocks, bool log)
{
	BlockNumber root = rencoder_space_root(index, RENCODER_PAGE_CODERS);
	RencoderWal *wal;
	Buffer		buf;

	if (root == RENCODER_NO_BLOCK)
		return;
	(void) lock_list(index, root, BUFFER_LOCK_EXCLUSIVE, &buf);
	wal = rencoder_wal_begin(index, log);
	RencoderPageGetCoders(rencoder_wal_register(wal, buf))->heap_blocks = blocks;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}
