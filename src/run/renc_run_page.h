/*
 * renc_run_page.h
 *		Pages of a run as bytes: opening leaves, their blocks and inner pages.
 *		Their layout is drawn in renc_run.h.
 *
 * Used by the run core only.  Opening checks as much as the readers need to stay
 * within the page, whatever its bytes are.
 */
#ifndef RENC_RUN_PAGE_H
#define RENC_RUN_PAGE_H

#include "renc_run.h"

#define LEAF_HEADER		24
#define LEAF_PAGE_SPANS	0x08
#define LEAF_PAGES		0x10
#define LEAF_COARSE		0x20
#define BLOCK_HEADER	5		/* off and head */
#define BLOCK_PAGE_SPAN	8
#define INNER_HEADER	8
#define INNER_CHILD		19
#define REACHED			0x80
#define MAX_WIDTH		63
#define MAX_LOW_BITS	56		/* parameter of coding 0: one load is enough */

enum
{
	CODING_RICE,
	CODING_GAPS
};

/* A block, opened. */
typedef struct renc_run_block
{
	uint64_t	separator;
	uint64_t	last;			/* no interval that begins behind it meets a
								 * cell of the block */
	const uint8_t *data;
	const uint8_t *end;			/* of the payload */
	uint32_t	n;
	uint32_t	first;			/* page span */
	uint32_t	npages;
	int			width;
	int			parameter;
	int			coding;
	bool		cont;
} renc_run_block;

static inline uint32_t
renc_run_get16(const uint8_t *p)
{
	return (uint32_t) p[0] | (uint32_t) p[1] << 8;
}

static inline uint32_t
renc_run_get32(const uint8_t *p)
{
	return renc_run_get16(p) | renc_run_get16(p + 2) << 16;
}

static inline uint64_t
renc_run_get48(const uint8_t *p)
{
	return (uint64_t) renc_run_get32(p) | (uint64_t) renc_run_get16(p + 4) << 32;
}

/* Stores the n least significant bytes. */
static inline void
renc_run_put(uint8_t *p, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (uint8_t) (v >> 8 * i);
}

/* Eight bytes, those from "end" on being zero. */
static inline uint64_t
renc_run_load(const uint8_t *p, const uint8_t *end)
{
	uint64_t	v = 0;

	if (end - p >= 8)
		return renc_load64(p);
	for (int i = 0; p + i < end; i++)
		v |= (uint64_t) p[i] << 8 * i;
	return v;
}

/* Position of the highest bit of v > 0. */
static inline int
renc_run_log2(uint64_t v)
{
	return 63 - __builtin_clzll(v);
}

static inline uint64_t
renc_run_low_bits(uint64_t v, int n)
{
	return v & ((UINT64_C(1) << n) - 1);
}

static inline uint64_t
renc_run_floor(uint64_t key, int width)
{
	return key >> width << width;
}

static inline uint64_t
renc_run_ceiling(uint64_t key, int width)
{
	return key | ((UINT64_C(1) << width) - 1);
}

/* Parameter of the pages of a cell that has m >= 3 of them. */
static inline int
renc_run_page_parameter(uint32_t npages, uint32_t m)
{
	uint64_t	mean = (uint64_t) npages * 11 / 16 / m;

	return mean > 1 ? renc_run_log2(mean) : 0;
}

/* Bits of one page of "npages". */
static inline int
renc_run_page_bits(uint32_t npages)
{
	return npages > 1 ? renc_run_log2(npages - 1) + 1 : 0;
}

/*
 * May a search of "key" find something before what begins at "separator"?
 * Cells of earlier ones that reach the separator are no wider than 2^width.
 */
static inline bool
renc_run_reaches(uint64_t separator, int width, uint64_t key)
{
	return key >> width <= separator >> width;
}

/* Children that an inner page can hold. */
static inline uint32_t
renc_run_fanout(size_t payload)
{
	return (uint32_t) ((payload - INNER_HEADER) / INNER_CHILD);
}

static inline uint64_t
renc_run_separator(const renc_run_leaf *leaf, uint32_t j)
{
	uint64_t	v = renc_run_load(leaf->page + LEAF_HEADER + (size_t) j * leaf->sepbytes, leaf->end);

	v &= ~UINT64_C(0) >> (64 - 8 * leaf->sepbytes);
	return leaf->lo + (v << leaf->shift);
}

static inline bool
renc_run_cont(const renc_run_leaf *leaf, uint32_t j)
{
	return leaf->head[3 * (size_t) j + 2] >> 6 & 1;
}

/* NULL, or what makes the page unreadable. */
extern const char *renc_run_open_leaf(renc_run_leaf *leaf, const uint8_t *page, const renc_run *run);
extern const char *renc_run_open_block(renc_run_block *block, const renc_run_leaf *leaf, uint32_t j);
extern const char *renc_run_open_inner(renc_run_step *step, const uint8_t *page, size_t payload,
									   int level);

/* The last block with a separator <= key; 0 if none. */
extern uint32_t renc_run_find_block(const renc_run_leaf *leaf, uint64_t key);

/* Of child i. */
extern uint64_t renc_run_child_key(const renc_run_step *step, uint32_t i);
extern uint32_t renc_run_child_page(const renc_run_step *step, uint32_t i);
extern uint64_t renc_run_entries_before_child(const renc_run_step *step, uint32_t i);
extern uint8_t renc_run_child_reach(const renc_run_step *step, uint32_t i);

/* The last child with a key <= "key"; 0 if none. */
extern uint32_t renc_run_find_child(const renc_run_step *step, uint64_t key);

#endif							/* RENC_RUN_PAGE_H */
