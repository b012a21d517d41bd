/*
 * format_filter.c
 *		Filters: making slabs, clearing and counting bits, verifying them.
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
rencoder_filter_npages(const RencoderConfig *config)
{
	uint32		per_page = WINDOWS_PER_PAGE(config->width);

	return (config->nwindows + per_page - 1) / per_page;
}

uint32
rencoder_filter_width(int slice)
{
	uint32		width = 1;

	while ((int) width <= slice)
		width *= 2;
	return width;
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
filter_unpack_fault(const RencoderConfig *config, renc_shape *shape)
{
	const char *reason;

	if (config->nwindows == 0)
		return "The filters have no windows.";
	if (config->width == 0 || config->width > RENC_MATRIX_WIDTH ||
		(config->width & (config->width - 1)) != 0)
		return "The filters are of an impossible number of ranges.";
	if (renc_shape_unpack(config->shape, shape, &reason))
		return NULL;
	return psprintf("The shape of the filters is not valid: %s.", reason);
}

const char *
rencoder_filter_config_fault(const RencoderConfig *config)
{
	renc_shape	shape;

	return filter_unpack_fault(config, &shape);
}

/* The shape of a configuration that was made here or has been checked. */
static void
unpack_filter_shape(const RencoderConfig *config, renc_shape *shape)
{
	const char *fault = filter_unpack_fault(config, shape);

	if (fault != NULL)
		elog(ERROR, "%s", fault);
}

struct RencoderFilling
{
	const RencoderConfig *config;
	int			nbands;
	renc_shape	shape;
	char	   *image;
};

/* Windows of so many bands, with room for those that the last page of a slab has besides. */
static RencoderFilling *
begin_filling_filter(const RencoderConfig *config, int nbands)
{
	RencoderFilling *f = palloc(sizeof(RencoderFilling));
	Size		nwindows = (Size) rencoder_filter_npages(config) * WINDOWS_PER_PAGE(config->width);

	f->config = config;
	f->nbands = nbands;
	unpack_filter_shape(config, &f->shape);
	f->image = MemoryContextAllocExtended(CurrentMemoryContext, nwindows * WINDOW_SIZE(nbands),
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return f;
}

RencoderFilling *
rencoder_filling_begin(const RencoderConfig *config)
{
	return begin_filling_filter(config, config->width);
}

void
rencoder_filling_add(RencoderFilling *f, unsigned int slot, const renc_keys *keys)
{
	renc_window_fill((uint8 *) f->image, f->nbands, slot, &f->shape,
					 f->config->nwindows, RENCODER_ROWS, keys->key, keys->n);
}

char *
rencoder_filling_finish(RencoderFilling *f)
{
	char	   *image = f->image;

	pfree(f);
	return image;
}

char *
rencoder_filter_make_bands_image(const RencoderConfig *config, const renc_keys *ranges, int nbands)
{
	RencoderFilling *f = begin_filling_filter(config, nbands);

	for (int slot = 0; slot < RENC_SLICE_RANGES * nbands; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			rencoder_filling_add(f, slot, &ranges[slot]);
	}
	return rencoder_filling_finish(f);
}

char *
rencoder_filter_make_image(const RencoderConfig *config, const renc_keys *ranges)
{
	return rencoder_filter_make_bands_image(config, ranges, config->width);
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

/* Bands in use of each window of a page. */
static int
filter_bands_in_use(const RencoderSlab *slab, Page page)
{
	return rencoder_slab_is_whole(slab) ? rencoder_page_bands(page) : (int) slab->config->width;
}

/* Window i of a page. */
static uint8 *
filter_window_of_page(const RencoderSlab *slab, Page page, int i)
{
	return (uint8 *) RencoderPageGetPayload(page) + i * WINDOW_SIZE(slab->config->width);
}

void
rencoder_filter_clear(const RencoderSlab *slab, renc_mask slots)
{
	int			nwindows = WINDOWS_PER_PAGE(slab->config->width);

	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		Buffer		buf = rencoder_page_read(slab->index, slab->extent.start + i,
											 BUFFER_LOCK_EXCLUSIVE, RENCODER_PAGE_WINDOWS);
		Page		page = BufferGetPage(buf);
		int			bands = filter_bands_in_use(slab, page);
		RencoderWal *wal = NULL;

		for (int w = 0; w < nwindows; w++)
		{
			if (!renc_window_has_bits(filter_window_of_page(slab, page, w), bands, RENCODER_ROWS,
									  slots))
				continue;
			if (wal == NULL)
			{
				wal = rencoder_wal_begin(slab->index, true);
				page = rencoder_wal_register(wal, buf);
			}
			renc_window_clear(filter_window_of_page(slab, page, w), bands, RENCODER_ROWS, slots);
		}
		if (wal != NULL)
			rencoder_wal_finish(wal);
		UnlockReleaseBuffer(buf);
		CHECK_FOR_INTERRUPTS();
	}
}

/* INV-5: pages are covered, but for those of whole width, which have no bits above pd_lower. */
static void
check_filter_page(const RencoderSlab *slab, BlockNumber blkno)
{
	Buffer		buf = rencoder_page_read(slab->index, blkno, BUFFER_LOCK_SHARE,
										 RENCODER_PAGE_WINDOWS);
	Page		page = BufferGetPage(buf);
	PageHeader	phdr = (PageHeader) page;
	const char *fault = NULL;

	if (!rencoder_slab_is_whole(slab) && phdr->pd_lower != phdr->pd_upper)
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
	const char *fault = rencoder_filter_config_fault(slab->config);
	uint32		npages;

	if (fault != NULL)
		rencoder_page_corrupted(slab->index, slab->extent.start, fault);
	npages = rencoder_filter_npages(slab->config);
	if (slab->extent.npages != npages)
		rencoder_page_corrupted(slab->index, slab->extent.start,
								psprintf("The extent has %u pages; %u windows need %u.",
										 slab->extent.npages,
										 slab->config->nwindows, npages));
}

void
rencoder_filter_check(const RencoderSlab *slab)
{
	rencoder_filter_check_extent(slab);
	for (uint32 i = 0; i < slab->extent.npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_filter_page(slab, slab->extent.start + i);
	}
}

bool
rencoder_filter_has_key(const RencoderSlab *slab, unsigned int slot, uint64 key, BlockNumber *blkno,
						const char **fault)
{
	uint32		per_page = WINDOWS_PER_PAGE(slab->config->width);
	renc_position pos[RENC_MAX_POSITIONS];
	renc_shape	shape;
	bool		has = true;
	int			n;

	unpack_filter_shape(slab->config, &shape);
	n = renc_shape_positions(&shape, key, slab->config->nwindows, RENCODER_ROWS, pos);
	for (int i = 0; i < n && has; i++)
	{
		Buffer		buf;
		const uint8 *window;

		*blkno = slab->extent.start + pos[i].window / per_page;
		buf = rencoder_page_try_read(slab->index, *blkno, RENCODER_PAGE_WINDOWS, fault);
		if (!BufferIsValid(buf))
			return false;
		window = filter_window_of_page(slab, BufferGetPage(buf), pos[i].window % per_page);
		has = (window[renc_window_byte(RENCODER_ROWS, pos[i].row, slot)] & renc_window_bit(slot)) != 0;
		UnlockReleaseBuffer(buf);
	}
	return has;
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
