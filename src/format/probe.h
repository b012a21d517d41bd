/*
 * probe.h
 *		State of probing one column of an index with one query.
 *
 * Holds the page that is being looked at and what is kept from slab to
 * slab, and counts index pages read.
 */
#ifndef RENCODER_PROBE_H
#define RENCODER_PROBE_H

#include "filter/renc_query.h"
#include "filter/renc_zorder.h"
#include "store/group.h"

/* Pages of a slab that are kept during a visit: 1 MB. */
#define RENCODER_PROBE_PAGES		128

/* What filters keep from slab to slab (format_filter_probe.c). */
typedef struct RencoderProbeState RencoderProbeState;

/* A page kept for another look. */
typedef struct RencoderProbePage
{
	uint64		visit;			/* the visit that it is of */
	BlockNumber blkno;
	uint8	   *payload;		/* palloc'd, or NULL */
} RencoderProbePage;

typedef struct RencoderProbe
{
	Relation	index;
	const renc_interval_set *set;	/* what the query asks for: intervals, */
	const renc_box_set *boxes;	/* or boxes, the other one is NULL */
	int64		npages;			/* index pages read so far */

	/*
	 * The first page that could not be read as what it should be.  Counts as
	 * "may match"; an error only if the epoch did not change (INV-7).
	 */
	const char *fault;
	BlockNumber fault_blkno;

	RencoderProbeState *state;	/* NULL: nothing yet */

	Buffer		buffer;			/* pinned and share-locked, or invalid */
	BlockNumber blkno;			/* its block */

	/*
	 * The pages of this visit, at the place of their block number modulo the
	 * size: neighbours, as the pages of a slab are, do not collide.
	 */
	uint64		visit;			/* 0: none so far */
	bool		keep;			/* during this one */
	RencoderProbePage page[RENCODER_PROBE_PAGES];
} RencoderProbe;

/*
 * "set", the intervals that are the query, or "boxes" must live on; the other one is
 * NULL.
 */
extern RencoderProbe *rencoder_probe_begin(Relation index, const renc_interval_set *set,
										   const renc_box_set *boxes);
extern void rencoder_probe_end(RencoderProbe *probe);

/*
 * Begins a visit of a slab.  With "keep", pages are copied, so that each is
 * read once during the visit, as long as there is room.  That a copy is not
 * what the page is by then does not matter: what came to it since may as well
 * have come after the visit, and what was taken away shows in the epoch
 * (INV-7).  For visits that are likely to look at pages again.
 */
extern void rencoder_probe_visit(RencoderProbe *probe, bool keep);

/*
 * Payload of a page, a copy or share-locked until the next call or
 * rencoder_probe_release(); NULL with fault set if it is not of the type.
 */
extern const uint8 *rencoder_probe_page(RencoderProbe *probe, BlockNumber blkno,
										uint16 page_id);
extern void rencoder_probe_release(RencoderProbe *probe);

/* Frees what filters have kept. */
extern void rencoder_probe_free_state(RencoderProbeState *state);

/* Notes a fault, if it is the first. */
extern void rencoder_probe_set_fault(RencoderProbe *probe, BlockNumber blkno,
									 const char *fault);

#endif							/* RENCODER_PROBE_H */
