/*
 * renc_hash.c
 *		Hashing of segment-tree nodes: XXH3, 64 bits, seeded.
 *
 * The values are part of the disk format.  XXH3 is stable since xxHash 0.8.0
 * and gives the same values on every CPU; the input is always the prefix in
 * little-endian byte order.  Golden vectors stand in test/unit.
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

static renc_hash
hash_prefix(uint64_t prefix, uint64_t seed)
{
	uint8_t		bytes[8];
	uint64_t	h;
	renc_hash	r;

	renc_store64(bytes, prefix);
	h = XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
	r.a = (uint32_t) h;
	r.b = (uint32_t) (h >> 32) | 1;
	return r;
}

renc_hash
renc_hash_root(uint64_t prefix, int level)
{
	return hash_prefix(prefix, SEED_ROOT + (uint64_t) level);
}

renc_hash
renc_hash_node(uint64_t prefix, int level)
{
	return hash_prefix(prefix, SEED_NODE + (uint64_t) level);
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
