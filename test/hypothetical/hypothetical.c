/*
 * hypothetical.c
 *		For t/051_hypothetical.pl: rencoder indexes become hypothetical ones.
 *
 * An index adviser adds indexes that do not exist to what the planner knows of a table.  Here
 * those that do exist are turned into such, for as long as hypothetical.pretend is set: what PostgreSQL
 * has noted of them stays, but for the OID, which becomes one that nothing has.  So whoever
 * opens the index when planning fails.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "commands/explain.h"
#include "fmgr.h"
#include "optimizer/plancat.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

/* No catalog hands out OIDs of 2^32 - 1 downwards before all others are taken. */
#define HYPOTHETICAL_OID	((Oid) 4294967000U)

void		_PG_init(void);

static bool on = false;
static get_relation_info_hook_type next_relation_info = NULL;
static explain_get_index_name_hook_type next_index_name = NULL;

static void
pretend(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel)
{
	Oid			am = get_index_am_oid("rencoder", false);
	ListCell   *lc;

	if (next_relation_info)
		next_relation_info(root, relation, inhparent, rel);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (!on || index->relam != am)
			continue;
		index->hypothetical = true;
		index->indexoid = HYPOTHETICAL_OID + foreach_current_index(lc);
		index->pages = 0;
	}
}

static const char *
name_of_index(Oid index)
{
	if (index >= HYPOTHETICAL_OID)
		return psprintf("hypothetical_%u", index - HYPOTHETICAL_OID + 1);
	return next_index_name ? next_index_name(index) : NULL;
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("hypothetical.pretend", "Rencoder indexes do not exist.", NULL, &on, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	next_relation_info = get_relation_info_hook;
	get_relation_info_hook = pretend;
	next_index_name = explain_get_index_name_hook;
	explain_get_index_name_hook = name_of_index;
}
