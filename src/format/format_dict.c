/*
 * format_dict.c
 *		Group format: exact dictionary, for columns with few distinct values.
 *
 * The pages of a slab are those of src/filter/renc_dict.h: one data page, or
 * a fence page and data pages in key order.
 */
#include "format/format_dict_work.h"

#include "filter/renc_dict.h"
#include "utils/memutils.h"

/* Has the slab a fence page, and what is its number of data pages? */
static inline bool
has_fence(const RencoderSlab *slab)
{
	return slab->extent.npages > 1;
}

static inline uint32
slab_data_pages(const RencoderSlab *slab)
{
	return has_fence(slab) ? slab->extent.npages - 1 : 1;
}

static inline BlockNumber
data_block(const RencoderSlab *slab, uint32 page)
{
	return slab->extent.start + page + (has_fence(slab) ? 1 : 0);
}

static const char *
dict_check_config(const RencoderConfig *config)
{
	for (int i = 0; i < RENCODER_CONFIG_WORDS; i++)
	{
		if (config->own[i] != 0)
			return "The configuration of the dictionary is not empty.";
	}
	return NULL;
}

static uint32
dict_capacity(const RencoderConfig *config)
{
	return 0;
}

/* All ranges of a slice must find room below one fence page. */
static bool
dict_fits(const RencoderConfig *config, uint32 distinct)
{
	return distinct <= renc_dict_max_pages(RENCODER_PAYLOAD_SIZE) *
		(renc_dict_capacity(RENCODER_PAYLOAD_SIZE, RENC_SLICE_WIDTH) / 2) /
		RENC_SLICE_RANGES;
}

static uint64
dict_max_entries(const RencoderConfig *config)
{
	return 0;
}

static uint32
dict_npages(const RencoderConfig *config, int width)
{
	return 0;
}

/* A fence page and a data page, mostly. */
static void
dict_estimate(const RencoderConfig *config, const RencoderKeySet *keys,
			  RencoderEstimate *estimate)
{
	estimate->fpr = 0;
	estimate->pages = 2;
}

static uint16
dict_page_id(uint32 npages, uint32 pageno)
{
	return RENCODER_PAGE_DICT;
}

static char *
dict_build(const RencoderConfig *config, int width, const renc_keys *ranges,
		   uint32 *npages)
{
	uint64	   *keys;
	renc_mask  *masks;
	size_t		nkeys = rencoder_collect_distinct(ranges, RENC_SLICE_RANGES * width, &keys, &masks);
	char	   *image;

	*npages = renc_dict_npages(nkeys, RENCODER_PAYLOAD_SIZE, width);
	if (*npages == 0)
		elog(ERROR, "dictionary of %zu keys is too large", nkeys);
	image = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) *npages * RENCODER_PAYLOAD_SIZE);
	renc_dict_build((uint8 *) image, RENCODER_PAYLOAD_SIZE, width, keys, masks, nkeys);
	pfree(keys);
	pfree(masks);
	return image;
}

/* A fence or data page for a scan; NULL, with fault set, if it is damaged. */
static const uint8 *
probe_dict_page(RencoderProbe *probe, const RencoderSlab *slab, BlockNumber blkno,
				bool fence)
{
	const uint8 *payload = rencoder_probe_page(probe, blkno, RENCODER_PAGE_DICT);
	const char *reason = NULL;

	if (payload == NULL)
		return NULL;
	if (fence ?
		!renc_dict_check_fence(payload, RENCODER_PAYLOAD_SIZE, slab_data_pages(slab), &reason) :
		!renc_dict_check_page(payload, RENCODER_PAYLOAD_SIZE, slab->width, &reason))
	{
		rencoder_probe_fault(probe, blkno, "A dictionary page is damaged.");
		return NULL;
	}
	return payload;
}

/* Adds the ranges of one data page to the result; false if it is damaged. */
static bool
probe_data_page(RencoderProbe *probe, const RencoderSlab *slab, uint32 p,
				renc_mask *result)
{
	const uint8 *page = probe_dict_page(probe, slab, data_block(slab, p), false);

	if (page == NULL)
		return false;
	*result = renc_mask_or(*result,
						   renc_dict_probe(page, RENCODER_PAYLOAD_SIZE, slab->width,
										   &probe->query));
	return true;
}

static renc_mask
dict_probe(RencoderProbe *probe, const RencoderSlab *slab, renc_mask candidates)
{
	renc_mask	result = renc_mask_none();
	const uint8 *page;
	uint8	   *fence;
	uint32		last;

	rencoder_probe_visit(probe, false); /* no page is asked for twice */
	if (!has_fence(slab))
	{
		if (!probe_data_page(probe, slab, 0, &result))
			return candidates;
		rencoder_probe_release(probe);
		return renc_mask_and(result, candidates);
	}

	/* The page is given up before the next one is read. */
	page = probe_dict_page(probe, slab, slab->extent.start, true);
	if (page == NULL)
		return candidates;
	fence = palloc(RENCODER_PAYLOAD_SIZE);
	memcpy(fence, page, RENCODER_PAYLOAD_SIZE);
	last = renc_dict_route(fence, probe->query.hull_hi);
	for (uint32 p = renc_dict_route(fence, probe->query.hull_lo); p <= last; p++)
	{
		if (!renc_dict_page_meets(fence, slab_data_pages(slab), p, &probe->query))
			continue;
		if (!probe_data_page(probe, slab, p, &result))
			result = candidates;
		if (renc_mask_empty(renc_mask_andnot(candidates, result)))
			break;
	}
	pfree(fence);
	rencoder_probe_release(probe);
	return renc_mask_and(result, candidates);
}

/* Reads and locks a dictionary page; raises an error if it is damaged. */
static Buffer
read_dict_page(const RencoderSlab *slab, BlockNumber blkno, bool fence, int lockmode)
{
	Buffer		buf = rencoder_page_read(slab->index, blkno, lockmode,
										 RENCODER_PAGE_DICT);
	const uint8 *payload = (const uint8 *) RencoderPageGetPayload(BufferGetPage(buf));
	const char *reason;

	if (fence ?
		!renc_dict_check_fence(payload, RENCODER_PAYLOAD_SIZE, slab_data_pages(slab), &reason) :
		!renc_dict_check_page(payload, RENCODER_PAYLOAD_SIZE, slab->width, &reason))
	{
		UnlockReleaseBuffer(buf);
		rencoder_page_corrupted(slab->index, blkno, psprintf("The %s.", reason));
	}
	return buf;
}

/* The block that holds or would hold "key". */
static BlockNumber
route_block(const RencoderSlab *slab, uint64 key)
{
	uint32		page = 0;

	if (has_fence(slab))
	{
		Buffer		buf = read_dict_page(slab, slab->extent.start, true,
										 BUFFER_LOCK_SHARE);

		page = renc_dict_route((const uint8 *) RencoderPageGetPayload(BufferGetPage(buf)),
							   key);
		UnlockReleaseBuffer(buf);
	}
	return data_block(slab, page);
}

/* Is the bit of (key, slot) set in a data page? */
static bool
is_present(const uint8 *payload, int width, uint64 key, unsigned int slot)
{
	renc_interval interval = {key, key};
	renc_interval_set set = {&interval, 1};
	renc_query	query = renc_query_intervals(&set);

	return renc_mask_test(renc_dict_probe(payload, RENCODER_PAYLOAD_SIZE, width, &query),
						  slot);
}

static RencoderInsertResult
dict_insert(const RencoderSlab *slab, unsigned int slot, uint64 key)
{
	BlockNumber blkno = route_block(slab, key);
	Buffer		buf = read_dict_page(slab, blkno, false, BUFFER_LOCK_SHARE);
	RencoderWal *wal;
	renc_dict_result result;
	bool		present;

	/* Few distinct values: nearly always it is there. */
	present = is_present((const uint8 *) RencoderPageGetPayload(BufferGetPage(buf)),
						 slab->width, key, slot);
	UnlockReleaseBuffer(buf);
	if (present)
		return RENCODER_INSERT_PRESENT;

	buf = read_dict_page(slab, blkno, false, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(slab->index, true);
	result = renc_dict_set((uint8 *) RencoderPageGetPayload(rencoder_wal_register(wal, buf)),
						   RENCODER_PAYLOAD_SIZE, slab->width, key, slot);
	if (result == RENC_DICT_ADDED)
		rencoder_wal_finish(wal);
	else
		rencoder_wal_abort(wal);
	UnlockReleaseBuffer(buf);

	switch (result)
	{
		case RENC_DICT_PRESENT:
			return RENCODER_INSERT_PRESENT;
		case RENC_DICT_ADDED:
			return RENCODER_INSERT_ADDED;
		case RENC_DICT_FULL:
			break;
	}
	return RENCODER_INSERT_REFUSED;
}

static renc_mask
dict_merge(const RencoderSlab *slab, const renc_keys *ranges)
{
	renc_mask	refused = renc_mask_none();

	for (int slot = 0; slot < rencoder_slab_ranges(slab); slot++)
	{
		for (size_t i = 0; i < ranges[slot].n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (dict_insert(slab, slot, ranges[slot].key[i]) == RENCODER_INSERT_REFUSED)
			{
				renc_mask_set(&refused, slot);
				break;
			}
		}
	}
	return refused;
}

static void
dict_clear(const RencoderSlab *slab, renc_mask slots)
{
	for (uint32 p = 0; p < slab_data_pages(slab); p++)
	{
		Buffer		buf;
		RencoderWal *wal;

		CHECK_FOR_INTERRUPTS();
		buf = read_dict_page(slab, data_block(slab, p), false, BUFFER_LOCK_EXCLUSIVE);
		wal = rencoder_wal_begin(slab->index, true);
		if (renc_dict_clear((uint8 *) RencoderPageGetPayload(rencoder_wal_register(wal, buf)),
							RENCODER_PAYLOAD_SIZE, slab->width, slots))
			rencoder_wal_finish(wal);
		else
			rencoder_wal_abort(wal);
		UnlockReleaseBuffer(buf);
	}
}

static void
dict_count(const RencoderSlab *slab, renc_mask slots, uint32 *counts)
{
	for (uint32 p = 0; p < slab_data_pages(slab); p++)
	{
		const uint8 *payload;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		buf = read_dict_page(slab, data_block(slab, p), false, BUFFER_LOCK_SHARE);
		payload = (const uint8 *) RencoderPageGetPayload(BufferGetPage(buf));
		for (uint32 i = 0; i < renc_dict_nentries(payload); i++)
		{
			renc_mask	mask;

			(void) renc_dict_entry(payload, RENCODER_PAYLOAD_SIZE, slab->width, i, &mask);
			for (int slot = 0; slot < rencoder_slab_ranges(slab); slot++)
				counts[slot] += renc_mask_test(mask, slot);
		}
		UnlockReleaseBuffer(buf);
	}
}

/* A copy of a page's payload, read under share lock. */
static uint8 *
copy_dict_page(const RencoderSlab *slab, BlockNumber blkno, bool fence)
{
	Buffer		buf = read_dict_page(slab, blkno, fence, BUFFER_LOCK_SHARE);
	uint8	   *copy = palloc(RENCODER_PAYLOAD_SIZE);

	memcpy(copy, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
	UnlockReleaseBuffer(buf);
	return copy;
}

static void
dict_check(const RencoderSlab *slab)
{
	uint8	   *fence = NULL;
	const char *reason;

	if (has_fence(slab))
	{
		fence = copy_dict_page(slab, slab->extent.start, true);
		if (!renc_dict_check_fence_keys(fence, &reason))
			rencoder_page_corrupted(slab->index, slab->extent.start,
									psprintf("The %s.", reason));
	}
	for (uint32 p = 0; p < slab_data_pages(slab); p++)
	{
		uint8	   *page;
		uint64		lo = 0;
		uint64		hi = PG_UINT64_MAX;

		CHECK_FOR_INTERRUPTS();
		page = copy_dict_page(slab, data_block(slab, p), false);
		if (fence)
			renc_dict_page_bounds(fence, slab_data_pages(slab), p, &lo, &hi);
		if (!renc_dict_check_keys(page, lo, hi, &reason))
			rencoder_page_corrupted(slab->index, data_block(slab, p),
									psprintf("The %s.", reason));
		pfree(page);
	}
	if (fence)
		pfree(fence);
}

static char *
dict_describe(const RencoderConfig *config)
{
	return pstrdup("exact");
}

static uint32
count_bits(const RencoderSlab *slab, const uint8 *page)
{
	return renc_dict_nbits(page, RENCODER_PAYLOAD_SIZE, slab->width);
}

/* The entries of one slice as keys of its 8 ranges. */
static void
read_slice(const RencoderSlab *slab, RencoderCollector *c, int slice, uint32 *nbits)
{
	uint8	  **page = palloc(slab_data_pages(slab) * sizeof(uint8 *));
	renc_mask	mask;

	for (uint32 p = 0; p < slab_data_pages(slab); p++)
	{
		rencoder_vacuum_delay_point();
		page[p] = copy_dict_page(slab, data_block(slab, p), false);
		nbits[p] = count_bits(slab, page[p]);
	}

	/* The collector wants range after range. */
	for (int slot = 0; slot < RENC_SLICE_RANGES; slot++)
	{
		rencoder_collect_open(c, slice * RENC_SLICE_RANGES + slot);
		for (uint32 p = 0; p < slab_data_pages(slab); p++)
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 i = 0; i < renc_dict_nentries(page[p]); i++)
			{
				uint64		key = renc_dict_entry(page[p], RENCODER_PAYLOAD_SIZE,
												  slab->width, i, &mask);

				if (renc_mask_test(mask, slot))
					rencoder_collect_add(c, 0, key);
			}
		}
	}
	for (uint32 p = 0; p < slab_data_pages(slab); p++)
		pfree(page[p]);
	pfree(page);
}

/* The bits set in each data page of each slice when it was read. */
struct RencoderSealMarks
{
	uint32	   *nbits[RENC_GROUP_SLICES];
};

static RencoderCollector *
dict_seal_read(Relation index, const RencoderConfig *config, const RencoderExtent *slices,
			   RencoderSealMarks **result)
{
	RencoderCollector *c = rencoder_collect_create(1);
	RencoderSealMarks *marks = palloc(sizeof(RencoderSealMarks));

	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		RencoderSlab slab = rencoder_slab_part(index, config, slices[s]);

		marks->nbits[s] = palloc(slab_data_pages(&slab) * sizeof(uint32));
		read_slice(&slab, c, s, marks->nbits[s]);
	}
	rencoder_collect_close(c, RENC_GROUP_RANGES);
	*result = marks;
	return c;
}

/* Adds the entries of a slice's page to the matrix. */
static void
insert_page(const RencoderSlab *new, const RencoderSlab *slab, const uint8 *page,
			int slice, renc_mask *skip)
{
	const RencoderFormat *format = rencoder_format_of(new->config);

	for (uint32 i = 0; i < renc_dict_nentries(page); i++)
	{
		renc_mask	mask;
		uint64		key = renc_dict_entry(page, RENCODER_PAYLOAD_SIZE, slab->width, i,
										  &mask);

		for (int slot = 0; slot < RENC_SLICE_RANGES; slot++)
		{
			int			range = slice * RENC_SLICE_RANGES + slot;

			if (renc_mask_test(mask, slot) && !renc_mask_test(*skip, range) &&
				format->insert(new, range, key) == RENCODER_INSERT_REFUSED)
				renc_mask_set(skip, range);
		}
	}
}

static int
dict_seal_catch_up(const RencoderConfig *config, const RencoderExtent *slices,
				   RencoderSealMarks *marks, const RencoderSlab *new, renc_mask *skip)
{
	int			changed = 0;

	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		RencoderSlab slab = rencoder_slab_part(new->index, config, slices[s]);

		for (uint32 p = 0; p < slab_data_pages(&slab); p++)
		{
			Buffer		buf = read_dict_page(&slab, data_block(&slab, p), false,
											 BUFFER_LOCK_SHARE);
			const uint8 *payload = (const uint8 *) RencoderPageGetPayload(BufferGetPage(buf));
			uint32		nbits = count_bits(&slab, payload);
			uint8	   *copy = NULL;

			if (nbits != marks->nbits[s][p])
			{
				copy = palloc(RENCODER_PAYLOAD_SIZE);
				memcpy(copy, payload, RENCODER_PAYLOAD_SIZE);
			}
			UnlockReleaseBuffer(buf);
			if (copy == NULL)
				continue;
			insert_page(new, &slab, copy, s, skip);
			pfree(copy);
			marks->nbits[s][p] = nbits;
			changed++;
		}
	}
	return changed;
}

const RencoderFormat rencoder_format_dict = {
	.name = "dictionary",
	.offer = rencoder_dict_offer,
	.check_config = dict_check_config,
	.describe = dict_describe,
	.capacity = dict_capacity,
	.fits = dict_fits,
	.max_entries = dict_max_entries,
	.npages = dict_npages,
	.estimate = dict_estimate,
	.page_id = dict_page_id,
	.build = dict_build,
	.seal_read = dict_seal_read,
	.seal_catch_up = dict_seal_catch_up,
	.probe = dict_probe,
	.insert = dict_insert,
	.merge = dict_merge,
	.clear = dict_clear,
	.count = dict_count,
	.check = dict_check,
};
