/*
 * format_filter.c
 *		Filters: making slabs, setting, clearing and counting bits, verifying them.
 */
#include "format/format_filter_work.h"

#include "filter/renc_window.h"
#include "utils/memutils.h"

/*
 * Keys of a range that there is room for at least, at 25 bits each: filters have one window,
 * however few keys they are made for.
 */
#define KEYS_OF_A_WINDOW	(RENCODER_ROWS / 25)

uint32
rencoder_filter_npages(const RencoderConfig *config, int width)
{
	return (config->nwindows + WINDOWS_PER_PAGE(width) - 1) / WINDOWS_PER_PAGE(width);
}

uint64
rencoder_filter_max_bits(const RencoderConfig *config)
{
	return (uint64) config->nwindows * RENCODER_ROWS;
}

renc_mask
rencoder_filter_keys(const RencoderConfig *config, const RencoderCollector *c, int col,
					 renc_mask slots, renc_keys *ranges)
{
	renc_mask	always = renc_mask_none();

	for (int slot = 0; slot < c->nslots; slot++)
	{
		const RencoderRangeSummary *range = &c->column[col].range[slot];

		ranges[slot].key = NULL;
		ranges[slot].n = 0;
		if (!renc_mask_test(slots, slot))
			continue;
		if (!range->keyless &&
			(range->distinct <= KEYS_OF_A_WINDOW ||
			 !renc_rule_overfull(range->distinct, config->capacity)))
			ranges[slot] = rencoder_collect_keys(c, col, slot);
		else
			renc_mask_set(&always, slot);
	}
	return always;
}

/* Returns NULL, or what is wrong with a configuration that was read. */
static const char *
unpack_fault(const RencoderConfig *config, renc_shape *shape)
{
	const char *reason;

	if (config->nwindows == 0)
		return "The filters have no windows.";
	if (renc_shape_unpack(config->shape, shape, &reason))
		return NULL;
	return psprintf("The shape of the filters is not valid: %s.", reason);
}

const char *
rencoder_filter_fault(const RencoderConfig *config)
{
	renc_shape	shape;

	return unpack_fault(config, &shape);
}

/* The shape of a configuration that was made here or has been checked. */
static void
unpack_shape(const RencoderConfig *config, renc_shape *shape)
{
	const char *fault = unpack_fault(config, shape);

	if (fault != NULL)
		elog(ERROR, "%s", fault);
}

struct RencoderFilling
{
	const RencoderConfig *config;
	int			width;
	renc_shape	shape;
	char	   *image;
};

RencoderFilling *
rencoder_filter_begin(const RencoderConfig *config, int width)
{
	RencoderFilling *f = palloc(sizeof(RencoderFilling));
	Size		size = (Size) rencoder_filter_npages(config, width) * RENCODER_PAYLOAD_SIZE;

	f->config = config;
	f->width = width;
	unpack_shape(config, &f->shape);
	f->image = MemoryContextAllocExtended(CurrentMemoryContext, size,
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return f;
}

void
rencoder_filter_fill(RencoderFilling * f, unsigned int slot, const renc_keys *keys)
{
	renc_fill((uint8 *) f->image, f->width, slot, &f->shape,
			  f->config->nwindows, RENCODER_ROWS, keys->key, keys->n);
}

char *
rencoder_filter_end(RencoderFilling * f)
{
	char	   *image = f->image;

	pfree(f);
	return image;
}

char *
rencoder_filter_build(const RencoderConfig *config, int width, const renc_keys *ranges)
{
	RencoderFilling *f = rencoder_filter_begin(config, width);

	for (int slot = 0; slot < RENC_SLICE_RANGES * width; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			rencoder_filter_fill(f, slot, &ranges[slot]);
	}
	return rencoder_filter_end(f);
}

void
rencoder_filter_write(const RencoderSlab *slab, const char *image, bool log)
{
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_wal_write_fresh(slab->index, slab->extent.start + i, RENCODER_PAGE_WINDOWS,
								 image + (Size) i * RENCODER_PAYLOAD_SIZE, log);
	}
}

char *
rencoder_filter_bands(const RencoderConfig *config, const renc_keys *ranges, int nbands)
{
	char	   *image = MemoryContextAllocExtended(CurrentMemoryContext,
												   config->nwindows * WINDOW_SIZE(nbands),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	renc_shape	shape;

	unpack_shape(config, &shape);
	for (int slot = 0; slot < RENC_SLICE_RANGES * nbands; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			renc_fill((uint8 *) image, nbands, slot, &shape, config->nwindows, RENCODER_ROWS,
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
	const char *fault = unpack_fault(slab->config, &shape);
	int			n;

	if (fault != NULL)
		rencoder_page_corrupted(slab->index, slab->extent.start, fault);
	n = renc_shape_positions(&shape, key, slab->config->nwindows, RENCODER_ROWS, pos);
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
 * many have been looked at.
 */
static int
set_some(const RencoderSlab *slab, uint8 bit, const PageBit *bits, int nbits)
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
		rencoder_wal_set_bits(slab->index, &record);
	for (int i = 0; i < record.nbuffers; i++)
		UnlockReleaseBuffer(record.buffer[i]);
	return first;
}

void
rencoder_filter_insert(const RencoderSlab *slab, unsigned int slot, uint64 key)
{
	PageBit		bits[RENC_MAX_POSITIONS];
	int			n = bits_of_key(slab, slot, key, bits);
	int			done = 0;

	while (done < n)
		done += set_some(slab, renc_window_bit(slot), bits + done, n - done);
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

void
rencoder_filter_clear(const RencoderSlab *slab, renc_mask slots)
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

void
rencoder_filter_count(const RencoderSlab *slab, renc_mask slots, uint32 *counts)
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

void
rencoder_filter_check_extent(const RencoderSlab *slab)
{
	uint32		npages = rencoder_filter_npages(slab->config, slab->width);

	if (slab->extent.npages != npages)
		rencoder_page_corrupted(slab->index, slab->extent.start,
								psprintf("The extent has %u pages; %u windows need %u.",
										 slab->extent.npages,
										 slab->config->nwindows, npages));
}

void
rencoder_filter_check(const RencoderSlab *slab)
{
	const char *fault = rencoder_filter_fault(slab->config);

	if (fault != NULL)
		rencoder_page_corrupted(slab->index, slab->extent.start, fault);
	rencoder_filter_check_extent(slab);
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
bool
rencoder_filter_missing(const RencoderSlab *slab, const renc_keys *ranges, RencoderMissing *missing)
{
	uint32		npages = rencoder_filter_npages(slab->config, slab->width);
	char	   *image = rencoder_filter_build(slab->config, slab->width, ranges);
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

char *
rencoder_filter_describe(const RencoderConfig *config)
{
	renc_shape	shape;
	const char *reason;
	char		buf[512];

	if (!renc_shape_unpack(config->shape, &shape, &reason))
		return psprintf("invalid: %s", reason);
	renc_shape_describe(&shape, buf, sizeof(buf));
	return pstrdup(buf);
}
