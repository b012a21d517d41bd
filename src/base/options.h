/*
 * options.h
 *		Storage parameters of an index, and settings.
 */
#ifndef RENCODER_OPTIONS_H
#define RENCODER_OPTIONS_H

#include "base/compat.h"

#include "utils/rel.h"

#define RENCODER_DEFAULT_PAGES_PER_RANGE	0	/* 0: chosen at build */
#define RENCODER_MIN_PAGES_PER_RANGE		0
#define RENCODER_MAX_PAGES_PER_RANGE		1024
#define RENCODER_AUTO_MAX_PAGES_PER_RANGE	32

/*
 * Of a table that is empty, or nearly so, when its index is made, whose size is yet to
 * come: in the middle, on a scale of factors, of what tables that are worth an index would
 * get.  So few pages are scanned anyway.
 */
#define RENCODER_AUTO_EMPTY_PAGES_PER_RANGE	16
#define RENCODER_AUTO_EMPTY_PAGES			32

#define RENCODER_DEFAULT_BITS_PER_KEY		20	/* of filters */
#define RENCODER_MIN_BITS_PER_KEY			4
#define RENCODER_MAX_BITS_PER_KEY			64

#define RENCODER_DEFAULT_AUTOSUMMARIZE		true

/* Where the keys of pages that are read go. */
typedef enum RencoderStorage
{
	RENCODER_STORAGE_AUTO,		/* as "run" */
	RENCODER_STORAGE_FILTER,	/* filters of block ranges */
	RENCODER_STORAGE_RUN		/* a sorted run */
} RencoderStorage;

/* What entries of runs name. */
typedef enum RencoderResolution
{
	RENCODER_RESOLUTION_AUTO,	/* rows; of keys that lie together, what is
								 * best (run/renc_place.h) */
	RENCODER_RESOLUTION_PAGES,	/* pages */
	RENCODER_RESOLUTION_ROWS	/* rows */
} RencoderResolution;

typedef struct RencoderOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			pages_per_range;
	int			bits_per_key;	/* of filters */
	bool		autosummarize;
	RencoderStorage storage;
	RencoderResolution resolution;
	double		false_pages;	/* 0: not given */
	bool		composite;		/* of the next build: the metapage has that of
								 * this one */
} RencoderOptions;

/* rencoder.enable_scan */
extern bool rencoder_enable_scan;

/* rencoder.enable_ordered_scan: is the planner told of the order of indexes? */
extern bool rencoder_enable_ordered_scan;

/* rencoder.sample_rate: one of n scans is recorded; 0: none */
#define RENCODER_DEFAULT_SAMPLE_RATE	10

extern int	rencoder_sample_rate;

/* rencoder.max_workers: of all databases at the same time; 0: none */
#define RENCODER_DEFAULT_MAX_WORKERS	3
#define RENCODER_LIMIT_MAX_WORKERS		64

extern int	rencoder_max_workers;

extern void rencoder_options_init(void);
extern bytea *rencoderoptions(Datum reloptions, bool validate);

/* Those of an index. */
extern const RencoderOptions *rencoder_options(Relation index);

/* What a build of the index would choose for a table of "nblocks" pages. */
extern uint32 rencoder_options_build_pages_per_range(Relation index, BlockNumber nblocks);

/*
 * Heap pages without a match that a query is to find in all base runs on average: what the owner
 * has said, or so many that a table of "heap_pages" with so many rows each is worth it.  *together:
 * where stretches of keys fill pages.
 */
extern double rencoder_options_false_pages(Relation index, double heap_pages, double page_rows,
										   double *together);

/* Are keys to go into runs, as far as they can, when the index is built and later? */
extern bool rencoder_options_use_runs(Relation index);

/* Line pointers of the part of a page that a run made now is to name; 0: pages. */
extern uint32 rencoder_options_part_rows(Relation index);

/* Bytes that sorting may take: maintenance_work_mem. */
extern Size rencoder_options_sort_memory(void);

#endif							/* RENCODER_OPTIONS_H */
