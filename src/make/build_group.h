/*
 * build_group.h
 *		Building groups of a new index: what each process of a build does.
 *
 * Groups do not know of each other, so they may be built in any order and by
 * several processes, each of which reads the block ranges of its group and
 * writes pages that nobody else refers to.  Nothing is logged; the build logs
 * the whole fork at its end.
 *
 * The caller has made the metapage, the coders and the query samples.
 */
#ifndef RENCODER_BUILD_GROUP_H
#define RENCODER_BUILD_GROUP_H

#include "make/run_sorter.h"
#include "run/renc_place.h"
#include "store/group.h"

#include "nodes/execnodes.h"
#include "port/atomics.h"

/* What all processes of a build go by; does not change. */
typedef struct RencoderBuildPlan
{
	BlockNumber nblocks;		/* of the heap that are read */
	uint64		nranges;		/* that will be summarized */
	Size		memory;			/* bytes of keys that a process keeps at most,
								 * beside those of one range */
	uint32		coder[INDEX_MAX_KEYS];	/* generation of each column's, 0:
										 * none */
	uint32		run;			/* number of the run that all keys go into, 0:
								 * they go into storage of their groups */
	renc_places places;			/* that it names */
} RencoderBuildPlan;

typedef struct RencoderBuildProgress
{
	pg_atomic_uint64 blocks;	/* read by all processes */
} RencoderBuildProgress;

typedef struct RencoderBuildTotals
{
	double		heap_tuples;
	double		index_tuples;
	OffsetNumber most_rows;		/* the greatest line pointer */
	bool		broken_hot_chain;	/* met in any group */
} RencoderBuildTotals;

typedef struct RencoderBuildGroup RencoderBuildGroup;

/*
 * Is a group a rest of a few ranges, whose filters are made for as many keys as
 * those of the group before?  If there is one before, that is built first.
 */
static inline bool
rencoder_build_group_is_rest(const RencoderBuildPlan *plan, uint32 group)
{
	return plan->nranges - (uint64) group * RENC_GROUP_RANGES < RENC_SLICE_RANGES;
}

/*
 * A builder, in the current memory context.  *plan and *progress must live on.
 * "sorter": if the plan has a run, those of the columns, which get the keys.
 * "reports": this process is the one whose progress is looked at.
 */
extern RencoderBuildGroup *rencoder_build_group_create(Relation heap, Relation index,
													   IndexInfo *indexInfo,
													   const RencoderBuildPlan *plan,
													   RencoderBuildProgress *progress,
													   RencoderRunSorter *const *sorter,
													   bool reports);

/*
 * Reads the ranges of a group and writes its pages, header and directory entry;
 * the directory page is made if it is not there (only if no other process is at
 * work: make them before).
 *
 * Locks: the caller's on heap and index, as for a build; relation extension.
 * Runs user code of expression indexes.  Errors: those of a heap scan.
 */
extern void rencoder_build_group_make(RencoderBuildGroup *build, uint32 group);

/*
 * No more groups: what was found in them.  Says at DEBUG1 what the time went
 * into.
 */
extern RencoderBuildTotals rencoder_build_group_finish(RencoderBuildGroup *build);

/* Shows pg_stat_progress_create_index how far the build is. */
extern void rencoder_build_group_report_progress(RencoderBuildProgress *progress);

/* Phases of a build; 1 is PostgreSQL's own (PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE). */
typedef enum RencoderBuildPhase
{
	RENCODER_BUILD_READING = 2, /* the table; filters are written meanwhile */
	RENCODER_BUILD_SORTING,		/* the keys of a column of the run */
	RENCODER_BUILD_WRITING,		/* that column */
	RENCODER_BUILD_LOGGING		/* all pages */
} RencoderBuildPhase;

/* Shows which phase it is. */
extern void rencoder_build_group_report_phase(RencoderBuildPhase phase);

#endif							/* RENCODER_BUILD_GROUP_H */
