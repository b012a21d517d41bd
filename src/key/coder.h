/*
 * coder.h
 *		Coders: what was learnt of a column's values to make good keys of them.
 *
 * Some types need more than a function to become keys: strings a dictionary of
 * splitters, points the bounds of their axes, composite keys (composite.h) the codes of their
 * columns.  Such a coder is trained when the
 * index is built, or gets its first keys, and stored in it.  Every run notes by which
 * generation of its column's coder its keys were made (RencoderConfig.coder; 0: by none),
 * because a query must be encoded likewise.  A stored coder never changes.  Its generation is a
 * checksum of its bytes, so that no other coder of the index is taken for it when the list has been
 * lost.
 *
 *		metapage.coder_root -> list page:
 *		 0   4        8
 *		 | n | heap_blocks | entry[n]: generation, attno, kind, extent, size, crc |
 *
 *		extent: the coder's bytes, a payload on each page
 */
#ifndef RENCODER_CODER_H
#define RENCODER_CODER_H

#include "filter/renc_composite.h"
#include "store/space.h"

#define RENCODER_CODER_STRINGS	1	/* renc_strings */
#define RENCODER_CODER_AXES		2	/* bounds of points */
#define RENCODER_CODER_COMPOSITE	3	/* renc_composite, and coders of its
										 * columns */

/* The largest coder of a column: 8 pages, read by each scan and by some inserts. */
#define RENCODER_CODER_MAX_SIZE	(8 * RENCODER_PAYLOAD_SIZE)

/* And of a composite key: those of its columns, and its own. */
#define RENCODER_CODER_MAX_COMPOSITE \
	(RENC_COMPOSITE_MAX_SIZE + RENC_COMPOSITE_MAX * MAXALIGN(RENCODER_CODER_MAX_SIZE))

typedef struct RencoderCoderEntry
{
	uint32		generation;		/* not 0 */
	uint16		attno;			/* 0-based */
	uint16		kind;			/* RENCODER_CODER_xxx */
	RencoderExtent extent;
	uint32		size;			/* bytes */
	uint32		crc;			/* CRC-32C of the bytes */
} RencoderCoderEntry;

StaticAssertDecl(sizeof(RencoderCoderEntry) == 24, "RencoderCoderEntry is on disk");

typedef struct RencoderCoderListData
{
	uint32		n;
	uint32		heap_blocks;	/* of the table, when coders were trained last */
	RencoderCoderEntry entry[FLEXIBLE_ARRAY_MEMBER];
} RencoderCoderListData;

#define RENCODER_CODER_ENTRIES \
	((RENCODER_PAYLOAD_SIZE - offsetof(RencoderCoderListData, entry)) / sizeof(RencoderCoderEntry))

#define RencoderPageGetCoders(page) \
	((RencoderCoderListData *) RencoderPageGetPayload(page))

/* A coder in memory. */
typedef struct RencoderCoder
{
	uint32		generation;
	uint16		kind;
	uint32		size;
	const void *data;			/* verified: by CRC, and as "kind" tells how */
	const struct renc_strings_memo *memo;	/* of strings, or NULL */
	const struct RencoderCoder *column; /* COMPOSITE: those of its columns,
										 * without "data" where they have none */
} RencoderCoder;

/*
 * The coders that a statement has met.  They live in the memory context of their creation, or as
 * long as the index's relcache entry: a session keeps what it has read, up to 4 MB in all, since
 * a stored coder never changes and is never removed.  "anew": read them from their pages, also
 * those that the session keeps.
 */
typedef struct RencoderCoders RencoderCoders;

extern RencoderCoders *rencoder_coders_create(bool anew);

/* Forgets what the session keeps of the index: another one is built in its file. */
extern void rencoder_coders_forget(Relation index);

/*
 * Is a coder of this generation there, or can be read?  Returns false if the
 * index has none such, as its list was lost.  Otherwise *coder is it, or NULL for
 * generation 0.  Locks: metapage, list page and the coder's pages share, one
 * at a time, released; none if the session keeps it.  Raises ERRCODE_INDEX_CORRUPTED for a coder
 * that is damaged.
 */
extern bool rencoder_coder_find(RencoderCoders *coders, Relation index, int col,
								uint32 generation, const RencoderCoder **coder);

/*
 * The same where the coder must be there: nobody removes it meanwhile.  Raises
 * ERRCODE_INDEX_CORRUPTED for the page that lacks it.
 */
extern const RencoderCoder *rencoder_coder_require(RencoderCoders *coders, Relation index,
												   int col, uint32 generation);

/* The same coder for making many keys, palloc'd if that takes anything. */
extern const RencoderCoder *rencoder_coder_for_many(const RencoderCoder *coder);

/*
 * A copy of the list, palloc'd; empty if there is none.  Locks: metapage and list page
 * share, one at a time, released.
 */
extern RencoderCoderListData *rencoder_coder_copy_list(Relation index);

/* The generation of a column's newest coder, the last in the list; 0 if none was trained. */
extern uint32 rencoder_coder_newest_generation(Relation index, int col);

/*
 * Stores a coder as the column's newest and returns its generation, or 0 if the list is full, or has
 * another one with the same checksum.  A coder that is stored already is not stored again.  By the
 * maintainer or a build.  "log": not in a build, which logs the index at its end.  WAL: the coder's
 * pages whole, then the list page (made and linked in the metapage, if it is the first).
 */
extern uint32 rencoder_coder_store(Relation index, int col, uint16 kind,
								   const void *data, uint32 size, bool log);

/*
 * Notes how many blocks the table has whose values were looked at to train coders, if there are
 * any.  By the maintainer or a build; "log" as above.  WAL: the list page.
 */
extern void rencoder_coder_set_heap_blocks(Relation index, uint32 blocks, bool log);

#endif							/* RENCODER_CODER_H */
