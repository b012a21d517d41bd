/*
 * renc_strings.h
 *		Keys of byte strings through a trained dictionary of splitters.
 *
 * The first eight bytes of URLs, names or paths are nearly all alike.  A
 * dictionary, trained on a sample of the strings, is a sorted list of
 * splitters; a string belongs to the interval between two neighbouring ones.
 * All strings of an interval begin with what its two ends have in common, so
 * the key needs to say only what comes after it:
 *
 *		63                 52 51                                         0
 *		| interval (12 bits) | bytes after the common prefix (52 bits)     |
 *
 * Bytes are coded arithmetically, with the frequencies that bytes have in the
 * sample after the byte before them: a letter of English text costs less than
 * 4 bits.  A byte that the sample does not have is coded as the gap between
 * those that it has, and nothing after it is.  The gap below all that it has is
 * coded as its end, so that a string that ends has another key than one that
 * goes on there.
 *
 * The key is monotone in the order of memcmp() for every string, also those
 * that the sample knows nothing of.  Without a dictionary, the key is the
 * first eight bytes.  Two strings that differ far behind have the same key.
 */
#ifndef RENC_STRINGS_H
#define RENC_STRINGS_H

#include "renc_base.h"

/* Splitters (12 bits of interval, two outside the prefix) and their length (disk format). */
#define RENC_STRINGS_MAX		4093
#define RENC_STRINGS_MAX_LENGTH	256

/*
 * Bytes coded behind what an interval has in common: seldom more than 15 fit
 * into 52 bits, but such as were certain would take none (disk format).
 */
#define RENC_STRINGS_TAIL		64

/* Bytes of a string that its key may depend on. */
#define RENC_STRINGS_HEAD		(RENC_STRINGS_MAX_LENGTH + RENC_STRINGS_TAIL)

/* Frequencies sum up to this (disk format); the most contexts there are. */
#define RENC_STRINGS_SCALE		4096
#define RENC_STRINGS_CONTEXTS	48

/* A string of the sample. */
typedef struct renc_string
{
	const uint8_t *data;
	size_t		length;
} renc_string;

/*
 * Dictionary as it is stored (disk format; aligned to 4 bytes):
 *
 *		 0   4       6        8          10    12           268       300
 *		 | n | radix | prefix | contexts | 0   | digit[256] | gap[32] | context[256] |
 *		 | offset[n + 1] | shared[n + 1] | below[contexts][radix]
 *		 | prefix bytes | splitters, one after the other
 *
 * All splitters begin with "prefix" bytes, which are stored once.  Splitter i
 * is at offset[i] .. offset[i + 1] of what follows them.  Interval i + 1 lies
 * below splitter i; shared[i] is the length of what its ends have in common
 * behind the prefix.  Intervals 1 and n + 1 have only one end: strings that
 * begin with the prefix, but lie outside the sample, as those to come will
 * where strings grow.  Intervals 0 and n + 2 hold what does not begin with the
 * prefix.
 *
 * below[c][d]: the sum of the frequencies of the digits below d, of 4096, in
 * context c.  Bytes that are seldom share the first context.
 */
typedef struct renc_strings
{
	uint32_t	n;
	uint16_t	radix;			/* different digits */
	uint16_t	prefix;
	uint16_t	contexts;
	uint16_t	unused;
	uint8_t		digit[256];		/* of each byte */
	uint8_t		gap[32];		/* bit b: byte b was not in the sample */
	uint8_t		context[256];	/* after each byte */
	uint32_t	offset[];
} renc_strings;

/*
 * Trains a dictionary on strings that are sorted as memcmp() does, distinct,
 * and at least one.  Strings longer than RENC_STRINGS_MAX_LENGTH count by
 * that much.  Writes at most "limit" bytes to "out", which must be able to
 * hold more than a header; returns the size, 0 if not even one splitter fits.
 */
extern size_t renc_strings_train(const renc_string *sample, size_t n,
								 void *out, size_t limit);

/* Is this a dictionary of "size" bytes that the functions below can work with? */
extern bool renc_strings_valid(const void *data, size_t size);

/* The key of a string; "d" may be NULL. */
extern uint64_t renc_strings_key(const renc_strings *d, const uint8_t *s,
								 size_t length);

/*
 * What whoever makes keys of many strings works out once: of a splitter, and of the interval below
 * it.  "memo" has room for n + 1.
 */
typedef struct renc_strings_memo
{
	uint64_t	first;			/* the splitter's first eight bytes */
	uint64_t	least;			/* fractions of the interval's ends */
	uint64_t	most;
} renc_strings_memo;

extern void renc_strings_remember(const renc_strings *d, renc_strings_memo *memo);

/* The same key; "memo" is NULL or of "d". */
extern uint64_t renc_strings_key_by(const renc_strings *d, const renc_strings_memo *memo,
									const uint8_t *s, size_t length);

/* The greatest key of all strings that begin with "s". */
extern uint64_t renc_strings_last_key(const renc_strings *d, const uint8_t *s,
									  size_t length);

#endif							/* RENC_STRINGS_H */
