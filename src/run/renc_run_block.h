/*
 * renc_run_block.h
 *		The two codings of a block of entries (renc_run.h says what they look like).
 *
 * Used by the run core only.
 */
#ifndef RENC_RUN_BLOCK_H
#define RENC_RUN_BLOCK_H

#include "renc_run_page.h"

/* An entry to be coded: cell and page less those of the block. */
typedef struct renc_run_entry
{
	uint64_t	cell;
	uint32_t	page;
} renc_run_entry;

/* How a block is coded best. */
typedef struct renc_run_code
{
	int			coding;
	int			parameter;
	uint64_t	bits;
} renc_run_code;

/* Chooses among the codings; n entries, ascending and distinct, of "npages" pages. */
extern renc_run_code renc_run_choose_code(const renc_run_entry *entry, uint32_t n, uint32_t npages);

/*
 * The best parameter of coding 1 for "total" gaps counted by their highest bit: each bit more
 * costs those below it one bit and saves the others one, so it is the median.
 */
extern int	renc_run_best_gap_parameter(const uint32_t *gaps, uint64_t total);

/* Writes code->bits bits at "to", where zeros are, and 9 bytes more. */
extern void renc_run_write_block(uint8_t *to, const renc_run_code *code, const renc_run_entry *entry,
								 uint32_t n, uint32_t npages);

/* What a block says. */
typedef struct renc_run_found
{
	uint64_t   *cell;			/* key >> width */
	uint32_t   *page;			/* from the run's first */
	uint32_t	n;
	uint32_t	upto;			/* entries of the block before the first that
								 * lies behind all intervals */
	const uint8_t *stop;		/* the byte after the last that was read, of a
								 * block that was read to its end */
} renc_run_found;

/*
 * Finds the entries whose cell meets one of n sorted intervals, none of which ends
 * below the block's separator.  NULL, or what is wrong with the block.
 */
extern const char *renc_run_scan_block(const renc_run_block *block, const renc_interval *interval,
									   size_t n, renc_run_found *found);

#endif							/* RENC_RUN_BLOCK_H */
