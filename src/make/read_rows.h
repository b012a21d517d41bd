/*
 * read_rows.h
 *		Reading the rows of heap pages into the trees of a run.
 */
#ifndef RENCODER_READ_ROWS_H
#define RENCODER_READ_ROWS_H

#include "make/run_sorter.h"
#include "run/renc_place.h"
#include "store/run_pages.h"
#include "table/coder_columns.h"

#include "nodes/execnodes.h"

/* Who reads; one process of a build, or a maintainer. */
typedef struct RencoderReadRows
{
	Relation	heap;
	Relation	index;
	IndexInfo  *indexInfo;
	bool		in_use;			/* the index: any version visible to anybody
								 * counts */
	RencoderColumnCoders coders;
	renc_places places;			/* how rows are named */
	pg_atomic_uint64 *counter;	/* pages that were read are added to it; may
								 * be NULL */
	void		(*pause) (void *arg);	/* now and then while trees are
										 * written; may be NULL */
	void	   *pause_arg;

	/* What was read. */
	RencoderRunSorter *sorter[RENCODER_MAX_TREES];
	double		heap_tuples;	/* that ANALYZE would count as live */
	double		index_tuples;
	OffsetNumber most_rows;		/* the greatest line pointer */
	bool		broken_hot_chain;	/* met on any page */
	uint64		horizon;		/* of all pages (INV-9) */
	uint32		outside;		/* with composite keys beside those that their
								 * coder was trained on, once written */

	/* Private. */
	RencoderCollector *collector;
	uint32		place;			/* of the row at hand */
	BlockNumber counted;		/* pages before this one were */
} RencoderReadRows;

/*
 * Begins in the current memory context, with what is above "what was read" set.  The sorters of the
 * trees share "memory" bytes; "end": heap pages before that are read.  With a file set, those of a
 * worker, whose work another process takes over.
 */
extern void rencoder_read_rows_begin(RencoderReadRows *rows, Size memory, BlockNumber end,
									 FileSet *fileset, int worker);

/*
 * Reads pages.  Locks: the caller's on heap and index, as for a build, or a maintainer.  Runs user code of
 * expression indexes.  Errors: those of a heap scan.
 */
extern void rencoder_read_rows(RencoderReadRows *rows, BlockNumber first, BlockNumber npages);

/* A worker leaves what it has sorted in files, and its sorters end. */
extern void rencoder_read_rows_export(RencoderReadRows *rows);

/* Takes over what workers 0 .. nworkers - 1 have left. */
extern void rencoder_read_rows_import(RencoderReadRows *rows, FileSet *fileset, int nworkers);

/* Ends without a run. */
extern void rencoder_read_rows_give_up(RencoderReadRows *rows);

/*
 * Sorts what was read, writes the trees, and ends the sorters.  What has no pairs gets no tree.  "report": phases and rows to
 * pg_stat_progress_create_index.
 */
extern void rencoder_read_rows_write(RencoderReadRows *rows, RencoderRunWriter *writer, BlockNumber first,
									 uint32 npages, BlockNumber heap_pages, bool report);

/* Phases of a build; 1 is PostgreSQL's own (PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE). */
typedef enum RencoderBuildPhase
{
	RENCODER_BUILD_READING = 2, /* the table */
	RENCODER_BUILD_SORTING,		/* the keys of a column */
	RENCODER_BUILD_WRITING,		/* that column */
	RENCODER_BUILD_LOGGING		/* all pages */
} RencoderBuildPhase;

/* Shows which phase it is. */
extern void rencoder_build_report_phase(RencoderBuildPhase phase);

#endif							/* RENCODER_READ_ROWS_H */
