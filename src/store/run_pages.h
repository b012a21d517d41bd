/*
 * run_pages.h
 *		Runs as pages of an index: writing them and reading them.
 */
#ifndef RENCODER_RUN_PAGES_H
#define RENCODER_RUN_PAGES_H

#include "run/renc_run.h"
#include "store/kept_pages.h"
#include "store/run_format.h"
#include "store/run_list.h"

/* ---- Writing ---- */

typedef struct RencoderRunWriter RencoderRunWriter;

/*
 * A new run in the list, BUILDING; NULL if the list is full.  Memory comes from the
 * current context, half a megabyte.  "log": not a build, whose fork is logged at its end.
 * The caller is a maintainer or a build.
 */
extern RencoderRunWriter *rencoder_run_writer_begin(Relation index, uint16 kind, uint32 first_group,
													uint32 ngroups, bool log);
extern uint32 rencoder_run_writer_number(const RencoderRunWriter *writer);

/*
 * Begins a tree (run_format.h), whose keys are made by that coder and whose heap pages are
 * first_page .. first_page + npages - 1.  Its entries may name parts of them.  "wanted", "together",
 * "samples": see renc_run.h.
 */
extern void rencoder_run_writer_begin_tree(RencoderRunWriter *writer, int tree, uint32 coder,
										   BlockNumber first_page, uint32 npages,
										   renc_places places, renc_run_target target, double wanted,
										   double together, renc_run_samples *samples);

/* Adds a pair, in order of (key, place); equal ones become one. */
extern void rencoder_run_writer_push(RencoderRunWriter *writer, uint64 key, uint32 place,
									 uint32 rows);
extern void rencoder_run_writer_end_tree(RencoderRunWriter *writer);

/*
 * Completes the run, trees that were not begun being empty, and notes what it is in *made.  It still
 * is BUILDING: see rencoder_run_list_publish().  Frees the writer.  WAL of all of it: each page whole,
 * each allocation, the info page.
 */
extern void rencoder_run_writer_finish(RencoderRunWriter *writer, RencoderNewRun *made);

/* ---- Reading ---- */

/*
 * A copy of the info page of a run, palloc'd; NULL, with *fault, if it is not there, which is
 * corruption only if run_changes is what it was when the list was read.
 */
extern RencoderRunInfo rencoder_run_read_info(Relation index, const RencoderRunEntry *entry,
											  const char **fault);

/*
 * The same of the first "ntrees" trees at least, or, if a column has values without a key, of all;
 * of the first alone the entry tells, and no page is read.  The extents are not there.  "kept" and "npages" may be NULL.
 */
extern RencoderRunInfo rencoder_run_read_trees(Relation index, const RencoderRunEntry *entry, int ntrees,
											   RencoderKept *kept, int64 *npages, const char **fault);

typedef struct RencoderRunReader
{
	renc_run	run;			/* for renc_run_search_begin() and the like */
	int64		npages;			/* index pages read */
	bool		in_place;		/* may leaves be read where they are? */

	/* Set when rencoder_run_reader_read() has returned NULL. */
	const char *fault;
	BlockNumber fault_blkno;

	/* Private. */
	Relation	index;
	uint32		number;
	int			tree;
	char	   *copy[RENC_RUN_MAX_LEVEL + 1];
	BlockNumber copied[RENC_RUN_MAX_LEVEL + 1]; /* which block is there,
												 * RENCODER_NO_BLOCK: none */
	const RencoderPrefetch *prefetch;
	BlockNumber expected;		/* the page last expected */
	Buffer		leaf;			/* share locked, or InvalidBuffer */
} RencoderRunReader;

/*
 * Prepares reading a tree; false if it is empty.  "info" is only looked at
 * here.
 */
extern bool rencoder_run_reader_begin(RencoderRunReader *reader, Relation index,
									  const RencoderRunInfoData *info, int tree);

/*
 * A renc_run_read; "arg" is the reader.  Copies the page: a run may be freed while it is read.
 * The one of its level that was read last is not read again, nor an inner page that is kept.
 * Locks: the page share, released.  If the reader is "in_place", a leaf is not copied, and stays
 * locked until another page is asked for or the reader ends; no other lock is to be taken meanwhile.
 */
extern const uint8_t *rencoder_run_reader_read(void *arg, uint32_t page, int level);

/*
 * Has the pages fetched that a search which has just begun will come to, as far as "prefetch"
 * says, which must outlive it, and inner pages kept.
 */
extern void rencoder_run_reader_prefetch(RencoderRunReader *reader, renc_run_search *search,
										 const RencoderPrefetch *prefetch);

/*
 * What is wrong with a tree of which the run core says "failure" of *blkno: that, or what
 * rencoder_run_reader_read() has found, palloc'd; *blkno is where.
 */
extern const char *rencoder_run_reader_fault(const RencoderRunReader *reader, const char *failure,
											 BlockNumber *blkno);
extern void rencoder_run_reader_end(RencoderRunReader *reader);

/* A session keeps some roots that scans have read: forgets those of an index, which is built anew. */
extern void rencoder_run_roots_forget(Relation index);

/* What a tree is of, for messages: "column 1", "nulls of column 1"; palloc'd. */
extern const char *rencoder_run_tree_name(Relation index, int tree);

#endif							/* RENCODER_RUN_PAGES_H */
