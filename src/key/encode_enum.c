/*
 * encode_enum.c
 *		Keys of enums.
 *
 * A value is the oid of its label in pg_enum, and that is its key: equal values have equal keys,
 * and keys are exact.  They are not in the order of the enum, which is that of
 * pg_enum.enumsortorder: ALTER TYPE ... ADD VALUE ... BEFORE puts a new oid between old ones.
 * Nor could keys be made of enumsortorder: where no number is left between two labels, PostgreSQL
 * numbers all labels of the type anew, and so does pg_upgrade, while the keys in an index stay.
 * An oid stays as long as the label, in pg_upgrade, too, since tables hold it.
 *
 * So an order is asked for label by label (support function 6): "v < label" asks for the keys of
 * all labels of which the type's own comparison says so.  It does not look at enumsortorder where
 * both oids are even, so that the two differ once somebody has edited the catalog.  That loses no
 * row:
 *
 * - what the comparison says here is what the operator says when it rechecks a row.  Labels cannot
 *	 be dropped without the type;
 * - a row that a query sees has a label that is in pg_enum.  One that was added may not be used
 *	 before it is committed, so the row came after that.  We read pg_enum by a snapshot that is
 *	 taken now, which is after the query's, so it sees whatever was committed when that was
 *	 taken.  A catalog snapshot from before might not: it is kept until an invalidation message
 *	 arrives, and these are sent after the commit;
 * - what the transaction itself has made is seen by that snapshot, too.
 */
#include "key/encode.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "key/intervals.h"

PG_FUNCTION_INFO_V1(rencoder_enum_intervals);

RENCODER_KEY_FUNCTION(rencoder_enum_key, (uint64) PG_GETARG_OID(0));

/* The type of a label. */
static Oid
enum_label_type(Oid label)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(label));
	Oid			type;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", label)));
	type = ((Form_pg_enum) GETSTRUCT(tuple))->enumtypid;
	ReleaseSysCache(tuple);
	return type;
}

/* Does a label of which enum_cmp() says "place" satisfy "v operator label"? */
static bool
enum_label_satisfies(int strategy, int32 place)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return place < 0;
		case BTLessEqualStrategyNumber:
			return place <= 0;
		case BTGreaterEqualStrategyNumber:
			return place >= 0;
		case BTGreaterStrategyNumber:
			return place > 0;
	}
	elog(ERROR, "unrecognized strategy number: %d", strategy);
}

/*
 * rencoder_enum_intervals(anyenum, int2, internal) returns void
 *
 * Support function 6.  The oids that CREATE TYPE gives are even, and one behind the other: with the
 * odd ones between, which few other labels have, neighbours make one interval.
 */
Datum
rencoder_enum_intervals(PG_FUNCTION_ARGS)
{
	Oid			label = PG_GETARG_OID(0);
	RencoderIntervals *list = ((RencoderOperand *) PG_GETARG_POINTER(2))->intervals;
	FmgrInfo	compare;
	Relation	pg_enum = table_open(EnumRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	fmgr_info(F_ENUM_CMP, &compare);
	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(enum_label_type(label)));
	InvalidateCatalogSnapshot();
	scan = systable_beginscan(pg_enum, EnumTypIdSortOrderIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			oid = ((Form_pg_enum) GETSTRUCT(tuple))->oid;
		Datum		place = FunctionCall2(&compare, ObjectIdGetDatum(oid), ObjectIdGetDatum(label));

		if (enum_label_satisfies(PG_GETARG_INT16(1), DatumGetInt32(place)))
			rencoder_intervals_add(list, oid, oid | 1);
	}
	systable_endscan(scan);
	table_close(pg_enum, AccessShareLock);
	PG_RETURN_VOID();
}
