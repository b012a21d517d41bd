/*
 * check.c
 *		rencoder_index_check(): is the structure of an index sound?
 *
 * Every page that can be reached from the metapage is read and verified by
 * type and content, and no block may be referred to twice.  Pages that
 * nothing refers to are legal: a crash leaves such.
 *
 * Comments name the invariant of src/README.md that a check stands for.  INV-5
 * is one of rencoder_page_fault(), INV-3 shows in check_heap.c; INV-8 (locks)
 * and INV-10 (bytes) cannot be seen here.
 *
 * Inserters may widen bounds and set bits all the time; that breaks nothing
 * that is checked here.  The maintainer would, so it is kept out (primary) or
 * found out by the generation (standby).
 */
#include "check.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "groupcopy.h"
#include "rencoder.h"
#include "space.h"
#include "target.h"

PG_FUNCTION_INFO_V1(rencoder_index_check);

/* A reference to blocks, for finding blocks that have two. */
typedef struct BlockReference
{
	BlockNumber start;
	uint32		npages;
	BlockNumber from;			/* the page that refers to them */
} BlockReference;

#define ST_SORT sort_references
#define ST_ELEMENT_TYPE BlockReference
#define ST_COMPARE(a, b) ((a)->start < (b)->start ? -1 : ((a)->start > (b)->start ? 1 : 0))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

typedef struct CheckState
{
	Relation	index;
	RencoderMeta meta;
	bool		primary;		/* we can lock the maintainer out */
	BlockNumber nblocks;		/* of the index, when last looked at */
	RencoderGroupCopy *copy;
	BlockReference *reference;
	size_t		nreferences;
	size_t		allocated;
} CheckState;

static void
lock_out_maintainer(const CheckState *state)
{
	if (state->primary)
		rencoder_meta_lock_maintainer(state->index);
}

static void
let_in_maintainer(const CheckState *state)
{
	if (state->primary)
		rencoder_meta_unlock_maintainer(state->index);
}

static void
require(const CheckState *state, bool condition, BlockNumber blkno, const char *detail)
{
	if (!condition)
		rencoder_page_corrupted(state->index, blkno, detail);
}

/* The blocks must be in the file, and not the metapage. */
static void
check_bounds(CheckState *state, BlockNumber from, BlockNumber start, uint32 npages)
{
	uint64		end = (uint64) start + npages;

	if (end > state->nblocks)
		state->nblocks = RelationGetNumberOfBlocks(state->index);
	if (start == RENCODER_META_BLKNO || npages == 0 || end > state->nblocks)
		rencoder_page_corrupted(state->index, from,
								psprintf("It refers to %u pages from block %u; the index has %u blocks.",
										 npages, start, state->nblocks));
}

static void
refer(CheckState *state, BlockNumber from, BlockNumber start, uint32 npages)
{
	BlockReference *r;

	check_bounds(state, from, start, npages);
	if (state->nreferences == state->allocated)
	{
		state->allocated *= 2;
		state->reference = repalloc_huge(state->reference,
										 state->allocated * sizeof(BlockReference));
	}
	r = &state->reference[state->nreferences++];
	r->start = start;
	r->npages = npages;
	r->from = from;
}

static void
refer_extent(CheckState *state, BlockNumber from, RencoderExtent extent)
{
	if (extent.start != RENCODER_NO_BLOCK)
		refer(state, from, extent.start, extent.npages);
}

/* What rencoder_meta_lock() does not look at. */
static void
check_metapage(CheckState *state)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(state->index);

	require(state, metadata->pages_per_range <= RENCODER_MAX_PAGES_PER_RANGE &&
			metadata->bits_per_key >= RENCODER_MIN_BITS_PER_KEY &&
			metadata->bits_per_key <= RENCODER_MAX_BITS_PER_KEY,
			RENCODER_META_BLKNO, "An option of the metapage is out of range.");
	require(state, metadata->unused == 0 && metadata->generation > 0,
			RENCODER_META_BLKNO, "A field of the metapage has an impossible value.");
	pfree(metadata);
}

/* Fields of a header page that concern no single range. */
static void
check_header_fields(CheckState *state, BlockNumber blkno,
					const RencoderHeaderData *header, bool first)
{
	bool		matrix = header->matrix.start != RENCODER_NO_BLOCK;

	require(state, header->unused == 0, blkno,
			"A field of the header that must be zero is not.");

	/* INV-1: a range is in one state. */
	require(state, renc_mask_empty(renc_mask_and(rencoder_set_get(header->summarizing),
												 rencoder_set_get(header->summarized))),
			blkno, "A range is both summarizing and summarized.");

	/* States exist once. */
	require(state, first ||
			(renc_mask_empty(rencoder_set_get(header->summarizing)) &&
			 renc_mask_empty(rencoder_set_get(header->summarized))),
			blkno, "The header of a further column has range states.");

	/* INV-7: slices and matrix change places in one record. */
	require(state, !matrix || header->next.start == RENCODER_NO_BLOCK, blkno,
			"The header has a matrix and another one under construction.");
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		require(state, !matrix || header->slice[s].start == RENCODER_NO_BLOCK, blkno,
				"The header has both a matrix and slices.");
		if (header->slice[s].start != RENCODER_NO_BLOCK)
			check_bounds(state, blkno, header->slice[s].start, header->slice[s].npages);
	}
	if (matrix)
		check_bounds(state, blkno, header->matrix.start, header->matrix.npages);
	if (header->next.start != RENCODER_NO_BLOCK)
		check_bounds(state, blkno, header->next.start, header->next.npages);
}

static void
check_config(CheckState *state, BlockNumber blkno, const RencoderHeaderData *header)
{
	const RencoderConfig *config = &header->config;
	renc_shape	shape;
	const char *reason;

	if (config->format == RENCODER_FORMAT_NONE)
	{
		bool		storage = header->matrix.start != RENCODER_NO_BLOCK;

		for (int s = 0; s < RENC_GROUP_SLICES; s++)
			storage |= header->slice[s].start != RENCODER_NO_BLOCK;
		require(state, !storage, blkno, "The group has storage of no format.");
		return;
	}
	require(state, rencoder_format_of(config) != NULL, blkno,
			"The format of the group is not known to this version.");
	if (config->format != RENCODER_FORMAT_FILTER)
		return;
	require(state, config->nwindows > 0, blkno, "The filters have no windows.");
	if (!renc_shape_unpack(config->shape, &shape, &reason))
		rencoder_page_corrupted(state->index, blkno,
								psprintf("The shape of the filters is not valid: %s.",
										 reason));
}

/* One range of one column that is being or has been summarized. */
static void
check_range(CheckState *state, BlockNumber blkno, int col, unsigned int slot,
			bool summarized)
{
	const RencoderGroupCopy *copy = state->copy;
	const RencoderHeaderData *header = copy->header[col];
	const RencoderEntryColumn *bounds = &copy->entry->column[col];
	bool		always = renc_mask_test(rencoder_set_get(header->always), slot);
	bool		has_value = renc_mask_test(rencoder_set_get(header->has_value), slot);
	bool		has_bounds = header->min[slot] <= header->max[slot];
	const char *fault = NULL;

	/* INV-2: these widen together. */
	if (has_bounds && !has_value)
		fault = "has bounds but no value";
	else if (has_value && !has_bounds && !always)
		fault = "has values but no bounds";
	/* INV-6: directory bounds cover the header's. */
	else if (has_bounds &&
			 (header->min[slot] < bounds->min || header->max[slot] > bounds->max))
		fault = "has bounds outside those of the directory";
	else if (always && !(copy->entry->flags & RENCODER_ENTRY_ALWAYS))
		fault = "is always a candidate, which the directory does not say";
	/* INV-4: storage is linked before the state is set. */
	else if (summarized && header->matrix.start == RENCODER_NO_BLOCK &&
			 header->slice[slot / RENC_SLICE_RANGES].start == RENCODER_NO_BLOCK)
		fault = "is summarized but has no storage";
	else if (summarized && header->config.format == RENCODER_FORMAT_FILTER &&
			 header->nset[slot] > (uint64) header->config.nwindows * RENCODER_ROWS)
		fault = "has more bits set than its filter has";
	/* INV-9: a sealed group answers with the greatest horizon. */
	else if (summarized && (copy->entry->flags & RENCODER_ENTRY_SEALED) &&
			 copy->header[0]->horizon[slot] > copy->entry->horizon)
		fault = "has a trust horizon beyond that of the directory";

	if (fault)
		rencoder_page_corrupted(state->index, blkno,
								psprintf("Range %llu of column %d %s.",
										 (unsigned long long) copy->group * RENC_GROUP_RANGES + slot,
										 col + 1, fault));
}

/* INV-6: a sealed group can do without its header. */
static void
check_sealed(CheckState *state, BlockNumber blkno, int col)
{
	const RencoderHeaderData *first = state->copy->header[0];
	const RencoderHeaderData *header = state->copy->header[col];

	require(state,
			renc_mask_empty(renc_mask_andnot(renc_mask_all(),
											 rencoder_set_get(first->summarized))),
			blkno, "The group is sealed, but not all its ranges are summarized.");
	require(state, header->matrix.start != RENCODER_NO_BLOCK, blkno,
			"The group is sealed, but has no matrix.");
}

static void
check_entry(CheckState *state)
{
	const RencoderGroupCopy *copy = state->copy;
	RencoderEntry entry = copy->entry;

	require(state, (entry->flags & ~(RENCODER_ENTRY_SEALED | RENCODER_ENTRY_ALWAYS)) == 0,
			copy->directory, "A directory entry has unknown flags.");
	if (entry->header == RENCODER_NO_BLOCK)
	{
		require(state, entry->flags == 0, copy->directory,
				"A directory entry without a header has flags.");
		return;
	}
	require(state, entry->width == RENC_GROUP_RANGES, copy->directory,
			"A directory entry has an unknown width.");

	/* INV-7: the metapage has the latest generation. */
	require(state, entry->generation <= rencoder_meta_generation(state->index),
			copy->directory, "A directory entry is of a future generation.");
}

static void
check_headers(CheckState *state)
{
	const RencoderGroupCopy *copy = state->copy;
	renc_mask	summarized = rencoder_set_get(copy->header[0]->summarized);
	renc_mask	known = renc_mask_or(summarized,
									 rencoder_set_get(copy->header[0]->summarizing));

	for (int col = 0; col < state->meta.natts; col++)
	{
		const RencoderHeaderData *header = copy->header[col];
		const RencoderEntryColumn *bounds = &copy->entry->column[col];
		BlockNumber blkno = copy->entry->header + col;

		check_header_fields(state, blkno, header, col == 0);
		check_config(state, blkno, header);
		require(state,
				memcmp(&bounds->config, &header->config, sizeof(RencoderConfig)) == 0 &&
				bounds->matrix.start == header->matrix.start &&
				bounds->matrix.npages == header->matrix.npages,
				blkno, "Header and directory disagree on the group's storage.");
		if (copy->entry->flags & RENCODER_ENTRY_SEALED)
			check_sealed(state, blkno, col);
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		{
			if (renc_mask_test(known, slot))
				check_range(state, blkno, col, slot, renc_mask_test(summarized, slot));
		}
	}
}

/* The pages of a column's storage. */
static void
check_storage(CheckState *state, const RencoderHeaderData *header)
{
	const RencoderFormat *format = rencoder_format_of(&header->config);
	RencoderSlab slab = {state->index, &header->config, header->matrix,
	RENC_MATRIX_WIDTH, false};

	if (header->matrix.start != RENCODER_NO_BLOCK)
		format->check(&slab);
	slab.width = RENC_SLICE_WIDTH;
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		slab.extent = header->slice[s];
		if (slab.extent.start != RENCODER_NO_BLOCK)
			format->check(&slab);
	}

	/* "next" may have pages that are not yet written. */
}

/*
 * Reads what is known of a group, after a look at the block numbers that lead
 * there.
 */
static bool
read_group(CheckState *state, uint32 group)
{
	BlockNumber dir_blkno = rencoder_directory_find(state->index, &state->meta, NULL,
													group, NULL);
	BlockNumber header;

	state->copy->directory = dir_blkno;
	if (dir_blkno == RENCODER_NO_BLOCK)
		return false;
	check_bounds(state, RENCODER_META_BLKNO, dir_blkno, 1);
	header = rencoder_group_find(state->index, &state->meta, group);
	if (header != RENCODER_NO_BLOCK)
		check_bounds(state, dir_blkno, header, state->meta.natts);
	return rencoder_groupcopy_read(state->index, &state->meta, group, state->copy);
}

/*
 * On a standby: locks the header and copies it once more, so that the extents
 * in the copy are those that stay until it is unlocked.
 */
static Buffer
hold_storage(CheckState *state)
{
	RencoderGroupCopy *copy = state->copy;
	Buffer		guard = InvalidBuffer;

	for (int col = 0; col < state->meta.natts; col++)
	{
		BlockNumber blkno = copy->entry->header + col;
		Buffer		buf = rencoder_header_read(state->index, copy->entry->header,
											   copy->group, col, BUFFER_LOCK_SHARE);

		memcpy(copy->header[col], RencoderPageGetHeader(BufferGetPage(buf)),
			   sizeof(RencoderHeaderData));
		if (col == 0)
			guard = buf;
		else
			UnlockReleaseBuffer(buf);
		check_header_fields(state, blkno, copy->header[col], col == 0);
		check_config(state, blkno, copy->header[col]);
	}
	return guard;
}

/* A group: directory entry, headers, and the pages of its storage. */
static void
check_group(CheckState *state, uint32 group)
{
	Buffer		guard = InvalidBuffer;
	bool		exists;

	lock_out_maintainer(state);
	exists = read_group(state, group);
	if (state->copy->directory != RENCODER_NO_BLOCK)
		check_entry(state);
	if (exists)
	{
		check_headers(state);
		if (!state->primary)
			guard = hold_storage(state);
		for (int col = 0; col < state->meta.natts; col++)
			check_storage(state, state->copy->header[col]);
		if (BufferIsValid(guard))
			UnlockReleaseBuffer(guard);
	}
	let_in_maintainer(state);
}

static void
refer_group(CheckState *state)
{
	const RencoderGroupCopy *copy = state->copy;
	BlockNumber first = copy->entry->header;

	refer(state, copy->directory, first, state->meta.natts);
	for (int col = 0; col < state->meta.natts; col++)
	{
		const RencoderHeaderData *header = copy->header[col];

		refer_extent(state, first + col, header->matrix);
		refer_extent(state, first + col, header->next);
		for (int s = 0; s < RENC_GROUP_SLICES; s++)
			refer_extent(state, first + col, header->slice[s]);
	}
}

/* Directory pages and the maps that lead to them. */
static void
refer_directory(CheckState *state, const RencoderMetaPageData *metadata)
{
	for (int i = 0; i < RENCODER_META_DIRECT; i++)
	{
		if (metadata->direct[i] != RENCODER_NO_BLOCK)
			refer(state, RENCODER_META_BLKNO, metadata->direct[i], 1);
	}
	for (int i = 0; i < RENCODER_META_MAPS; i++)
	{
		Buffer		buf;
		BlockNumber *blkno;

		if (metadata->map[i] == RENCODER_NO_BLOCK)
			continue;
		refer(state, RENCODER_META_BLKNO, metadata->map[i], 1);
		buf = rencoder_page_read(state->index, metadata->map[i], BUFFER_LOCK_SHARE,
								 RENCODER_PAGE_DIRMAP);
		blkno = palloc(RENCODER_PAYLOAD_SIZE);
		memcpy(blkno, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
		for (size_t j = 0; j < RENCODER_PAYLOAD_SIZE / sizeof(BlockNumber); j++)
		{
			if (blkno[j] != RENCODER_NO_BLOCK)
				refer(state, metadata->map[i], blkno[j], 1);
		}
		pfree(blkno);
	}
}

/* The free list; a chain longer than the index has a loop. */
static void
refer_free_list(CheckState *state)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(state->index);
	RencoderFreePageData *list = palloc(RENCODER_PAYLOAD_SIZE);
	BlockNumber from = RENCODER_META_BLKNO;
	BlockNumber blkno = metadata->free_root;
	BlockNumber visited = 0;

	while (blkno != RENCODER_NO_BLOCK)
	{
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		refer(state, from, blkno, 1);
		require(state, ++visited <= state->nblocks, blkno,
				"The list of free pages runs in a circle.");
		buf = rencoder_page_read(state->index, blkno, BUFFER_LOCK_SHARE,
								 RENCODER_PAGE_FREE);
		memcpy(list, RencoderPageGetFree(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
		UnlockReleaseBuffer(buf);
		require(state, list->n <= RENCODER_FREE_EXTENTS, blkno,
				"The free list has an impossible number of extents.");
		for (uint32 i = 0; i < list->n; i++)
			refer(state, blkno, list->extent[i].start, list->extent[i].npages);
		from = blkno;
		blkno = list->next;
	}
	pfree(list);
	pfree(metadata);
}

/*
 * Collects all references.  Groups come before the free list: a block that
 * stands in both was then freed in between, which changes the generation
 * (INV-7), or is in error.
 */
static void
collect_references(CheckState *state)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(state->index);
	uint32		ngroups;

	state->nreferences = 0;
	refer_directory(state, metadata);
	ngroups = rencoder_groupcopy_count(state->index, &state->meta, metadata, 0);
	pfree(metadata);
	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		if (read_group(state, group))
			refer_group(state);
	}
	refer_free_list(state);
}

/* A reference to a block that another one has already, or NULL. */
static const BlockReference *
find_overlap(CheckState *state)
{
	BlockReference *r = state->reference;

	sort_references(r, state->nreferences);
	for (size_t i = 1; i < state->nreferences; i++)
	{
		if ((uint64) r[i - 1].start + r[i - 1].npages > r[i].start)
			return &r[i];
	}
	return NULL;
}

/* INV-6, INV-7: no block has two uses. */
static void
check_references(CheckState *state)
{
	const BlockReference *overlap;
	uint64		generation;

	lock_out_maintainer(state);
	do
	{
		CHECK_FOR_INTERRUPTS();
		generation = rencoder_meta_generation(state->index);
		collect_references(state);
		overlap = find_overlap(state);
	} while (overlap != NULL &&
			 generation != rencoder_meta_generation(state->index));
	if (overlap != NULL)
		rencoder_page_corrupted(state->index, overlap->start,
								psprintf("Blocks %u and %u both refer to it.",
										 overlap[-1].from, overlap->from));
	let_in_maintainer(state);
}

void
rencoder_check_structure(Relation index)
{
	CheckState	state;
	RencoderMetaPageData *metadata;
	uint32		ngroups;

	memset(&state, 0, sizeof(state));
	state.index = index;
	state.meta = *rencoder_meta_get(index);
	state.primary = !RecoveryInProgress();
	state.nblocks = RelationGetNumberOfBlocks(index);
	state.copy = rencoder_groupcopy_create(&state.meta);
	state.allocated = 1024;
	state.reference = palloc(state.allocated * sizeof(BlockReference));

	check_metapage(&state);
	check_references(&state);
	metadata = rencoder_meta_copy(index);
	ngroups = rencoder_groupcopy_count(index, &state.meta, metadata, 0);
	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		check_group(&state, group);
	}
}

/*
 * rencoder_index_check(index regclass, heapallindexed boolean) returns void
 *
 * AccessShareLock on table and index.  Not checked: bits that are set without
 * need (they only cost time), and pages that nothing refers to.
 */
Datum
rencoder_index_check(PG_FUNCTION_ARGS)
{
	bool		heapallindexed = PG_GETARG_BOOL(1);
	RencoderTarget target;

	rencoder_target_open(&target, PG_GETARG_OID(0), AccessShareLock,
						 RENCODER_PRIVILEGE_OWNER);
	rencoder_target_require_valid(&target);
	rencoder_check_structure(target.index);
	if (heapallindexed)
		rencoder_check_heap(target.heap, target.index);
	rencoder_target_close(&target);
	PG_RETURN_VOID();
}
