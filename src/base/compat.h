/*
 * compat.h
 *		Every difference between the supported PostgreSQL versions (15 .. 20devel).
 *
 * The only file that looks at PG_VERSION_NUM.
 */
#ifndef RENCODER_COMPAT_H
#define RENCODER_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/transam.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/acl.h"

#if PG_VERSION_NUM < 150000
#error "rencoder requires PostgreSQL 15 or later"
#endif

#if BLCKSZ < 8192
#error "rencoder requires a block size of at least 8192: the catalog fills most of a page"
#endif

/* 16: the macros of variable-length values left postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* May the end of a relation's file be cut off?  18: a setting decides where the table says nothing. */
#include "utils/rel.h"
#if PG_VERSION_NUM >= 190000
#define rencoder_truncate_option(options) \
	((options)->vacuum_truncate == PG_TERNARY_UNSET ? vacuum_truncate : \
	 (options)->vacuum_truncate == PG_TERNARY_TRUE)
#define rencoder_truncate_default		vacuum_truncate
#elif PG_VERSION_NUM >= 180000
#define rencoder_truncate_option(options) \
	((options)->vacuum_truncate_set ? (options)->vacuum_truncate : vacuum_truncate)
#define rencoder_truncate_default		vacuum_truncate
#else
#define rencoder_truncate_option(options)	((options)->vacuum_truncate)
#define rencoder_truncate_default		true
#endif
#define rencoder_may_truncate(heap) \
	((heap)->rd_options == NULL ? rencoder_truncate_default : \
	 rencoder_truncate_option((StdRdOptions *) (heap)->rd_options))

/* 16: pg_class_ownercheck() became object_ownercheck(). */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_class.h"
#define rencoder_class_ownercheck(relid, roleid) \
	object_ownercheck(RelationRelationId, (relid), (roleid))
#else
#define rencoder_class_ownercheck(relid, roleid) \
	pg_class_ownercheck((relid), (roleid))
#endif

/* 16: relfilenodes became locators. */
#if PG_VERSION_NUM >= 160000
#include "storage/relfilelocator.h"
typedef RelFileLocator RencoderLocator;
typedef RelFileNumber RencoderFileNumber;
#define rencoder_locator_number(locator)	((locator).relNumber)
#define rencoder_relation_locator(rel)		((rel)->rd_locator)
#else
#include "storage/relfilenode.h"
typedef RelFileNode RencoderLocator;
typedef Oid RencoderFileNumber;
#define rencoder_locator_number(locator)	((locator).relNode)
#define rencoder_relation_locator(rel)		((rel)->rd_node)
#endif

/* 16: and so did the fields of a relation's cache entry. */
#if PG_VERSION_NUM >= 160000
#define rencoder_new_in_transaction(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)
#else
#define rencoder_new_in_transaction(rel) \
	((rel)->rd_createSubid != InvalidSubTransactionId || \
	 (rel)->rd_firstRelfilenodeSubid != InvalidSubTransactionId)
#endif

/* 17: RestrictSearchPath(); before that the search path is set by hand. */
#if PG_VERSION_NUM >= 170000
#define rencoder_restrict_search_path() RestrictSearchPath()
#else
#include "utils/guc.h"
#define rencoder_restrict_search_path() \
	((void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, \
							  PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false))
#endif

/*
 * 17: rows are no longer removed under a snapshot that is older than
 * old_snapshot_threshold, for it to be told so when it meets a page that changed.
 */
#if PG_VERSION_NUM >= 170000
#define rencoder_test_old_snapshot(snapshot, rel, page) ((void) 0)
#define rencoder_removes_early()	false
#else
#include "storage/bufmgr.h"
#define rencoder_test_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot((snapshot), (rel), (page))
#define rencoder_removes_early()	(old_snapshot_threshold >= 0)
#endif

/* 18: vacuum_delay_point() tells ANALYZE from VACUUM. */
#if PG_VERSION_NUM >= 180000
#define rencoder_vacuum_delay_point() vacuum_delay_point(false)
#else
#define rencoder_vacuum_delay_point() vacuum_delay_point()
#endif

/*
 * 17: index_build() asks the planner for workers if the access method can build
 * in parallel; before, only for btree.
 */
#if PG_VERSION_NUM >= 170000
#define RENCODER_HAVE_PARALLEL_BUILD 1
#define rencoder_build_workers(heap, index, indexInfo) ((indexInfo)->ii_ParallelWorkers)
#else
#include "optimizer/optimizer.h"
#define rencoder_build_workers(heap, index, indexInfo) \
	plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index))
#endif

/* 17: estimate_array_length() looks at statistics. */
#if PG_VERSION_NUM >= 170000
#define rencoder_estimate_array_length(root, node) estimate_array_length((root), (node))
#else
#define rencoder_estimate_array_length(root, node) estimate_array_length(node)
#endif

/* 18: what an operator of an ordering family is, is told as a comparison, not as a strategy of btree. */
#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
typedef CompareType RencoderComparison;
#define RENCODER_COMPARISON_LESS	COMPARE_LT
#else
#include "access/stratnum.h"
typedef int16 RencoderComparison;
#define RENCODER_COMPARISON_LESS	BTLessStrategyNumber
#endif

/* 18: EXPLAIN ANALYZE shows how many searches of the index a scan made. */
#if PG_VERSION_NUM >= 180000
#include "access/genam.h"
#include "access/relscan.h"
#define rencoder_count_search(scan) \
	((scan)->instrument ? (void) (scan)->instrument->nsearches++ : (void) 0)
#else
#define rencoder_count_search(scan) ((void) 0)
#endif

/* 18: pg_noreturn, in front, became the only way to say so. */
#if PG_VERSION_NUM >= 180000
#define rencoder_noreturn pg_noreturn
#else
#define rencoder_noreturn pg_attribute_noreturn()
#endif

/* 17: subtransactions without a command of their own may begin in parallel mode. */
#if PG_VERSION_NUM >= 170000
#define rencoder_may_begin_subtransaction() true
#else
#include "access/xact.h"
#define rencoder_may_begin_subtransaction() (!IsInParallelMode())
#endif

/*
 * 19: what an access method can do is one constant for all of its indexes; before, each
 * caller of the handler frees what it gets.
 */
#if PG_VERSION_NUM >= 190000
typedef const IndexAmRoutine *RencoderRoutine;
#define rencoder_give_routine(routine) ((void *) (routine))
#else
typedef IndexAmRoutine *RencoderRoutine;
#define rencoder_give_routine(routine) \
	memcpy(palloc(sizeof(IndexAmRoutine)), (routine), sizeof(IndexAmRoutine))
#endif

/* 19: a name is given with a new tranche, not registered by each process. */
#if PG_VERSION_NUM >= 190000
#define rencoder_new_tranche(name) LWLockNewTrancheId(name)
#define rencoder_register_tranche(tranche, name) ((void) 0)
#else
#define rencoder_new_tranche(name) LWLockNewTrancheId()
#define rencoder_register_tranche(tranche, name) LWLockRegisterTranche((tranche), (name))
#endif

/*
 * 19: flags say more of a scan.  With amgetbatch, which is proposed for 20, table_fetch_tid() comes
 * instead of table_index_fetch_*() (scan/README.md).
 */
#if PG_VERSION_NUM >= 190000
#define rencoder_beginscan_tidrange(rel, snapshot, first, last) \
	table_beginscan_tidrange((rel), (snapshot), (first), (last), SO_NONE)
#define rencoder_index_fetch_begin(rel) table_index_fetch_begin((rel), SO_NONE)
#else
#define rencoder_index_fetch_begin(rel) table_index_fetch_begin(rel)
#define rencoder_beginscan_tidrange(rel, snapshot, first, last) \
	table_beginscan_tidrange((rel), (snapshot), (first), (last))
#endif

/* 19: of all databases, and not only of transactions that are just committing, if asked. */
#if PG_VERSION_NUM >= 190000
#define rencoder_oldest_active_xid() GetOldestActiveTransactionId(false, true)
#else
#define rencoder_oldest_active_xid() GetOldestActiveTransactionId()
#endif

/* 19: moments out of range are soft errors. */
#if PG_VERSION_NUM >= 190000
#include "nodes/miscnodes.h"
#include "utils/date.h"
#include "utils/timestamp.h"

static inline TimestampTz
date2timestamptz_opt_overflow(DateADT date, int *overflow)
{
	ErrorSaveContext caught = {.type = T_ErrorSaveContext};
	TimestampTz moment = date2timestamptz_safe(date, (Node *) &caught);

	*overflow = !caught.error_occurred ? 0 : TIMESTAMP_IS_NOBEGIN(moment) ? -1 : 1;
	return moment;
}

static inline TimestampTz
timestamp2timestamptz_opt_overflow(Timestamp timestamp, int *overflow)
{
	ErrorSaveContext caught = {.type = T_ErrorSaveContext};
	TimestampTz moment = timestamp2timestamptz_safe(timestamp, (Node *) &caught);

	*overflow = !caught.error_occurred ? 0 : TIMESTAMP_IS_NOBEGIN(moment) ? -1 : 1;
	return moment;
}
#endif

/* 19: a tuple descriptor that was filled by hand is to be finished. */
#if PG_VERSION_NUM >= 190000
#define rencoder_finish_tupdesc(desc) TupleDescFinalize(desc)
#else
#define rencoder_finish_tupdesc(desc) ((void) (desc))
#endif

/*
 * What is to be called with each table of a query, once its indexes are known to the planner.  19: the
 * hook is of all relations, and has another name.
 */
#include "optimizer/plancat.h"
#if PG_VERSION_NUM >= 190000
#include "optimizer/pathnode.h"
#define RENCODER_RELATION_HOOK(function) \
static build_simple_rel_hook_type next_relation_hook = NULL; \
\
static void \
call_relation_hook(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte) \
{ \
	if (next_relation_hook != NULL) \
		next_relation_hook(root, rel, rte); \
	function(rel); \
} \
\
static void \
rencoder_set_relation_hook(void) \
{ \
	next_relation_hook = build_simple_rel_hook; \
	build_simple_rel_hook = call_relation_hook; \
}
#else
#define RENCODER_RELATION_HOOK(function) \
static get_relation_info_hook_type next_relation_hook = NULL; \
\
static void \
call_relation_hook(PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel) \
{ \
	if (next_relation_hook != NULL) \
		next_relation_hook(root, relid, inhparent, rel); \
	function(rel); \
} \
\
static void \
rencoder_set_relation_hook(void) \
{ \
	next_relation_hook = get_relation_info_hook; \
	get_relation_info_hook = call_relation_hook; \
}
#endif

/* 16: servers with assertions want a plain scan to have a direction, even if nobody wants its order. */
#if PG_VERSION_NUM >= 160000
#include "utils/guc.h"
#define rencoder_direction_may_be_open() \
	(strcmp(GetConfigOption("debug_assertions", false, false), "off") == 0)
#else
#define rencoder_direction_may_be_open() true
#endif

/* 16: summarizing index AMs. */
#if PG_VERSION_NUM >= 160000
#define RENCODER_HAVE_SUMMARIZING 1
#endif

/* 17: streams of blocks, which read ahead. */
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#define RENCODER_HAVE_READ_STREAM 1
#endif

#endif							/* RENCODER_COMPAT_H */
