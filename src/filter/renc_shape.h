/*
 * renc_shape.h
 *		The configuration of a filter: which levels of the segment tree are
 *		stored, and with how many hashes.
 *
 * A shape has one or two stages.  A stage is {root length r, set of levels
 * L (all > r), kw windows per root, kr rows per level and window}:
 *
 *		prefix of length r				-> by hash, kw windows
 *		prefix of each length l in L	-> by hash, kr rows in each of them
 *
 * All tests below one root therefore cost kw window reads, however many
 * levels there are.  This is REncoder's local encoding of sub-trees (REncoder
 * paper, section 3.2) with the geometry of its bitmap replaced by hashing:
 * the position of a node inside the window is hashed, because trees laid out
 * in heap order at aligned windows would share their top nodes' bits.
 *
 * A second stage has a root length of at least the deepest level of the
 * first, so one 64-bit set of levels describes both (packed form).
 */
#ifndef RENC_SHAPE_H
#define RENC_SHAPE_H

#include "renc_base.h"

/* Bit of a level in a set of levels. */
#define RENC_LEVEL_BIT(l)	(UINT64_C(1) << ((l) - 1))

typedef struct renc_stage
{
	uint64_t	levels;			/* RENC_LEVEL_BIT of each stored level */
	uint8_t		root;			/* root length r, 0 .. 63 */
	uint8_t		kw;				/* windows per root, 1 .. RENC_MAX_KW */
	uint8_t		kr;				/* rows per level and window */
} renc_stage;

typedef struct renc_shape
{
	int			nstages;		/* 1 or 2 */
	renc_stage	stage[RENC_MAX_STAGES];
} renc_shape;

#define RENC_SHAPE_PACKED_SIZE	16

/* A bit of a filter: row "row" of window "window". */
typedef struct renc_position
{
	uint32_t	window;
	uint32_t	row;
} renc_position;

/*
 * Is the shape one this version can probe?  If not, *reason (if not NULL) is
 * a static string that names the first fault.
 */
extern bool renc_shape_valid(const renc_shape *shape, const char **reason);

/* Bits that a key sets: sum over stages of kw * kr * |L|. */
extern int	renc_shape_nbits(const renc_shape *shape);

/* The deepest level of a stage; the levels in ascending order. */
extern int	renc_stage_deepest(const renc_stage *stage);
extern int	renc_stage_levels(const renc_stage *stage, uint8_t *levels);

/*
 * Packed form (disk format), little-endian:
 *
 *	 0        8      9      10    11    12    13    14      15     16
 *	 | levels | root | root2| kw  | kr  | kw2 | kr2 | zero | zero |
 *
 * "levels" unites both stages; those > root2 belong to the second.  One
 * stage: root2 = 255 and kw2 = kr2 = 0.
 */
extern void renc_shape_pack(const renc_shape *shape, uint8_t *out);
extern bool renc_shape_unpack(const uint8_t *in, renc_shape *shape,
							  const char **reason);

/*
 * All positions that "key" sets in a filter of nwindows windows of "rows"
 * rows.  "out" has room for RENC_MAX_POSITIONS; returns their number.
 */
extern int	renc_shape_positions(const renc_shape *shape, uint64_t key,
								 uint32_t nwindows, uint32_t rows,
								 renc_position *out);

#endif							/* RENC_SHAPE_H */
