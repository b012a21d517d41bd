/*
 * scan_facts.c
 *		Facts (a run names a page in vain for an interval of keys): found, heeded, made.
 *
 * What was read in vain is not read again.
 * That a query is asked again is known from a table of the session, of 16 bits for a query.  Only
 * then the page of facts is read; a scan that is not repeated costs a hash, if runs name pages.
 */
#include "scan/scan_facts.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "filter/renc_hash.h"
#include "scan/scan_stats.h"
#include "store/sample_pages.h"
#include "table/heap_read.h"

/* Facts that a scan makes. */
#define MAX_FACTS		(RENCODER_BUCKET_FACTS / 2)

/* Once examined, a query is examined again one time in so many. */
#define AGAIN			64

/* Of a query, 14 bits of its hash and one of these, among the last of the same place. */
#define SEEN_ONCE		1
#define SEEN_EXAMINED	2

static uint16 seen_queries[8192][4];

/* What a run named a page by, of which nothing is known. */
typedef struct MissingFact
{
	RencoderFact fact;
	const RencoderKeySet *keys;
} MissingFact;

struct RencoderScanFacts
{
	RencoderQuery *query;
	BlockNumber root;			/* RENCODER_NO_BLOCK: there are no facts */
	bool		remembers;
	bool		may_make;
	const RencoderKeySet *keys; /* that "known" is of; NULL: not looked yet */
	RencoderFact *known;
	int			nknown;
	int			nsaved;			/* pages */
	int			nmissing;
	MissingFact *missing;
};

/*
 * The column that facts are of; -1: there are none.  Of several, one may leave out what another
 * names.
 */
static int
find_fact_column(const RencoderRunScan *scan)
{
	const RencoderCopies *copies = scan->copies;
	int			found = -1;

	if (!rencoder_enable_facts || scan->snapshot == NULL || !IsMVCCSnapshot(scan->snapshot) ||
		copies->nblocks < RENCODER_SAMPLE_MIN_HEAP || rencoder_removes_early())
		return -1;
	for (int i = 0; i < scan->nasked; i++)
	{
		if (!scan->query->column[scan->asked[i].col].has_keys)
			continue;
		if (found >= 0)
			return -1;
		found = scan->asked[i].col;
	}
	return found;
}

/*
 * Remembers that a query is asked, also on a standby and in parallel mode, which make no facts.
 * Only if the session has asked it before, it looks for facts, and may make some.
 */
static void
find_known(RencoderScanFacts *facts, const RencoderFact *asked)
{
	Relation	index = facts->query->index;
	uint64		identity[] = {RelationGetRelid(index), asked->lo, asked->hi, asked->storage};
	uint64		hash = renc_hash_bytes(identity, sizeof(identity), 0);
	uint16	   *seen = seen_queries[hash % lengthof(seen_queries)];
	uint16		tag = (uint16) (hash >> 48) & ~3;
	int			i = 0;
	uint16		was;
	bool		again;

	while (i < 3 && (seen[i] & ~3) != tag)
		i++;
	was = seen[i] ^ tag;
	again = was == SEEN_ONCE || was == SEEN_EXAMINED;
	facts->nknown = 0;
	facts->known = !again ? NULL :
		rencoder_facts_find(index, facts->root, asked->lo, asked->hi, &facts->nknown);
	if (!facts->remembers)
		return;
	memmove(seen + 1, seen, i * sizeof(*seen));
	seen[0] = tag | (was == SEEN_EXAMINED || (again && facts->may_make) ? SEEN_EXAMINED : SEEN_ONCE);
	facts->may_make &= was == SEEN_ONCE || (again && pg_prng_uint32(&pg_global_prng_state) % AGAIN == 0);
}

/* Notes a fact to be made, if there is room for it. */
static void
add_missing_fact(RencoderScanFacts *facts, const RencoderFact *fact, const RencoderKeySet *keys)
{
	if (!facts->may_make || facts->nmissing == MAX_FACTS)
		return;
	if (facts->nmissing == 0)
		facts->missing = palloc(MAX_FACTS * sizeof(MissingFact));
	facts->missing[facts->nmissing].fact = *fact;
	facts->missing[facts->nmissing++].keys = keys;
}

/* Is it known that a run names a page in vain, for which a column is asked for "keys"? */
static bool
facts_exclude(RencoderScanFacts *facts, const RencoderRunEntry *run, const RencoderKeySet *keys,
			  int col, BlockNumber page)
{
	RencoderFact fact = {.page = page};

	if (run == NULL || keys == NULL || keys->none || keys->set.n + keys->boxes.n != 1)
		return false;
	fact.lo = keys->query.hull_lo;
	fact.hi = keys->query.hull_hi;
	fact.storage = rencoder_fact_storage(run->rank, col, keys->boxes.n);
	if (keys != facts->keys)
		find_known(facts, &fact);
	facts->keys = keys;
	for (int i = 0; i < facts->nknown; i++)
	{
		if (facts->known[i].page == page && facts->known[i].storage == fact.storage)
		{
			facts->nsaved++;
			return true;
		}
	}
	add_missing_fact(facts, &fact, keys);
	return false;
}

/* What a run was asked for by a search. */
static const RencoderKeySet *
keys_of_searched_run(const RencoderRunScan *scan, const RencoderRunEntry *entry)
{
	return entry == NULL ? NULL : scan->run[entry - scan->copies->catalog.entry].keys;
}

RencoderScanFacts *
rencoder_scan_facts_apply(const RencoderRunScan *scan, renc_stretches *rows)
{
	const RencoderCopies *copies = scan->copies;
	int			col = find_fact_column(scan);
	bool		remembers = !copies->rescans && !scan->inspects;
	bool		may_make = remembers && !RecoveryInProgress() && !IsInParallelMode();
	renc_stretches_cursor cursor = {0};
	uint64		row[RENC_ROW_WORDS];
	RencoderScanFacts *facts;
	renc_stretches left;
	uint32		page;
	int			at = 0;

	if (col < 0 || rows->n == 0 || (copies->catalog.fact_root == RENCODER_NO_BLOCK && !may_make))
		return NULL;
	facts = palloc0(sizeof(RencoderScanFacts));
	facts->query = scan->query;
	facts->root = copies->catalog.fact_root;
	facts->remembers = remembers;
	facts->may_make = may_make;
	left = *rows;
	left.stretch = NULL;
	left.n = left.room = 0;
	while (renc_stretches_next(rows, &cursor, &page, row))
	{
		const RencoderRunEntry *run;
		const RencoderKeySet *keys;

		at = rencoder_copies_seek(copies, at, page);
		run = copies->segment[at].run;
		keys = keys_of_searched_run(scan, run);
		if (!facts_exclude(facts, run, keys, col, page))
			renc_stretches_add_pages(&left, page, 1);

		/* Most are of a query that nothing is known of. */
		if (facts->nsaved == 0 && facts->nknown == 0 && keys != NULL &&
			(!facts->may_make || facts->nmissing == MAX_FACTS))
			break;
	}
	if (facts->nsaved > 0)
		renc_stretches_keep(rows, &left);
	renc_stretches_end(&left);
	return facts;
}

/*
 * Makes what facts are missing and true (INV-16), and pages for them, if no other maintainer is at
 * work.  By a sample of the query the cells that are made next tell such keys apart.  Whoever scans
 * has locked the table.
 */
static void
make_facts(void *arg)
{
	RencoderScanFacts *facts = (RencoderScanFacts *) arg;
	Relation	index = facts->query->index;
	Relation	heap = table_open(index->rd_index->indrelid, NoLock);

	for (int i = 0; i < facts->nmissing; i++)
	{
		const RencoderFact *fact = &facts->missing[i].fact;
		const RencoderKeySet *keys = facts->missing[i].keys;
		int			col = rencoder_fact_col(fact);
		RencoderSample sample = rencoder_sample_interval(fact->lo, fact->hi, keys->generation,
														 RENCODER_SAMPLE_SCAN);
		const RencoderCoder *coder;

		if (!rencoder_coder_find(facts->query->coders, index, col, keys->generation, &coder) ||
			!rencoder_heap_lacks(heap, index, col, coder, fact->page, 1, keys))
			continue;
		if (rencoder_sample_rate > 0 && keys->boxes.n == 0)
			rencoder_samples_store_as_hint(index, col, &sample, 1);
		if (facts->root == RENCODER_NO_BLOCK)
		{
			if (!rencoder_meta_try_lock_maintainer(index))
				break;
			facts->root = rencoder_space_make_root(index, RENCODER_PAGE_FACTS, RENCODER_FACT_PAGES,
												   true);
			rencoder_meta_unlock_maintainer(index);
		}
		rencoder_facts_put(index, facts->root, fact);
	}
	table_close(heap, NoLock);
}

void
rencoder_scan_facts_end(RencoderScanFacts *facts)
{
	RencoderStats stats = {.count[RENCODER_STATS_SAVED_PAGES] = facts == NULL ? 0 : facts->nsaved};

	if (facts != NULL && facts->nsaved > 0)
		rencoder_scan_stats_add(RelationGetRelid(facts->query->index), &stats, 0);
	if (facts != NULL && facts->nmissing > 0)
		(void) rencoder_best_effort(make_facts, facts, facts->query->index,
									"note what is read in vain");
}
