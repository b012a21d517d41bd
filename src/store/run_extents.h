/*
 * run_extents.h
 *		Where runs stand in the file of an index.
 */
#ifndef RENCODER_RUN_EXTENTS_H
#define RENCODER_RUN_EXTENTS_H

#include "store/catalog.h"

/*
 * The block behind the last page of a run, by its info page, or, if that is not there, behind that.  Locks: the
 * info page share, released.
 */
extern BlockNumber rencoder_run_extents_last(Relation index, const RencoderRunEntry *entry);

/* The same of all LIVE deltas, or of all LIVE base runs, of the catalog (NULL: as it is now); 0: there are none. */
extern BlockNumber rencoder_run_extents_end(Relation index, const RencoderCatalog *catalog, bool deltas);

#endif							/* RENCODER_RUN_EXTENTS_H */
