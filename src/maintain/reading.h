/*
 * reading.h
 *		Reading the table for new storage of ranges whose present one is in use.
 *
 *		begin      header X: keyless_since is empty, flushing = summarized
 *		           the table is read; rows that come meanwhile get entries, as always
 *		switch     headers X, column by column: the new storage, and what was read
 *		finish     header X: not flushing
 *
 * A flush makes a run so (flush.c), a rebuild a matrix (rebuild.c).  INV-13 says why no row is
 * lost.  The caller has the maintainer lock.
 */
#ifndef RENCODER_READING_H
#define RENCODER_READING_H

#include "key/collect.h"
#include "store/group_edit.h"

/*
 * Sets "flushing" for all summarized ranges of a group, which it returns; "run": that is made of
 * them, 0: a matrix.  Locks: headers, exclusive, one after the other.  WAL: a record of the first
 * header; one for each further header of whose last reading values without a key are noted.
 */
extern renc_mask rencoder_reading_begin(const RencoderGroup *group, uint32 run);

/* Takes that back, if it is for this run.  Locks and WAL as above. */
extern void rencoder_reading_give_up(const RencoderGroup *group, uint32 run);

/*
 * In the switch of a column: these ranges had values without a key when they were read ("keyless"),
 * or have got some since.  Sets ALWAYS in the entry if any range of the column always matches.
 */
extern void rencoder_reading_note_keyless(RencoderHeader header, RencoderEntry entry,
										  renc_mask ranges, renc_mask keyless);

/*
 * In the switch of the first column, of a matrix after those of all others: all of the group's
 * storage has the keys up to the cut.
 */
extern void rencoder_reading_set_cut(RencoderHeader first, RencoderEntry entry, uint64 cut);

/*
 * After the last switch: takes back "flushing", and the entry's mark ALWAYS, if no column has ranges
 * that always match.  Until then inserters must note values without a key in keyless_since, as
 * what they note in "keyless" alone does not outlive a switch.  Locks: directory page and headers.
 * WAL: one record of directory page and header.
 */
extern void rencoder_reading_finish(const RencoderGroup *group);

/* Ranges of a column that have a value whose key was not read. */
extern renc_mask rencoder_reading_keyless(const RencoderCollector *collector, int col);

#endif							/* RENCODER_READING_H */
