/*
 * renc_hash.h
 *		Hashing of segment-tree nodes to windows and rows (disk format).
 *
 * A node is (level, prefix).  Its 64-bit hash is split in two 32-bit halves
 * for double hashing with a quadratic term, so that any number of positions comes
 * from one hash (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006).
 *
 * renc_hash.c is the only file that includes xxhash.h.
 */
#ifndef RENC_HASH_H
#define RENC_HASH_H

#include "renc_base.h"

/* Written to the metapage; another hash needs another id. */
#define RENC_HASH_ID_XXH3	2

typedef struct renc_hash
{
	uint32_t	a;
	uint32_t	b;				/* odd */
} renc_hash;

/*
 * Hash of a tree's root (selects windows) and of a node inside it (selects
 * rows).  The two are seeded apart; "prefix" has its low 64 - level bits zero.
 */
extern renc_hash renc_hash_root(uint64_t prefix, int level);
extern renc_hash renc_hash_node(uint64_t prefix, int level);

/* Hash of a number, of no meaning on disk. */
extern uint64_t renc_hash_number(uint64_t number);

/* Hash of some bytes. */
extern uint64_t renc_hash_bytes(const void *bytes, size_t size, uint64_t seed);

/*
 * The i-th position of a hash in [0, n).  The quadratic term (a constant
 * near 2^32 over the golden ratio) keeps the positions of a hash apart whose b
 * is about a multiple of 2^32 / n: with a + i * b alone all of them would be one
 * and the same for 2 nodes in n, which 510 rows cannot afford.
 */
static inline uint32_t
renc_hash_position(renc_hash h, uint32_t i, uint32_t n)
{
	uint32_t	x = h.a + i * h.b + i * i * UINT32_C(0x9e3779b9);

	return (uint32_t) (((uint64_t) x * n) >> 32);
}

#endif							/* RENC_HASH_H */
