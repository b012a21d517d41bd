/*
 * format_filter.c
 *		Group format: bit-sliced range filters.
 *
 *		matrix: page i is window i			| band 0: 510 B | band 1 | .. | band 15 |
 *		slice:	page i is windows 16 i ..	| window 16 i: 510 B | window 16 i + 1 | ..
 *
 * Byte r of a band is row r of the window, for eight ranges of the group
 * (renc_window.h).  Every key sets kw * kr * |L| bits (src/filter/renc_shape.h);
 * those of the 128 ranges of a group are in one page, so that one page read
 * tests them all.
 */
#include "format/format.h"

#include "filter/renc_window.h"
#include "utils/memutils.h"

/* Windows in a page of a slab. */
#define WINDOWS_PER_PAGE(width)		(RENC_MATRIX_WIDTH / (width))

/* Bytes of a window. */
#define WINDOW_SIZE(width)			((size_t) RENCODER_ROWS * (width))

uint32
rencoder_filter_npages(const RencoderConfig *config, int width)
{
	return (rencoder_filter_config(config)->nwindows + WINDOWS_PER_PAGE(width) - 1) / WINDOWS_PER_PAGE(width);
}

static void
unpack_shape(const RencoderConfig *config, renc_shape *shape)
{
	const char *reason;

	if (!renc_shape_unpack(rencoder_filter_config(config)->shape, shape, &reason))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("shape of a filter is not valid: %s", reason),
				 errhint("REINDEX INDEX rebuilds the index from its table.")));
}

char *
rencoder_filter_image(const RencoderConfig *config, int width, uint32 *npages)
{
	*npages = rencoder_filter_npages(config, width);
	return MemoryContextAllocExtended(CurrentMemoryContext,
									  (Size) *npages * RENCODER_PAYLOAD_SIZE,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
rencoder_filter_fill(char *image, const RencoderConfig *config, int width,
					 unsigned int slot, const renc_keys *keys)
{
	renc_shape	shape;

	unpack_shape(config, &shape);
	renc_fill((uint8 *) image, width, slot, &shape, rencoder_filter_config(config)->nwindows,
			  RENCODER_ROWS, keys->key, keys->n);
}

/* Fills in the keys of 8 * width ranges. */
static void
fill_bands(char *image, const RencoderConfig *config, int width, const renc_keys *ranges)
{
	for (int slot = 0; slot < RENC_SLICE_RANGES * width; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			rencoder_filter_fill(image, config, width, slot, &ranges[slot]);
	}
}

static char *
filter_build(const RencoderConfig *config, int width, const renc_keys *ranges,
			 uint32 *npages)
{
	char	   *image = rencoder_filter_image(config, width, npages);

	fill_bands(image, config, width, ranges);
	return image;
}

typedef struct window_source
{
	RencoderProbe *probe;
	const RencoderSlab *slab;
} window_source;

static const uint8_t *
read_window(void *arg, uint32_t window)
{
	const window_source *source = (const window_source *) arg;
	int			width = source->slab->width;
	const uint8 *payload;

	payload = rencoder_probe_page(source->probe,
								  source->slab->extent.start + window / WINDOWS_PER_PAGE(width),
								  RENCODER_PAGE_WINDOWS);
	if (payload == NULL)
		return NULL;
	return payload + (window % WINDOWS_PER_PAGE(width)) * WINDOW_SIZE(width);
}

static renc_mask
filter_probe(RencoderProbe *probe, const RencoderSlab *slab,
			 renc_mask candidates)
{
	window_source source = {probe, slab};
	renc_windows windows;
	const RencoderPrograms *programs;
	renc_mask	result = renc_mask_none();

	programs = rencoder_probe_programs(probe, rencoder_filter_config(slab->config)->shape, slab->extent.start);
	if (programs == NULL || programs->always || rencoder_filter_config(slab->config)->nwindows == 0)
		return candidates;
	windows.nwindows = rencoder_filter_config(slab->config)->nwindows;
	windows.width = slab->width;
	windows.window = read_window;
	windows.arg = &source;

	/* Of v windows drawn from n pages, about v^2 / 2n pairs are on one page. */
	rencoder_probe_visit(probe, programs->visits * programs->visits >
						 rencoder_filter_npages(slab->config, slab->width));
	for (int i = 0; i < programs->n; i++)
	{
		/* Ranges that are in the result already need no further test. */
		renc_mask	left = renc_mask_andnot(candidates, result);

		if (renc_mask_empty(left))
			break;
		result = renc_mask_or(result, renc_program_run(programs->program[i], &windows, left));
	}
	rencoder_probe_release(probe);
	return result;
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
	int			n;

	unpack_shape(slab->config, &shape);
	n = renc_shape_positions(&shape, key, rencoder_filter_config(slab->config)->nwindows, RENCODER_ROWS, pos);
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
 * The image of some bands of a matrix: windows of "nbands" bands, for the keys
 * of 8 * nbands ranges.
 */
static char *
build_bands(const RencoderConfig *config, const renc_keys *ranges, int nbands)
{
	char	   *image = MemoryContextAllocExtended(CurrentMemoryContext,
												   rencoder_filter_config(config)->nwindows * WINDOW_SIZE(nbands),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	fill_bands(image, config, nbands, ranges);
	return image;
}

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
plan_addition(const RencoderSlab *slab, const renc_keys *ranges)
{
	Addition	add = {NULL, 0, RENCODER_PAYLOAD_SIZE};
	int			first = RENC_GROUP_SLICES;
	int			last = -1;
	uint32		npages;

	if (slab->width == RENC_SLICE_WIDTH)
	{
		add.image = filter_build(slab->config, slab->width, ranges, &npages);
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
	add.image = build_bands(slab->config, ranges + first * RENC_SLICE_RANGES, last - first + 1);
	add.offset = (size_t) first * RENCODER_BAND_SIZE;
	add.length = (size_t) (last - first + 1) * RENCODER_BAND_SIZE;
	return add;
}

/* ORs an image into bytes of a page; true if that sets, or would set, a new bit. */
static bool
adds_bits(const char *bytes, const char *image, size_t length)
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
add_to_some(const RencoderSlab *slab, const Addition *add, uint32 first)
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

		if (!adds_bits(RencoderPageGetPayload(page) + add->offset, image, add->length))
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
		rencoder_page_cover(page, (uint32) (bytes - page + add->length - 1));
	}
	if (wal != NULL)
		rencoder_wal_finish(wal);
	for (int i = 0; i < n; i++)
		UnlockReleaseBuffer(changed[i]);
	return end;
}

static renc_mask
filter_merge(const RencoderSlab *slab, const renc_keys *ranges)
{
	Addition	add = plan_addition(slab, ranges);

	if (add.image != NULL)
	{
		for (uint32 i = 0; i < slab->extent.npages;)
			i = add_to_some(slab, &add, i);
		pfree(add.image);
	}
	return renc_mask_none();
}

/*
 * Makes pages from "first" on, as many as fit one record, each with one band;
 * returns the page after them.
 */
static uint32
start_some(const RencoderSlab *matrix, int band, const char *image, uint32 first)
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
		rencoder_page_uncover(page);
		bytes = RencoderPageGetPayload(page) + (size_t) band * RENCODER_BAND_SIZE;
		memcpy(bytes, image + (size_t) i * RENCODER_BAND_SIZE, RENCODER_BAND_SIZE);
		rencoder_page_cover(page, (uint32) (bytes - page));
	}
	rencoder_wal_finish(wal);
	for (uint32 i = first; i < end; i++)
		UnlockReleaseBuffer(buf[i - first]);
	return end;
}

void
rencoder_filter_start_matrix(const RencoderSlab *matrix, int slice, const char *image)
{
	for (uint32 i = 0; i < matrix->extent.npages;)
		i = start_some(matrix, slice, image, i);
}

char *
rencoder_filter_band_image(const RencoderConfig *config, const renc_keys *ranges)
{
	return build_bands(config, ranges, 1);
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
check_page(const RencoderSlab *slab, BlockNumber blkno)
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

static void
filter_check(const RencoderSlab *slab)
{
	renc_shape	shape;
	const char *reason;

	if (!renc_shape_unpack(rencoder_filter_config(slab->config)->shape, &shape, &reason))
		rencoder_page_corrupted(slab->index, slab->extent.start,
								psprintf("The shape of the filters is not valid: %s.", reason));
	if (slab->extent.npages != rencoder_filter_npages(slab->config, slab->width))
		rencoder_page_corrupted(slab->index, slab->extent.start,
								psprintf("The extent has %u pages; %u windows need %u.",
										 slab->extent.npages, rencoder_filter_config(slab->config)->nwindows,
										 rencoder_filter_npages(slab->config, slab->width)));
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_page(slab, slab->extent.start + i);
	}
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

void
rencoder_filter_interleave_page(const RencoderSlab *matrix,
								const RencoderExtent *slices, uint32 pageno)
{
	BlockNumber blkno = matrix->extent.start + pageno;
	uint32		slice_page = pageno / WINDOWS_PER_PAGE(RENC_SLICE_WIDTH);
	size_t		offset = (pageno % WINDOWS_PER_PAGE(RENC_SLICE_WIDTH)) *
		WINDOW_SIZE(RENC_SLICE_WIDTH);
	RencoderWal *wal;
	Page		page;
	Buffer		buf;

	/*
	 * The page may hold anything.  Its lock is held while the slices are
	 * read: an inserter sets its bit in the slice first and here after, so
	 * either the bit is read below or it is set after this page is done.
	 */
	buf = ReadBuffer(matrix->index, blkno);
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(matrix->index, true);
	page = rencoder_wal_register_new(wal, buf);
	rencoder_page_init(page, blkno, RENCODER_PAGE_WINDOWS);
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		Buffer		slice = rencoder_page_read(matrix->index,
											   slices[s].start + slice_page,
											   BUFFER_LOCK_SHARE,
											   RENCODER_PAGE_WINDOWS);

		renc_window_interleave((uint8 *) RencoderPageGetPayload(page),
							   (const uint8 *) RencoderPageGetPayload(BufferGetPage(slice)) + offset,
							   s, RENCODER_ROWS);
		UnlockReleaseBuffer(slice);
	}
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

const RencoderFormat rencoder_format_filter = {
	.name = "filter",
	.page_id = RENCODER_PAGE_WINDOWS,
	.build = filter_build,
	.probe = filter_probe,
	.insert = filter_insert,
	.merge = filter_merge,
	.clear = filter_clear,
	.count = filter_count,
	.check = filter_check,
	.describe = filter_describe,
};
