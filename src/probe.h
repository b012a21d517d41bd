/*
 * probe.h
 *		State of probing one column of an index with one query.
 *
 * Holds the compiled programs (one per shape met) and the page that is being
 * looked at, and counts index pages read.
 */
#ifndef RENCODER_PROBE_H
#define RENCODER_PROBE_H

#include "group.h"
#include "renc_program.h"

#define RENCODER_PROBE_PROGRAMS 4

typedef struct RencoderProbe
{
	Relation	index;
	renc_query	query;
	int64		npages;			/* index pages read so far */

	/*
	 * The first page that could not be read as what it should be.  Counts as
	 * "may match"; an error only if the generation did not change (INV-7).
	 */
	const char *fault;
	BlockNumber fault_blkno;

	/* Compiled programs, the most recently used first. */
	renc_program *program[RENCODER_PROBE_PROGRAMS];
	uint8		packed[RENCODER_PROBE_PROGRAMS][RENC_SHAPE_PACKED_SIZE];

	Buffer		buffer;			/* pinned and share-locked, or invalid */
	BlockNumber blkno;			/* its block */
} RencoderProbe;

/* "query" is copied; what its arg points to must live on. */
extern RencoderProbe *rencoder_probe_begin(Relation index, const renc_query *query);
extern void rencoder_probe_end(RencoderProbe *probe);

/* The program for a packed shape; NULL with fault set if it is not valid. */
extern renc_program *rencoder_probe_program(RencoderProbe *probe,
											const uint8 *packed,
											BlockNumber blkno);

/*
 * Payload of a page, share-locked until the next call or
 * rencoder_probe_release(); NULL with fault set if it is not of the type.
 */
extern const uint8 *rencoder_probe_page(RencoderProbe *probe, BlockNumber blkno,
										uint16 page_id);
extern void rencoder_probe_release(RencoderProbe *probe);

/* Notes a fault, if it is the first. */
extern void rencoder_probe_fault(RencoderProbe *probe, BlockNumber blkno,
								 const char *fault);

#endif							/* RENCODER_PROBE_H */
