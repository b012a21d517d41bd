/*
 * plain_scan.c
 *		Handing out rows one by one, as a plain index scan wants them.
 */
#include "scan/plain_scan.h"

#include "access/tableam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/spccache.h"

#include "store/kept_pages.h"
#include "table/heap_read.h"

/* "distance": not asked for yet. */
#define UNKNOWN_DISTANCE	PG_UINT32_MAX

/* Memory that is kept from scan to scan. */
#define KEPT_STRETCHES	256

void
rencoder_plain_scan_init(RencoderPlainScan *plain)
{
	memset(plain, 0, sizeof(*plain));
	plain->context = CurrentMemoryContext;
	plain->distance = UNKNOWN_DISTANCE;
	renc_stretches_begin(&plain->list, Min(work_mem * (Size) 512, MaxAllocSize / 2), palloc, pfree);

	/* This one has what was handed out, not more. */
	renc_stretches_begin(&plain->earlier, MaxAllocSize / 2, palloc, pfree);
	rencoder_plain_scan_rewind(plain);
}

/* Empties a list. */
static void
clear_plain_list(renc_stretches *list)
{
	if (list->n > KEPT_STRETCHES)
		renc_stretches_end(list);
	else
		renc_stretches_clear(list);
}

/* Nothing is left of the last search. */
static void
clear_plain_lists(RencoderPlainScan *plain)
{
	clear_plain_list(&plain->list);
	clear_plain_list(&plain->earlier);
	memset(&plain->next, 0, sizeof(plain->next));
	plain->word = RENCODER_PLAIN_WORDS;
}

void
rencoder_plain_scan_rewind(RencoderPlainScan *plain)
{
	clear_plain_lists(plain);
	plain->begun = false;
	plain->complete = false;
	plain->limit = RENCODER_PLAIN_FIRST_ENTRIES;
	plain->pages = 0;
	plain->nahead = plain->most_ahead = 0;
	plain->counted = InvalidBlockNumber;
}

void
rencoder_plain_scan_take(RencoderPlainScan *plain, const renc_stretches *rows)
{
	rencoder_plain_scan_rewind(plain);
	plain->begun = true;
	plain->early.broken_off = false;
	rencoder_plain_scan_end_search(plain, rows);
}

void
rencoder_plain_scan_end(RencoderPlainScan *plain)
{
	renc_stretches_end(&plain->list);
	renc_stretches_end(&plain->earlier);
}

RencoderEarlyEnd *
rencoder_plain_scan_begin_search(RencoderPlainScan *plain)
{
	MemoryContext caller = MemoryContextSwitchTo(plain->context);

	renc_stretches_add_all(&plain->earlier, &plain->list);
	renc_stretches_finish(&plain->earlier);
	MemoryContextSwitchTo(caller);
	renc_stretches_clear(&plain->list);
	memset(&plain->next, 0, sizeof(plain->next));
	plain->nahead = 0;
	memset(&plain->left_out, 0, sizeof(plain->left_out));

	plain->begun = true;
	plain->early.limit = plain->limit;
	plain->early.broken_off = false;
	plain->limit *= RENCODER_PLAIN_LIMIT_FACTOR;
	return plain->early.limit <= RENCODER_PLAIN_LAST_ENTRIES ? &plain->early : NULL;
}

void
rencoder_plain_scan_end_search(RencoderPlainScan *plain, const renc_stretches *rows)
{
	MemoryContext caller = MemoryContextSwitchTo(plain->context);

	renc_stretches_add_all(&plain->list, rows);
	renc_stretches_finish(&plain->list);
	MemoryContextSwitchTo(caller);
	plain->complete = !plain->early.broken_off;
}

/*
 * The line pointers of a page that may be the root of a HOT chain.  A row that a snapshot sees has
 * one, which stays what it is (INV-11): so who asks later finds all of them.
 */
static void
read_plain_scan_roots(RencoderPlainScan *plain, Relation heap)
{
	Buffer		buffer;
	Page		page;
	OffsetNumber most;

	memset(plain->row, 0, sizeof(plain->row));
	if (!rencoder_is_heap(heap))
	{
		/* As many as a bitmap has room for. */
		for (int i = 0; i < MaxHeapTuplesPerPage; i++)
			plain->row[i / 64] |= UINT64CONST(1) << i % 64;
		return;
	}
	buffer = ReadBuffer(heap, plain->page);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	most = Min(PageGetMaxOffsetNumber(page), RENCODER_PLAIN_WORDS * 64);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= most; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (ItemIdIsRedirected(item) ||
			(ItemIdIsNormal(item) &&
			 !HeapTupleHeaderIsHeapOnly((HeapTupleHeader) PageGetItem(page, item))))
			plain->row[(offset - 1) / 64] |= UINT64CONST(1) << (offset - 1) % 64;
	}
	UnlockReleaseBuffer(buffer);
}

/* Fetches pages ahead of the one that comes next. */
static void
read_ahead(RencoderPlainScan *plain, Relation heap)
{
	if (plain->distance == UNKNOWN_DISTANCE)
		plain->distance = (uint32) get_tablespace_io_concurrency(heap->rd_rel->reltablespace);
	if (plain->nahead > 0)
		plain->nahead--;
	else
		plain->ahead = plain->next;
	if (rencoder_kept_prefetch_is_vain())
		return;
	while (plain->nahead < Min(plain->most_ahead, plain->distance))
	{
		uint64		row[RENC_ROW_WORDS];
		BlockNumber page;

		if (!renc_stretches_next(&plain->list, &plain->ahead, &page, row))
			break;
		plain->nahead++;
		rencoder_kept_prefetch_block(heap, page);
	}
	plain->most_ahead = Min(Max(plain->most_ahead, 1) * 2, PG_UINT32_MAX / 2);
}

/* Goes on to the next page of the list; false: there is none. */
static bool
next_plain_scan_page(RencoderPlainScan *plain, Relation heap)
{
	uint64		row[RENC_ROW_WORDS];
	uint64		gone[RENC_ROW_WORDS];
	bool		whole;

	CHECK_FOR_INTERRUPTS();
	if (!renc_stretches_next(&plain->list, &plain->next, &plain->page, row))
		return false;
	read_ahead(plain, heap);
	renc_stretches_rows(&plain->earlier, &plain->left_out, plain->page, gone);
	whole = renc_page_rows_are_all(row);
	plain->word = 0;
	if (whole && renc_page_rows_are_all(gone))
		memset(plain->row, 0, sizeof(plain->row));
	else if (whole)
		read_plain_scan_roots(plain, heap);
	else
	{
		memset(plain->row, 0, sizeof(plain->row));
		memcpy(plain->row, row, sizeof(row));
	}
	for (int word = 0; word < RENC_ROW_WORDS; word++)
		plain->row[word] &= ~gone[word];
	return true;
}

/* A row of the page is the first that is handed out. */
static void
count_handed_out(RencoderPlainScan *plain)
{
	if (plain->page == plain->counted)
		return;					/* of the search before */
	plain->counted = plain->page;
	plain->pages++;
}

bool
rencoder_plain_scan_next(RencoderPlainScan *plain, IndexScanDesc scan)
{
	bool		counted = true;

	for (;;)
	{
		int			bit;

		while (plain->word < RENCODER_PLAIN_WORDS && plain->row[plain->word] == 0)
			plain->word++;
		if (plain->word == RENCODER_PLAIN_WORDS)
		{
			counted = false;
			if (!next_plain_scan_page(plain, scan->heapRelation))
				break;
			continue;
		}
		if (!counted)
			count_handed_out(plain);
		bit = pg_rightmost_one_pos64(plain->row[plain->word]);
		plain->row[plain->word] &= plain->row[plain->word] - 1;
		ItemPointerSet(&scan->xs_heaptid, plain->page, (OffsetNumber) (plain->word * 64 + bit + 1));
		return true;
	}
	if (plain->complete)
		clear_plain_lists(plain);
	return false;
}
