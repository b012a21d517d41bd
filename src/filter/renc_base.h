/*
 * renc_base.h
 *		Constants of the filter core, prefixes of keys, little-endian numbers.
 *
 * The filter core (src/filter) is plain C: no PostgreSQL header, no
 * allocation, no global variables.  Constants marked "disk format" can never
 * change without a new format version.
 */
#ifndef RENC_BASE_H
#define RENC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Block ranges in a group, and in one slice of it (disk format). */
#define RENC_GROUP_RANGES	128
#define RENC_SLICE_RANGES	8
#define RENC_GROUP_SLICES	(RENC_GROUP_RANGES / RENC_SLICE_RANGES)

/* Bytes of a row in a 128-range matrix and in an 8-range slice (disk format). */
#define RENC_MATRIX_WIDTH	(RENC_GROUP_RANGES / 8)
#define RENC_SLICE_WIDTH	(RENC_SLICE_RANGES / 8)

/* Bits of a key.  Levels are numbered 1 (topmost) .. 64 (whole keys). */
#define RENC_KEY_BITS		64

#define RENC_MAX_STAGES	2
#define RENC_MAX_KW			8	/* windows per root; bounded by page reads */
#define RENC_MAX_KR			8	/* rows per level and window */

/* Bits that one key may set: bounds the work and the WAL of an insert. */
#define RENC_MAX_POSITIONS	128

/*
 * Nodes and trees of a probe program.  A longer interval would need more
 * nodes than are worth testing: a node's test costs some ns a group, and an
 * interval of thousands of leaves matches most ranges anyway.
 */
#define RENC_MAX_NODES		2048
#define RENC_MAX_TREES		256

/* Little-endian load and store: the disk format of every CPU (INV-10). */
static inline uint64_t
renc_load64(const uint8_t *p)
{
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void
renc_store64(uint8_t *p, uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

/* Levels shared by two keys: the length of their common prefix. */
static inline int
renc_common_prefix(uint64_t a, uint64_t b)
{
	return a == b ? RENC_KEY_BITS : __builtin_clzll(a ^ b);
}

/* The first (smallest) key of the node of "level" that holds "key". */
static inline uint64_t
renc_prefix(uint64_t key, int level)
{
	return level == 0 ? 0 : key & (~UINT64_C(0) << (RENC_KEY_BITS - level));
}

/* The last (greatest) key of that node. */
static inline uint64_t
renc_prefix_end(uint64_t key, int level)
{
	return level == 0 ? ~UINT64_C(0) :
		key | ~(~UINT64_C(0) << (RENC_KEY_BITS - level));
}

#endif							/* RENC_BASE_H */
