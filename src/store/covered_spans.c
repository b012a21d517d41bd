/*
 * covered_spans.c
 *		Stretches of groups that the metapage knows to be covered by one run.
 */
#include "store/covered_spans.h"

#include "miscadmin.h"

#include "store/directory.h"

static bool
span_has_group(const RencoderCoveredSpan *span, uint32 group)
{
	return group >= span->first && group - span->first < span->n;
}

const RencoderCoveredSpan *
rencoder_covered_spans_find(const RencoderMetaPageData *metadata, uint32 group)
{
	for (int i = 0; i < RENCODER_META_SPANS; i++)
	{
		if (span_has_group(&metadata->span[i], group))
			return &metadata->span[i];
	}
	return NULL;
}

RencoderEntryData
rencoder_covered_span_entry(const RencoderCoveredSpan *span)
{
	RencoderEntryData entry = {.flags = RENCODER_ENTRY_COVERED,.horizon = span->horizon,
	.run = span->run};

	return entry;
}

/* Puts a span where none is, or in the place of the shortest; if it is worth it. */
static void
put_span(RencoderCoveredSpan *spans, const RencoderMeta *meta, const RencoderCoveredSpan *span)
{
	RencoderCoveredSpan *least = &spans[0];

	for (int i = 1; i < RENCODER_META_SPANS; i++)
	{
		if (spans[i].n < least->n)
			least = &spans[i];
	}
	if (span->n >= meta->entries_per_page && span->n > least->n)
		*least = *span;
}

void
rencoder_covered_spans_remove_group(RencoderMetaPageData *metadata, const RencoderMeta *meta,
									uint32 group)
{
	for (int i = 0; i < RENCODER_META_SPANS; i++)
	{
		RencoderCoveredSpan before = metadata->span[i];
		RencoderCoveredSpan behind = before;

		if (!span_has_group(&before, group))
			continue;
		memset(&metadata->span[i], 0, sizeof(RencoderCoveredSpan));
		before.n = group - before.first;
		behind.first = group + 1;
		behind.n -= before.n + 1;
		put_span(metadata->span, meta, &before);
		put_span(metadata->span, meta, &behind);
	}
}

uint32
rencoder_covered_spans_count_pages(const RencoderMetaPageData *metadata, const RencoderMeta *meta,
								   uint32 npages)
{
	uint64		count = 0;

	for (int i = 0; i < RENCODER_META_SPANS; i++)
	{
		uint64		end = (uint64) metadata->span[i].first + metadata->span[i].n;
		uint64		first_page = ((uint64) metadata->span[i].first + meta->entries_per_page - 1) / meta->entries_per_page;
		uint64		end_page = Min(end / meta->entries_per_page, npages);

		count += end_page > first_page ? end_page - first_page : 0;
	}
	return (uint32) Min(count, npages);
}

/* Adds a group to the span that grows, or, if it is not like that, puts that and begins another. */
static void
add_entry(RencoderCoveredSpan *spans, const RencoderMeta *meta, RencoderCoveredSpan *growing,
		  RencoderEntry entry, uint32 group)
{
	bool		covered = (entry->flags & RENCODER_ENTRY_COVERED) != 0;

	if (!covered || entry->run != growing->run || growing->n == 0)
	{
		put_span(spans, meta, growing);
		memset(growing, 0, sizeof(*growing));
		growing->first = group;
		growing->run = entry->run;
	}
	if (!covered)
		return;
	growing->n++;
	growing->horizon = Max(growing->horizon, entry->horizon);
}

/* Makes these the spans, if the epoch still is that of the metapage. */
static void
publish_spans(Relation index, uint64 epoch, const RencoderCoveredSpan *spans, bool log)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	const RencoderMetaPageData *now = RencoderPageGetMeta(BufferGetPage(buf));

	if (now->epoch == epoch && memcmp(now->span, spans, sizeof(now->span)) != 0)
	{
		RencoderWal *wal = rencoder_wal_begin(index, log);

		memcpy(RencoderPageGetMeta(rencoder_wal_register(wal, buf))->span, spans, sizeof(now->span));
		rencoder_wal_finish(wal);
	}
	UnlockReleaseBuffer(buf);
}

void
rencoder_covered_spans_make(Relation index, bool log)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	uint64		npages = rencoder_directory_count_pages(index, metadata);
	RencoderCoveredSpan spans[RENCODER_META_SPANS] = {{0}};
	RencoderCoveredSpan growing = {0};

	for (uint64 page = 0; page < npages; page++)
	{
		uint32		first = (uint32) page * meta.entries_per_page;
		BlockNumber blkno = rencoder_directory_find(index, &meta, metadata, first, NULL);
		RencoderEntryData none = {0};
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		if (blkno == RENCODER_NO_BLOCK)
		{
			add_entry(spans, &meta, &growing, &none, first);
			continue;
		}
		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_DIRECTORY);
		for (uint32 group = first; group < first + meta.entries_per_page; group++)
			add_entry(spans, &meta, &growing,
					  rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)), &meta, group), group);
		UnlockReleaseBuffer(buf);
	}
	put_span(spans, &meta, &growing);
	publish_spans(index, metadata->epoch, spans, log);
	pfree(metadata);
}
