/*
 * format_filter.c
 *		Group format: bit-sliced range filters.
 */
#include "format/format_filter_work.h"

#include "filter/renc_window.h"
#include "utils/memutils.h"

uint32
rencoder_filter_npages(const RencoderConfig *config, int width)
{
	uint32		nwindows = rencoder_filter_nwindows(config);

	return (nwindows + WINDOWS_PER_PAGE(width) - 1) / WINDOWS_PER_PAGE(width);
}

/* Filters can store anything, in the bits that are wanted. */
static bool
filter_offer(const RencoderCollector *c, int col, int width, double bits_per_key,
			 double limit, RencoderOffer *offer)
{
	offer->bits = c->column[col].nkeys * bits_per_key;
	offer->fpr = -1;
	return offer->bits <= limit;
}

static uint32
filter_capacity(const RencoderConfig *config)
{
	return rencoder_filter_config(config)->capacity;
}

static bool
filter_fits(const RencoderConfig *config, uint32 distinct)
{
	return !renc_rule_overfull(distinct, filter_capacity(config));
}

/* An entry is a bit. */
static uint64
filter_max_entries(const RencoderConfig *config)
{
	return (uint64) rencoder_filter_nwindows(config) * RENCODER_ROWS;
}

static uint16
filter_page_id(uint32 npages, uint32 pageno)
{
	return RENCODER_PAGE_WINDOWS;
}

/* Returns NULL, or what is wrong with the shape of a configuration that was read. */
static const char *
shape_fault(const RencoderConfig *config, renc_shape *shape)
{
	const char *reason;

	if (renc_shape_unpack(rencoder_filter_config(config)->shape, shape, &reason))
		return NULL;
	return psprintf("The shape of the filters is not valid: %s.", reason);
}

/* The shape of a configuration that was made here or has been checked. */
static void
unpack_shape(const RencoderConfig *config, renc_shape *shape)
{
	const char *fault = shape_fault(config, shape);

	if (fault != NULL)
		elog(ERROR, "%s", fault);
}

/* A slab that is made range by range. */
typedef struct Filling
{
	const RencoderConfig *config;
	int			width;
	renc_shape	shape;
	char	   *image;
} Filling;

static void *
filter_begin(const RencoderConfig *config, int width)
{
	Filling    *f = palloc(sizeof(Filling));
	Size		size = (Size) rencoder_filter_npages(config, width) * RENCODER_PAYLOAD_SIZE;

	f->config = config;
	f->width = width;
	unpack_shape(config, &f->shape);
	f->image = MemoryContextAllocExtended(CurrentMemoryContext, size,
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return f;
}

static void
filter_fill(void *filling, unsigned int slot, const renc_keys *keys)
{
	Filling    *f = (Filling *) filling;

	renc_fill((uint8 *) f->image, f->width, slot, &f->shape,
			  rencoder_filter_nwindows(f->config), RENCODER_ROWS, keys->key, keys->n);
}

static char *
filter_end(void *filling, uint32 *npages)
{
	Filling    *f = (Filling *) filling;
	char	   *image = f->image;

	*npages = rencoder_filter_npages(f->config, f->width);
	pfree(f);
	return image;
}

char *
rencoder_filter_build(const RencoderConfig *config, int width, const renc_keys *ranges,
					  uint32 *npages)
{
	void	   *filling = filter_begin(config, width);

	for (int slot = 0; slot < RENC_SLICE_RANGES * width; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			filter_fill(filling, slot, &ranges[slot]);
	}
	return filter_end(filling, npages);
}

char *
rencoder_filter_bands(const RencoderConfig *config, const renc_keys *ranges, int nbands)
{
	uint32		nwindows = rencoder_filter_nwindows(config);
	char	   *image = MemoryContextAllocExtended(CurrentMemoryContext,
												   nwindows * WINDOW_SIZE(nbands),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	renc_shape	shape;

	unpack_shape(config, &shape);
	for (int slot = 0; slot < RENC_SLICE_RANGES * nbands; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			renc_fill((uint8 *) image, nbands, slot, &shape, nwindows, RENCODER_ROWS,
					  ranges[slot].key, ranges[slot].n);
	}
	return image;
}

/* A bit of a key: its page in the slab, and where it is there. */
typedef struct PageBit
{
	uint32		pageno;
	uint32		offset;			/* of its byte, from the start of the page */
} PageBit;

static int
compare_bits(const void *a, const void *b)
{
	const PageBit *x = (const PageBit *) a;
	const PageBit *y = (const PageBit *) b;

	if (x->pageno != y->pageno)
		return x->pageno > y->pageno ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The bits of a key for a slot, in the order of pages and bytes. */
static int
bits_of_key(const RencoderSlab *slab, unsigned int slot, uint64 key, PageBit *bits)
{
	uint32		windows_per_page = WINDOWS_PER_PAGE(slab->width);
	uint32		payload = MAXALIGN(SizeOfPageHeaderData);
	renc_position pos[RENC_MAX_POSITIONS];
	renc_shape	shape;
	const char *fault = shape_fault(slab->config, &shape);
	int			n;

	if (fault != NULL)
		rencoder_page_corrupted(slab->index, slab->extent.start, fault);
	n = renc_shape_positions(&shape, key, rencoder_filter_nwindows(slab->config),
							 RENCODER_ROWS, pos);
	for (int i = 0; i < n; i++)
	{
		bits[i].pageno = pos[i].window / windows_per_page;
		bits[i].offset = payload + renc_window_byte(RENCODER_ROWS, pos[i].row, slot) +
			(pos[i].window % windows_per_page) * WINDOW_SIZE(slab->width);
	}
	qsort(bits, n, sizeof(PageBit), compare_bits);
	return n;
}

/*
 * Notes which bits of one page are not set yet.  The page is pinned and locked
 * exclusively; false if there is nothing to do about it.
 */
static bool
note_missing(RencoderBitRecord *record, Buffer buf, const PageBit *bits, int n, uint8 bit)
{
	const uint8 *page = (const uint8 *) BufferGetPage(buf);
	int			first = record->nbuffers == 0 ? 0 : record->end[record->nbuffers - 1];
	int			end = first;

	for (int i = 0; i < n; i++)
	{
		if (page[bits[i].offset] & bit)
			continue;
		record->bits[end].offset = (uint16) bits[i].offset;
		record->bits[end].bits = bit;
		end++;
	}
	if (end == first)
		return false;
	record->buffer[record->nbuffers] = buf;
	record->end[record->nbuffers++] = end;
	return true;
}

/*
 * Sets bits on up to RENCODER_WAL_MAX_PAGES pages, in one record.  Returns how
 * many have been looked at, and in *changed whether any was new.
 */
static int
set_some(const RencoderSlab *slab, uint8 bit, const PageBit *bits, int nbits,
		 bool *changed)
{
	RencoderBitRecord record;
	int			first = 0;

	record.nbuffers = 0;
	while (first < nbits && record.nbuffers < RENCODER_WAL_MAX_PAGES)
	{
		BlockNumber blkno = slab->extent.start + bits[first].pageno;
		Buffer		buf;
		const char *fault;
		int			n = 1;

		while (first + n < nbits && bits[first + n].pageno == bits[first].pageno)
			n++;
		buf = ReadBuffer(slab->index, blkno);
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		fault = rencoder_page_fault(BufferGetPage(buf), blkno, RENCODER_PAGE_WINDOWS);
		if (fault != NULL && !slab->unfinished)
			rencoder_page_corrupted(slab->index, blkno, fault);
		if (fault != NULL || !note_missing(&record, buf, &bits[first], n, bit))
			UnlockReleaseBuffer(buf);
		first += n;
	}
	if (record.nbuffers > 0)
	{
		rencoder_wal_set_bits(slab->index, &record);
		*changed = true;
	}
	for (int i = 0; i < record.nbuffers; i++)
		UnlockReleaseBuffer(record.buffer[i]);
	return first;
}

static RencoderInsertResult
filter_insert(const RencoderSlab *slab, unsigned int slot, uint64 key)
{
	PageBit		bits[RENC_MAX_POSITIONS];
	bool		changed = false;
	int			n = bits_of_key(slab, slot, key, bits);
	int			done = 0;

	while (done < n)
		done += set_some(slab, renc_window_bit(slot), bits + done, n - done, &changed);
	return changed ? RENCODER_INSERT_ADDED : RENCODER_INSERT_PRESENT;
}

/*
 * A page of a slab as one window for renc_window_any() and others: a matrix
 * page is one, as wide as the bands in use; the windows of a slice's page stand
 * one after the other, one long window.
 */
static void
page_as_window(const RencoderSlab *slab, Page page, int *width, uint32 *rows)
{
	*width = slab->width == RENC_MATRIX_WIDTH ? rencoder_page_bands(page) : RENC_SLICE_WIDTH;
	*rows = RENCODER_PAYLOAD_SIZE / slab->width;
}

static void
filter_clear(const RencoderSlab *slab, renc_mask slots)
{
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		Buffer		buf;
		Page		page;
		int			width;
		uint32		rows;

		CHECK_FOR_INTERRUPTS();
		buf = rencoder_page_read(slab->index, slab->extent.start + i,
								 BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_WINDOWS);
		page = BufferGetPage(buf);
		page_as_window(slab, page, &width, &rows);
		if (renc_window_any((const uint8_t *) RencoderPageGetPayload(page), width, rows, slots))
		{
			RencoderWal *wal = rencoder_wal_begin(slab->index, true);

			page = rencoder_wal_register(wal, buf);
			renc_window_clear((uint8_t *) RencoderPageGetPayload(page), width, rows, slots);
			rencoder_wal_finish(wal);
		}
		UnlockReleaseBuffer(buf);
	}
}

static void
filter_count(const RencoderSlab *slab, renc_mask slots, uint32 *counts)
{
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		Buffer		buf;
		Page		page;
		int			width;
		uint32		rows;

		CHECK_FOR_INTERRUPTS();
		buf = rencoder_page_read(slab->index, slab->extent.start + i,
								 BUFFER_LOCK_SHARE, RENCODER_PAGE_WINDOWS);
		page = BufferGetPage(buf);
		page_as_window(slab, page, &width, &rows);
		for (int band = 0; band < width; band++)
		{
			if (renc_mask_band(slots, band) != 0)
				renc_window_count((const uint8_t *) RencoderPageGetPayload(page) + (size_t) band * rows,
								  1, rows, counts + band * RENC_SLICE_RANGES);
		}
		UnlockReleaseBuffer(buf);
	}
}

/*
 * INV-5: pages of slices are covered, and those of a matrix have no bits above
 * pd_lower.
 */
static void
check_filter_page(const RencoderSlab *slab, BlockNumber blkno)
{
	Buffer		buf = rencoder_page_read(slab->index, blkno, BUFFER_LOCK_SHARE,
										 RENCODER_PAGE_WINDOWS);
	Page		page = BufferGetPage(buf);
	PageHeader	phdr = (PageHeader) page;
	const char *fault = NULL;

	if (slab->width == RENC_SLICE_WIDTH && phdr->pd_lower != phdr->pd_upper)
		fault = "The page's free space pointers are wrong.";
	for (int i = phdr->pd_lower; i < phdr->pd_upper && fault == NULL; i++)
	{
		if (page[i] != 0)
			fault = "A bit is set beyond the bands in use.";
	}
	UnlockReleaseBuffer(buf);
	if (fault != NULL)
		rencoder_page_corrupted(slab->index, blkno, fault);
}

static const char *
filter_check_config(const RencoderConfig *config)
{
	renc_shape	shape;

	if (rencoder_filter_nwindows(config) == 0)
		return "The filters have no windows.";
	return shape_fault(config, &shape);
}

static void
filter_check(const RencoderSlab *slab)
{
	uint32		npages = rencoder_filter_npages(slab->config, slab->width);
	const char *fault = filter_check_config(slab->config);

	if (fault != NULL)
		rencoder_page_corrupted(slab->index, slab->extent.start, fault);
	if (slab->extent.npages != npages)
		rencoder_page_corrupted(slab->index, slab->extent.start,
								psprintf("The extent has %u pages; %u windows need %u.",
										 slab->extent.npages,
										 rencoder_filter_nwindows(slab->config), npages));
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_filter_page(slab, slab->extent.start + i);
	}
}

/* The first byte of a page that lacks a bit of the image, or the payload's size. */
static size_t
find_missing(const char *image, const char *payload)
{
	size_t		b = 0;

	while (b < RENCODER_PAYLOAD_SIZE && (image[b] & ~payload[b]) == 0)
		b++;
	return b;
}

/* The slab is made anew from the keys; each bit of that must be set in its pages. */
static bool
filter_missing(const RencoderSlab *slab, const renc_keys *ranges, RencoderMissing *missing)
{
	uint32		npages;
	char	   *image = rencoder_filter_build(slab->config, slab->width, ranges, &npages);
	bool		found = false;

	for (uint32 i = 0; i < npages && !found; i++)
	{
		const char *built = image + (Size) i * RENCODER_PAYLOAD_SIZE;
		const char *payload;
		size_t		at;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		missing->blkno = slab->extent.start + i;
		buf = rencoder_page_try_read(slab->index, missing->blkno, RENCODER_PAGE_WINDOWS,
									 &missing->fault);
		if (!BufferIsValid(buf))
		{
			found = true;
			break;
		}
		missing->fault = NULL;
		payload = RencoderPageGetPayload(BufferGetPage(buf));
		at = find_missing(built, payload);
		if (at < RENCODER_PAYLOAD_SIZE)
		{
			/* In a matrix the band says which slots. */
			missing->slot = rencoder_slab_is_whole(slab) ?
				(unsigned int) (at / RENCODER_ROWS) * RENC_SLICE_RANGES : 0;
			missing->slot += __builtin_ctz((uint8) (built[at] & ~payload[at]));
			found = true;
		}
		UnlockReleaseBuffer(buf);
	}
	pfree(image);
	return found;
}

static char *
filter_describe(const RencoderConfig *config)
{
	renc_shape	shape;
	const char *reason;
	char		buf[512];

	if (!renc_shape_unpack(rencoder_filter_config(config)->shape, &shape, &reason))
		return psprintf("invalid: %s", reason);
	renc_shape_describe(&shape, buf, sizeof(buf));
	return pstrdup(buf);
}

const RencoderFormat rencoder_format_filter = {
	.name = "filter",
	.offer = filter_offer,
	.check_config = filter_check_config,
	.describe = filter_describe,
	.capacity = filter_capacity,
	.fits = filter_fits,
	.max_entries = filter_max_entries,
	.npages = rencoder_filter_npages,
	.estimate = rencoder_filter_estimate,
	.page_id = filter_page_id,
	.build = rencoder_filter_build,
	.begin = filter_begin,
	.fill = filter_fill,
	.end = filter_end,
	.grow_image = rencoder_filter_grow_image,
	.grow_start = rencoder_filter_grow_start,
	.seal_page = rencoder_filter_seal_page,
	.probe = rencoder_filter_probe,
	.insert = filter_insert,
	.merge = rencoder_filter_merge,
	.clear = filter_clear,
	.count = filter_count,
	.check = filter_check,
	.missing = filter_missing,
};
