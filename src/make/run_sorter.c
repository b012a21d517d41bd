/*
 * run_sorter.c
 *		Sorting pairs of key and place, for runs.
 *
 * Chunks of the input lie one after the other in one temporary file, sorted, and are
 * merged from there: a file for each chunk would need a buffer for each while it is
 * written to, and there may be thousands where memory is short.  Where equal pairs leave
 * half of the memory, a chunk is not spilled, but goes on: rows of few values take no file.
 *
 * A chunk in a file is the number of its pairs, a uint64, and the pairs.
 *
 * A pair is kept in 12 bytes, of which rows get the bits that places leave: the fewer these
 * are, the more of a table is sorted in memory and need not be merged.
 */
#include "make/run_sorter.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "port/pg_bitutils.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

#include "base/workspace.h"

/* Pairs that there is room for at first, and at least at last. */
#define FIRST_PAIRS	1024

/* Chunks likewise. */
#define FIRST_CHUNKS	16

/* A pair as it is sorted.  The key's halves stand so that most CPUs load it at once. */
typedef struct SortedPair
{
#ifdef WORDS_BIGENDIAN
	uint32		high;
	uint32		low;
#else
	uint32		low;
	uint32		high;
#endif
	uint32		place;			/* and rows - 1 in "row_bits" bits */
} SortedPair;

/* Pairs of a chunk that are read at once, at least. */
#define READ_PAIRS	(BLCKSZ / (int) sizeof(SortedPair))

static inline uint64
key_of_sorted_pair(const SortedPair *pair)
{
	return (uint64) pair->high << 32 | pair->low;
}

/*
 * Whether keys differ can be foreseen, which one is less can not: so there is one such branch.
 * Equal pairs may have different rows, in any order.
 */
static inline int
compare_pairs(const SortedPair *a, const SortedPair *b)
{
	uint64		left = key_of_sorted_pair(a);
	uint64		right = key_of_sorted_pair(b);

	if (likely(left != right))
		return left < right ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* sort_pairs: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_pairs
#define ST_ELEMENT_TYPE SortedPair
#define ST_COMPARE(a, b) compare_pairs(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sorted pairs in a file. */
typedef struct Chunk
{
	BufFile    *file;
	int			fileno;			/* where the next ones are that are not read */
	off_t		offset;
	uint64		left;			/* how many these are */
	SortedPair *pair;			/* those that are read */
	size_t		n;
	size_t		next;			/* the first that is not given out */
} Chunk;

struct RencoderRunSorter
{
	MemoryContext context;
	int			row_bits;
	SortedPair *pair;
	size_t		n;
	size_t		next;			/* nothing spilled: the first not given out */
	size_t		allocated;
	size_t		max;			/* that may be allocated */

	FileSet    *fileset;		/* shared: where the file is to be */
	char	   *name;			/* and what it is called */
	BufFile    *file;			/* NULL: nothing was spilled */
	List	   *imported;		/* other files */
	Chunk	   *chunk;
	size_t		nchunks;
	size_t		max_chunks;		/* allocated */
	size_t		share;			/* of "pair" that a chunk gets in the merge */
	binaryheap *heap;			/* the merge: chunks that have pairs */
};

RencoderRunSorter *
rencoder_run_sorter_begin(Size memory, uint32 nplaces)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder run sorter",
												  ALLOCSET_DEFAULT_SIZES);
	RencoderRunSorter *s = MemoryContextAllocZero(context, sizeof(RencoderRunSorter));

	s->context = context;
	s->row_bits = nplaces > 2 ? 31 - pg_leftmost_one_pos32(nplaces - 1) : 31;
	s->max = Max(memory / sizeof(SortedPair), FIRST_PAIRS);
	s->allocated = FIRST_PAIRS;
	s->pair = MemoryContextAlloc(context, s->allocated * sizeof(SortedPair));
	s->max_chunks = FIRST_CHUNKS;
	s->chunk = MemoryContextAlloc(context, s->max_chunks * sizeof(Chunk));
	return s;
}

/* The greatest that a pair has room for, less one. */
static inline uint32
max_rows(const RencoderRunSorter *s)
{
	return ((uint32) 1 << s->row_bits) - 1;
}

static inline bool
is_same_sorted_pair(const RencoderRunSorter *s, const SortedPair *a, const SortedPair *b)
{
	return (a->place ^ b->place) <= max_rows(s) && a->low == b->low && a->high == b->high;
}

/* Adds the rows of an equal pair, unless there is no room for so many. */
static inline bool
unite_sorted_pairs(const RencoderRunSorter *s, SortedPair *pair, const SortedPair *other)
{
	uint32		rows = (other->place & max_rows(s)) + 1;

	if (!is_same_sorted_pair(s, pair, other) || rows > max_rows(s) - (pair->place & max_rows(s)))
		return false;
	pair->place += rows;
	return true;
}

/* Sorts what is in memory and unites the equal ones. */
static void
sort_chunk(RencoderRunSorter *s)
{
	size_t		kept = 0;

	if (s->n == 0)
		return;
	sort_pairs(s->pair, s->n);
	for (size_t i = 1; i < s->n; i++)
	{
		if (!unite_sorted_pairs(s, &s->pair[kept], &s->pair[i]))
			s->pair[++kept] = s->pair[i];
	}
	s->n = kept + 1;
}

static void
create_sorter_file(RencoderRunSorter *s)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	if (s->fileset != NULL)
		s->file = BufFileCreateFileSet(s->fileset, s->name);
	else
	{
		PrepareTempTablespaces();
		s->file = BufFileCreateTemp(false);
	}
	MemoryContextSwitchTo(old);
}

/* Notes a chunk of "n" pairs that begins where the file stands. */
static void
add_sorted_chunk(RencoderRunSorter *s, BufFile *file, uint64 n)
{
	Chunk	   *chunk;

	s->chunk = rencoder_list_with_room(s->chunk, s->nchunks, &s->max_chunks, sizeof(Chunk));
	chunk = &s->chunk[s->nchunks++];
	memset(chunk, 0, sizeof(Chunk));
	chunk->file = file;
	BufFileTell(file, &chunk->fileno, &chunk->offset);
	chunk->left = n;
}

/* Makes a chunk of the file of what is in memory, sorted. */
static void
spill_sorted_chunk(RencoderRunSorter *s)
{
	uint64		n = s->n;

	if (s->file == NULL)
		create_sorter_file(s);
	BufFileWrite(s->file, &n, sizeof(n));
	add_sorted_chunk(s, s->file, n);
	for (size_t i = 0; i < s->n; i += READ_PAIRS)
	{
		CHECK_FOR_INTERRUPTS();
		BufFileWrite(s->file, s->pair + i, Min(READ_PAIRS, s->n - i) * sizeof(SortedPair));
	}
	s->n = 0;
}

static void
allocate_sorter_pairs(RencoderRunSorter *s, size_t n)
{
	s->pair = repalloc_huge(s->pair, n * sizeof(SortedPair));
	s->allocated = n;
}

static void
make_room(RencoderRunSorter *s)
{
	if (s->allocated < s->max)
	{
		allocate_sorter_pairs(s, Min(2 * s->allocated, s->max));
		return;
	}
	sort_chunk(s);
	if (s->n > s->max / 2)
		spill_sorted_chunk(s);
}

void
rencoder_run_sorter_add(RencoderRunSorter *s, uint64 key, uint32 place, uint32 rows)
{
	SortedPair	pair;

	if (place > PG_UINT32_MAX >> s->row_bits)
		elog(ERROR, "place %u is none of those that keys are sorted of", place);
	pair.high = (uint32) (key >> 32);
	pair.low = (uint32) key;
	for (uint32 added; rows > 0; rows -= added)
	{
		added = Min(rows, max_rows(s) + 1);
		pair.place = place << s->row_bits | (added - 1);
		if (s->n > 0 && unite_sorted_pairs(s, &s->pair[s->n - 1], &pair))
			continue;
		if (s->n == s->allocated)
			make_room(s);
		s->pair[s->n++] = pair;
	}
}

/* Reads all of "size" bytes. */
static void
read_sorter_file(BufFile *file, void *to, size_t size)
{
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("temporary file of an index build is too short")));
}

static void
seek_sorter_file(BufFile *file, int fileno, off_t offset, int whence)
{
	if (BufFileSeek(file, fileno, offset, whence) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file of an index build")));
}

/* Reads the next pairs of a chunk; false: there are no more. */
static bool
read_sorted_chunk(RencoderRunSorter *s, Chunk *chunk)
{
	size_t		n = Min(s->share, chunk->left);

	CHECK_FOR_INTERRUPTS();
	if (n == 0)
		return false;
	seek_sorter_file(chunk->file, chunk->fileno, chunk->offset, SEEK_SET);
	read_sorter_file(chunk->file, chunk->pair, n * sizeof(SortedPair));
	BufFileTell(chunk->file, &chunk->fileno, &chunk->offset);
	chunk->left -= n;
	chunk->n = n;
	chunk->next = 0;
	return true;
}

/* The least pair is to come first, but binaryheap has the greatest there. */
static int
compare_sorted_chunks(Datum a, Datum b, void *arg)
{
	const Chunk *left = (const Chunk *) DatumGetPointer(a);
	const Chunk *right = (const Chunk *) DatumGetPointer(b);

	return compare_pairs(&right->pair[right->next], &left->pair[left->next]);
}

static void
begin_sorter_merge(RencoderRunSorter *s)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	/* The pairs' memory serves as buffers. */
	s->share = Max(s->max / s->nchunks, READ_PAIRS);
	if (s->allocated < s->nchunks * s->share)
		allocate_sorter_pairs(s, s->nchunks * s->share);
	s->heap = binaryheap_allocate((int) s->nchunks, compare_sorted_chunks, NULL);
	for (size_t i = 0; i < s->nchunks; i++)
	{
		s->chunk[i].pair = s->pair + i * s->share;
		if (read_sorted_chunk(s, &s->chunk[i]))
			binaryheap_add_unordered(s->heap, PointerGetDatum(&s->chunk[i]));
	}
	binaryheap_build(s->heap);
	MemoryContextSwitchTo(old);
}

void
rencoder_run_sorter_sort(RencoderRunSorter *s)
{
	sort_chunk(s);
	if (s->nchunks == 0)
		return;
	if (s->n > 0)
		spill_sorted_chunk(s);
	begin_sorter_merge(s);
}

static Chunk *
least_sorted_chunk(const RencoderRunSorter *s)
{
	return (Chunk *) DatumGetPointer(binaryheap_first(s->heap));
}

/* The least pair has been taken. */
static void
advance_sorter_merge(RencoderRunSorter *s)
{
	Chunk	   *chunk = least_sorted_chunk(s);

	chunk->next++;
	if (chunk->next < chunk->n || read_sorted_chunk(s, chunk))
		binaryheap_replace_first(s->heap, PointerGetDatum(chunk));
	else
		(void) binaryheap_remove_first(s->heap);
}

/* The next pair that is not given out; NULL: none. */
static const SortedPair *
least_sorted_pair(const RencoderRunSorter *s)
{
	if (s->heap == NULL)
		return s->next < s->n ? &s->pair[s->next] : NULL;
	return binaryheap_empty(s->heap) ? NULL :
		&least_sorted_chunk(s)->pair[least_sorted_chunk(s)->next];
}

static inline void
take_sorted_pair(RencoderRunSorter *s)
{
	if (s->heap == NULL)
		s->next++;
	else
		advance_sorter_merge(s);
}

bool
rencoder_run_sorter_next(RencoderRunSorter *s, RencoderRunPair *pair)
{
	const SortedPair *least = least_sorted_pair(s);
	SortedPair	first;

	if (least == NULL)
		return false;
	first = *least;
	pair->key = key_of_sorted_pair(&first);
	pair->place = first.place >> s->row_bits;
	pair->rows = 0;
	do
	{
		pair->rows += (least->place & max_rows(s)) + 1;
		take_sorted_pair(s);
		least = least_sorted_pair(s);
	} while (least != NULL && is_same_sorted_pair(s, &first, least));
	return true;
}

void
rencoder_run_sorter_end(RencoderRunSorter *s)
{
	ListCell   *cell;

	if (s->file != NULL)
		BufFileClose(s->file);
	foreach(cell, s->imported)
		BufFileClose((BufFile *) lfirst(cell));
	MemoryContextDelete(s->context);
}

RencoderRunSorter *
rencoder_run_sorter_begin_shared(Size memory, uint32 nplaces, FileSet *fileset,
								 const char *name)
{
	RencoderRunSorter *s = rencoder_run_sorter_begin(memory, nplaces);

	s->fileset = fileset;
	s->name = MemoryContextStrdup(s->context, name);
	return s;
}

void
rencoder_run_sorter_export(RencoderRunSorter *s)
{
	sort_chunk(s);
	if (s->n > 0)
		spill_sorted_chunk(s);

	/* There is a file even if there are no pairs: a missing one is an error. */
	if (s->file == NULL)
		create_sorter_file(s);
	BufFileExportFileSet(s->file);
	rencoder_run_sorter_end(s);
}

void
rencoder_run_sorter_import(RencoderRunSorter *s, FileSet *fileset, const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);
	BufFile    *file = BufFileOpenFileSet(fileset, name, O_RDONLY, false);
	int64		left = BufFileSize(file);

	s->imported = lappend(s->imported, file);
	while (left > 0)
	{
		uint64		n;

		CHECK_FOR_INTERRUPTS();
		read_sorter_file(file, &n, sizeof(n));
		add_sorted_chunk(s, file, n);
		seek_sorter_file(file, 0, (off_t) (n * sizeof(SortedPair)), SEEK_CUR);
		left -= sizeof(n) + n * sizeof(SortedPair);
	}
	MemoryContextSwitchTo(old);
}
