/*
 * run_roots.c
 *		Roots of runs that this session has searched.
 *
 * An index that is built anew in the same file (TRUNCATE of a table of this transaction) begins with
 * run 1 again: the build forgets what is kept.  So does one whose file is named as that of an index
 * which was dropped, after 4 billion others: of this the relation cache is told.
 */
#include "store/run_roots.h"

#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* As many are kept, 128 kB at most. */
#define KEPT_ROOTS	16

typedef struct KeptRoot
{
	BlockNumber blkno;			/* of the index */
	uint32		run;			/* 0: none */
	Oid			indexoid;
	RencoderLocator locator;
	Size		size;
	char	   *page;			/* room of BLCKSZ, or NULL */
} KeptRoot;

static KeptRoot roots[KEPT_ROOTS];
static int	oldest;
static bool registered = false;

/* A relcache callback: forgets roots of an index, or of all. */
static void
forget_roots(Datum arg, Oid relid)
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
	forget_roots((Datum) 0, RelationGetRelid(index));
}

bool
rencoder_run_root_find(Relation index, uint32 run, BlockNumber blkno, char *room)
{
	for (int i = 0; i < KEPT_ROOTS; i++)
	{
		const KeptRoot *root = &roots[i];

		if (root->blkno != blkno || root->run != run || root->indexoid != RelationGetRelid(index) ||
			memcmp(&root->locator, &rencoder_relation_locator(index), sizeof(RencoderLocator)) != 0)
			continue;
		memcpy(room, root->page, root->size);
		return true;
	}
	return false;
}

void
rencoder_run_root_keep(Relation index, uint32 run, BlockNumber blkno, const char *page, Size size)
{
	KeptRoot   *root = &roots[oldest];

	if (!registered)
		CacheRegisterRelcacheCallback(forget_roots, (Datum) 0);
	registered = true;
	root->run = 0;
	if (root->page == NULL)
		root->page = MemoryContextAlloc(TopMemoryContext, BLCKSZ);
	memcpy(root->page, page, size);
	root->size = size;
	root->blkno = blkno;
	root->indexoid = RelationGetRelid(index);
	root->locator = rencoder_relation_locator(index);
	root->run = run;
	oldest = (oldest + 1) % KEPT_ROOTS;
}
