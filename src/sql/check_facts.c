/*
 * check_facts.c
 *		rencoder_index_check: are facts true (INV-16)?
 *
 * Facts are read once, at the beginning: a fact that is true stays so for its rank.  One of the rank
 * that covers its page hides keys there from the run; so check_heap.c looks for these in deltas
 * and the pending list alone.
 */
#include "sql/sql_check.h"

#include "filter/renc_zorder.h"

/* All valid facts; *n is their number. */
static CheckedFact *
read_checked_facts(Relation index, int *n)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_PAGE_FACTS);
	CheckedFact *facts = palloc(RENCODER_FACT_PAGES * RENCODER_PAGE_MAX_FACTS * sizeof(CheckedFact));
	RencoderFact *page = palloc(RENCODER_PAGE_MAX_FACTS * sizeof(RencoderFact));

	*n = 0;
	for (BlockNumber i = 0; i < RENCODER_FACT_PAGES && root != RENCODER_NO_BLOCK; i++)
	{
		int			npage = rencoder_facts_read_page(index, root + i, page);

		for (int j = 0; j < npage; j++)
		{
			facts[*n].fact = page[j];
			facts[(*n)++].blkno = root + i;
		}
	}
	pfree(page);
	return facts;
}

void
rencoder_check_facts_begin(CheckedFacts *facts, Relation index)
{
	int			natts = rencoder_key_columns(index);
	RencoderMetaPageData *metadata;

	facts->fact = read_checked_facts(index, &facts->n);
	facts->here = palloc(Max(facts->n, 1) * sizeof(CheckedFact *));
	facts->nhere = 0;
	metadata = rencoder_meta_copy(index);
	for (int i = 0; i < facts->n; i++)
	{
		const RencoderFact *fact = &facts->fact[i].fact;

		/* Its time may come. */
		if (rencoder_fact_rank(fact) == 0 || rencoder_fact_rank(fact) > metadata->last_rank ||
			rencoder_fact_col(fact) >= natts)
			rencoder_page_corrupted(index, facts->fact[i].blkno,
									"A fact is of a future rank, or of a column that the index does not have.");
	}
	pfree(metadata);
}

void
rencoder_check_facts_choose(CheckedFacts *facts, BlockNumber first, uint32 npages)
{
	facts->nhere = 0;
	for (int i = 0; i < facts->n; i++)
	{
		BlockNumber page = facts->fact[i].fact.page;

		if (page >= first && page - first < npages)
			facts->here[facts->nhere++] = &facts->fact[i];
	}
}

/* Does a query of what the fact is of ask for the key? */
static bool
checked_fact_has_key(const RencoderFact *fact, uint64 key)
{
	uint32		x[3];
	uint32		y[3];

	if (!rencoder_fact_is_box(fact))
		return key >= fact->lo && key <= fact->hi;
	renc_zorder_split(fact->lo, &x[0], &y[0]);
	renc_zorder_split(key, &x[1], &y[1]);
	renc_zorder_split(fact->hi, &x[2], &y[2]);
	return x[1] >= x[0] && x[1] <= x[2] && y[1] >= y[0] && y[1] <= y[2];
}

const CheckedFact *
rencoder_check_facts_find(const CheckedFacts *facts, uint32 rank, int tree, BlockNumber page, uint64 key)
{
	for (int i = 0; i < facts->nhere; i++)
	{
		const RencoderFact *fact = &facts->here[i]->fact;

		if (rencoder_fact_col(fact) == tree && rencoder_fact_rank(fact) == rank &&
			fact->page == page && checked_fact_has_key(fact, key))
			return facts->here[i];
	}
	return NULL;
}
