/*
 * rencoder.h
 *		The access method's callbacks, options and settings.
 */
#ifndef RENCODER_H
#define RENCODER_H

#include "compat.h"

#include "access/amapi.h"
#include "nodes/pathnodes.h"

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

#define RENCODER_DEFAULT_BITS_PER_KEY		20
#define RENCODER_MIN_BITS_PER_KEY			4
#define RENCODER_MAX_BITS_PER_KEY			64

#define RENCODER_DEFAULT_AUTOSUMMARIZE		true

typedef struct RencoderOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			pages_per_range;
	int			bits_per_key;
	int			query_sample;	/* offset of a string, 0: none */
	bool		autosummarize;
} RencoderOptions;

/* rencoder.enable_scan */
extern bool rencoder_enable_scan;

/* rencoder.sample_rate: every n-th scan is recorded; 0: none */
#define RENCODER_DEFAULT_SAMPLE_RATE	10

extern int	rencoder_sample_rate;

/* options.c */
extern void rencoder_options_init(void);
extern bytea *rencoderoptions(Datum reloptions, bool validate);
extern int	rencoder_options_pages_per_range(Relation index);

/* What a build of the index would choose for a table of "nblocks" pages. */
extern uint32 rencoder_options_build_pages_per_range(Relation index, BlockNumber nblocks);
extern int	rencoder_options_bits_per_key(Relation index);
extern bool rencoder_options_autosummarize(Relation index);

/* Schema and name of the table that query_sample names, palloc'd; false if none. */
extern bool rencoder_options_query_sample(Relation index, char **schema, char **table);

/* build.c */
extern IndexBuildResult *rencoderbuild(Relation heap, Relation index,
									   struct IndexInfo *indexInfo);
extern void rencoderbuildempty(Relation index);

/* insert.c */
extern bool rencoderinsert(Relation index, Datum *values, bool *isnull,
						   ItemPointer heap_tid, Relation heap,
						   IndexUniqueCheck checkUnique, bool indexUnchanged,
						   struct IndexInfo *indexInfo);

/* scan.c */
extern IndexScanDesc rencoderbeginscan(Relation index, int nkeys, int norderbys);
extern void rencoderrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
						   ScanKey orderbys, int norderbys);
extern int64 rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void rencoderendscan(IndexScanDesc scan);

/* vacuum.c */
extern IndexBulkDeleteResult *rencoderbulkdelete(IndexVacuumInfo *info,
												 IndexBulkDeleteResult *stats,
												 IndexBulkDeleteCallback callback,
												 void *callback_state);
extern IndexBulkDeleteResult *rencodervacuumcleanup(IndexVacuumInfo *info,
													IndexBulkDeleteResult *stats);

/* cost.c */
extern void rencodercostestimate(PlannerInfo *root, IndexPath *path,
								 double loop_count, Cost *indexStartupCost,
								 Cost *indexTotalCost, Selectivity *indexSelectivity,
								 double *indexCorrelation, double *indexPages);

/* validate.c */
extern bool rencodervalidate(Oid opclassoid);

#endif							/* RENCODER_H */
