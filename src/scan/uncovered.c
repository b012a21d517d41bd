/*
 * uncovered.c
 *		Rows that no run covers, as keys with line pointers: read once by an ordered scan.
 */
#include "scan/uncovered.h"

#include "utils/memutils.h"

#include "scan/plain_scan.h"

/* So many pages at most are kept so. */
#define MOST_UNCOVERED	8192

typedef struct RencoderUncoveredRow
{
	uint64		key;			/* 0 of rows without one */
	ItemPointerData tid;
	uint8		kind;			/* RencoderRowKind */
} UncoveredRow;

void
rencoder_uncovered_init(RencoderUncovered *uncovered)
{
	memset(uncovered, 0, sizeof(*uncovered));
	renc_stretches_begin(&uncovered->list, MaxAllocSize / 2, palloc, pfree);
}

void
rencoder_uncovered_forget(RencoderUncovered *uncovered)
{
	renc_stretches_clear(&uncovered->list);
	uncovered->nrows = 0;
	uncovered->known = uncovered->keyless = false;
}

void
rencoder_uncovered_end(RencoderUncovered *uncovered)
{
	renc_stretches_end(&uncovered->list);
	if (uncovered->row != NULL)
		pfree(uncovered->row);
}

static int
compare_uncovered_rows(const void *a, const void *b)
{
	uint64		x = ((const UncoveredRow *) a)->key;
	uint64		y = ((const UncoveredRow *) b)->key;

	return (x > y) - (x < y);
}

static void
add_uncovered_row(RencoderUncovered *uncovered, RencoderRowKind kind, uint64 key, ItemPointer tid)
{
	uncovered->row = rencoder_list_with_room(uncovered->row, uncovered->nrows, &uncovered->room,
											 sizeof(UncoveredRow));
	uncovered->row[uncovered->nrows++] = (UncoveredRow)
	{
		kind == RENCODER_ROW_KEY ? key : 0, *tid, (uint8) kind
	};
	uncovered->keyless |= kind == RENCODER_ROW_KEYLESS;
}

/* The pages of the copy that were not read yet; false: those that no run covers are too many. */
static bool
list_uncovered_pages(const RencoderUncovered *uncovered, const RencoderCopies *copies, renc_stretches *list)
{
	uint64		npages = 0;

	for (int i = 0; i < copies->nsegments; i++)
	{
		const RencoderSegment *segment = &copies->segment[i];

		if (segment->run != NULL)
			continue;
		npages += segment->to - segment->from;
		if (npages > MOST_UNCOVERED)
			return false;
		for (BlockNumber page = segment->from; page < segment->to; page++)
		{
			if (!renc_stretches_meet(&uncovered->list, page, 0, 0))
				renc_stretches_add_pages(list, page, 1);
		}
	}
	renc_stretches_finish(list);
	return true;
}

static void
read_uncovered_pages(RencoderUncovered *uncovered, IndexScanDesc scan, const renc_stretches *list,
					 RencoderFetchRow fetch, void *arg)
{
	RencoderPlainScan plain;

	rencoder_plain_scan_init(&plain);
	rencoder_plain_scan_take(&plain, list);
	while (rencoder_plain_scan_next(&plain, scan))
	{
		RencoderRowKind kind;
		uint64		key;

		if (fetch(arg, scan, &kind, &key))
			add_uncovered_row(uncovered, kind, key, &scan->xs_heaptid);
	}
	uncovered->pages += plain.pages;
	rencoder_plain_scan_end(&plain);
	renc_stretches_add_all(&uncovered->list, list);
	renc_stretches_finish(&uncovered->list);
	if (uncovered->nrows > 1)
		qsort(uncovered->row, uncovered->nrows, sizeof(UncoveredRow), compare_uncovered_rows);
}

bool
rencoder_uncovered_read(RencoderUncovered *uncovered, IndexScanDesc scan, const RencoderCopies *copies,
						RencoderFetchRow fetch, void *arg)
{
	renc_stretches list;
	bool		few;

	if (uncovered->known && uncovered->version == copies->catalog.version)
		return !uncovered->keyless;
	renc_stretches_begin(&list, MaxAllocSize / 2, palloc, pfree);
	few = list_uncovered_pages(uncovered, copies, &list);
	if (few && list.n > 0)
		read_uncovered_pages(uncovered, scan, &list, fetch, arg);
	renc_stretches_end(&list);
	uncovered->version = copies->catalog.version;
	uncovered->known = few;
	return few && !uncovered->keyless;
}

/* Where the rows with a key from this one on begin. */
static Size
first_uncovered_row(const RencoderUncovered *uncovered, uint64 key)
{
	Size		left = 0;
	Size		right = uncovered->nrows;

	while (left < right)
	{
		Size		middle = left + (right - left) / 2;

		if (uncovered->row[middle].key < key)
			left = middle + 1;
		else
			right = middle;
	}
	return left;
}

void
rencoder_uncovered_add(const RencoderUncovered *uncovered, bool nulls, uint64 lo, uint64 hi,
					   renc_stretches *list)
{
	RencoderRowKind wanted = nulls ? RENCODER_ROW_NULL : RENCODER_ROW_KEY;

	if (nulls)
		lo = hi = 0;
	for (Size i = first_uncovered_row(uncovered, lo); i < uncovered->nrows; i++)
	{
		const UncoveredRow *row = &uncovered->row[i];
		OffsetNumber offset = ItemPointerGetOffsetNumber(&row->tid);

		if (row->key > hi)
			break;
		if (row->kind == wanted)
			rencoder_run_scan_add_rows(list, ItemPointerGetBlockNumber(&row->tid), offset, offset);
	}
	renc_stretches_finish(list);
}

void
rencoder_uncovered_move_edge(const RencoderUncovered *uncovered, uint64 lo, uint64 hi, uint32 n,
							 RencoderSliceEdge *edge)
{
	Size		from = first_uncovered_row(uncovered, lo);
	Size		to = hi == PG_UINT64_MAX ? uncovered->nrows : first_uncovered_row(uncovered, hi + 1);
	uint64		key;

	if (to < from + n)
		return;
	key = uncovered->row[edge->backward ? to - n : from + n - 1].key;
	if (edge->backward ? key > edge->key : key < edge->key)
	{
		edge->key = key;
		edge->crowded = false;
	}
}
