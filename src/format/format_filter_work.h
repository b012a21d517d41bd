/*
 * format_filter_work.h
 *		What the files of the filter format share.
 *
 *		matrix: page i is window i			| band 0: 510 B | band 1 | .. | band 15 |
 *		slice:	page i is windows 16 i ..	| window 16 i: 510 B | window 16 i + 1 | ..
 *
 * A window has 510 rows of 128 bits, one bit for each range.  A band is byte s of
 * all rows: what the window says of slice s.  Every key sets kw * kr * |L| bits
 * (src/filter/renc_shape.h); those of the 128 ranges of a group are in one page, so
 * that one page read tests them all.
 */
#ifndef RENCODER_FORMAT_FILTER_WORK_H
#define RENCODER_FORMAT_FILTER_WORK_H

#include "format/filter_config.h"
#include "format/format.h"

/* Windows in a page of a slab. */
#define WINDOWS_PER_PAGE(width)		(RENC_MATRIX_WIDTH / (width))

/* Bytes of a window. */
#define WINDOW_SIZE(width)			((size_t) RENCODER_ROWS * (width))

static inline uint32
rencoder_filter_nwindows(const RencoderConfig *config)
{
	return rencoder_filter_config(config)->nwindows;
}

/* format_filter.c */
extern uint32 rencoder_filter_npages(const RencoderConfig *config, int width);
extern char *rencoder_filter_build(const RencoderConfig *config, int width,
								   const renc_keys *ranges, uint32 *npages);

/*
 * The image of some bands of a matrix: windows of "nbands" bands, for the keys
 * of 8 * nbands ranges; palloc'd, possibly huge.
 */
extern char *rencoder_filter_bands(const RencoderConfig *config, const renc_keys *ranges,
								   int nbands);

/* format_filter_probe.c */
extern renc_mask rencoder_filter_probe(RencoderProbe *probe, const RencoderSlab *slab,
									   renc_mask candidates);

/* format_filter_estimate.c */
extern void rencoder_filter_estimate(const RencoderConfig *config, const RencoderKeySet *keys,
									 RencoderEstimate *estimate);

/* format_filter_grow.c */
extern renc_mask rencoder_filter_merge(const RencoderSlab *slab, const renc_keys *ranges);
extern char *rencoder_filter_grow_image(const RencoderConfig *config, const renc_keys *ranges,
										uint32 *npages);
extern void rencoder_filter_grow_start(const RencoderSlab *matrix, int slice, const char *image);
extern void rencoder_filter_seal_page(const RencoderSlab *matrix, const RencoderExtent *slices,
									  uint32 pageno);

#endif							/* RENCODER_FORMAT_FILTER_WORK_H */
