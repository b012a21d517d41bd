/*
 * covered_spans.h
 *		Stretches of groups that the metapage knows to be covered by one run.
 *
 * A scan that finds nothing in such groups does not read their directory entries, which are 100
 * bytes each: of 10 TB of table that would be 4,000 pages.  INV-17 says what a span promises.  It is
 * at least as long as the entries of a directory page.
 */
#ifndef RENCODER_COVERED_SPANS_H
#define RENCODER_COVERED_SPANS_H

#include "store/entry.h"
#include "store/meta.h"

/* The span of a group, or NULL. */
extern const RencoderCoveredSpan *rencoder_covered_spans_find(const RencoderMetaPageData *metadata,
															  uint32 group);

/* What an entry of each of its groups would say; it has no columns. */
extern RencoderEntryData rencoder_covered_span_entry(const RencoderCoveredSpan *span);

/* Takes a group out of its span.  "metadata" is that of a page that is to be logged. */
extern void rencoder_covered_spans_remove_group(RencoderMetaPageData *metadata, const RencoderMeta *meta,
												uint32 group);

/* The directory pages all of whose groups are in spans, of a directory of "npages" pages. */
extern uint32 rencoder_covered_spans_count_pages(const RencoderMetaPageData *metadata, const RencoderMeta *meta,
												 uint32 npages);

/*
 * Looks at all entries and notes the longest spans in the metapage.  The caller is a maintainer, or
 * a build ("log" false).  Does nothing if meanwhile an inserter has begun an epoch.  Locks: directory
 * pages share, one at a time, then metapage exclusive; released.  WAL: the metapage, if its spans
 * change.
 */
extern void rencoder_covered_spans_make(Relation index, bool log);

#endif							/* RENCODER_COVERED_SPANS_H */
