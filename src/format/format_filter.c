/*
 * format_filter.c
 *		Filters: making matrices, verifying them.
 */
#include "format/format_filter.h"

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
rencoder_filter_keys(const RencoderConfig *config, const RencoderRangeKeys *c, int col,
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
			ranges[slot] = rencoder_range_keys_get(c, col, slot);
		else
			renc_mask_set(&always, slot);
	}
	return always;
}

const char *
rencoder_filter_config_fault(const RencoderConfig *config, renc_shape *shape)
{
	renc_shape	any;
	const char *reason;

	if (config->nwindows == 0)
		return "The filters have no windows.";
	if (config->width == 0 || config->width > RENC_MATRIX_WIDTH ||
		(config->width & (config->width - 1)) != 0)
		return "The filters are of an impossible number of ranges.";
	if (renc_shape_unpack(config->shape, shape != NULL ? shape : &any, &reason))
		return NULL;
	return psprintf("The shape of the filters is not valid: %s.", reason);
}

/* The shape of a configuration that was made here or has been checked. */
static void
unpack_filter_shape(const RencoderConfig *config, renc_shape *shape)
{
	const char *fault = rencoder_filter_config_fault(config, shape);

	if (fault != NULL)
		elog(ERROR, "%s", fault);
}

char *
rencoder_filter_create_image(const RencoderConfig *config)
{
	Size		nwindows = (Size) rencoder_filter_npages(config) * WINDOWS_PER_PAGE(config->width);

	return MemoryContextAllocExtended(CurrentMemoryContext, nwindows * WINDOW_SIZE(config->width),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
rencoder_filter_fill_image(const RencoderConfig *config, const renc_keys *ranges, char *image)
{
	renc_shape	shape;

	unpack_filter_shape(config, &shape);
	for (int slot = 0; slot < RENC_SLICE_RANGES * (int) config->width; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ranges[slot].n > 0)
			renc_window_fill((uint8 *) image, config->width, slot, &shape, config->nwindows,
							 RENCODER_ROWS, ranges[slot].key, ranges[slot].n);
	}
}

bool
rencoder_filter_has_key(Relation index, const RencoderMatrixEntry *entry, unsigned int slot, uint64 key,
						BlockNumber *blkno, const char **fault)
{
	const RencoderConfig *config = &entry->config;
	uint32		per_page = WINDOWS_PER_PAGE(config->width);
	renc_position pos[RENC_MAX_POSITIONS];
	renc_shape	shape;
	bool		has = true;
	int			n;

	unpack_filter_shape(config, &shape);
	n = renc_shape_positions(&shape, key, config->nwindows, RENCODER_ROWS, pos);
	for (int i = 0; i < n && has; i++)
	{
		Buffer		buf;
		const uint8 *window;

		*blkno = entry->matrix.start + pos[i].window / per_page;
		buf = rencoder_page_try_read(index, *blkno, RENCODER_PAGE_WINDOWS, fault);
		if (!BufferIsValid(buf))
			return false;
		window = (uint8 *) RencoderPageGetPayload(BufferGetPage(buf)) +
			pos[i].window % per_page * WINDOW_SIZE(config->width);
		has = (window[renc_window_byte(RENCODER_ROWS, pos[i].row, slot)] & renc_window_bit(slot)) != 0;
		UnlockReleaseBuffer(buf);
	}
	return has;
}
