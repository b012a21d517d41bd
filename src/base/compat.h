/*
 * compat.h
 *		Every difference between the supported PostgreSQL versions (15 .. 18).
 *
 * The only file that looks at PG_VERSION_NUM.
 */
#ifndef RENCODER_COMPAT_H
#define RENCODER_COMPAT_H

#include "postgres.h"

#include "access/transam.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/acl.h"

#if PG_VERSION_NUM < 150000
#error "rencoder requires PostgreSQL 15 or later"
#endif

#if BLCKSZ < 8192
#error "rencoder requires a block size of at least 8192: a group header fills most of a page"
#endif

/* 16: the macros of variable-length values left postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

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
#else
#include "storage/bufmgr.h"
#define rencoder_test_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot((snapshot), (rel), (page))
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

/* 18: what a bitmap heap scan counts has a struct of its own. */
#if PG_VERSION_NUM >= 180000
#define rencoder_bitmap_heap_pages(state) \
	((int64) ((state)->stats.exact_pages + (state)->stats.lossy_pages))
#else
#define rencoder_bitmap_heap_pages(state) ((int64) ((state)->exact_pages + (state)->lossy_pages))
#endif

/* 18: a hook may add to what EXPLAIN says of a node of the plan. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#define RENCODER_HAVE_EXPLAIN_NODE 1
#endif

/* 17: subtransactions without a command of their own may begin in parallel mode. */
#if PG_VERSION_NUM >= 170000
#define rencoder_may_begin_subtransaction() true
#else
#include "access/xact.h"
#define rencoder_may_begin_subtransaction() (!IsInParallelMode())
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
