/*
 * renc_run_page_build.c
 *		Pages being built: the leaf and the inner pages above it.
 */
#include "renc_run_page_build.h"

#include "renc_sort.h"

/* Cells that a separator may lie below its block's first key. */
#define SEPARATOR_CELLS		4

/* Bytes of data that a writer of bits may touch behind the last. */
#define SPARE				16

/* The least that a block takes in the directory. */
#define MIN_BLOCK			(BLOCK_HEADER + 1)

size_t
renc_run_build_size(size_t payload)
{
	return renc_run_aligned((payload / MIN_BLOCK + 1) * sizeof(renc_run_new_block)) +
		renc_run_aligned(payload + SPARE) + renc_run_aligned(payload) +
		renc_run_aligned(BUILD_PAIRS * sizeof(renc_run_entry)) +
		renc_run_aligned(renc_run_fanout(payload) * sizeof(renc_run_child)) * RENC_RUN_MAX_LEVEL;
}

static void *
take(uint8_t **memory, size_t size)
{
	void	   *p = *memory;

	*memory += renc_run_aligned(size);
	return p;
}

void
renc_run_build_init(renc_run_builder *b, const renc_run_options *options, uint8_t *memory)
{
	size_t		payload = options->payload;

	memset(b, 0, sizeof(*b));
	b->options = *options;
	b->run.payload = payload;
	b->run.first_page = options->first_page;
	b->run.npages = options->npages;
	b->run.parts = options->parts > 0 ? options->parts : 1;
	b->grain = 1;
	b->npages = b->run.npages * b->run.parts;
	b->max_blocks = (uint32_t) (payload / MIN_BLOCK);
	b->block = (renc_run_new_block *) take(&memory, (b->max_blocks + 1) * sizeof(renc_run_new_block));
	b->data = (uint8_t *) take(&memory, payload + SPARE);
	b->page = (uint8_t *) take(&memory, payload);
	b->entry = (renc_run_entry *) take(&memory, BUILD_PAIRS * sizeof(renc_run_entry));
	for (int level = 1; level <= RENC_RUN_MAX_LEVEL; level++)
		b->level[level].child = (renc_run_child *)
			take(&memory, renc_run_fanout(payload) * sizeof(renc_run_child));
}

/* ---- Blocks ---- */

/* The entries of a block: sorted, no two alike.  Returns their number. */
static uint32_t
make_page_entries(renc_run_entry *entry, const renc_run_pair *pair, uint32_t n,
				  const renc_run_new_block *block)
{
	uint64_t	base = block->separator >> block->width;
	uint32_t	made = 0;

	for (uint32_t i = 0; i < n;)
	{
		uint32_t	start = made;
		uint32_t	end = made;
		uint64_t	cell = pair[i].key >> block->width;
		bool		sorted = true;

		for (; i < n && pair[i].key >> block->width == cell; i++)
		{
			entry[end].cell = cell - base;
			entry[end].page = pair[i].page - block->first;
			sorted &= end == start || entry[end - 1].page < entry[end].page;
			end++;
		}
		if (sorted)
		{
			made = end;
			continue;
		}
		RENC_SORT(renc_run_entry, entry + start, end - start,.page);
		for (uint32_t j = start; j < end; j++)
			if (made == start || entry[made - 1].page != entry[j].page)
				entry[made++] = entry[j];
	}
	return made;
}

/*
 * Few bits make a separator short: a multiple of the highest power of two above the
 * last key, but close to the first cell.
 */
static void
choose_page_separator(const renc_run_builder *b, uint64_t key, renc_run_new_block *block)
{
	int			shift = MAX_WIDTH;

	for (; shift > 0; shift--)
	{
		uint64_t	floor = renc_run_floor(key, shift);

		if ((!b->any || floor > b->last) &&
			(key >> block->width) - (floor >> block->width) <= SEPARATOR_CELLS)
			break;
	}
	block->separator = renc_run_floor(key, shift);
	block->shift = shift;
}

/* Bytes of a separator, and its shift, with "block" behind those of the leaf. */
static int
page_separator_bytes(const renc_run_builder *b, uint32_t nblocks, int *shift)
{
	uint64_t	span = b->block[nblocks - 1].separator - b->block[0].separator;

	*shift = MAX_WIDTH;
	for (uint32_t i = 0; i < nblocks; i++)
		*shift = b->block[i].shift < *shift ? b->block[i].shift : *shift;
	span >>= *shift;
	return span == 0 ? 1 : renc_run_log2(span) / 8 + 1;
}

static size_t
page_directory_size(const renc_run_builder *b, uint32_t nblocks)
{
	int			shift;
	int			bytes = page_separator_bytes(b, nblocks, &shift);

	return LEAF_HEADER + (size_t) nblocks * (bytes + BLOCK_HEADER + (b->page_spans ? BLOCK_PAGE_SPAN : 0));
}

/* Of n pairs that make a block of so many bits, how many fit, about? */
static uint32_t
estimate_page_fit(const renc_run_builder *b, uint32_t n, uint64_t bits)
{
	size_t		used = page_directory_size(b, b->nblocks + 1) + b->ndata + 1;
	double		room = 8.0 * ((double) b->options.payload - (double) used);
	double		fit = room > 0 ? 0.995 * room / (double) bits * n : 0;

	return fit >= n ? n - 1 : (uint32_t) fit;
}

bool
renc_run_build_block(renc_run_builder *b, const renc_run_pair *pair, uint32_t n, int width, uint32_t *fit)
{
	renc_run_new_block *block = &b->block[b->nblocks];
	size_t		size;

	if (b->nblocks == b->max_blocks)
	{
		*fit = 0;
		return false;
	}
	memset(block, 0, sizeof(*block));
	block->width = width;
	block->npages = b->npages;
	if (b->page_spans)
		renc_run_plan_page_span(pair, n, &block->first, &block->npages);
	choose_page_separator(b, pair[0].key, block);
	block->n = make_page_entries(b->entry, pair, n, block);
	if (block->n > RENC_RUN_MAX_BLOCK)
	{
		*fit = n / 2;
		return false;
	}
	block->code = renc_run_choose_code(b->entry, block->n, block->npages);
	size = (size_t) (block->code.bits + 7) / 8;
	if (page_directory_size(b, b->nblocks + 1) + b->ndata + size > b->options.payload)
	{
		*fit = estimate_page_fit(b, n, block->code.bits);
		return false;
	}
	renc_run_write_block(b->data + b->ndata, &block->code, b->entry, block->n, block->npages);
	block->offset = (uint32_t) b->ndata;
	block->cont = b->any && b->reached >= block->separator;
	if (!block->cont)
		b->widest = 0;
	if (b->nblocks == 0)
		b->reach = (uint8_t) (block->cont ? REACHED | b->widest : 0);
	b->widest = b->widest > width ? b->widest : width;
	b->wmax = b->wmax > b->widest ? b->wmax : b->widest;
	if (!b->any)
		b->run.least = pair[0].key;
	b->any = true;
	b->last = pair[n - 1].key;
	if (b->reached < renc_run_ceiling(b->last, width))
		b->reached = renc_run_ceiling(b->last, width);
	b->entries += block->n;
	for (uint32_t i = 0; i < n; i++)
		b->rows += pair[i].rows;
	b->ndata += size;
	b->nblocks++;
	return true;
}

/* ---- Pages ---- */

/* Hands a page over. */
static uint32_t
finish_run_page(renc_run_builder *b, size_t used, int level)
{
	renc_run_page page = {b->page, used, level};
	uint32_t	number = b->options.write(b->options.arg, &page);

	memset(b->page, 0, b->options.payload);
	if (level == 0)
		b->run.nleaves++;
	else
		b->run.ninner++;
	return number;
}

static uint32_t
write_inner_page(renc_run_builder *b, int level)
{
	renc_run_level *l = &b->level[level];
	size_t		n = l->n;
	uint8_t    *p = b->page + INNER_HEADER;

	b->page[0] = (uint8_t) level;
	renc_run_put(b->page + 2, n, 2);
	for (size_t i = 0; i < n; i++)
	{
		renc_store64(p + 8 * i, l->child[i].key);
		renc_run_put(p + 8 * n + 4 * i, l->child[i].page, 4);
		renc_run_put(p + 12 * n + 6 * i, l->child[i].entries, 6);
		p[18 * n + i] = l->child[i].reach;
	}
	l->more = true;
	l->n = 0;
	return finish_run_page(b, INNER_HEADER + INNER_CHILD * n, level);
}

/*
 * A child of the inner page on "level".  A page that is full is written when there is
 * one child more.
 */
static void
add_child_to_page(renc_run_builder *b, int level, const renc_run_child *child)
{
	renc_run_level *l = &b->level[level];

	if (level > RENC_RUN_MAX_LEVEL)
	{
		b->failed = true;
		return;
	}
	if (l->n == renc_run_fanout(b->options.payload))
	{
		renc_run_child parent = l->child[0];

		parent.page = write_inner_page(b, level);
		add_child_to_page(b, level + 1, &parent);
	}
	l->child[l->n++] = *child;
}

void
renc_run_build_leaf(renc_run_builder *b)
{
	renc_run_child child = {0, b->run.entries, 0, b->reach};
	uint8_t    *p = b->page;
	uint32_t	n = b->nblocks;
	int			shift;
	int			bytes;
	size_t		used;

	if (n == 0)
		return;
	b->rows = b->rows < UINT32_MAX ? b->rows : UINT32_MAX;
	bytes = page_separator_bytes(b, n, &shift);
	used = page_directory_size(b, n) + b->ndata;
	child.key = b->block[0].separator;
	p[1] = (uint8_t) ((bytes - 1) | (b->page_spans ? LEAF_PAGE_SPANS : 0));
	if (b->grain > 1)
		p[1] |= b->grain == b->run.parts ? LEAF_PAGES : LEAF_COARSE;
	renc_run_put(p + 2, n, 2);
	renc_run_put(p + 4, used, 2);
	p[6] = (uint8_t) shift;
	p[7] = (uint8_t) b->wmax;
	renc_store64(p + 8, child.key);
	renc_run_put(p + 16, b->entries, 4);
	renc_run_put(p + 20, b->rows, 4);
	p += LEAF_HEADER;
	for (uint32_t i = 0; i < n; i++)
	{
		const renc_run_new_block *block = &b->block[i];
		uint32_t	head = (uint32_t) block->width | (uint32_t) block->code.parameter << 6 |
			(block->n - 1) << 12 | (uint32_t) block->cont << 22 | (uint32_t) block->code.coding << 23;
		uint8_t    *rest = p + (size_t) n * bytes;

		renc_run_put(p + (size_t) i * bytes, (block->separator - child.key) >> shift, bytes);
		renc_run_put(rest + 2 * (size_t) i, block->offset, 2);
		renc_run_put(rest + 2 * (size_t) n + 3 * (size_t) i, head, 3);
		if (b->page_spans)
		{
			renc_run_put(rest + 5 * (size_t) n + 8 * (size_t) i, block->first, 4);
			renc_run_put(rest + 5 * (size_t) n + 8 * (size_t) i + 4, block->npages, 4);
		}
	}
	memcpy(b->page + used - b->ndata, b->data, b->ndata);
	child.page = finish_run_page(b, used, 0);
	add_child_to_page(b, 1, &child);
	b->run.entries += b->entries;
	b->run.rows += b->rows;
	memset(b->data, 0, b->ndata + SPARE);
	b->nblocks = 0;
	b->ndata = 0;
	b->wmax = 0;
	b->entries = 0;
	b->rows = 0;
}

void
renc_run_build_root(renc_run_builder *b)
{
	int			level = 1;
	renc_run_child child;

	renc_run_build_leaf(b);
	b->run.greatest = b->last;

	/* Up to the level whose only page is, or would be of one child only. */
	while (!b->failed && (b->level[level].more || b->level[level].n > 1))
	{
		bool		root = !b->level[level].more;

		child = b->level[level].child[0];
		child.page = write_inner_page(b, level);
		if (root)
		{
			b->run.root = child.page;
			b->run.level = level;
			return;
		}
		add_child_to_page(b, ++level, &child);
		if (level > RENC_RUN_MAX_LEVEL)
			return;
	}
	b->run.root = b->level[level].child[0].page;
	b->run.level = level - 1;
}
