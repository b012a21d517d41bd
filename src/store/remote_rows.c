/*
 * remote_rows.c
 *		Rows of a table that are not in it, but on other servers, or in shards.
 *
 * Citus notes the tables that it has distributed in a catalog of its own.  Such a table
 * is empty where it was created, and so is its index; nothing but that catalog tells it
 * from one without rows.  Nothing of Citus is needed to look there, and where Citus is not,
 * it costs a look into the cache of catalogs.
 */
#include "store/remote_rows.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* The catalog of distributed tables, and its column. */
#define SHARDED_TABLES	"pg_dist_partition"
#define SHARDED_TABLE	"logicalrelid"

int
rencoder_remote_rows_foreign_partitions(Oid heapoid)
{
	int			nforeign = 0;
	ListCell   *cell;

	foreach(cell, find_all_inheritors(heapoid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			nforeign++;
	}
	return nforeign;
}

static bool
is_sharded(Oid heapoid)
{
	Oid			catalogoid = get_relname_relid(SHARDED_TABLES, PG_CATALOG_NAMESPACE);
	AttrNumber	attnum;
	Relation	catalog;
	SysScanDesc scan;
	ScanKeyData key;
	bool		found;

	if (!OidIsValid(catalogoid) || get_rel_relkind(catalogoid) != RELKIND_RELATION)
		return false;
	attnum = get_attnum(catalogoid, SHARDED_TABLE);
	if (attnum == InvalidAttrNumber || get_atttype(catalogoid, attnum) != REGCLASSOID)
		return false;

	catalog = table_open(catalogoid, AccessShareLock);
	ScanKeyInit(&key, attnum, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(heapoid));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

void
rencoder_remote_rows_note_shards(Relation heap, Relation index)
{
	if (is_sharded(RelationGetRelid(heap)))
		ereport(NOTICE,
				(errmsg("index \"%s\" is not that of the rows of distributed table \"%s\"",
						RelationGetRelationName(index), RelationGetRelationName(heap)),
				 errdetail("Citus keeps them in shards, which have indexes of their own."),
				 errhint("Call the function on the shards, with run_command_on_shards().")));
}
