/*
 * run_pages.h
 *		Runs as pages of an index: writing them and reading them.
 */
#ifndef RENCODER_RUN_PAGES_H
#define RENCODER_RUN_PAGES_H

#include "run/renc_run.h"
#include "store/catalog.h"
#include "store/kept_pages.h"
#include "store/run_format.h"

/* ---- Writing ---- */

typedef struct RencoderRunWriter RencoderRunWriter;

/*
 * A new run in the catalog (rencoder_catalog_begin()); NULL if that is full.  Memory comes from the
 * current context, half a megabyte.
 */
extern RencoderRunWriter *rencoder_run_writer_begin(Relation index, uint8 kind, BlockNumber from,
													BlockNumber to, uint64 cut, bool log);
extern uint32 rencoder_run_writer_number(const RencoderRunWriter *writer);

/* No space before this block is to be used. */
extern void rencoder_run_writer_keep_behind(RencoderRunWriter *writer, BlockNumber from);

/*
 * Begins a tree (run_format.h), whose keys are made by that coder and whose heap pages are
 * first_page .. first_page + npages - 1.  Its entries may name parts of them.  "wanted", "together":
 * see renc_run.h.
 */
extern void rencoder_run_writer_begin_tree(RencoderRunWriter *writer, int tree, uint32 coder,
										   BlockNumber first_page, uint32 npages,
										   renc_places places, renc_run_target target, double wanted,
										   double together);

/* Adds a pair, in order of (key, place); equal ones become one. */
extern void rencoder_run_writer_push(RencoderRunWriter *writer, uint64 key, uint32 place,
									 uint32 rows);
extern void rencoder_run_writer_end_tree(RencoderRunWriter *writer);

/* ---- Of runs of kind MATRIX (matrix_pages.h) ---- */

/*
 * Consecutive blocks for the run, which are the caller's to write, by rencoder_run_writer_put().  WAL: of the
 * allocation; the info page.
 */
extern RencoderExtent rencoder_run_writer_reserve(RencoderRunWriter *writer, uint32 npages);

/* Writes one of these pages. */
extern void rencoder_run_writer_put(RencoderRunWriter *writer, BlockNumber blkno, uint16 page_id,
									const char *payload);

/*
 * What the info page is to say of the trees, "column", but for where they are: described from block "first" on.
 * The first column has the pages that say of matrices beside its own.
 */
extern void rencoder_run_writer_set_matrices(RencoderRunWriter *writer, const RencoderRunColumn *column,
											 BlockNumber first);

/*
 * Completes the run, trees that were not begun being empty, and notes what it is in *made, but for the
 * horizon.  It still is BUILDING: see rencoder_catalog_publish().  Frees the writer.  WAL of all of it: each page whole,
 * each allocation, the info page.
 */
extern void rencoder_run_writer_finish(RencoderRunWriter *writer, RencoderNewRun *made);

/* ---- Reading ---- */

/*
 * A copy of the info page of a run, palloc'd; NULL, with *fault, if it is not there, which is
 * corruption only if the catalog's version is what it was when that was copied.
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
	bool		roots;			/* may roots be those that the session keeps?
								 * They are not to be used when another run
								 * has been read.  With in_place, the session
								 * keeps more. */

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
 * Has inner pages kept, and the pages fetched that a search which has just begun, or is NULL, will come
 * to, as far as "prefetch" says, which must outlive it.
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

/* What a tree is of, for messages: "column 1", "nulls of column 1"; palloc'd. */
extern const char *rencoder_run_tree_name(Relation index, int tree);

#endif							/* RENCODER_RUN_PAGES_H */
