/*
 * renc_hash.c
 *		Hashing of segment-tree nodes (renc_hash.h) and of bytes.
 */
#include "renc_hash.h"

/* Arbitrary, fixed for ever: "rencroot" and "rencnode" as ASCII. */
#define SEED_ROOT	UINT64_C(0x72656e63726f6f74)
#define SEED_NODE	UINT64_C(0x72656e636e6f6465)

static renc_hash_level
hash_level(uint64_t seed, int level)
{
	renc_hash_level l;

	l.mask = level == 0 ? 0 : ~UINT64_C(0) << (RENC_KEY_BITS - level);
	l.seed = seed + (uint64_t) level;
	return l;
}

renc_hash_level
renc_hash_level_for_roots(int level)
{
	return hash_level(SEED_ROOT, level);
}

renc_hash_level
renc_hash_level_for_nodes(int level)
{
	return hash_level(SEED_NODE, level);
}
