/*
 * scan_facts.c
 *		Facts (storage names pages in vain for an interval of keys): found, heeded, made.
 *
 * What was read in vain is not read again.
 * That a query is asked again is known from a table of the session, of 16 bits for a query.  Only
 * then the page of facts is read; a scan that is not repeated costs a hash, if storage names pages.
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

/* Facts that a scan makes, and heap pages that it reads for them. */
#define MAX_FACTS		(RENCODER_BUCKET_FACTS / 2)
#define MAX_READS		2048

/* Once examined, a query is examined again one time in so many. */
#define AGAIN			64

/* Of a query, 14 bits of its hash and one of these, among the last of the same place. */
#define SEEN_ONCE		1
#define SEEN_EXAMINED	2

static uint16 seen_queries[8192][4];

/* What storage named pages by, of which nothing is known. */
typedef struct MissingFact
{
	RencoderFact fact;
	const RencoderKeySet *keys;
} MissingFact;

RencoderScanFacts *
rencoder_scan_facts_begin(RencoderQuery *query, const RencoderCopies *copies, BlockNumber nblocks,
						  Snapshot snapshot, bool counts)
{
	bool		remembers = counts && !copies->rescans;
	bool		may_make = remembers && !RecoveryInProgress() && !IsInParallelMode();
	RencoderScanFacts *facts;
	int			nasked = 0;

	if (!rencoder_enable_facts || snapshot == NULL || !IsMVCCSnapshot(snapshot) ||
		nblocks < RENCODER_SAMPLE_MIN_HEAP || rencoder_removes_early() ||
		(copies->metadata.fact_root == RENCODER_NO_BLOCK && !may_make))
		return NULL;

	/* Of several columns, one may leave out what another one names. */
	for (int col = 0; col < query->natts; col++)
		nasked += query->column[col].has_keys;
	if (nasked != 1)
		return NULL;
	facts = palloc0(sizeof(RencoderScanFacts));
	facts->query = query;
	facts->root = copies->metadata.fact_root;
	facts->counts = counts;
	facts->remembers = remembers;
	facts->may_make = may_make;
	return facts;
}

/*
 * Remembers that a query is asked, also on a standby and in parallel mode, which make no facts.  Only
 * if the session has asked it before, it looks for facts, and may make some.
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
	if (facts->known != NULL)
		pfree(facts->known);
	facts->known = !again ? NULL :
		rencoder_facts_find(index, facts->root, asked->lo, asked->hi, &facts->nknown);
	if (!facts->remembers)
		return;
	memmove(seen + 1, seen, i * sizeof(*seen));
	seen[0] = tag | (was == SEEN_EXAMINED || (again && facts->may_make) ? SEEN_EXAMINED : SEEN_ONCE);
	facts->may_make &= was == SEEN_ONCE || (again && pg_prng_uint32(&pg_global_prng_state) % AGAIN == 0);
}

/* Notes a fact to be made. */
static void
add_missing_fact(RencoderScanFacts *facts, const RencoderFact *fact, const RencoderKeySet *keys,
				 uint32 npages)
{
	if (!facts->may_make || facts->nmissing >= Min(MAX_FACTS, MAX_READS / (int) npages))
		return;
	if (facts->nmissing == 0)
		facts->missing = palloc(MAX_FACTS * sizeof(MissingFact));
	facts->missing[facts->nmissing].fact = *fact;
	facts->missing[facts->nmissing++].keys = keys;
}

bool
rencoder_scan_facts_exclude(RencoderScanFacts *facts, const RencoderKeySet *keys, int col,
							BlockNumber first, uint32 npages, bool covered)
{
	RencoderFact fact = {.first = first};

	if (facts == NULL || keys == NULL || keys->none || keys->set.n + keys->boxes.n != 1)
		return false;
	fact.lo = keys->query.hull_lo;
	fact.hi = keys->query.hull_hi;
	fact.storage = rencoder_fact_storage(facts->epoch, col, keys->boxes.n, covered);
	if (keys != facts->keys)
		find_known(facts, &fact);
	facts->keys = keys;
	for (int i = 0; i < facts->nknown; i++)
		if (facts->known[i].first == first && facts->known[i].storage == fact.storage)
		{
			facts->nsaved += (int) npages;
			return true;
		}
	add_missing_fact(facts, &fact, keys, npages);
	return false;
}

/*
 * Makes what facts are missing and true (INV-16), and pages for them, if no other maintainer is at
 * work.  By a sample of the query the cells that are made next tell such keys apart.  Whoever scans has locked the table.
 */
static void
make_facts(void *arg)
{
	RencoderScanFacts *facts = (RencoderScanFacts *) arg;
	Relation	index = facts->query->index;
	uint32		nrange = rencoder_meta_get(index)->pages_per_range;
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
			!rencoder_heap_lacks(heap, index, col, coder, fact->first,
								 rencoder_fact_covered(fact) ? 1 : nrange, keys))
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

	if (facts != NULL && facts->counts && facts->nsaved > 0)
		rencoder_scan_stats_add(RelationGetRelid(facts->query->index), &stats, 0);
	if (facts != NULL && facts->nmissing > 0)
		(void) rencoder_best_effort(make_facts, facts, facts->query->index,
									"note what is read in vain");
}
