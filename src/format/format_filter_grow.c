/*
 * format_filter_grow.c
 *		Filters: a matrix that grows by slices, and is copied to a wider one.
 */
#include "format/format_filter_work.h"

#include "filter/renc_window.h"
#include "utils/memutils.h"

/*
 * Bits for all pages of a slab: of each page's payload "length" bytes from
 * "offset" on, those of page i from image + i * length on.
 */
typedef struct Addition
{
	char	   *image;			/* palloc'd; NULL: none */
	size_t		offset;
	size_t		length;
} Addition;

/* The bits of the keys of several ranges; only the bands that have any. */
static Addition
plan_filter_growth(const RencoderSlab *slab, const renc_keys *ranges)
{
	Addition	add = {NULL, 0, RENCODER_PAYLOAD_SIZE};
	int			first = RENC_GROUP_SLICES;
	int			last = -1;

	if (!rencoder_slab_is_whole(slab))
	{
		add.image = rencoder_filter_make_image(slab->config, ranges);
		return add;
	}
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (ranges[slot].n == 0)
			continue;
		last = slot / RENC_SLICE_RANGES;
		first = Min(first, last);
	}
	if (last < 0)
		return add;
	add.image = rencoder_filter_make_bands_image(slab->config, ranges + first * RENC_SLICE_RANGES,
												 last - first + 1);
	add.offset = (size_t) first * RENCODER_BAND_SIZE;
	add.length = (size_t) (last - first + 1) * RENCODER_BAND_SIZE;
	return add;
}

/* Would an image, ORed into bytes of a page, set a bit there? */
static bool
adds_bits_to_filter(const char *bytes, const char *image, size_t length)
{
	for (size_t i = 0; i < length; i++)
	{
		if (image[i] & ~bytes[i])
			return true;
	}
	return false;
}

/*
 * Adds to the pages from "first" on, as many as fit one record; returns the page
 * after them.
 */
static uint32
grow_some_pages(const RencoderSlab *slab, const Addition *add, uint32 first)
{
	uint32		end = Min(first + RENCODER_WAL_MAX_PAGES, slab->extent.npages);
	Buffer		changed[RENCODER_WAL_MAX_PAGES];
	RencoderWal *wal = NULL;
	int			n = 0;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = first; i < end; i++)
	{
		const char *image = add->image + i * add->length;
		Buffer		buf = rencoder_page_read(slab->index, slab->extent.start + i,
											 BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_WINDOWS);
		Page		page = BufferGetPage(buf);
		char	   *bytes;

		if (!adds_bits_to_filter(RencoderPageGetPayload(page) + add->offset, image, add->length))
		{
			UnlockReleaseBuffer(buf);
			continue;
		}
		if (wal == NULL)
			wal = rencoder_wal_begin(slab->index, true);
		changed[n++] = buf;
		page = rencoder_wal_register(wal, buf);
		bytes = RencoderPageGetPayload(page) + add->offset;
		for (size_t b = 0; b < add->length; b++)
			bytes[b] |= image[b];
		rencoder_page_raise_lower(page, (uint32) (bytes - page + add->length - 1));
	}
	if (wal != NULL)
		rencoder_wal_finish(wal);
	for (int i = 0; i < n; i++)
		UnlockReleaseBuffer(changed[i]);
	return end;
}

void
rencoder_filter_add_keys(const RencoderSlab *slab, const renc_keys *ranges)
{
	Addition	add = plan_filter_growth(slab, ranges);

	if (add.image != NULL)
	{
		for (uint32 i = 0; i < slab->extent.npages;)
			i = grow_some_pages(slab, &add, i);
		pfree(add.image);
	}
}

/*
 * Makes pages from "first" on, as many as fit one record, each with one band;
 * returns the page after them.
 */
static uint32
start_filter_pages(const RencoderSlab *matrix, int band, const char *image, uint32 first)
{
	uint32		end = Min(first + RENCODER_WAL_MAX_PAGES, matrix->extent.npages);
	RencoderWal *wal = rencoder_wal_begin(matrix->index, true);
	Buffer		buf[RENCODER_WAL_MAX_PAGES];

	for (uint32 i = first; i < end; i++)
	{
		BlockNumber blkno = matrix->extent.start + i;
		Page		page;
		char	   *bytes;

		buf[i - first] = rencoder_page_renew(matrix->index, blkno);
		page = rencoder_wal_register_new(wal, buf[i - first]);
		rencoder_page_init(page, blkno, RENCODER_PAGE_WINDOWS);
		rencoder_page_reset_lower(page);
		bytes = RencoderPageGetPayload(page) + (size_t) band * RENCODER_BAND_SIZE;
		memcpy(bytes, image + (size_t) i * RENCODER_BAND_SIZE, RENCODER_BAND_SIZE);
		rencoder_page_raise_lower(page, (uint32) (bytes - page));
	}
	rencoder_wal_finish(wal);
	for (uint32 i = first; i < end; i++)
		UnlockReleaseBuffer(buf[i - first]);
	return end;
}

void
rencoder_filter_make_pages(const RencoderSlab *slab, int slice, const renc_keys *ranges)
{
	char	   *image;

	if (slice >= 0 && rencoder_slab_is_whole(slab))
	{
		image = rencoder_filter_make_bands_image(slab->config, ranges + slice * RENC_SLICE_RANGES, 1);
		for (uint32 i = 0; i < slab->extent.npages;)
			i = start_filter_pages(slab, slice, image, i);
	}
	else
	{
		image = rencoder_filter_make_image(slab->config, ranges);
		rencoder_filter_write(slab, image, true);
	}
	pfree(image);
}

void
rencoder_filter_copy_to_wider(const RencoderSlab *slab, const RencoderSlab *wider)
{
	Size		from_size = WINDOW_SIZE(slab->config->width);
	Size		to_size = WINDOW_SIZE(wider->config->width);
	int			per_page = WINDOWS_PER_PAGE(slab->config->width);
	char	   *image = MemoryContextAllocExtended(CurrentMemoryContext,
												   (Size) wider->extent.npages * RENCODER_PAYLOAD_SIZE,
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint32 window = 0; window < slab->config->nwindows;)
	{
		Buffer		buf = rencoder_page_read(slab->index, slab->extent.start + window / per_page,
											 BUFFER_LOCK_SHARE, RENCODER_PAGE_WINDOWS);
		const char *payload = RencoderPageGetPayload(BufferGetPage(buf));

		for (int i = 0; i < per_page && window < slab->config->nwindows; i++, window++)
			memcpy(image + window * to_size, payload + i * from_size, from_size);
		UnlockReleaseBuffer(buf);
	}
	rencoder_filter_write(wider, image, true);
	pfree(image);
}
