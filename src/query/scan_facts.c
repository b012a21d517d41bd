/*
 * scan_facts.c
 *		What was read in vain is not read again.
 *
 * That a query is asked again is known from a table of the session, of 16 bits for a query: a scan
 * that is not repeated costs a hash and takes no lock.  What is read for a fact is what the executor
 * would read next.
 */
#include "query/scan_facts.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "filter/renc_hash.h"
#include "query/scan_stats.h"
#include "store/fact_pages.h"
#include "store/group_edit.h"
#include "store/sample_pages.h"
#include "table/heap_read.h"

/* Of many pages that runs name, most have rows; of so many a scan asks. */
#define RUN_LOOKUPS		32

/* Heap pages that a scan reads for facts. */
#define MAX_READS		2048

/* Once examined, a query is examined again one time in so many. */
#define AGAIN			64

/* A slot has 14 bits of a query's hash, and one of these. */
#define SEEN_ONCE		1
#define SEEN_EXAMINED	2
#define SEEN_SLOTS		32768

static uint16 seen_queries[SEEN_SLOTS];

RencoderScanFacts *
rencoder_scan_facts_begin(RencoderQuery *query, const RencoderCopies *copies, BlockNumber nblocks,
						  Snapshot snapshot, bool counts)
{
	bool		may_make = counts && copies->room == NULL && !RecoveryInProgress() && !IsInParallelMode();
	RencoderScanFacts *facts;
	int			nasked = 0;

	/* Of several columns, one may leave out what another one names. */
	for (int col = 0; col < query->natts; col++)
		nasked += query->column[col].has_keys;
	may_make &= nasked == 1;
	if (!rencoder_enable_facts || snapshot == NULL || !IsMVCCSnapshot(snapshot) ||
		nblocks < RENCODER_SAMPLE_MIN_HEAP || rencoder_removes_early() ||
		(copies->metadata.fact_root == RENCODER_NO_BLOCK && !may_make))
		return NULL;
	facts = palloc0(sizeof(RencoderScanFacts));
	facts->query = query;
	facts->metadata = &copies->metadata;
	facts->root = copies->metadata.fact_root;
	facts->counts = counts;
	facts->may_make = may_make;
	facts->lookups = RUN_LOOKUPS;
	facts->reads = MAX_READS;
	return facts;
}

/* Looks whether the query was asked before, and remembers it. */
static void
look_if_seen(RencoderScanFacts *facts, const RencoderFact *asked)
{
	uint64		identity[] = {RelationGetRelid(facts->query->index), facts->metadata->epoch,
	asked->col, asked->lo, asked->hi};
	uint64		hash = renc_hash_bytes(identity, sizeof(identity), 0);

	facts->seen = &seen_queries[hash % SEEN_SLOTS];
	facts->tag = (uint16) (hash >> 48) & ~3;
	if (*facts->seen == (facts->tag | SEEN_EXAMINED))
		facts->again = pg_prng_uint32(&pg_global_prng_state) % AGAIN == 0;
	else
	{
		facts->again = *facts->seen == (facts->tag | SEEN_ONCE);
		*facts->seen = facts->tag | (facts->again ? SEEN_EXAMINED : SEEN_ONCE);
	}
}

/*
 * Sees to it that rows that come to the range from now on are entries, also those that a run seems
 * to have already, as long as the group has this epoch.  False if it has another one.
 */
static bool
have_entries(Relation index, const RencoderFact *fact, bool covered, XLogRecPtr *lsn)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	uint64		range = rencoder_range_of_block(&meta, fact->first);
	unsigned int slot = rencoder_slot_of_range(range);
	RencoderGroup group;
	RencoderGroupEdit edit;

	if (!rencoder_group_locate(&group, index, &meta, rencoder_group_of_range(range)))
		return false;
	rencoder_group_edit_begin(&edit, &group, 0, RENCODER_EDIT_ENTRY, 0);
	if (edit.epoch == fact->epoch && covered && !rencoder_set_test(edit.first->has_fact, slot))
		rencoder_set_add(rencoder_group_edit_first(&edit)->has_fact, slot);
	rencoder_group_edit_finish(&edit);
	*lsn = edit.lsn;
	return edit.epoch == fact->epoch;
}

/* What rencoder_best_effort() does. */
typedef struct FactWork
{
	RencoderScanFacts *facts;
	const RencoderKeySet *keys;
	bool		covered;
	RencoderFact fact;
	bool		made;
} FactWork;

/*
 * Makes a fact, if the pages have no row with a key that is asked for, in the order of INV-16.  By a
 * sample of the query the cells that are made next tell such keys apart.
 */
static void
make_fact(void *arg)
{
	FactWork   *work = (FactWork *) arg;
	uint32		generation = work->keys->generation;
	RencoderCoders *coders = work->facts->query->coders;
	Relation	index = work->facts->query->index;
	RencoderFact *fact = &work->fact;
	RencoderSample sample = rencoder_sample_interval(fact->lo, fact->hi, generation,
													 RENCODER_SAMPLE_SCAN);
	const RencoderCoder *coder;
	Relation	heap;
	XLogRecPtr	lsn;

	if (!have_entries(index, fact, work->covered, &lsn) ||
		!rencoder_coder_find(coders, index, fact->col, generation, &coder))
		return;

	/* Whoever scans has locked it. */
	heap = table_open(index->rd_index->indrelid, NoLock);
	work->made = rencoder_heap_gap(heap, index, fact->col, coder, fact->first, fact->npages,
								   &fact->lo, &fact->hi, &lsn);
	table_close(heap, NoLock);
	if (work->made && work->facts->root == RENCODER_NO_BLOCK)
		work->facts->root = rencoder_facts_make(index);
	if (!work->made || work->facts->root == RENCODER_NO_BLOCK)
		return;
	if (RelationNeedsWAL(index))
		XLogFlush(lsn);
	rencoder_facts_put(index, work->facts->root, fact);
	if (rencoder_sample_rate > 0)
		rencoder_samples_hint(index, fact->col, &sample, 1);
}

/* Makes a fact, if the query was asked before.  What is too much is left for the next time. */
static bool
find_out(RencoderScanFacts *facts, FactWork *work)
{
	if (facts->may_make && facts->seen == NULL)
		look_if_seen(facts, &work->fact);
	if (!facts->again)
		return false;
	facts->reads -= work->fact.npages;
	if (facts->reads < 0)
		*facts->seen = facts->tag | SEEN_ONCE;
	facts->again = facts->reads >= 0 && rencoder_best_effort(make_fact, work, facts->query->index,
															 "note what is read in vain");
	return work->made && facts->again;
}

bool
rencoder_scan_facts_exclude(RencoderScanFacts *facts, const RencoderKeySet *keys, int col,
							BlockNumber first, uint32 npages, bool covered)
{
	RencoderStats stats = {.count[RENCODER_STATS_SAVED_PAGES] = npages};
	FactWork	work = {.facts = facts,.keys = keys,.covered = covered};

	if (facts == NULL || keys == NULL || keys->none || keys->set.n != 1 || keys->boxes.n > 0 ||
		npages > MAX_READS || (covered && facts->lookups-- <= 0))
		return false;
	work.fact.lo = keys->set.interval->lo;
	work.fact.hi = keys->set.interval->hi;
	work.fact.epoch = facts->epoch;
	work.fact.first = first;
	work.fact.npages = (uint16) npages;
	work.fact.col = (uint16) col;
	if (facts->root == RENCODER_NO_BLOCK ||
		!rencoder_facts_known(facts->query->index, facts->root, &work.fact))
		return find_out(facts, &work);
	if (facts->counts)
		rencoder_scan_stats_add(RelationGetRelid(facts->query->index), &stats);
	return true;
}
