/*
 * cost_privileges.h
 *		May the planner look at the keys of rows?
 */
#ifndef RENCODER_COST_PRIVILEGES_H
#define RENCODER_COST_PRIVILEGES_H

#include "base/compat.h"

#include "nodes/pathnodes.h"

/*
 * May the constants of the query be compared with keys of rows in the index?
 * Not if row security applies to the table, or the user that its privileges are
 * checked as may not read the columns, or a view that is a security barrier
 * stands before them.  No locks.
 */
extern bool rencoder_cost_may_look(PlannerInfo *root, const IndexOptInfo *index);

#endif							/* RENCODER_COST_PRIVILEGES_H */
