/*
 * renc_strings.c
 *		Keys of byte strings through a trained dictionary of splitters.
 *
 * Proof of monotony.  Let v < w in the order of memcmp().  Strings below all
 * that begin with the prefix are in the first interval, those above in the
 * last.  Of the others, the number of splitters <= v is at most that of those
 * <= w, so the interval of v is not above that of w.  Let both be in the same
 * one.  In the first and last nothing is skipped.  In the others both begin
 * with the prefix and shared[i] equal bytes (a string between two that begin
 * with the same bytes begins with them, too; where an end is missing,
 * shared[i] is 0).  What comes after is compared byte by byte: digits grow with bytes, and each digit narrows the
 * interval of the base-N fraction to a part of its own.  At the first
 * difference either the digits differ, and so the fractions in the same sense;
 * or they are equal, which they can only be in a gap, where both stop.  If v
 * ends first, it has the least fraction of its part.
 */
#include "renc_strings.h"

#define TAIL_BITS	52
#define TAIL_RANGE	(UINT64_C(1) << TAIL_BITS)

/* Parts of a stored dictionary. */
static inline const uint16_t *
shared_of(const renc_strings *d)
{
	return (const uint16_t *) (d->offset + d->n + 1);
}

static inline const uint8_t *
prefix_of(const renc_strings *d)
{
	return (const uint8_t *) (shared_of(d) + d->n + 1);
}

static inline size_t
fixed_size(size_t n)
{
	return offsetof(renc_strings, offset) + (n + 1) * (sizeof(uint32_t) + sizeof(uint16_t));
}

static inline bool
is_gap(const renc_strings *d, uint8_t byte)
{
	return (d->gap[byte / 8] >> (byte % 8)) & 1;
}

static size_t
common_length(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	size_t		n = na < nb ? na : nb;
	size_t		i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* The least fraction of strings that begin so, and the width of their part. */
static uint64_t
encode_tail(const renc_strings *d, const uint8_t *s, size_t length, uint64_t *width)
{
	uint64_t	low = 0;
	uint64_t	range = TAIL_RANGE;

	for (size_t i = 0; i < length && range >= d->radix; i++)
	{
		range /= d->radix;
		low += d->digit[s[i]] * range;
		if (is_gap(d, s[i]))
			break;
	}
	*width = range;
	return low;
}

/*
 * How a splitter compares with a string: > 0 if it is greater.  With "open",
 * the string stands for the greatest that begins with it.
 */
static int
compare_splitter(const renc_strings *d, size_t i, const uint8_t *s, size_t length,
				 bool open)
{
	const uint8_t *splitter = prefix_of(d) + d->prefix + d->offset[i];
	size_t		n = d->offset[i + 1] - d->offset[i];
	int			cmp = memcmp(splitter, s, n < length ? n : length);

	if (cmp == 0 && n > length && !open)
		return 1;
	return cmp;
}

/*
 * The interval of a string: 0 and n + 2 if it lies outside those that begin
 * with the prefix, else one more than the splitters that are not above it.
 */
static size_t
find_interval(const renc_strings *d, const uint8_t *s, size_t length, bool open)
{
	size_t		left = 0;
	size_t		right = d->n;
	int			cmp = memcmp(s, prefix_of(d), length < d->prefix ? length : d->prefix);

	if (cmp != 0)
		return cmp < 0 ? 0 : d->n + 2;
	if (length < d->prefix)
		return open ? d->n + 2 : 0;
	s += d->prefix;
	length -= d->prefix;
	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (compare_splitter(d, mid, s, length, open) > 0)
			right = mid;
		else
			left = mid + 1;
	}
	return left + 1;
}

/* The first eight bytes; what is missing is "fill". */
static uint64_t
first_bytes(const uint8_t *s, size_t length, uint8_t fill)
{
	uint64_t	key = 0;

	for (size_t i = 0; i < 8; i++)
		key = key << 8 | (i < length ? s[i] : fill);
	return key;
}

/* Key of a string, or (open) of the greatest that begins with it. */
static uint64_t
encode(const renc_strings *d, const uint8_t *s, size_t length, bool open)
{
	size_t		interval;
	size_t		skip = 0;
	uint64_t	width = TAIL_RANGE;
	uint64_t	low = 0;

	if (d == NULL)
		return first_bytes(s, length, open ? 0xFF : 0);
	interval = find_interval(d, s, length, open);
	if (interval > 0 && interval < d->n + 2)
		skip = d->prefix + (size_t) shared_of(d)[interval - 1];

	/* A prefix may be shorter than what all strings of the interval begin with. */
	if (skip < length)
		low = encode_tail(d, s + skip, length - skip, &width);
	return (uint64_t) interval << TAIL_BITS | (open ? low + width - 1 : low);
}

uint64_t
renc_strings_key(const renc_strings *d, const uint8_t *s, size_t length)
{
	return encode(d, s, length, false);
}

uint64_t
renc_strings_last(const renc_strings *d, const uint8_t *s, size_t length)
{
	return encode(d, s, length, true);
}

/* Numbers the bytes of the sample, and the gaps between them. */
static void
train_digits(renc_strings *d, const renc_string *sample, size_t n)
{
	bool		seen[256] = {false};
	uint32_t	digit = 0;

	for (size_t i = 0; i < n; i++)
	{
		for (size_t j = 0; j < sample[i].length; j++)
			seen[sample[i].data[j]] = true;
	}
	memset(d->gap, 0, sizeof(d->gap));
	for (int b = 0; b < 256; b++)
	{
		if (b > 0 && (seen[b] || seen[b - 1]))
			digit++;
		d->digit[b] = (uint8_t) digit;
		if (!seen[b])
			d->gap[b / 8] |= (uint8_t) (1 << (b % 8));
	}
	d->radix = (uint16_t) (digit < 1 ? 2 : digit + 1);
}

static size_t
clipped(const renc_string *s)
{
	return s->length < RENC_STRINGS_MAX_LENGTH ? s->length : RENC_STRINGS_MAX_LENGTH;
}

/*
 * The splitter at a place of the sample: the shortest string above the one
 * before and not above the one at the place.  The first one is the least
 * string itself.
 */
static renc_string
splitter_at(const renc_string *sample, size_t place)
{
	renc_string splitter = {sample[place].data, clipped(&sample[place])};

	if (place > 0)
	{
		size_t		common = common_length(sample[place - 1].data, sample[place - 1].length,
										   sample[place].data, sample[place].length);

		if (common + 1 < splitter.length)
			splitter.length = common + 1;
	}
	return splitter;
}

/* Two long strings may be alike as far as splitters go. */
static bool
same_string(const renc_string *a, const renc_string *b)
{
	return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* Where the parts of a dictionary go; NULLs: only count. */
typedef struct layout
{
	uint32_t   *offset;
	uint16_t   *shared;
	uint8_t    *bytes;
	size_t		prefix;			/* bytes that all splitters begin with */
	size_t		count;			/* splitters so far */
	size_t		used;			/* their bytes behind the prefix */
} layout;

/* Places "wanted" splitters, less those that turn out the same. */
static void
place_splitters(layout *out, const renc_string *sample, size_t n, size_t wanted)
{
	renc_string previous = {NULL, 0};

	out->count = out->used = 0;
	for (size_t j = 0; j < wanted; j++)
	{
		renc_string splitter = splitter_at(sample, wanted == 1 ? 0 : j * (n - 1) / (wanted - 1));

		if (out->count > 0 && same_string(&splitter, &previous))
			continue;
		if (out->offset)
		{
			out->offset[out->count] = (uint32_t) out->used;
			out->shared[out->count] = out->count == 0 ? 0 :
				(uint16_t) (common_length(previous.data, previous.length,
										  splitter.data, splitter.length) - out->prefix);
			memcpy(out->bytes + out->used, splitter.data + out->prefix,
				   splitter.length - out->prefix);
		}
		out->used += splitter.length - out->prefix;
		out->count++;
		previous = splitter;
	}
	if (out->offset)
	{
		out->offset[out->count] = (uint32_t) out->used;
		out->shared[out->count] = 0;
	}
}

/* Lays out a dictionary of about "wanted" splitters; 0 if it is too big. */
static size_t
lay_out(renc_strings *d, const renc_string *sample, size_t n, size_t wanted,
		size_t limit)
{
	renc_string first = splitter_at(sample, 0);
	renc_string last = splitter_at(sample, n - 1);
	layout		out = {0};

	/* All strings between two that begin with the same bytes do so, too. */
	out.prefix = common_length(first.data, first.length, last.data, last.length);
	place_splitters(&out, sample, n, wanted);
	if (fixed_size(out.count) + out.prefix + out.used > limit)
		return 0;
	d->n = (uint32_t) out.count;
	d->prefix = (uint16_t) out.prefix;
	out.offset = d->offset;
	out.shared = (uint16_t *) (d->offset + d->n + 1);
	out.bytes = (uint8_t *) (out.shared + d->n + 1);
	memcpy(out.bytes, first.data, out.prefix);
	out.bytes += out.prefix;
	place_splitters(&out, sample, n, wanted);
	return fixed_size(out.count) + out.prefix + out.used;
}

size_t
renc_strings_train(const renc_string *sample, size_t n, void *out, size_t limit)
{
	renc_strings *d = (renc_strings *) out;
	size_t		wanted = n < RENC_STRINGS_MAX ? n : RENC_STRINGS_MAX;
	size_t		size = 0;

	train_digits(d, sample, n);
	while (wanted > 0 && (size = lay_out(d, sample, n, wanted, limit)) == 0)
		wanted = wanted * 3 / 4;
	return size;
}

bool
renc_strings_valid(const void *data, size_t size)
{
	const renc_strings *d = (const renc_strings *) data;
	size_t		space;

	if (size < fixed_size(1) || d->n < 1 || d->n > RENC_STRINGS_MAX ||
		d->radix < 2 || d->radix > 256 || d->prefix > RENC_STRINGS_MAX_LENGTH ||
		size < fixed_size(d->n) + d->prefix)
		return false;
	for (int b = 0; b < 256; b++)
	{
		if (d->digit[b] >= d->radix || (b > 0 && d->digit[b] < d->digit[b - 1]))
			return false;
	}
	space = size - fixed_size(d->n) - d->prefix;
	if (d->offset[0] != 0 || d->offset[d->n] != space)
		return false;
	for (uint32_t i = 0; i < d->n; i++)
	{
		if (d->offset[i] > d->offset[i + 1] ||
			d->offset[i + 1] - d->offset[i] > RENC_STRINGS_MAX_LENGTH)
			return false;
		if (shared_of(d)[i] > RENC_STRINGS_MAX_LENGTH)
			return false;
	}
	return true;
}
