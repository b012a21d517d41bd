/*
 * cost_privileges.c
 *		May planning look at the data of a table, with the constants of a query?
 *
 * What is found shows in the costs, and EXPLAIN shows these to whoever runs it.
 * So nothing must be compared with keys of rows that row security or a view
 * that is a security barrier would hide.  Conditions that are there to be
 * evaluated first do not help: only the executor keeps that order.
 */
#include "cost/cost_path.h"

#include "access/sysattr.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

/*
 * The table that the query names, whose privileges and policies count: the
 * index's own, or one that it is a partition or child of.  False if there are
 * conditions of row security on the way.
 */
static bool
find_table_of_privileges(PlannerInfo *root, Index rti, Oid *relid)
{
	for (;;)
	{
		RangeTblEntry *rte = planner_rt_fetch(rti, root);

		if (rte->securityQuals != NIL)
			return false;
		if (rte->rtekind == RTE_RELATION)
			*relid = rte->relid;
		if (root->append_rel_array == NULL || root->append_rel_array[rti] == NULL)
			return true;
		rti = root->append_rel_array[rti]->parent_relid;
	}
}

/* May "userid" read the columns of the index, whose table is "child", of a table? */
static bool
may_read_columns(const IndexOptInfo *index, Oid child, Oid relid, Oid userid)
{
	if (pg_class_aclcheck(relid, userid, ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int col = 0; col < index->nkeycolumns; col++)
	{
		AttrNumber	attno = index->indexkeys[col];

		if (attno <= 0)
			return false;		/* expressions may be of any columns */
		if (child != relid)
			attno = get_attnum(relid, get_attname(child, attno, false));
		if (attno == InvalidAttrNumber ||
			pg_attribute_aclcheck(relid, attno, userid, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/*
 * Is the query below a view that is a security barrier?  Conditions from above
 * it stand beside its own by now.  Any such view counts, since the planner does
 * not tell which of the subqueries above this one is.
 */
static bool
behind_barrier(PlannerInfo *root)
{
	for (root = root->parent_root; root != NULL; root = root->parent_root)
	{
		ListCell   *lc;

		foreach(lc, root->parse->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_SUBQUERY && rte->security_barrier)
				return true;
		}
	}
	return false;
}

bool
rencoder_cost_may_look(PlannerInfo *root, const IndexOptInfo *index)
{
	const RelOptInfo *rel = index->rel;
	Oid			child = planner_rt_fetch(rel->relid, root)->relid;
	Oid			userid = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	Oid			relid = child;

	if (!find_table_of_privileges(root, rel->relid, &relid))
		return false;
	if (!may_read_columns(index, child, relid, userid))
		return false;

	/* Who may read all of it anyway needs no protection from a view. */
	return !behind_barrier(root) ||
		(may_read_columns(index, child, relid, GetUserId()) &&
		 check_enable_rls(relid, GetUserId(), true) != RLS_ENABLED);
}
