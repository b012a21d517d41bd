/*
 * coder_columns.h
 *		The coders of all columns of an index: trained, loaded, applied.
 */
#ifndef RENCODER_CODER_COLUMNS_H
#define RENCODER_CODER_COLUMNS_H

#include "key/key.h"
#include "store/catalog.h"
#include "store/run_format.h"

#include "nodes/execnodes.h"

/* A coder for each column; those without have generation 0. */
typedef struct RencoderColumnCoders
{
	uint32		generation[INDEX_MAX_KEYS];
	const RencoderCoder *coder[INDEX_MAX_KEYS];
} RencoderColumnCoders;

/*
 * Trains coders for the columns that want one and have none, on a sample of
 * the table's values, stores them as the newest and sets *coders, palloc'd.
 * Columns without values in the sample get none.  "log" as rencoder_coder_store().
 *
 * If it is "due", because the table may have other values than when they were looked at last,
 * columns that have a coder get another generation where that would serve the sample badly,
 * unless the owner of an index of filters has given samples of queries, whose keys mean nothing to another coder.
 *
 * Locks: the caller's on heap and index, as for a build or the maintainer.
 * Runs user code of expression indexes.  Errors: those of a heap scan; with "log",
 * those of rencoder_columns_check_coders(): no coder is trained beside one that was lost.
 */
extern void rencoder_columns_train(Relation heap, Relation index, IndexInfo *indexInfo,
								   bool log, bool due, RencoderColumnCoders *coders);

/*
 * Are the coders there that the runs of the index name?  If not, the index is
 * corrupted: that is reported at "elevel", and false if it was no error.  Whoever
 * changes an index in use asks before: it may be the metapage that is an older one, and
 * then nothing that it says of free space is true either.  Locks: metapage, list
 * pages and info pages share, released.
 */
extern bool rencoder_columns_check_coders(Relation index, int elevel);

/* By what factor, if pages are read that have no run yet, and in VACUUM. */
#define RENCODER_GROWTH_OF_NEW		2
#define RENCODER_GROWTH_IN_VACUUM	1.125

/*
 * Has the table grown by the factor "growth" since its values were looked at last?  Then
 * rencoder_columns_train() should look whether its columns' coders still serve it: what came first,
 * in the order of a load, may say little of what came later.
 */
extern bool rencoder_columns_train_is_due(Relation heap, Relation index, double growth);

/*
 * Of an index with composite keys: do many of them lie outside of what the newest coder, which made them, was
 * trained on?
 */
extern bool rencoder_columns_are_outgrown(Relation index, const RencoderCatalog *catalog);

/* Loads the coder of a column, palloc'd, for the maintainer: it must exist. */
extern void rencoder_columns_load_coders(Relation index, int col, uint32 generation,
										 RencoderColumnCoders *coders);

/* Takes what a row has for a tree of a run (store/run_format.h). */
typedef void (*RencoderKeySink) (void *arg, int tree, uint64 key);

/* Who makes keys of rows. */
typedef struct RencoderCollector
{
	int			natts;
	bool		in_use;			/* others may change the table meanwhile */
	RencoderKeySink sink;		/* the creator's to set, like what is above */
	void	   *sink_arg;
	MemoryContext row_context;	/* reset with each row */
	RencoderRowFunctions functions[INDEX_MAX_KEYS]; /* of columns of keys;
													 * none until the first
													 * row */
} RencoderCollector;

/* Memory comes from the current context. */
extern RencoderCollector *rencoder_collect_create(int natts);

/*
 * Gives what a row has to the sink.  "alive": no transaction has deleted it, or may
 * have.  While VACUUM runs, whose snapshot holds nothing back, another one may
 * remove from TOAST what dead rows refer to: such values are not fetched, and
 * count as keyless.  The same if the collector says so.  If it says
 * that the table is in use, so does a value that is found to be gone
 * from TOAST when it is fetched, which takes a subtransaction.
 */
extern void rencoder_columns_collect_row(Relation index, RencoderCollector *collector,
										 const RencoderColumnCoders *coders,
										 const Datum *values, const bool *isnull, bool alive);

#endif							/* RENCODER_CODER_COLUMNS_H */
