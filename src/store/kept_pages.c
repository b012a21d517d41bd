/*
 * kept_pages.c
 *		Pages that a scan keeps for its rescans, and those that it has fetched ahead; roots of runs that a
 *		session keeps.
 */
#include "store/kept_pages.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

/*
 * After so many pages that were in shared buffers, none is fetched until a page is read that is
 * not.
 */
#define MOST_IN_VAIN	64

static int	in_vain;
static int64 reads;				/* of the session, when it was looked last */

Page
rencoder_kept_read(RencoderKept *kept, Relation index, BlockNumber blkno, uint16 page_id, char *room,
				   int64 *npages, const char **fault)
{
	Page		copy = kept == NULL ? NULL : rencoder_kept_find(kept, blkno);
	Buffer		buf;

	/* A damaged page may name one of another type. */
	if (copy != NULL && rencoder_page_fault(copy, blkno, page_id) == NULL)
		return copy;
	if (npages != NULL)
		(*npages)++;
	buf = rencoder_page_try_read(index, blkno, page_id, fault);
	if (!BufferIsValid(buf))
		return NULL;
	copy = room;
	if (kept != NULL && kept->keeps && kept->n < RENCODER_KEPT_PAGES)
	{
		if (kept->n == kept->nrooms)
			kept->page[kept->nrooms++] = MemoryContextAlloc(kept->context, BLCKSZ);
		kept->blkno[kept->n] = blkno;
		copy = kept->page[kept->n++];
	}
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	return copy;
}

void
rencoder_kept_prefetch_begin(RencoderPrefetch *prefetch, Relation index, RencoderKept *kept)
{
	prefetch->kept = kept;
	prefetch->index = index;
	prefetch->distance = (uint32) get_tablespace_io_concurrency(index->rd_rel->reltablespace);
}

bool
rencoder_kept_prefetch_is_vain(void)
{
	if (reads != pgBufferUsage.shared_blks_read)
		in_vain = 0;
	reads = pgBufferUsage.shared_blks_read;
	return in_vain >= MOST_IN_VAIN;
}

void
rencoder_kept_prefetch_page(const RencoderPrefetch *prefetch, BlockNumber blkno)
{
	if (rencoder_kept_prefetch_is_vain() || prefetch->distance == 0 || blkno == RENCODER_NO_BLOCK ||
		rencoder_kept_find(prefetch->kept, blkno) != NULL ||
		!rencoder_meta_has_block(prefetch->index, blkno))
		return;
	rencoder_kept_prefetch_block(prefetch->index, blkno);
}

void
rencoder_kept_prefetch_block(Relation rel, BlockNumber blkno)
{
	in_vain = PrefetchBuffer(rel, MAIN_FORKNUM, blkno).initiated_io ? 0 : in_vain + 1;
}

/* ---- Roots ---- */

/*
 * A page of a LIVE run never changes, and its number is given to no other run of the index's file.
 * So a copy serves as long as the catalog has the run: a scan reads the metapage, and no root
 * again.
 *
 * An index that is built anew in the same file (TRUNCATE of a table of this transaction) begins
 * with run 1 again: the build forgets what is kept.  So does one whose file is named as that of an
 * index which was dropped, after 4 billion others: of this the relation cache is told.
 */

/* As many are kept, half a megabyte at most: of all runs of an index, if it is one. */
#define KEPT_ROOTS	RENCODER_MAX_RUNS

typedef struct KeptRoot
{
	BlockNumber blkno;			/* of the index */
	uint32		run;			/* 0: none */
	Oid			indexoid;
	RencoderLocator locator;
	Size		room;			/* of "page" */
	char	   *page;			/* or NULL */
} KeptRoot;

static KeptRoot roots[KEPT_ROOTS];
static bool registered = false;

/* A relcache callback: forgets roots of an index, or of all. */
static void
forget_run_roots(Datum arg, Oid relid)
{
	for (int i = 0; i < KEPT_ROOTS; i++)
	{
		if (!OidIsValid(relid) || roots[i].indexoid == relid)
			roots[i].run = 0;
	}
}

void
rencoder_run_roots_forget(Relation index)
{
	forget_run_roots((Datum) 0, RelationGetRelid(index));
}

/* Runs of an index, whose numbers are mostly near, do not take the place of each other. */
static KeptRoot *
place_of_root(Relation index, uint32 run, int tree)
{
	return &roots[(run + 23 * (uint32) tree + 7 * RelationGetRelid(index)) % KEPT_ROOTS];
}

Page
rencoder_kept_root_find(Relation index, uint32 run, int tree, BlockNumber blkno)
{
	const KeptRoot *root = place_of_root(index, run, tree);

	return root->blkno == blkno && root->run == run && root->indexoid == RelationGetRelid(index) &&
		memcmp(&root->locator, &rencoder_relation_locator(index), sizeof(RencoderLocator)) == 0 ?
		root->page : NULL;
}

void
rencoder_kept_root_keep(Relation index, uint32 run, int tree, BlockNumber blkno, const char *page,
						Size size)
{
	KeptRoot   *root = place_of_root(index, run, tree);

	if (!registered)
		CacheRegisterRelcacheCallback(forget_run_roots, (Datum) 0);
	registered = true;
	root->run = 0;
	if (root->room < size)
	{
		if (root->page != NULL)
			pfree(root->page);
		root->page = NULL;
		root->room = 0;
		root->page = MemoryContextAlloc(TopMemoryContext, size);
		root->room = size;
	}
	memcpy(root->page, page, size);
	root->blkno = blkno;
	root->indexoid = RelationGetRelid(index);
	root->locator = rencoder_relation_locator(index);
	root->run = run;
}
