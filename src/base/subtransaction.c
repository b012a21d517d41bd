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
#include "utils/timestamp.h"

/* What has failed is not tried again for so long. */
#define PAUSE_MS	60000

/* Of the last failures of this session. */
typedef struct Failure
{
	Oid			index;			/* InvalidOid: none */
	const char *what;
	TimestampTz until;
} Failure;

static Failure failures[16];
static int	next_failure = 0;

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

static bool
has_failed_lately(Oid index, const char *what)
{
	for (int i = 0; i < (int) lengthof(failures); i++)
	{
		if (failures[i].index == index && strcmp(failures[i].what, what) == 0 &&
			GetCurrentTimestamp() < failures[i].until)
			return true;
	}
	return false;
}

bool
rencoder_best_effort(void (*work) (void *arg), void *arg, Relation index, const char *what)
{
	ErrorData  *error;

	if (!rencoder_may_begin_subtransaction() ||
		has_failed_lately(RelationGetRelid(index), what))
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
	failures[next_failure] = (Failure)
	{
		RelationGetRelid(index), what, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PAUSE_MS)
	};
	next_failure = (next_failure + 1) % lengthof(failures);
	return false;
}
