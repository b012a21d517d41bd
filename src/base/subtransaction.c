/*
 * subtransaction.c
 *		Work whose failure must not be that of the command it is done for.
 *
 * The steps are those of PL/pgSQL's EXCEPTION blocks (pl_exec.c, exec_stmt_block).
 */
#include "base/subtransaction.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

ErrorData *
rencoder_subtransaction(void (*work) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

bool
rencoder_best_effort(void (*work) (void *arg), void *arg, Relation index, const char *what)
{
	ErrorData  *error;

	if (!rencoder_may_begin_subtransaction())
		return false;
	error = rencoder_subtransaction(work, arg);
	if (error == NULL)
		return true;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("could not %s of index \"%s\": %s",
					what, RelationGetRelationName(index), error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->hint ? errhint("%s", error->hint) : 0));
	FreeErrorData(error);
	return false;
}
