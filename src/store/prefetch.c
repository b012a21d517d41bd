/*
 * prefetch.c
 *		Pages of an index that will be read soon.
 */
#include "store/prefetch.h"

#include "utils/spccache.h"

void
rencoder_prefetch_begin(RencoderPrefetch *prefetch, Relation index, RencoderKept *kept)
{
	prefetch->kept = kept;
	prefetch->index = index;
	prefetch->distance = (uint32) get_tablespace_io_concurrency(index->rd_rel->reltablespace);
}

bool
rencoder_prefetch_page(const RencoderPrefetch *prefetch, BlockNumber blkno)
{
	if (prefetch->distance == 0 || blkno == RENCODER_NO_BLOCK ||
		rencoder_kept_find(prefetch->kept, blkno) != NULL ||
		!rencoder_meta_has_block(prefetch->index, blkno))
		return false;
	return PrefetchBuffer(prefetch->index, MAIN_FORKNUM, blkno).initiated_io;
}
