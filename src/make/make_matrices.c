/*
 * make_matrices.c
 *		Making a run of matrices: filters of the rows of heap pages.
 *
 * The keys of a block are collected, made distinct per range, and written as a matrix for each column.
 * Memory: the matrices of a block, and its keys.  If these take more than maintenance_work_mem, the
 * keys of the ranges so far are set in the matrices and dropped; they decide about shape and size.
 */
#include "make/make_matrices.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "design/filter_design.h"
#include "table/heap_read.h"

/* What is read and written. */
typedef struct MatrixMaker
{
	MemoryContext context;
	RencoderReadRows *rows;
	RencoderRunWriter *writer;
	RencoderMeta meta;
	RencoderCollector *collector;
	RencoderRangeKeys *keys;
	RencoderDesigner *designer;
	BlockNumber first;			/* page of the block at hand */
	int			nslots;			/* ranges of it */
	RencoderMatrixEntry *block; /* its entries */
	char	   *image[INDEX_MAX_KEYS];	/* its matrices as far as they are
										 * made, or NULL */
	RencoderMatrixEntry *entry; /* of all blocks */
	RencoderRunColumn column[RENCODER_MAX_TREES];	/* for the info page */
} MatrixMaker;

static void
take_range_key(void *arg, int tree, uint64 key)
{
	rencoder_range_keys_add(((MatrixMaker *) arg)->keys, tree, key);
}

/* Sets the keys of a column that are at hand in its matrix.  The first call chooses its filters. */
static void
fill_matrix(MatrixMaker *m, int col)
{
	RencoderMatrixEntry *entry = &m->block[col];
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always;

	if (m->image[col] == NULL && m->keys->column[col].nkeys == 0)
		return;
	if (m->image[col] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(m->context);

		rencoder_design_column(m->designer, m->keys, col, &entry->config);
		entry->config.width = rencoder_filter_width((m->nslots - 1) / RENC_SLICE_RANGES);
		m->image[col] = rencoder_filter_create_image(&entry->config);
		MemoryContextSwitchTo(old);
	}
	always = rencoder_filter_keys(&entry->config, m->keys, col, renc_mask_all(), ranges);
	for (int slot = 0; slot < m->keys->nslots; slot++)
	{
		if (renc_mask_test(always, slot))
			rencoder_set_add(entry->always, slot);
	}
	rencoder_filter_fill_image(&entry->config, ranges, m->image[col]);
}

static void
read_range_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool tupleIsAlive, void *state)
{
	MatrixMaker *m = (MatrixMaker *) state;
	int			slot = (int) ((ItemPointerGetBlockNumber(tid) - m->first) / m->meta.pages_per_range);

	if (slot >= m->keys->nslots &&
		rencoder_range_keys_memory(m->keys) > (Size) maintenance_work_mem * 1024)
	{
		rencoder_range_keys_close(m->keys, slot);
		for (int col = 0; col < m->meta.natts; col++)
			fill_matrix(m, col);
		rencoder_range_keys_drop(m->keys);
	}
	rencoder_range_keys_open(m->keys, slot);
	rencoder_columns_collect_row(index, m->collector, &m->rows->coders, values, isnull, tupleIsAlive);
	m->rows->index_tuples++;
}

/* Notes what the info page says of a column. */
static void
note_matrix_column(MatrixMaker *m, int col, const RencoderRangeSummary *range)
{
	RencoderRunColumn *column = &m->column[col];
	RencoderRunColumn *nulls = &m->column[rencoder_run_null_tree(m->meta.natts, col)];

	if (range->min <= range->max)
	{
		column->least = column->entries == 0 ? range->min : Min(column->least, range->min);
		column->greatest = Max(column->greatest, range->max);
		column->entries += range->distinct;
	}
	if (range->has_null || range->keyless)
	{
		if (range->has_null || nulls->entries == 0)
			nulls->least = range->has_null ? RENCODER_RUN_NULL : RENCODER_RUN_KEYLESS;
		nulls->greatest = Max(nulls->greatest, range->keyless ? RENCODER_RUN_KEYLESS : RENCODER_RUN_NULL);
		nulls->rows = ++nulls->entries;
	}
}

static void
write_matrix(MatrixMaker *m, int col)
{
	RencoderMatrixEntry *entry = &m->block[col];
	uint32		npages;

	fill_matrix(m, col);
	npages = rencoder_filter_npages(&entry->config);
	entry->matrix = rencoder_run_writer_reserve(m->writer, npages);
	for (uint32 i = 0; i < npages; i++)
		rencoder_run_writer_put(m->writer, entry->matrix.start + i, RENCODER_PAGE_WINDOWS,
								m->image[col] + (Size) i * RENCODER_PAYLOAD_SIZE);
	m->column[col].nleaves += npages;
}

/* A column of the block that was read. */
static void
write_block_column(MatrixMaker *m, int col)
{
	RencoderMatrixEntry *entry = &m->block[col];
	bool		any = false;

	for (int slot = 0; slot < m->keys->nslots; slot++)
	{
		const RencoderRangeSummary *range = &m->keys->column[col].range[slot];

		note_matrix_column(m, col, range);
		any |= range->min <= range->max;
		entry->min = Min(entry->min, range->min);
		entry->max = Max(entry->max, range->max);
		if (range->keyless)
			rencoder_set_add(entry->keyless, slot);
		if (range->has_null)
			rencoder_set_add(entry->has_null, slot);
		if (rencoder_range_has_value(range))
			rencoder_set_add(entry->has_value, slot);
	}
	if (any)
		write_matrix(m, col);
	if (m->image[col] != NULL)
		pfree(m->image[col]);
	m->image[col] = NULL;
}

/* Reads a block's pages, and writes its matrices. */
static void
make_block(MatrixMaker *m, uint32 block, BlockNumber first, BlockNumber npages)
{
	RencoderReadRows *rows = m->rows;

	m->first = first;
	m->nslots = (int) ((npages + m->meta.pages_per_range - 1) / m->meta.pages_per_range);
	m->block = &m->entry[(Size) block * m->meta.natts];
	for (int col = 0; col < m->meta.natts; col++)
		m->block[col].config.coder = rows->coders.generation[col];
	rencoder_range_keys_reset(m->keys);
	rows->heap_tuples += rencoder_heap_read(rows->heap, rows->index, rows->indexInfo, rows->in_use,
											first, npages, read_range_row, m, &rows->horizon);
	rows->broken_hot_chain |= rows->indexInfo->ii_BrokenHotChain;
	rencoder_range_keys_close(m->keys, m->nslots);
	for (int col = 0; col < m->meta.natts; col++)
		write_block_column(m, col);
}

/* What the trees are of, as readers of runs want it. */
static void
begin_columns(MatrixMaker *m, BlockNumber from, BlockNumber end)
{
	renc_places places = renc_whole_pages();

	for (int tree = 0; tree < rencoder_run_ntrees(m->meta.natts); tree++)
	{
		RencoderRunColumn *column = &m->column[tree];

		column->coder = tree < m->meta.natts ? m->rows->coders.generation[tree] : 0;
		column->first_page = from;
		column->npages = Max(end - from, 1);
		column->parts = places.parts;
		column->part_rows = places.part_rows;
		column->most_rows = places.most;
	}
}

bool
rencoder_make_matrices(RencoderReadRows *rows, RencoderRunWriter *writer, BlockNumber from, BlockNumber to,
					   BlockNumber end, RencoderMatrixPause pause, void *arg)
{
	MatrixMaker *m = palloc0(sizeof(MatrixMaker));
	RencoderRunEntry run = {.from = from,.to = to};
	uint64		block_pages;
	uint64		n;

	m->context = CurrentMemoryContext;
	m->rows = rows;
	m->writer = writer;
	m->meta = *rencoder_meta_get(rows->index);
	m->collector = rencoder_collect_create(m->meta.natts);
	m->collector->in_use = rows->in_use;
	m->collector->sink = take_range_key;
	m->collector->sink_arg = m;
	m->keys = rencoder_range_keys_create(m->meta.natts);
	m->designer = rencoder_designer_create(rows->index, &m->meta,
										   (double) (end - from) / m->meta.pages_per_range);
	n = (uint64) rencoder_matrix_blocks(&run, m->meta.pages_per_range) * m->meta.natts;
	m->entry = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(RencoderMatrixEntry),
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint64 i = 0; i < n; i++)
		m->entry[i].min = PG_UINT64_MAX;
	block_pages = rencoder_matrix_block_pages(m->meta.pages_per_range);
	begin_columns(m, from, end);
	for (uint64 first = from, block = 0; first < end; first += block_pages, block++)
	{
		make_block(m, (uint32) block, (BlockNumber) first, (BlockNumber) Min(block_pages, end - first));
		if (first + block_pages < end && pause != NULL && !pause(arg))
			return false;
	}
	for (int col = 0; col < m->meta.natts; col++)
	{
		if (m->column[col].entries > 0)
			m->column[col].rows = Max(m->column[col].entries, (uint64) rows->index_tuples);
	}
	rencoder_matrix_write_entries(writer, m->column, m->entry, n);
	return true;
}
