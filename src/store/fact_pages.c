/*
 * fact_pages.c
 *		Facts: what scans read in vain, kept in the index.
 */
#include "store/fact_pages.h"

#include "filter/renc_hash.h"

#define BUCKET_FACTS	50
#define PAGE_BUCKETS	(RENCODER_PAYLOAD_SIZE / (BUCKET_FACTS * sizeof(RencoderFact)))

BlockNumber
rencoder_facts_make(Relation index)
{
	BlockNumber root;
	RencoderWal *wal;
	Buffer		buf;

	if (!rencoder_meta_try_maintainer(index))
		return RENCODER_NO_BLOCK;
	buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	root = RencoderPageGetMeta(BufferGetPage(buf))->fact_root;
	UnlockReleaseBuffer(buf);
	if (root == RENCODER_NO_BLOCK)
	{
		root = rencoder_space_alloc(index, RENCODER_FACT_PAGES).start;
		for (uint32 i = 0; i < RENCODER_FACT_PAGES; i++)
			rencoder_wal_write_fresh(index, root + i, RENCODER_PAGE_FACTS, NULL, true);
		buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
		wal = rencoder_wal_begin(index, true);
		RencoderPageGetMeta(rencoder_wal_register(wal, buf))->fact_root = root;
		rencoder_wal_finish(wal);
		UnlockReleaseBuffer(buf);
	}
	rencoder_meta_unlock_maintainer(index);
	return root;
}

/* Of the index as well: a page of another one, in the wrong place, says nothing. */
static uint64
fact_check(Relation index, const RencoderFact *fact)
{
	return renc_hash_bytes(fact, offsetof(RencoderFact, check),
						   rencoder_locator_number(rencoder_relation_locator(index)));
}

/* The bucket of a fact in its page, which is locked; NULL, and nothing is: there is none. */
static RencoderFact *
find_bucket(Relation index, BlockNumber root, const RencoderFact *fact, int lockmode, Buffer *buf)
{
	uint64		hash = renc_hash_number(((uint64) fact->col << 32) | fact->first);
	BlockNumber blkno = root + (BlockNumber) (hash % RENCODER_FACT_PAGES);

	/* The metapage may be damaged. */
	if (!rencoder_meta_has_block(index, blkno))
		return NULL;
	*buf = ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR, NULL);
	LockBuffer(*buf, lockmode);
	if (rencoder_page_fault(BufferGetPage(*buf), blkno, RENCODER_PAGE_FACTS) == NULL)
		return (RencoderFact *) RencoderPageGetPayload(BufferGetPage(*buf)) +
			(hash >> 32) % PAGE_BUCKETS * BUCKET_FACTS;
	UnlockReleaseBuffer(*buf);
	return NULL;
}

bool
rencoder_facts_known(Relation index, BlockNumber root, const RencoderFact *asked)
{
	Buffer		buf;
	const RencoderFact *fact = find_bucket(index, root, asked, BUFFER_LOCK_SHARE, &buf);
	bool		known = false;

	if (fact == NULL)
		return false;
	for (int i = 0; i < BUCKET_FACTS && !known; i++, fact++)
		known = fact->first == asked->first && fact->npages == asked->npages &&
			fact->col == asked->col && fact->epoch == asked->epoch && fact->lo <= asked->lo &&
			fact->hi >= asked->hi && fact->check == fact_check(index, fact);
	UnlockReleaseBuffer(buf);
	return known;
}

void
rencoder_facts_put(Relation index, BlockNumber root, const RencoderFact *fact)
{
	Buffer		buf;
	RencoderFact *bucket = find_bucket(index, root, fact, BUFFER_LOCK_EXCLUSIVE, &buf);

	if (bucket == NULL)
		return;
	memmove(bucket + 1, bucket, (BUCKET_FACTS - 1) * sizeof(RencoderFact));
	*bucket = *fact;
	bucket->check = fact_check(index, fact);
	MarkBufferDirtyHint(buf, true);
	UnlockReleaseBuffer(buf);
}
