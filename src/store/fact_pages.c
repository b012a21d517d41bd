/*
 * fact_pages.c
 *		Facts: what scans read in vain, kept in the index.
 */
#include "store/fact_pages.h"

#include "filter/renc_hash.h"

/* Of the index as well: a page of another one, in the wrong place, says nothing. */
static uint32
fact_check(Relation index, const RencoderFact *fact)
{
	return (uint32) renc_hash_bytes(fact, offsetof(RencoderFact, check),
									rencoder_locator_number(rencoder_relation_locator(index)));
}

/* The bucket of an interval in its page, which is locked; NULL, and nothing is: there is none. */
static RencoderFact *
find_fact_bucket(Relation index, BlockNumber root, uint64 lo, uint64 hi, int lockmode, Buffer *buf)
{
	uint64		interval[] = {lo, hi};
	uint64		hash = renc_hash_bytes(interval, sizeof(interval), 0);

	*buf = rencoder_hints_lock(index, root + (BlockNumber) (hash % RENCODER_FACT_PAGES),
							   RENCODER_PAGE_FACTS, lockmode, NULL);
	return !BufferIsValid(*buf) ? NULL :
		(RencoderFact *) RencoderPageGetPayload(BufferGetPage(*buf)) +
		(hash >> 32) % RENCODER_PAGE_BUCKETS * RENCODER_BUCKET_FACTS;
}

RencoderFact *
rencoder_facts_find(Relation index, BlockNumber root, uint64 lo, uint64 hi, int *n)
{
	Buffer		buf;
	const RencoderFact *fact = root == RENCODER_NO_BLOCK ? NULL :
		find_fact_bucket(index, root, lo, hi, BUFFER_LOCK_SHARE, &buf);
	RencoderFact *found = NULL;

	*n = 0;
	for (int i = 0; i < RENCODER_BUCKET_FACTS && fact != NULL; i++, fact++)
	{
		if (fact->lo != lo || fact->hi != hi || fact->check != fact_check(index, fact))
			continue;
		if (found == NULL)
			found = palloc(RENCODER_BUCKET_FACTS * sizeof(RencoderFact));
		found[(*n)++] = *fact;
	}
	if (fact != NULL)
		UnlockReleaseBuffer(buf);
	return found;
}

int
rencoder_facts_read_page(Relation index, BlockNumber blkno, RencoderFact *facts)
{
	Buffer		buf = rencoder_hints_lock(index, blkno, RENCODER_PAGE_FACTS, BUFFER_LOCK_SHARE, NULL);
	const RencoderFact *fact;
	int			n = 0;

	if (!BufferIsValid(buf))
		return 0;
	fact = (const RencoderFact *) RencoderPageGetPayload(BufferGetPage(buf));
	for (int i = 0; i < RENCODER_PAGE_MAX_FACTS; i++)
	{
		if (fact[i].check == fact_check(index, &fact[i]))
			facts[n++] = fact[i];
	}
	UnlockReleaseBuffer(buf);
	return n;
}

void
rencoder_facts_put(Relation index, BlockNumber root, const RencoderFact *fact)
{
	Buffer		buf;
	RencoderFact *bucket = find_fact_bucket(index, root, fact->lo, fact->hi, BUFFER_LOCK_EXCLUSIVE, &buf);

	if (bucket == NULL)
		return;
	memmove(bucket + 1, bucket, (RENCODER_BUCKET_FACTS - 1) * sizeof(RencoderFact));
	*bucket = *fact;
	bucket->check = fact_check(index, fact);
	rencoder_hints_changed(index, buf);
}
