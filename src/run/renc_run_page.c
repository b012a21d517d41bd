/*
 * renc_run_page.c
 *		Pages of a run as bytes, opened.  renc_run_page_build.c makes them.
 */
#include "renc_run_page.h"

const char *
renc_run_open_leaf(renc_run_leaf *leaf, const uint8_t *page, const renc_run *run)
{
	size_t		used = renc_run_get16(page + 4);
	size_t		block;
	size_t		directory;

	if (page[0] != 0)
		return "it is not a leaf";
	if (run->parts == 0 || (uint64_t) run->npages * run->parts > UINT32_MAX)
		return "the run has too many places";
	leaf->page = page;
	leaf->end = page + run->payload;
	leaf->grain = page[1] & LEAF_PAGES ? run->parts : page[1] & LEAF_COARSE ? RENC_COARSE : 1;
	leaf->names = renc_place_names(run->parts, leaf->grain);
	leaf->npages = run->npages * leaf->names;
	leaf->sepbytes = (page[1] & 7) + 1;
	leaf->nblocks = renc_run_get16(page + 2);
	leaf->shift = page[6];
	leaf->wmax = page[7];
	leaf->lo = renc_load64(page + 8);
	leaf->entries = renc_run_get32(page + 16);
	leaf->rows = renc_run_get32(page + 20);
	if (page[1] & ~(7 | LEAF_PAGE_SPANS | LEAF_PAGES | LEAF_COARSE) ||
		(page[1] & LEAF_PAGES && (page[1] & LEAF_COARSE || run->parts == 1)) ||
		(page[1] & LEAF_COARSE && run->parts <= RENC_COARSE))
		return "unknown flags";
	if (leaf->shift > MAX_WIDTH || leaf->wmax > MAX_WIDTH)
		return "a shift is too large";
	if (leaf->nblocks == 0)
		return "there are no blocks";
	block = (size_t) leaf->sepbytes + BLOCK_HEADER + (page[1] & LEAF_PAGE_SPANS ? BLOCK_PAGE_SPAN : 0);
	directory = LEAF_HEADER + leaf->nblocks * block;
	if (used > run->payload || directory >= used)
		return "the blocks do not fit";
	leaf->offset = page + LEAF_HEADER + (size_t) leaf->nblocks * leaf->sepbytes;
	leaf->head = leaf->offset + 2 * (size_t) leaf->nblocks;
	leaf->page_span = page[1] & LEAF_PAGE_SPANS ? leaf->head + 3 * (size_t) leaf->nblocks : NULL;
	leaf->data = page + directory;
	return NULL;
}

const char *
renc_run_open_block(renc_run_block *block, const renc_run_leaf *leaf, uint32_t j)
{
	const uint8_t *head = leaf->head + 3 * (size_t) j;
	uint32_t	bits = renc_run_get16(head) | (uint32_t) head[2] << 16;
	uint32_t	offset = renc_run_get16(leaf->offset + 2 * (size_t) j);

	block->separator = renc_run_separator(leaf, j);
	block->last = UINT64_MAX;
	block->width = (int) (bits & 63);
	block->parameter = (int) (bits >> 6 & 63);
	block->n = (bits >> 12 & 1023) + 1;
	block->cont = bits >> 22 & 1;
	block->coding = bits >> 23 & 1 ? CODING_GAPS : CODING_RICE;
	block->first = 0;
	block->npages = leaf->npages;
	if (leaf->page_span != NULL)
	{
		block->first = renc_run_get32(leaf->page_span + BLOCK_PAGE_SPAN * (size_t) j);
		block->npages = renc_run_get32(leaf->page_span + BLOCK_PAGE_SPAN * (size_t) j + 4);
		if (block->npages == 0 || block->npages > leaf->npages ||
			block->first > leaf->npages - block->npages)
			return "a block has pages that are none of the run";
	}
	if (offset >= (size_t) (leaf->end - leaf->data))
		return "a block lies outside the page";
	if (block->coding == CODING_RICE && block->parameter > MAX_LOW_BITS)
		return "a block has an unknown parameter";
	block->data = leaf->data + offset;
	block->end = leaf->end;
	return NULL;
}

uint32_t
renc_run_find_block(const renc_run_leaf *leaf, uint64_t key)
{
	uint32_t	left = 0;
	uint32_t	n = leaf->nblocks;

	while (n > 1)
	{
		uint32_t	half = n / 2;

		if (renc_run_separator(leaf, left + half) <= key)
			left += half;
		n -= half;
	}
	return left;
}

const char *
renc_run_open_inner(renc_run_step *step, const uint8_t *page, size_t payload, int level)
{
	if (page[0] != level || level == 0)
		return "it is not an inner page of its level";
	step->page = page;
	step->n = renc_run_get16(page + 2);
	step->slot = 0;
	if (step->n == 0 || step->n > renc_run_fanout(payload))
		return "the children do not fit";
	return NULL;
}

size_t
renc_run_inner_size(const uint8_t *page, size_t payload)
{
	size_t		size = INNER_HEADER + INNER_CHILD * (size_t) renc_run_get16(page + 2);

	return size < payload ? size : payload;
}

uint64_t
renc_run_child_key(const renc_run_step *step, uint32_t i)
{
	return renc_load64(step->page + INNER_HEADER + 8 * (size_t) i);
}

uint32_t
renc_run_child_page(const renc_run_step *step, uint32_t i)
{
	return renc_run_get32(step->page + INNER_HEADER + 8 * (size_t) step->n + 4 * (size_t) i);
}

uint64_t
renc_run_entries_before_child(const renc_run_step *step, uint32_t i)
{
	return renc_run_get48(step->page + INNER_HEADER + 12 * (size_t) step->n + 6 * (size_t) i);
}

uint8_t
renc_run_child_reach(const renc_run_step *step, uint32_t i)
{
	return step->page[INNER_HEADER + 18 * (size_t) step->n + i];
}

uint32_t
renc_run_find_child(const renc_run_step *step, uint64_t key)
{
	uint32_t	left = 0;
	uint32_t	n = step->n;

	while (n > 1)
	{
		uint32_t	half = n / 2;

		if (renc_run_child_key(step, left + half) <= key)
			left += half;
		n -= half;
	}
	return left;
}
