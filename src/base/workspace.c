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

/* The borrower's context ends, perhaps after an error.  So has what is below it. */
static void
end_with_borrower(void *arg)
{
	RencoderWorkspace *workspace = (RencoderWorkspace *) arg;

	if (workspace->context == kept)
		rencoder_workspace_give_back(workspace);
}

RencoderWorkspace *
rencoder_workspace_borrow(void)
{
	RencoderWorkspace *workspace = palloc0(sizeof(RencoderWorkspace));

	workspace->callback.func = end_with_borrower;
	workspace->callback.arg = workspace;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &workspace->callback);
	rencoder_workspace_borrow_again(workspace);
	return workspace;
}

void
rencoder_workspace_borrow_again(RencoderWorkspace *workspace)
{
	Assert(workspace->context == NULL);
	if (kept == NULL)
		kept = AllocSetContextCreate(TopMemoryContext, "rencoder workspace",
									 KEPT_SIZE, KEPT_SIZE, ALLOCSET_DEFAULT_MAXSIZE);
	workspace->context = lent ?
		AllocSetContextCreate(GetMemoryChunkContext(workspace), "rencoder scan",
							  ALLOCSET_DEFAULT_SIZES) : kept;
	lent = true;
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

void *
rencoder_list_with_room(void *list, size_t n, size_t *capacity, size_t element_size)
{
	if (n < *capacity)
		return list;
	*capacity = Max(2 * n, 8);
	return list == NULL ? palloc(*capacity * element_size) :
		repalloc_huge(list, *capacity * element_size);
}
