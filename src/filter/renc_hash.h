/*
 * renc_hash.h
 *		Hashing of segment-tree nodes to windows and rows (disk format).
 *
 * A node is (level, prefix).  Its 64-bit hash is split in two 32-bit halves
 * for double hashing with a quadratic term, so that any number of positions comes
 * from one hash (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006).
 *
 * The values are part of the disk format: XXH3, 64 bits, of the prefix in little-endian byte order,
 * seeded with the level.  XXH3 is stable since xxHash 0.8.0 and gives the same values on every CPU.
 * It is compiled into what calls it, so that a fill has a level's part of it once for all keys.  Golden
 * vectors stand in test/unit.
 *
 * renc_hash.h is the only file that includes xxhash.h.
 */
#ifndef RENC_HASH_H
#define RENC_HASH_H

#include "renc_base.h"

#define XXH_INLINE_ALL
#include "xxhash.h"

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or later is needed: XXH3 was not stable before"
#endif

/* Written to the metapage; another hash needs another id. */
#define RENC_HASH_ID_XXH3	2

typedef struct renc_hash
{
	uint32_t	a;
	uint32_t	b;				/* odd */
} renc_hash;

/* What hashing has of a level. */
typedef struct renc_hash_level
{
	uint64_t	mask;			/* of prefixes */
	uint64_t	seed;
} renc_hash_level;

/*
 * Roots (which select windows) and nodes inside trees (which select rows) are seeded apart: arbitrary,
 * fixed for ever, "rencroot" and "rencnode" as ASCII.
 */
#define RENC_SEED_ROOT	UINT64_C(0x72656e63726f6f74)
#define RENC_SEED_NODE	UINT64_C(0x72656e636e6f6465)

static inline renc_hash_level
renc_hash_level_by(uint64_t seed, int level)
{
	renc_hash_level l = {level == 0 ? 0 : ~UINT64_C(0) << (RENC_KEY_BITS - level), seed + (uint64_t) level};

	return l;
}

/* Hash of the node of a level that holds "key". */
static inline renc_hash
renc_hash_key(uint64_t key, renc_hash_level level)
{
	uint8_t		bytes[8];
	uint64_t	h;
	renc_hash	r;

	renc_store64(bytes, key & level.mask);
	h = XXH3_64bits_withSeed(bytes, sizeof(bytes), level.seed);
	r.a = (uint32_t) h;
	r.b = (uint32_t) (h >> 32) | 1;
	return r;
}

static inline renc_hash
renc_hash_root(uint64_t key, int level)
{
	return renc_hash_key(key, renc_hash_level_by(RENC_SEED_ROOT, level));
}

static inline renc_hash
renc_hash_node(uint64_t key, int level)
{
	return renc_hash_key(key, renc_hash_level_by(RENC_SEED_NODE, level));
}

/*
 * The quadratic term of positions (near 2^32 over the golden ratio) keeps those of a hash apart whose
 * b is about a multiple of 2^32 / n: with a + i * b alone all of them would be one and the same for
 * 2 nodes in n, which 510 rows cannot afford.
 */
#define RENC_QUADRATIC	UINT32_C(0x9e3779b9)

static inline uint32_t
renc_hash_scale(uint32_t x, uint32_t n)
{
	return (uint32_t) (((uint64_t) x * n) >> 32);
}

/* The i-th position of a hash in [0, n). */
static inline uint32_t
renc_hash_position(renc_hash h, uint32_t i, uint32_t n)
{
	return renc_hash_scale(h.a + i * h.b + i * i * RENC_QUADRATIC, n);
}

/* The same one after the other: "a" of the first and of each next is to be scaled to [0, n). */
static inline renc_hash
renc_hash_first(renc_hash h)
{
	h.b += RENC_QUADRATIC;
	return h;
}

static inline renc_hash
renc_hash_next(renc_hash h)
{
	h.a += h.b;
	h.b += 2 * RENC_QUADRATIC;
	return h;
}

#endif							/* RENC_HASH_H */
