/*
 * validate.c
 *		amvalidate: is an operator class, with its family, usable by the access
 *		method?
 *
 * Support functions are registered as key.h says: 1 or 4 for (type, type), 5
 * beside 4, 2 for the operands of btree's operators, 3 for those of the operators
 * beyond btree's, 6 for those of <, <=, >= and >.  A scan needs function 1 or 4 of
 * every type that one of btree's operators of the family may have on its right-hand
 * side.
 */
#include "key/key.h"
#include "rencoder.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

/* Strategies 1 .. 5 as identify_opfamily_groups() reports them. */
#define ALL_OPERATORS \
	((UINT64CONST(1) << BTLessStrategyNumber) | \
	 (UINT64CONST(1) << BTLessEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTGreaterEqualStrategyNumber) | \
	 (UINT64CONST(1) << BTGreaterStrategyNumber))

/* The strategies that need support function 3 instead of 1. */
#define OTHER_OPERATORS \
	(~(ALL_OPERATORS | 1))

#define HAS_FUNCTION(group, number) \
	(((group)->functionset & (UINT64CONST(1) << (number))) != 0)

/* Reports a fault as the core's validators do, and goes on. */
#define complain(valid, ...) \
	do { \
		ereport(INFO, \
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION), \
				 errmsg_internal(__VA_ARGS__))); \
		*(valid) = false; \
	} while (0)

static void
validate_function(const char *opfamily, Form_pg_amproc proc, bool *valid)
{
	const char *name = format_procedure(proc->amproc);
	bool		same_type = proc->amproclefttype == proc->amprocrighttype;
	bool		registered = true;
	bool		signature;

	switch (proc->amprocnum)
	{
		case RENCODER_PROC_KEY:
			registered = same_type;
			signature = check_amproc_signature(proc->amproc, INT8OID, false, 1, 1,
											   proc->amproclefttype);
			break;
		case RENCODER_PROC_BOUND:
			signature = check_amproc_signature(proc->amproc, VOIDOID, false, 2, 2,
											   proc->amprocrighttype, INTERNALOID);
			break;
		case RENCODER_PROC_INTERVALS:
		case RENCODER_PROC_ORDER:
			signature = check_amproc_signature(proc->amproc, VOIDOID, false, 3, 3,
											   proc->amprocrighttype, INT2OID,
											   INTERNALOID);
			break;
		case RENCODER_PROC_CODED_KEY:
		case RENCODER_PROC_SAMPLE:
			registered = same_type;
			signature = check_amproc_signature(proc->amproc,
											   proc->amprocnum == RENCODER_PROC_SAMPLE ? VOIDOID : INT8OID,
											   false, 2, 2, proc->amproclefttype, INTERNALOID);
			break;
		default:
			complain(valid, "operator family \"%s\" of access method %s contains function %s with invalid support number %d",
					 opfamily, "rencoder", name, proc->amprocnum);
			return;
	}

	if (!registered)
		complain(valid, same_type ?
				 "operator family \"%s\" of access method %s contains support function %s without cross-type registration" :
				 "operator family \"%s\" of access method %s contains support function %s with cross-type registration",
				 opfamily, "rencoder", name);
	if (!signature)
		complain(valid, "operator family \"%s\" of access method %s contains function %s with wrong signature for support number %d",
				 opfamily, "rencoder", name, proc->amprocnum);
}

static void
validate_operator(const char *opfamily, Form_pg_amop op, bool *valid)
{
	const char *name = format_operator(op->amopopr);

	if (op->amopstrategy < 1 || op->amopstrategy > RENCODER_NSTRATEGIES)
		complain(valid, "operator family \"%s\" of access method %s contains operator %s with invalid strategy number %d",
				 opfamily, "rencoder", name, op->amopstrategy);
	if (op->amoppurpose != AMOP_SEARCH || OidIsValid(op->amopsortfamily))
		complain(valid, "operator family \"%s\" of access method %s contains invalid ORDER BY specification for operator %s",
				 opfamily, "rencoder", name);
	if (!check_amop_signature(op->amopopr, BOOLOID, op->amoplefttype, op->amoprighttype))
		complain(valid, "operator family \"%s\" of access method %s contains operator %s with wrong signature",
				 opfamily, "rencoder", name);
}

static OpFamilyOpFuncGroup *
find_opclass_group(List *groups, Oid lefttype, Oid righttype)
{
	ListCell   *lc;

	foreach(lc, groups)
	{
		OpFamilyOpFuncGroup *group = (OpFamilyOpFuncGroup *) lfirst(lc);

		if (group->lefttype == lefttype && group->righttype == righttype)
			return group;
	}
	return NULL;
}

static bool
makes_keys(const OpFamilyOpFuncGroup *group)
{
	return HAS_FUNCTION(group, RENCODER_PROC_KEY) ||
		HAS_FUNCTION(group, RENCODER_PROC_CODED_KEY);
}

static bool
has_key_function(List *groups, Oid type)
{
	OpFamilyOpFuncGroup *group = find_opclass_group(groups, type, type);

	return group != NULL && makes_keys(group);
}

/*
 * A pair of types has all of btree's operators and a key function on each
 * side, or only others; others need their own function.  Types without key
 * function are complained of once, at their own pair if they have one.
 */
static void
validate_opclass_group(const char *opfamily, List *groups, OpFamilyOpFuncGroup *group,
					   bool *valid)
{
	Oid			left = group->lefttype;
	Oid			right = group->righttype;
	uint64		order = group->operatorset & ALL_OPERATORS;
	uint64		others = group->operatorset & OTHER_OPERATORS;

	if (order != ALL_OPERATORS && (order != 0 || others == 0))
		complain(valid, "operator family \"%s\" of access method %s is missing operator(s) for types %s and %s",
				 opfamily, "rencoder", format_type_be(left), format_type_be(right));

	if (left == right ? !makes_keys(group) :
		((find_opclass_group(groups, left, left) == NULL && !has_key_function(groups, left)) ||
		 ((order != 0 || others == 0) && find_opclass_group(groups, right, right) == NULL &&
		  !has_key_function(groups, right))))
		complain(valid, "operator family \"%s\" of access method %s is missing support function %d for types %s and %s",
				 opfamily, "rencoder", RENCODER_PROC_KEY,
				 format_type_be(left), format_type_be(right));
	if (others != 0 && !HAS_FUNCTION(group, RENCODER_PROC_INTERVALS))
		complain(valid, "operator family \"%s\" of access method %s is missing support function %d for types %s and %s",
				 opfamily, "rencoder", RENCODER_PROC_INTERVALS,
				 format_type_be(left), format_type_be(right));
}

/*
 * Checks all of the operator family, so that each of its classes is as valid
 * as the family is.
 */
static void
validate_opfamily(const char *opfamily, const char *opclass, Oid opcintype,
				  CatCList *operators, CatCList *functions, bool *valid)
{
	List	   *groups;
	ListCell   *lc;

	for (int i = 0; i < functions->n_members; i++)
		validate_function(opfamily,
						  (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple), valid);
	for (int i = 0; i < operators->n_members; i++)
		validate_operator(opfamily,
						  (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple), valid);

	groups = identify_opfamily_groups(operators, functions);
	foreach(lc, groups)
		validate_opclass_group(opfamily, groups, (OpFamilyOpFuncGroup *) lfirst(lc), valid);

	/* If it is there, it is complete or was complained of above. */
	if (find_opclass_group(groups, opcintype, opcintype) == NULL)
		complain(valid, "operator class \"%s\" of access method %s is missing operators and support function %d",
				 opclass, "rencoder", RENCODER_PROC_KEY);
}

bool
rencodervalidate(Oid opclassoid)
{
	bool		valid = true;
	HeapTuple	classtup;
	HeapTuple	familytup;
	Form_pg_opclass opclass;
	Form_pg_opfamily opfamily;
	CatCList   *operators;
	CatCList   *functions;

	classtup = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclassoid));
	if (!HeapTupleIsValid(classtup))
		elog(ERROR, "cache lookup failed for operator class %u", opclassoid);
	opclass = (Form_pg_opclass) GETSTRUCT(classtup);

	familytup = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(opclass->opcfamily));
	if (!HeapTupleIsValid(familytup))
		elog(ERROR, "cache lookup failed for operator family %u", opclass->opcfamily);
	opfamily = (Form_pg_opfamily) GETSTRUCT(familytup);

	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(opclass->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(opclass->opcfamily));

	validate_opfamily(NameStr(opfamily->opfname), NameStr(opclass->opcname),
					  opclass->opcintype, operators, functions, &valid);

	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(familytup);
	ReleaseSysCache(classtup);
	return valid;
}
