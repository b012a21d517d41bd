/*
 * workspace.c
 *		Memory for the time of one scan, kept by the session.
 */
#include "base/workspace.h"

#include "utils/memutils.h"

/* What a search of a run and the pending list take, and some of the next. */
#define KEPT_SIZE	((Size) 64 * 1024)

static MemoryContext kept = NULL;
static bool lent = false;

/* The borrower's context ends, perhaps after an error. */
static void
end_with_borrower(void *arg)
{
	rencoder_workspace_give_back((RencoderWorkspace *) arg);
}

RencoderWorkspace *
rencoder_workspace_borrow(void)
{
	RencoderWorkspace *workspace = palloc0(sizeof(RencoderWorkspace));

	if (kept == NULL)
		kept = AllocSetContextCreate(TopMemoryContext, "rencoder workspace",
									 KEPT_SIZE, KEPT_SIZE, ALLOCSET_DEFAULT_MAXSIZE);
	if (lent)
	{
		workspace->context = AllocSetContextCreate(CurrentMemoryContext, "rencoder scan",
												   ALLOCSET_DEFAULT_SIZES);
		return workspace;
	}
	workspace->callback.func = end_with_borrower;
	workspace->callback.arg = workspace;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &workspace->callback);
	workspace->context = kept;
	lent = true;
	return workspace;
}

void
rencoder_workspace_give_back(RencoderWorkspace *workspace)
{
	if (workspace->context == NULL)
		return;
	if (workspace->context == kept)
	{
		MemoryContextReset(workspace->context);
		lent = false;
	}
	else
		MemoryContextDelete(workspace->context);
	workspace->context = NULL;
}
