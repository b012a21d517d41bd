/*
 * open_index.c
 *		Opening the index that an SQL function was called for.
 *
 * The sequence is that of BRIN's functions (brin_summarize_range) with one
 * difference: kind and privileges are looked at before a lock is asked for,
 * so that nobody can queue locks on tables of others, and looked at again
 * after, because the OID may have become another relation's meanwhile.
 */
#include "store/open_index.h"

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "base/options.h"

static void
report_missing_index(Oid indexoid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("index with OID %u does not exist", indexoid)));
}

/* Is it an index whose access method has our handler? */
static void
check_opened_kind(Oid indexoid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(indexoid));
	Form_pg_class form;
	char	   *name;
	char		relkind;
	bool		ours = false;

	if (!HeapTupleIsValid(tuple))
		report_missing_index(indexoid);
	form = (Form_pg_class) GETSTRUCT(tuple);
	name = pstrdup(NameStr(form->relname));
	relkind = form->relkind;
	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
	{
		RencoderRoutine am = GetIndexAmRoutineByAmId(form->relam, true);

		ours = am != NULL && am->amoptions == rencoderoptions;
	}
	ReleaseSysCache(tuple);

	if (!ours)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a rencoder index", name),
				 errhint("Name an index that was created with USING rencoder.")));
	if (relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index", name),
				 errhint("Call the function for the index of each partition.")));
}

bool
rencoder_open_index_may_read(Oid heapoid, Oid userid)
{
	return OidIsValid(heapoid) &&
		pg_class_aclcheck(heapoid, userid, ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(heapoid, userid, true) != RLS_ENABLED;
}

/* Returns whether the caller may see values of the table. */
static bool
check_opened_privilege(Oid indexoid, Oid heapoid, Oid userid, RencoderPrivilege privilege)
{
	const char *name = get_rel_name(indexoid);

	if (name == NULL)
		report_missing_index(indexoid); /* dropped meanwhile */
	if (rencoder_class_ownercheck(indexoid, userid))
		return true;
	if (privilege == RENCODER_PRIVILEGE_OWNER)
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name);
	if (rencoder_open_index_may_read(heapoid, userid))
		return true;
	if (privilege != RENCODER_PRIVILEGE_INSPECT ||
		!has_privs_of_role(userid, ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for index %s", name),
				 privilege == RENCODER_PRIVILEGE_INSPECT ?
				 errhint("Only the owner, roles that may read the whole table, and members of pg_stat_scan_tables may inspect the index.") :
				 errhint("Only the owner and roles that may read the whole table may call this function.")));
	return false;
}

void
rencoder_open_index_require_valid(Relation index)
{
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
				 errhint("REINDEX INDEX rebuilds the index from its table.")));
}

/* Can its pages be read here at all? */
static void
check_opened_storage(Relation index)
{
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary index \"%s\" of another session",
						RelationGetRelationName(index))));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot access unlogged index \"%s\" during recovery",
						RelationGetRelationName(index)),
				 errhint("Unlogged tables and their indexes exist on the primary only.")));

	/*
	 * What CREATE INDEX CONCURRENTLY has written before it failed is not
	 * logged.
	 */
	if (RelationGetNumberOfBlocks(index) == 0)
		rencoder_open_index_require_valid(index);
}

void
rencoder_open_index_switch_to_owner(const RencoderOpenIndex *target)
{
	SetUserIdAndSecContext(target->heap->rd_rel->relowner,
						   target->save_sec_context | SECURITY_RESTRICTED_OPERATION);
}

/* Expressions of the index are evaluated as the table's owner. */
static void
become_owner(RencoderOpenIndex *target)
{
	GetUserIdAndSecContext(&target->save_userid, &target->save_sec_context);
	rencoder_open_index_switch_to_owner(target);
	target->save_nestlevel = NewGUCNestLevel();
	rencoder_restrict_search_path();
}

void
rencoder_open_index(RencoderOpenIndex *target, Oid indexoid, LOCKMODE lockmode,
					RencoderPrivilege privilege)
{
	Oid			heapoid;

	if (lockmode != AccessShareLock && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("rencoder control functions cannot be executed during recovery.")));
	check_opened_kind(indexoid);
	heapoid = IndexGetRelation(indexoid, true);
	(void) check_opened_privilege(indexoid, heapoid, GetUserId(), privilege);
	if (!OidIsValid(heapoid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index with OID %u", indexoid)));

	/* The table before the index, as everywhere, to avoid deadlocks. */
	target->lockmode = lockmode;
	target->heap = table_open(heapoid, lockmode);
	become_owner(target);
	target->index = index_open(indexoid, lockmode);

	check_opened_kind(indexoid);
	target->may_read = check_opened_privilege(indexoid, heapoid, target->save_userid,
											  privilege);
	if (heapoid != IndexGetRelation(indexoid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(target->index))));
	check_opened_storage(target->index);
}

/* Is the relation, which is locked, an index that can be worked on, or any? */
static bool
opened_is_usable(Relation index, Oid heapoid, bool any)
{
	return index->rd_rel->relkind == RELKIND_INDEX && index->rd_index->indrelid == heapoid &&
		(any || (index->rd_indam->amoptions == rencoderoptions && index->rd_index->indisvalid &&
				 !RelationUsesLocalBuffers(index)));
}

RencoderTry
rencoder_open_index_try(RencoderOpenIndex *target, Oid indexoid, LOCKMODE lockmode, bool any)
{
	Oid			heapoid = IndexGetRelation(indexoid, true);

	if (!OidIsValid(heapoid))
		return RENCODER_TRY_GONE;
	if (!ConditionalLockRelationOid(heapoid, lockmode))
		return RENCODER_TRY_LOCKED;
	if (!ConditionalLockRelationOid(indexoid, lockmode))
	{
		UnlockRelationOid(heapoid, lockmode);
		return RENCODER_TRY_LOCKED;
	}

	target->lockmode = lockmode;
	target->may_read = true;
	target->heap = try_relation_open(heapoid, NoLock);
	target->index = try_relation_open(indexoid, NoLock);
	if (target->heap != NULL && target->index != NULL &&
		opened_is_usable(target->index, heapoid, any))
	{
		become_owner(target);
		return RENCODER_TRY_OPENED;
	}
	if (target->index != NULL)
		relation_close(target->index, NoLock);
	if (target->heap != NULL)
		relation_close(target->heap, NoLock);
	UnlockRelationOid(indexoid, lockmode);
	UnlockRelationOid(heapoid, lockmode);
	return RENCODER_TRY_GONE;
}

RencoderTry
rencoder_open_index_now(RencoderOpenIndex *target, Oid indexoid, RencoderPrivilege privilege)
{
	Oid			heapoid = IndexGetRelation(indexoid, true);
	RencoderTry result;

	if (get_rel_name(indexoid) == NULL)
		return RENCODER_TRY_GONE;
	check_opened_kind(indexoid);
	(void) check_opened_privilege(indexoid, heapoid, GetUserId(), privilege);
	result = rencoder_open_index_try(target, indexoid, AccessShareLock, true);
	if (result != RENCODER_TRY_OPENED)
		return result;
	check_opened_kind(indexoid);
	target->may_read = check_opened_privilege(indexoid, heapoid, target->save_userid, privilege);
	check_opened_storage(target->index);
	return RENCODER_TRY_OPENED;
}

void
rencoder_open_index_close(RencoderOpenIndex *target)
{
	AtEOXact_GUC(false, target->save_nestlevel);
	SetUserIdAndSecContext(target->save_userid, target->save_sec_context);
	index_close(target->index, target->lockmode);
	table_close(target->heap, target->lockmode);
}
