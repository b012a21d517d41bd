/*
 * workspace.h
 *		Memory: lists that grow, and what a session keeps for one scan.
 *
 * A scan copies pages of runs: a few times 8 kB, which go back to the operating system when a
 * query ends, and are fetched anew, page by page, for the next one.  That takes longer than the
 * search itself.  So a session keeps 64 kB and lends them.
 */
#ifndef RENCODER_WORKSPACE_H
#define RENCODER_WORKSPACE_H

#include "base/compat.h"

#include "utils/palloc.h"

typedef struct RencoderWorkspace
{
	MemoryContext context;		/* NULL: given back */
	MemoryContextCallback callback; /* (private) */
} RencoderWorkspace;

/*
 * Lends memory: what the session keeps, or if that is lent, new memory.  It ends with the current
 * context, in which the result is palloc'd, if it is not given back before.
 */
extern RencoderWorkspace *rencoder_workspace_borrow(void);

/* Lends memory again to who has given it back, until the end of the same context. */
extern void rencoder_workspace_borrow_again(RencoderWorkspace *workspace);

/* Frees all that is in it.  The struct itself stays, for the end of its context. */
extern void rencoder_workspace_give_back(RencoderWorkspace *workspace);

/* A list of n elements, palloc'd or NULL, with room for one more. */
extern void *rencoder_list_with_room(void *list, size_t n, size_t *capacity, size_t element_size);

#endif							/* RENCODER_WORKSPACE_H */
