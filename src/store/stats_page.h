/*
 * stats_page.h
 *		Counts of scans and of WAL, kept in the index.
 *
 * A page of hints that the metapage names (hint_pages.h):
 *
 *		 0          40      48    56      60
 *		 | count[5] | since | wal | check | 0 |
 *
 * Counts are added as hints: not logged, so a crash or a standby has older ones.  A torn page has a wrong
 * check value and begins anew.
 */
#ifndef RENCODER_STATS_PAGE_H
#define RENCODER_STATS_PAGE_H

#include "store/hint_pages.h"

#include "datatype/timestamp.h"

typedef enum RencoderStatsCount
{
	RENCODER_STATS_SCANS,
	RENCODER_STATS_TABLE_PAGES, /* that the table had at each scan */
	RENCODER_STATS_PAGES,		/* of the table that the index let pass */
	RENCODER_STATS_INDEX_PAGES,
	RENCODER_STATS_WHOLE_PAGES, /* of the pages that passed, those that no run
								 * covers, or none that was trusted */
	RENCODER_STATS_COUNTS
} RencoderStatsCount;

typedef struct RencoderStats
{
	int64		count[RENCODER_STATS_COUNTS];
	TimestampTz since;			/* 0: nothing was counted yet */
	int64		wal;			/* bytes that maintainers have written */
	uint32		check;			/* on the page: CRC-32C of all before */
	uint32		unused;			/* zero */
} RencoderStats;

StaticAssertDecl(sizeof(RencoderStats) == 64, "RencoderStats is on disk");

#define RencoderPageGetStats(page) ((RencoderStats *) RencoderPageGetPayload(page))

/* What was counted; false if there is no page.  Locks: metapage and page share, released. */
extern bool rencoder_stats_read(Relation index, RencoderStats *stats);

/*
 * Adds counts as a hint to the page, which the metapage has named; false if somebody
 * had it, who is waited for only if "wait".  With no page, or on a standby, they are forgotten.
 * WAL: as query samples of scans.
 */
extern bool rencoder_stats_add(Relation index, BlockNumber blkno, const RencoderStats *stats,
							   bool wait);

/*
 * Releases the maintainer lock, and adds the bytes of WAL that were written under it.  To add them is best
 * effort, but in parallel mode before PostgreSQL 17.  WAL: likewise.
 */
extern void rencoder_stats_unlock_maintainer(Relation index);

/* Begins anew; nothing if there is no page.  WAL: the page whole. */
extern void rencoder_stats_reset(Relation index);

#endif							/* RENCODER_STATS_PAGE_H */
