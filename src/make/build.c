/*
 * build.c
 *		CREATE INDEX: group after group, or several at a time.
 *
 * Nobody else sees the pages, so nothing is logged until the end, where the
 * whole fork is (log_newpage_range).
 */
#include "make/build.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/tableam.h"
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
#include "design/sample_record.h"
#include "make/build_run.h"
#include "store/run_pages.h"
#include "table/coder_columns.h"

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

/*
 * PostgreSQL takes an index that hands out rows for one that can find conflicts.  This one could,
 * but each row would be compared with all that came to unsummarized ranges.
 */
static void
refuse_build_for_exclusion(Relation index, const IndexInfo *indexInfo)
{
	if (indexInfo->ii_ExclusionOps != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"rencoder\" does not support exclusion constraints"),
				 errdetail("Index \"%s\" would enforce one.", RelationGetRelationName(index)),
				 errhint("Use access method gist, spgist, btree or hash for the constraint.")));
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
 * The metapage, the coders, pages for query samples, and what to do next.
 *
 * Training evaluates expressions of the index: functions that may add rows to the
 * table, whose inserter found no group to put them in.  So the size that counts is
 * read last.
 */
static void
prepare(Relation heap, Relation index, IndexInfo *indexInfo, RencoderBuildPlan *plan)
{
	uint32		pages_per_range;
	RencoderColumnCoders coders;

	memset(plan, 0, sizeof(*plan));
	plan->places = renc_whole_pages();
	pages_per_range = rencoder_options_build_pages_per_range(index, RelationGetNumberOfBlocks(heap));

	/* TRUNCATE in the table's own transaction leaves the old caches here. */
	if (index->rd_amcache != NULL)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
	rencoder_coders_forget(index);
	rencoder_run_roots_forget(index);
	rencoder_meta_create(index, MAIN_FORKNUM, pages_per_range,
						 rencoder_options_bits_per_key(index));
	rencoder_columns_train(heap, index, indexInfo, false, false, &coders);
	memcpy(plan->coder, coders.generation, sizeof(plan->coder));
	rencoder_sample_record_make_pages_in_build(heap, index);

	plan->nblocks = RelationGetNumberOfBlocks(heap);
	plan->nranges = rencoder_range_count(rencoder_meta_get(index), plan->nblocks);

	/*
	 * Scanning less than a batch of pages costs less than an index would. And
	 * CREATE INDEX CONCURRENTLY has its rows summarized in its second phase
	 * (vacuum.c).
	 */
	if (indexInfo->ii_Concurrent ||
		(rencoder_options_pages_per_range(index) == 0 && plan->nranges < RENC_SLICE_RANGES))
		plan->nranges = 0;
}

/* No row goes into the index: but they are counted, and may be wrong. */
static void
ignore_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool tupleIsAlive, void *state)
{
}

/* "run": NULL if the index is to have none. */
static RencoderBuildTotals
build_serially(Relation heap, Relation index, IndexInfo *indexInfo, RencoderBuildPlan *plan,
			   RencoderBuildRun *run)
{
	RencoderRunSorter *sorter[RENCODER_MAX_TREES];
	RencoderBuildProgress progress;
	RencoderBuildGroup *build;
	RencoderBuildTotals totals;

	if (plan->nranges == 0)
	{
		memset(&totals, 0, sizeof(totals));
		totals.heap_tuples = table_index_build_scan(heap, index, indexInfo, false, true,
													ignore_row, NULL, NULL);
		totals.broken_hot_chain = indexInfo->ii_BrokenHotChain;
		return totals;
	}
	plan->memory = rencoder_options_key_memory();

	if (run != NULL)
		rencoder_build_run_begin_sorters(sorter, rencoder_meta_get(index)->natts,
										 rencoder_options_sort_memory(),
										 plan->nblocks * plan->places.parts, NULL, 0);
	pg_atomic_init_u64(&progress.blocks, 0);
	build = rencoder_build_group_create(heap, index, indexInfo, plan, &progress, sorter,
										true);
	for (uint32 group = 0; group < rencoder_group_count(plan->nranges); group++)
		rencoder_build_group_make(build, group);
	totals = rencoder_build_group_finish(build);
	if (run != NULL)
		rencoder_build_run_finish(run, sorter, &totals);
	return totals;
}

IndexBuildResult *
rencoderbuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	RencoderBuildPlan plan;
	RencoderBuildTotals totals;
	RencoderBuildRun *run;

	refuse_collations(index);
	refuse_build_for_exclusion(index, indexInfo);
	/* Once; TRUNCATE in its own transaction and at commit builds it again. */
	if (!is_rebuild(index))
		warn_of_other_operators(index);
	prepare(heap, index, indexInfo, &plan);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, plan.nblocks);
	rencoder_build_group_report_phase(RENCODER_BUILD_READING);
	run = rencoder_build_run_begin(heap, index, &plan);
	if (!rencoder_build_parallel(heap, index, indexInfo, &plan, run, &totals))
		totals = build_serially(heap, index, indexInfo, &plan, run);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, plan.nblocks);
	rencoder_build_group_report_phase(RENCODER_BUILD_LOGGING);
	indexInfo->ii_BrokenHotChain = totals.broken_hot_chain;
	rencoder_wal_log_fork(index, MAIN_FORKNUM);
	result->heap_tuples = totals.heap_tuples;
	result->index_tuples = totals.index_tuples;
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
	rencoder_meta_create(index, INIT_FORKNUM, rencoder_options_build_pages_per_range(index, 0),
						 rencoder_options_bits_per_key(index));
	rencoder_wal_log_fork(index, INIT_FORKNUM);
}
