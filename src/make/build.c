/*
 * build.c
 *		CREATE INDEX: one run of all of the table, read by one process, or by several.
 *
 * Nobody else sees the pages, so nothing is logged until the end, where the
 * whole fork is (log_newpage_range).
 */
#include "make/build.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "nodes/execnodes.h"
#include "parser/parse_coerce.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/options.h"
#include "make/build_parallel.h"
#include "make/choose.h"
#include "make/make_matrices.h"
#include "store/hint_pages.h"
#include "table/heap_read.h"

/*
 * Under a nondeterministic collation strings may be equal that are not the
 * same bytes: no key could stand for them.
 */
static void
refuse_collations(Relation index)
{
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		Oid			collation = index->rd_indcollation[col];

		if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("access method \"rencoder\" does not support nondeterministic collations"),
					 errdetail("Column %d of index \"%s\" has collation \"%s\".",
							   col + 1, RelationGetRelationName(index),
							   get_collation_name(collation)),
					 errhint("Add COLLATE with a deterministic collation, such as \"C\", to the column in CREATE INDEX, and to the clauses that are to use it.")));
	}
}

/* Columns of keys of the index that is built: all of its columns may make one key. */
static int
count_key_columns(Relation index)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);

	if (!rencoder_options(index)->composite)
		return n;
	if (n < RENC_COMPOSITE_MIN || n > RENC_COMPOSITE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("composite keys have %d to %d columns", RENC_COMPOSITE_MIN, RENC_COMPOSITE_MAX),
				 errdetail("Index \"%s\" has %d.", RelationGetRelationName(index), n),
				 errhint("Create the index without \"composite\".")));
	for (int col = 0; col < n; col++)
	{
		if (rencoder_key_is_boxed(index, col))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("type %s has no order, so it cannot be in a composite key",
							format_type_be(index->rd_opcintype[col])),
					 errdetail("It is that of column %d of index \"%s\".", col + 1,
							   RelationGetRelationName(index)),
					 errhint("Create an index of its own for the column.")));
	}
	return 1;
}

/*
 * Constraints want one row found for each that comes, at once.  Filters would have ranges of the table
 * read.  And a check that was put off is never made of a row that a HOT update has left, from PostgreSQL 16
 * on: unique_key_recheck() looks for the row by the place that aminsert was told, takes that for the root of a
 * chain, and finds nothing.
 */
static void
refuse_exclusion(Relation index)
{
	if (!index->rd_index->indisexclusion)
		return;
	if (rencoder_options(index)->storage == RENCODER_STORAGE_FILTER)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("exclusion constraints cannot be enforced by \"storage = filter\""),
				 errdetail("Index \"%s\" would enforce one.", RelationGetRelationName(index)),
				 errhint("Create the constraint without \"storage\", or reset that of its index.")));
	if (!index->rd_index->indimmediate)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"rencoder\" does not support deferrable constraints"),
				 errdetail("Index \"%s\" would enforce one.", RelationGetRelationName(index)),
				 errhint("Create the constraint without DEFERRABLE, or with access method \"btree\".")));
}

/*
 * Has the type an equality of its own, of the same name as that of the operator family?  Queries
 * mean that one: the parser prefers it to a cast.
 */
static bool
has_other_equality(Oid type, Oid indexed, Oid family)
{
	Oid			equality = get_opfamily_member(family, indexed, indexed, BTEqualStrategyNumber);
	CatCList   *list;
	bool		found = false;

	if (!OidIsValid(equality))
		return false;
	list = SearchSysCacheList3(OPERNAMENSP, CStringGetDatum(get_opname(equality)),
							   ObjectIdGetDatum(type), ObjectIdGetDatum(type));
	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_operator form = (Form_pg_operator) GETSTRUCT(&list->members[i]->tuple);

		found = found || !op_in_opfamily(form->oid, family);
	}
	ReleaseSysCacheList(list);
	return found;
}

/*
 * Is the index one that is built again?  REINDEX CONCURRENTLY builds another one, which only
 * the session's report of progress tells from a new one; without that it counts as new.
 */
static bool
is_rebuild(Relation index)
{
	return index->rd_rel->relpages != 0 ||
		ReindexIsProcessingIndex(RelationGetRelid(index)) ||
		(MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX &&
		 MyBEEntry->st_progress_param[PROGRESS_CREATEIDX_COMMAND] ==
		 PROGRESS_CREATEIDX_COMMAND_REINDEX_CONCURRENTLY);
}

/*
 * Warns of a column whose type reaches the operator class by a cast, though it has operators of
 * its own.  Types without, such as varchar, are compared by those of the class.
 */
static void
warn_of_other_operators(Relation index)
{
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), col);
		Oid			type = getBaseType(att->atttypid);
		Oid			indexed = index->rd_opcintype[col];

		if (type == indexed || IsPolymorphicType(indexed) ||
			!has_other_equality(type, indexed, index->rd_opfamily[col]))
			continue;
		ereport(WARNING,
				(errmsg("no operator of type %s can use index \"%s\"",
						format_type_be_qualified(type), RelationGetRelationName(index)),
				 errdetail("Column \"%s\" is indexed as type %s, whose operators are others.",
						   NameStr(att->attname), format_type_be(indexed)),
				 TypeCategory(indexed) == TYPCATEGORY_STRING ?
				 errhint("Compare the column cast to type %s, or create the index on an expression of that type, such as lower(column::text).",
						 format_type_be(indexed)) :
				 errhint("Compare the column cast to type %s, or create the index on an expression of that type.",
						 format_type_be(indexed))));
	}
}

/*
 * The metapage, the coders, pages of hints.
 *
 * Training evaluates expressions of the index: functions that may add rows to the
 * table, whose inserter found no run to put them in.  So the size that counts is
 * read last; it is returned.
 *
 * To scan less than some pages costs less than an index would.  And CREATE INDEX CONCURRENTLY has its
 * rows read in its second phase (vacuum.c).
 */
static BlockNumber
prepare(RencoderReadRows *rows)
{
	Relation	index = rows->index;
	BlockNumber nblocks = RelationGetNumberOfBlocks(rows->heap);

	/* TRUNCATE in the table's own transaction leaves the old caches here. */
	if (index->rd_amcache != NULL)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
	rencoder_coders_forget(index);
	rencoder_run_roots_forget(index);
	rencoder_meta_create(index, MAIN_FORKNUM, count_key_columns(index),
						 rencoder_options_build_pages_per_range(index, nblocks),
						 rencoder_options(index)->bits_per_key);
	rencoder_columns_train(rows->heap, index, rows->indexInfo, false, false, &rows->coders);
	nblocks = RelationGetNumberOfBlocks(rows->heap);
	rencoder_hints_make_pages(index, nblocks, false);
	return !rows->indexInfo->ii_Concurrent &&
		(rencoder_choose_is_worth(index, nblocks) || index->rd_index->indisexclusion) ? nblocks : 0;
}

/* No row goes into the index: but they are counted, and may be wrong. */
static void
ignore_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool tupleIsAlive, void *state)
{
}

/*
 * The command that functions run by this process would write in now.  Some leave
 * their last command open (those in SQL), hence the increment, which does nothing
 * if there was no writing.
 */
static CommandId
command_during_build(void)
{
	CommandCounterIncrement();
	return GetCurrentCommandId(false);
}

/*
 * Reads all pages, by this process alone, and of an index of filters writes them.  False if functions of the index, or of its operator class, have
 * written meanwhile: rows that they have added, on any page, may be no entries, as a table has no index
 * until its first one is built.
 */
static bool
read_serially(RencoderReadRows *rows, RencoderRunWriter *writer, BlockNumber nblocks)
{
	CommandId	command = command_during_build();

	if (!rencoder_options_use_runs(rows->index))
		(void) rencoder_make_matrices(rows, writer, 0, nblocks, nblocks, NULL, NULL);
	else
		rencoder_read_rows_begin(rows, rencoder_options_sort_memory(), nblocks, NULL, 0);
	for (uint64 block = 0; block < nblocks && rencoder_options_use_runs(rows->index);
		 block += RENCODER_BUILD_PIECE)
	{
		rencoder_read_rows(rows, (BlockNumber) block,
						   (BlockNumber) Min(nblocks - block, RENCODER_BUILD_PIECE));
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
									 (int64) Min(nblocks, block + RENCODER_BUILD_PIECE));
	}
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\": this process has read %u pages",
							 RelationGetRelationName(rows->index), nblocks)));
	return command_during_build() == command;
}

/*
 * Makes the run of the pages; one that may lack rows stays BUILDING, for the next maintenance to free.
 * That of an index that enforces a constraint covers all pages to come.
 */
static void
build_run(RencoderReadRows *rows, BlockNumber nblocks)
{
	bool		sorts = rencoder_options_use_runs(rows->index);
	RencoderRunWriter *writer = rencoder_run_writer_begin(rows->index, sorts ? RENCODER_RUN_BASE :
														  RENCODER_RUN_MATRIX, 0,
														  rows->index->rd_index->indisexclusion ?
														  RENCODER_NO_FRONTIER : nblocks, 0, false);
	RencoderNewRun made;
	bool		complete = true;

	if (writer == NULL)
		elog(ERROR, "the catalog of new index \"%s\" is full", RelationGetRelationName(rows->index));
	rows->places = rencoder_heap_choose_places(rows->heap, rows->index, 0, nblocks);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, nblocks);
	rencoder_build_report_phase(RENCODER_BUILD_READING);
	if (!sorts || !rencoder_build_parallel(rows, nblocks))
		complete = read_serially(rows, writer, nblocks);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, nblocks);
	if (sorts)
	{
		rencoder_read_rows_write(rows, writer, 0, nblocks, nblocks, true);
		rencoder_build_end_parallel();
	}
	rencoder_run_writer_finish(writer, &made);
	made.horizon = rows->horizon;
	made.outside = rows->outside;
	if (complete)
		rencoder_catalog_publish(rows->index, &made, 1, 0, NULL, 0, false);
}

IndexBuildResult *
rencoderbuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	RencoderReadRows *rows = palloc0(sizeof(RencoderReadRows));
	BlockNumber nblocks;

	refuse_collations(index);
	refuse_exclusion(index);
	/* Once; TRUNCATE in its own transaction and at commit builds it again. */
	if (!is_rebuild(index))
		warn_of_other_operators(index);
	rows->heap = heap;
	rows->index = index;
	rows->indexInfo = indexInfo;
	nblocks = prepare(rows);
	if (nblocks > 0 || index->rd_index->indisexclusion)
	{
		build_run(rows, nblocks);
		indexInfo->ii_BrokenHotChain = rows->broken_hot_chain;
	}
	else
		rows->heap_tuples = table_index_build_scan(heap, index, indexInfo, false, true,
												   ignore_row, NULL, NULL);
	rencoder_build_report_phase(RENCODER_BUILD_LOGGING);
	rencoder_wal_log_fork(index, MAIN_FORKNUM);
	result->heap_tuples = rows->heap_tuples;
	result->index_tuples = rows->index_tuples;
	return result;
}

char *
rencoderbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case RENCODER_BUILD_READING:
			return "scanning table";
		case RENCODER_BUILD_SORTING:
			return "sorting keys";
		case RENCODER_BUILD_WRITING:
			return "writing run";
		case RENCODER_BUILD_LOGGING:
			return "writing WAL";
		default:
			return NULL;
	}
}

void
rencoderbuildempty(Relation index)
{
	refuse_collations(index);
	rencoder_meta_create(index, INIT_FORKNUM, count_key_columns(index),
						 rencoder_options_build_pages_per_range(index, 0),
						 rencoder_options(index)->bits_per_key);
	rencoder_wal_log_fork(index, INIT_FORKNUM);
}
