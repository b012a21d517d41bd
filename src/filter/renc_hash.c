/*
 * renc_hash.c
 *		Hashing of segment-tree nodes (renc_hash.h), of numbers and of bytes.
 */
#include "renc_hash.h"

#define XXH_INLINE_ALL
#include "xxhash.h"

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or later is needed: XXH3 was not stable before"
#endif

/* Arbitrary, fixed for ever: "rencroot" and "rencnode" as ASCII. */
#define SEED_ROOT	UINT64_C(0x72656e63726f6f74)
#define SEED_NODE	UINT64_C(0x72656e636e6f6465)

/* What XXH3 takes from its secret for eight bytes. */
#define SECRET		UINT64_C(0xc73ab174c5ecd5a2)

static renc_hash_level
hash_level(uint64_t seed, int level)
{
	renc_hash_level l;

	seed += (uint64_t) level;
	l.mask = level == 0 ? 0 : renc_rotate(~UINT64_C(0) << (RENC_KEY_BITS - level), 32);
	l.flip = SECRET - (seed ^ (uint64_t) __builtin_bswap32((uint32_t) seed) << 32);
	return l;
}

renc_hash_level
renc_hash_root_level(int level)
{
	return hash_level(SEED_ROOT, level);
}

renc_hash_level
renc_hash_node_level(int level)
{
	return hash_level(SEED_NODE, level);
}

uint64_t
renc_hash_number(uint64_t number)
{
	return XXH3_64bits(&number, sizeof(number));
}

uint64_t
renc_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}
