/*
 * look.h
 *		What a maintainer sees of an index: its catalog, and which run has which pages of the table.
 */
#ifndef RENCODER_LOOK_H
#define RENCODER_LOOK_H

#include "store/catalog.h"

/* Pages of the table. */
typedef struct RencoderPages
{
	BlockNumber from;
	BlockNumber to;				/* from: none */
} RencoderPages;

/*
 * What is covered is read again by pieces: quarters of a large table, else all of it.  A run that is made again
 * stands beside the old one for a while, so that the file of an index grows by as much as a piece takes; but a
 * query descends into a run for each piece.
 */
#define RENCODER_PIECES			4

typedef struct RencoderLook
{
	Relation	index;
	BlockNumber nblocks;		/* of the table */
	bool		quiet;			/* no rows come, */
	bool		busy;			/* or they do: of VACUUM neither is known */
	bool		read;			/* scans come */
	bool		tries;			/* does not wait for other maintainers */
	RencoderPages wanted;		/* pages that somebody names */
	RencoderCatalog catalog;
	BlockNumber end;			/* of what is covered */
	int			n;
	RencoderSegment segment[RENCODER_MAX_SEGMENTS];
	uint64		late[RENCODER_PIECES];	/* needed entries of deltas, by
										 * pieces, when they were counted last */
	double		rows;			/* of the table, if they have been counted, or
								 * less than 0 */
	uint64		again;			/* pages that were read again since the look
								 * began */
} RencoderLook;

/* Begins with a look at the catalog; palloc'd. */
extern RencoderLook *rencoder_look_begin(Relation index, Relation heap);

/* Looks at the catalog anew.  Locks: those of rencoder_catalog_copy(). */
extern void rencoder_look_again(RencoderLook *look);

/* Rows that runs have on the pages that they cover, about, as the first column's keys tell. */
extern double rencoder_look_base_rows(const RencoderLook *look);

/*
 * Rows of all these runs, also on pages that they do not cover any more: what the file has to hold; or
 * of all deltas.
 */
extern double rencoder_look_run_rows(const RencoderLook *look, bool deltas);

/* Looks again, and counts the entries of deltas that are needed, by pieces. */
extern void rencoder_look_count_late(RencoderLook *look);

/* So many pages are a piece. */
extern BlockNumber rencoder_look_piece_pages(const RencoderLook *look);

/* A piece that begins about there, and does not leave small rests of runs. */
extern RencoderPages rencoder_look_piece(const RencoderLook *look, BlockNumber from);

/* Four runs of so many pages together are merged. */
#define RENCODER_YOUNG_PAGES	4096

/* With more runs, neighbours are merged, however different: deltas want room, too. */
#define RENCODER_MOST_RUNS		48

/* Neighbouring runs that are worth merging, or no pages: the youngest tier comes first. */
extern RencoderPages rencoder_look_merge(const RencoderLook *look);

/*
 * Have the runs many more nulls in a column than a reading of the table would find now?  Reads 64 pages
 * of the table, and the info pages of runs.  Not asked of runs that have values without a key.
 */
extern bool rencoder_look_nulls_are_stale(Relation index, Relation heap);

/* How many rows a reading of the table would find now, about, by 64 pages. */
extern double rencoder_look_sample_rows(Relation index, Relation heap);

#endif							/* RENCODER_LOOK_H */
