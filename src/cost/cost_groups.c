/*
 * cost_groups.c
 *		What the planner learns of the groups of an index.
 *
 * An index is much smaller than its table, and its directory much smaller
 * than the index: looking at it makes the estimate better than statistics
 * alone could, and costs less than a microsecond a page.
 */
#include "cost/cost_groups.h"

#include <math.h>

#include "format/format_filter.h"
#include "scan/candidates.h"
#include "store/covered_spans.h"

/* Directory and header pages looked at, at most. */
#define MAX_DIRECTORY_PAGES 16
#define MAX_HEADER_PAGES	4

/* The same of an index with runs, which tell more: the first page stands for most. */
#define MAX_DIRECTORY_PAGES_OF_RUNS	2
#define MAX_HEADER_PAGES_OF_RUNS	1

/*
 * Groups probed with the query when planning: 2,048 ranges tell a rate of one
 * in a thousand, for some 50 pages read.
 */
#define SAMPLED_GROUPS		16

/* Headers looked at for null flags, at most. */
#define NULLS_GROUPS		4

/* What a directory scan sums up; each group counts "weight" times. */
typedef struct GroupSums
{
	bool		may_look;
	double		seen;
	double		meeting;
	double		unsummarized;
	double		covered;
	int			max_headers;
	int			headers_read;
	bool		have_matrix;	/* is config[] that of a matrix? */
} GroupSums;

/* May a group with these bounds hold a row of the query? */
static bool
cost_group_meets_query(RencoderEntry entry, RencoderQuery *query)
{
	for (int col = 0; col < query->natts; col++)
	{
		const RencoderEntryColumn *column = &entry->column[col];
		const RencoderKeySet *keys;

		if (!query->column[col].has_keys)
			continue;
		keys = rencoder_key_get_set(query, col, column->config.coder);
		if (keys != NULL && !rencoder_key_set_meets_bounds(keys, column->min, column->max))
			return false;
	}
	return true;
}

/* Compares the bounds of ranges that are in filters with the query. */
static void
compare_cost_group_bounds(Relation index, RencoderEntry entry, uint32 group, renc_mask filtered,
						  RencoderQuery *query, RencoderCostGroups *info)
{
	RencoderHeaderData header;

	info->compared += renc_mask_count(filtered);
	for (int col = 0; col < query->natts; col++)
	{
		const RencoderKeySet *keys = NULL;
		const char *fault;
		Buffer		buf = InvalidBuffer;

		if (query->column[col].has_keys)
			buf = rencoder_page_try_read(index, entry->header + col, RENCODER_PAGE_HEADER, &fault);
		if (BufferIsValid(buf))
		{
			/* To make keys, a coder may have to be read. */
			rencoder_header_copy(&header, buf, group);
			UnlockReleaseBuffer(buf);
			keys = rencoder_key_get_set(query, col, header.config.coder);
		}
		renc_mask_each(slot, filtered)
			info->compared_meeting[col] += keys == NULL ||
			rencoder_key_set_meets_bounds(keys, header.min[slot], header.max[slot]);
	}
}

/* A group whose state only its header tells.  If it is not read, all is taken to be done. */
static void
look_at_header(Relation index, RencoderEntry entry, uint32 group, double existing,
			   double weight,
			   RencoderQuery *query, RencoderCostGroups *info, GroupSums *sums)
{
	const char *fault;
	Buffer		buf = InvalidBuffer;
	RencoderHeader header;
	renc_mask	filtered;
	int			summarized;
	int			covered;

	if (sums->headers_read++ < sums->max_headers)
		buf = rencoder_page_try_read(index, entry->header, RENCODER_PAGE_HEADER, &fault);
	if (!BufferIsValid(buf))
	{
		sums->covered += entry->run != 0 ? weight * existing : 0;
		return;
	}
	header = rencoder_page_header(BufferGetPage(buf), group);
	summarized = renc_mask_count(rencoder_set_get(header->summarized));
	covered = renc_mask_count(renc_mask_or(rencoder_set_get(header->covered),
										   rencoder_set_get(header->noted)));
	sums->unsummarized += weight * Max(0, existing - summarized);
	sums->covered += weight * Min(existing, covered);
	if (!sums->have_matrix)
		info->config[0] = header->config;
	filtered = rencoder_header_filtered(header);
	UnlockReleaseBuffer(buf);
	info->of_query |= !renc_mask_empty(filtered);
	if (sums->may_look && !query->empty && !renc_mask_empty(filtered))
		compare_cost_group_bounds(index, entry, group, filtered, query, info);
}

static void
look_at_entry(Relation index, RencoderEntry entry, uint32 group, double existing,
			  double weight,
			  RencoderQuery *query, RencoderCostGroups *info, GroupSums *sums)
{
	if (entry->header == RENCODER_NO_BLOCK)
	{
		sums->unsummarized += weight * existing;
		return;
	}
	if (entry->flags & RENCODER_ENTRY_COVERED)
	{
		sums->covered += weight * existing;
		for (int col = 0; col < query->natts && !sums->have_matrix; col++)
			info->config[col] = entry->column[col].config;
		return;
	}
	sums->seen += weight;
	if (entry->flags & RENCODER_ENTRY_SEALED)
	{
		info->of_query = true;
		if (!sums->may_look || cost_group_meets_query(entry, query))
			sums->meeting += weight;
		for (int col = 0; col < query->natts; col++)
			info->config[col] = entry->column[col].config;
		sums->have_matrix = true;
	}
	else
	{
		sums->meeting += weight;
		look_at_header(index, entry, group, existing, weight, query, info, sums);
	}
}

/* All entries of a directory page, copied because headers are read below. */
static void
look_at_directory(Relation index, const RencoderMeta *meta,
				  const RencoderMetaPageData *metadata, uint32 dirpage,
				  double weight, RencoderQuery *query,
				  RencoderCostGroups *info, GroupSums *sums)
{
	uint32		first = dirpage * meta->entries_per_page;
	uint32		end = (uint32) Min(first + (double) meta->entries_per_page, info->groups);
	BlockNumber blkno = rencoder_directory_find(index, meta, metadata, first, NULL);
	const char *fault;
	Buffer		buf = InvalidBuffer;
	PGAlignedBlock copy;

	if (blkno != RENCODER_NO_BLOCK)
		buf = rencoder_page_try_read(index, blkno, RENCODER_PAGE_DIRECTORY, &fault);
	if (!BufferIsValid(buf))
	{
		sums->unsummarized += weight *
			(Min(info->ranges, (double) end * RENC_GROUP_RANGES) -
			 (double) first * RENC_GROUP_RANGES);
		return;
	}
	memcpy(copy.data, RencoderPageGetPayload(BufferGetPage(buf)), (end - first) * meta->entry_size);
	UnlockReleaseBuffer(buf);

	for (uint32 group = first; group < end; group++)
		look_at_entry(index, rencoder_directory_entry(copy.data, meta, group), group,
					  Min(RENC_GROUP_RANGES,
						  info->ranges - (double) group * RENC_GROUP_RANGES),
					  weight, query, info, sums);
}

void
rencoder_cost_groups_read(Relation index, double heap_pages,
						  RencoderQuery *query, bool may_look, RencoderCostGroups *info,
						  RencoderRuns *runs)
{
	RencoderMeta meta_copy = *rencoder_meta_get(index);
	const RencoderMeta *meta = &meta_copy;
	RencoderMetaPageData metadata;
	GroupSums	sums = {.may_look = may_look};
	bool		any_runs;
	uint32		ndirpages;
	uint32		step;

	rencoder_runs_copy_with_meta(index, runs, &metadata, NULL, NULL);
	any_runs = runs->list.n > 0;
	sums.max_headers = any_runs ? MAX_HEADER_PAGES_OF_RUNS : MAX_HEADER_PAGES;
	memset(info, 0, sizeof(*info));
	info->pages_per_range = meta->pages_per_range;
	info->bits_per_key = meta->bits_per_key;
	info->ranges = Max(ceil(heap_pages / info->pages_per_range), 1.0);
	info->groups = ceil(info->ranges / RENC_GROUP_RANGES);
	info->directory_pages = 1 + ceil(info->groups / meta->entries_per_page);
	info->meeting = 1;
	ndirpages = (uint32) info->directory_pages - 1;

	/* The last page for itself: it has the tail.  The others stand for all. */
	step = any_runs ? Max(ndirpages / (MAX_DIRECTORY_PAGES_OF_RUNS - 1), 1) :
		(ndirpages + MAX_DIRECTORY_PAGES - 1) / MAX_DIRECTORY_PAGES;
	for (uint32 dirpage = 0; dirpage + 1 < ndirpages; dirpage += step)
		look_at_directory(index, meta, &metadata, dirpage,
						  Min(step, ndirpages - 1 - dirpage), query, info, &sums);
	look_at_directory(index, meta, &metadata, ndirpages - 1, 1, query, info, &sums);

	if (sums.seen > 0)
		info->meeting = sums.meeting / sums.seen;
	info->directory_pages -= rencoder_covered_spans_count_pages(&metadata, meta, ndirpages);
	info->unsummarized = Min(sums.unsummarized, info->ranges);
	info->covered = Min(sums.covered, info->ranges - info->unsummarized);
}

void
rencoder_cost_groups_read_sample(Relation index, double heap_pages,
								 RencoderQuery *query, RencoderCostGroups *info)
{
	RencoderCandidateCounts counts;

	rencoder_candidates_count_sampled(index, (BlockNumber) heap_pages, query, SAMPLED_GROUPS, &counts);
	info->sample_ranges = (double) (counts.ranges - counts.unsummarized);
	info->sample_hits = (double) (counts.candidates - counts.unsummarized);
	info->sample_all = info->groups <= SAMPLED_GROUPS;
}

/* Adds what a group's header says of nulls. */
static void
count_nulls_in_groups(Relation index, const RencoderMeta *meta,
					  const RencoderMetaPageData *metadata,
					  uint32 group, int col, bool is_null, RencoderCostNulls *nulls)
{
	RencoderEntry entry = palloc(meta->entry_size);
	const char *fault;
	Buffer		buf = InvalidBuffer;
	RencoderHeader header;
	renc_mask	has_null;
	renc_mask	has_value;

	(void) rencoder_directory_read(index, meta, metadata, group, &fault, entry);
	if (entry->header != RENCODER_NO_BLOCK && entry->run == 0)
		buf = rencoder_page_try_read(index, entry->header + col, RENCODER_PAGE_HEADER, &fault);
	pfree(entry);
	if (!BufferIsValid(buf))
		return;
	header = rencoder_page_header(BufferGetPage(buf), group);
	has_null = rencoder_set_get(header->has_null);
	has_value = rencoder_header_has_value(header);
	nulls->ranges += renc_mask_count(renc_mask_or(has_null, has_value));
	nulls->hits += renc_mask_count(is_null ? has_null : has_value);
	UnlockReleaseBuffer(buf);
}

void
rencoder_cost_groups_read_nulls(Relation index, const RencoderCostGroups *info, int col, bool is_null,
								RencoderCostNulls *nulls)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	uint32		groups = (uint32) info->groups;
	uint32		n = Min(groups, NULLS_GROUPS);

	/* The first, the last, and some between. */
	for (uint32 i = 0; i < n; i++)
		count_nulls_in_groups(index, &meta, metadata,
							  n > 1 ? (uint32) ((uint64) i * (groups - 1) / (n - 1)) : 0, col,
							  is_null, nulls);
	nulls->all = n == groups;
	pfree(metadata);
}
