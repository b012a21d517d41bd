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
 * shared[i] is 0).  What comes after is compared byte by byte: digits grow
 * with bytes, and each digit narrows the interval of the fraction to a part of
 * its own; how wide, the bytes before decide, which are the same for both.  At
 * the first difference either the digits differ, and so the fractions in the
 * same sense; or they are equal, which they can only be in a gap, where both
 * stop.  If v ends first, it has the least fraction of its part.  So the
 * fractions of an interval's strings lie between those of its ends, and what
 * those have in common is left out.
 */
#include "renc_strings.h"

#define TAIL_BITS	52

/*
 * Of the frequencies, how much all digits share alike: strings to come may be
 * different.  A surprise then costs some 10 bits.
 */
#define EQUAL_SHARE	(RENC_STRINGS_SCALE / 16)

/* How often a byte must follow another before that counts as much as the byte by itself. */
#define BACK_OFF	8

/* Parts of a stored dictionary. */
static inline const uint16_t *
shared_of(const renc_strings *d)
{
	return (const uint16_t *) (d->offset + d->n + 1);
}

/* Of a context: frequencies of the digits below each. */
static inline const uint16_t *
below_of(const renc_strings *d, uint8_t context)
{
	return shared_of(d) + d->n + 1 + (size_t) context * d->radix;
}

static inline const uint8_t *
prefix_of(const renc_strings *d)
{
	return (const uint8_t *) (shared_of(d) + d->n + 1 + (size_t) d->contexts * d->radix);
}

/* What comes before the bytes of splitters. */
static inline size_t
dictionary_fixed_size(const renc_strings *d, size_t n)
{
	return offsetof(renc_strings, offset) + (n + 1) * (sizeof(uint32_t) + sizeof(uint16_t)) +
		(size_t) d->contexts * d->radix * sizeof(uint16_t);
}

static inline bool
is_gap_byte(const renc_strings *d, uint8_t byte)
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

/*
 * The fraction (in units of 2^-64) of a string in a context.  The sample says nothing of strings
 * that lie outside its prefix: there all digits are as frequent.
 */
static inline uint64_t
encode_tail(const renc_strings *d, uint8_t context, const uint8_t *s, size_t length, bool outside)
{
	const uint32_t radix = d->radix;
	const uint16_t *frequencies = below_of(d, 0);
	const uint8_t *end = s + (length < RENC_STRINGS_TAIL ? length : RENC_STRINGS_TAIL);
	uint64_t	low = 0;
	uint64_t	range = UINT64_MAX;

	for (; s < end && range >= RENC_STRINGS_SCALE; s++)
	{
		const uint32_t digit = d->digit[*s];
		const uint16_t *below = frequencies + context * radix + digit;
		uint32_t	first = below[0];
		uint32_t	next = digit + 1 < radix ? below[1] : RENC_STRINGS_SCALE;

		if (outside)
		{
			first = digit * RENC_STRINGS_SCALE / radix;
			next = (digit + 1) * RENC_STRINGS_SCALE / radix;
		}
		range /= RENC_STRINGS_SCALE;
		low += first * range;
		range *= next - first;
		if (is_gap_byte(d, *s))
		{
			/* Not that of the string that ends before the byte. */
			if (digit == 0)
				low += range - 1;
			break;
		}
		context = d->context[*s];
	}
	return low;
}

/* How a splitter compares with a string: > 0 if it is greater. */
static int
compare_splitter(const uint8_t *splitter, size_t n, const uint8_t *s, size_t length)
{
	int			cmp = memcmp(splitter, s, n < length ? n : length);

	return cmp == 0 && n > length ? 1 : cmp;
}

/* The first eight bytes; what is missing is zero. */
static uint64_t
first_string_bytes(const uint8_t *s, size_t length)
{
	uint64_t	key = 0;

	if (length >= 8)
		return __builtin_bswap64(renc_load64(s));
	for (size_t i = 0; i < 8; i++)
		key = key << 8 | (i < length ? s[i] : 0);
	return key;
}

/* Those of a splitter, faster where eight bytes can be read. */
static inline uint64_t
first_of_splitter(const renc_strings *d, size_t i)
{
	const uint8_t *s = prefix_of(d) + d->prefix + d->offset[i];
	uint32_t	length = d->offset[i + 1] - d->offset[i];
	uint64_t	key;

	if (d->offset[i] + 8 > d->offset[d->n])
		return first_string_bytes(s, length);
	key = __builtin_bswap64(renc_load64(s));
	return length < 8 ? key & ~(~UINT64_C(0) >> (8 * length)) : key;
}

/*
 * The interval of a string: 0 and n + 2 if it lies outside those that begin with the prefix, else
 * one more than the splitters that are not above it.
 */
static size_t
find_string_interval(const renc_strings *d, const renc_strings_memo *memo, const uint8_t *s,
					 size_t length)
{
	const uint8_t *splitters = prefix_of(d) + d->prefix;
	size_t		left = 0;
	size_t		right = d->n;
	int			cmp = memcmp(s, prefix_of(d), length < d->prefix ? length : d->prefix);
	uint64_t	first;

	if (cmp != 0)
		return cmp < 0 ? 0 : d->n + 2;
	if (length < d->prefix)
		return 0;
	s += d->prefix;
	length -= d->prefix;
	first = first_string_bytes(s, length);
	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;
		uint64_t	splitter_first = memo != NULL ? memo[mid].first : first_of_splitter(d, mid);

		if (splitter_first > first ||
			(splitter_first == first &&
			 compare_splitter(splitters + d->offset[mid], d->offset[mid + 1] - d->offset[mid], s, length) > 0))
			right = mid;
		else
			left = mid + 1;
	}
	return left + 1;
}

/* The fraction of a splitter behind "shared" bytes, in a context. */
static uint64_t
splitter_fraction(const renc_strings *d, size_t i, size_t shared, uint8_t context)
{
	const uint8_t *splitter = prefix_of(d) + d->prefix + d->offset[i];
	size_t		length = d->offset[i + 1] - d->offset[i];

	return shared >= length ? 0 : encode_tail(d, context, splitter + shared, length - shared, false);
}

/* The context behind what the strings of an interval have in common. */
static uint8_t
first_string_context(const renc_strings *d, size_t interval)
{
	size_t		shared = shared_of(d)[interval - 1];

	if (shared > 0)
		return d->context[prefix_of(d)[d->prefix + d->offset[interval - 1] + shared - 1]];
	return d->prefix > 0 ? d->context[prefix_of(d)[d->prefix - 1]] : 0;
}

/* Fractions of an interval lie between those of its two ends. */
static void
find_string_ends(const renc_strings *d, size_t interval, renc_strings_memo *ends)
{
	size_t		shared = shared_of(d)[interval - 1];
	uint8_t		context = first_string_context(d, interval);

	ends->least = 0;
	ends->most = UINT64_MAX;
	if (interval > 1)
		ends->least = splitter_fraction(d, interval - 2, shared, context);
	if (interval <= d->n)
		ends->most = splitter_fraction(d, interval - 1, shared, context);
	if (ends->most < ends->least)
		ends->most = ends->least;
}

/* Shifted until they fill all bits. */
static uint64_t
stretch(const renc_strings_memo *ends, uint64_t fraction)
{
	if (fraction < ends->least)
		fraction = ends->least;
	if (fraction > ends->most)
		fraction = ends->most;
	if (ends->most == ends->least)
		return 0;
	return (fraction - ends->least) << __builtin_clzll(ends->most - ends->least);
}

void
renc_strings_remember(const renc_strings *d, renc_strings_memo *memo)
{
	for (size_t i = 0; i <= d->n; i++)
	{
		find_string_ends(d, i + 1, &memo[i]);
		memo[i].first = i < d->n ? first_of_splitter(d, i) : 0;
	}
}

uint64_t
renc_strings_key_by(const renc_strings *d, const renc_strings_memo *memo, const uint8_t *s, size_t length)
{
	size_t		interval = find_string_interval(d, memo, s, length);
	uint64_t	low = 0;

	if (interval == 0 || interval == d->n + 2)
		low = encode_tail(d, 0, s, length, true);
	else
	{
		size_t		skip = d->prefix + (size_t) shared_of(d)[interval - 1];
		renc_strings_memo ends;

		if (skip < length)
			low = encode_tail(d, first_string_context(d, interval), s + skip, length - skip, false);
		if (memo == NULL)
			find_string_ends(d, interval, &ends);
		low = stretch(memo != NULL ? &memo[interval - 1] : &ends, low);
	}
	return (uint64_t) interval << TAIL_BITS | low >> (64 - TAIL_BITS);
}

uint64_t
renc_strings_key(const renc_strings *d, const uint8_t *s, size_t length)
{
	return d == NULL ? first_string_bytes(s, length) : renc_strings_key_by(d, NULL, s, length);
}

/* No string that begins so is above this one in the bytes that keys depend on. */
uint64_t
renc_strings_last_key(const renc_strings *d, const uint8_t *s, size_t length)
{
	uint8_t		last[RENC_STRINGS_HEAD];

	if (length > RENC_STRINGS_HEAD)
		length = RENC_STRINGS_HEAD;
	memcpy(last, s, length);
	memset(last + length, 0xFF, RENC_STRINGS_HEAD - length);
	return renc_strings_key(d, last, RENC_STRINGS_HEAD);
}

/* Numbers the bytes of the sample, and the gaps between them. */
static void
train_string_digits(renc_strings *d, const renc_string *sample, size_t n)
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
} string_layout;

/* Places "wanted" splitters, less those that turn out the same. */
static void
place_splitters(string_layout *out, const renc_string *sample, size_t n, size_t wanted)
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
lay_out_dictionary(renc_strings *d, const renc_string *sample, size_t n, size_t wanted,
				   size_t limit)
{
	renc_string first = splitter_at(sample, 0);
	renc_string last = splitter_at(sample, n - 1);
	string_layout out = {0};

	/* All strings between two that begin with the same bytes do so, too. */
	out.prefix = common_length(first.data, first.length, last.data, last.length);
	place_splitters(&out, sample, n, wanted);
	if (dictionary_fixed_size(d, out.count) + out.prefix + out.used > limit)
		return 0;
	d->n = (uint32_t) out.count;
	d->prefix = (uint16_t) out.prefix;
	out.offset = d->offset;
	out.shared = (uint16_t *) (d->offset + d->n + 1);
	out.bytes = (uint8_t *) prefix_of(d);
	memcpy(out.bytes, first.data, out.prefix);
	out.bytes += out.prefix;
	place_splitters(&out, sample, n, wanted);
	return dictionary_fixed_size(d, out.count) + out.prefix + out.used;
}

/*
 * Gives the bytes that most others follow a context of their own, as far as
 * the frequencies then take no more than a quarter of "limit" bytes.
 */
static void
choose_string_contexts(renc_strings *d, const renc_string *sample, size_t n, size_t limit)
{
	uint64_t	count[256] = {0};
	size_t		most = limit / 4 / (d->radix * sizeof(uint16_t));

	if (most > RENC_STRINGS_CONTEXTS)
		most = RENC_STRINGS_CONTEXTS;
	for (size_t i = 0; i < n; i++)
	{
		for (size_t j = 0; j + 1 < clipped(&sample[i]); j++)
			count[sample[i].data[j]]++;
	}
	memset(d->context, 0, sizeof(d->context));
	for (d->contexts = 1; d->contexts < most; d->contexts++)
	{
		int			best = 0;

		for (int b = 1; b < 256; b++)
		{
			if (count[b] > count[best])
				best = b;
		}
		if (count[best] == 0)
			break;
		d->context[best] = (uint8_t) d->contexts;
		count[best] = 0;
	}
}

/*
 * Frequencies of a context's digits from how often each was seen there, and
 * anywhere ("total" times in all).  Each digit has at least 1.
 */
static void
scale_string_context(uint16_t *below, const uint32_t *seen, const uint32_t *anywhere,
					 uint64_t total, uint32_t radix, const bool *gap)
{
	uint64_t	weight[256];
	uint32_t	frequency[256];
	uint64_t	sum = 0;
	uint32_t	used = 0;
	uint32_t	known = 0;
	uint32_t	best = 0;

	for (uint32_t i = 0; i < radix; i++)
	{
		weight[i] = ((uint64_t) seen[i] << 16) +
			(total > 0 ? ((uint64_t) anywhere[i] << 16) * BACK_OFF / total : 0);
		sum += weight[i];
		known += !gap[i];
	}
	for (uint32_t i = 0; i < radix; i++)
	{
		frequency[i] = 1;
		if (sum > 0)
			frequency[i] += (uint32_t) (weight[i] * (RENC_STRINGS_SCALE - EQUAL_SHARE - radix) / sum);
		if (!gap[i])
			frequency[i] += EQUAL_SHARE / known;
		used += frequency[i];
		if (frequency[i] > frequency[best])
			best = i;
	}
	frequency[best] += RENC_STRINGS_SCALE - used;
	below[0] = 0;
	for (uint32_t i = 1; i < radix; i++)
		below[i] = (uint16_t) (below[i - 1] + frequency[i - 1]);
}

/* Counts what is coded of the sample's strings. */
static void
train_frequencies(renc_strings *d, const renc_string *sample, size_t n)
{
	uint32_t	seen[RENC_STRINGS_CONTEXTS][256] = {{0}};
	uint32_t	anywhere[256] = {0};
	bool		gap[256] = {false};
	uint64_t	total = 0;
	uint16_t   *below = (uint16_t *) below_of(d, 0);

	for (size_t i = 0; i < n; i++)
	{
		const uint8_t *s = sample[i].data;
		size_t		length = clipped(&sample[i]);
		size_t		interval = find_string_interval(d, NULL, s, length);
		size_t		skip = d->prefix + (size_t) shared_of(d)[interval - 1];

		for (size_t j = skip; j < length && j < skip + RENC_STRINGS_TAIL / 2; j++)
		{
			seen[j > 0 ? d->context[s[j - 1]] : 0][d->digit[s[j]]]++;
			anywhere[d->digit[s[j]]]++;
			total++;
		}
	}
	for (int b = 0; b < 256; b++)
		gap[d->digit[b]] |= is_gap_byte(d, (uint8_t) b);
	for (uint32_t c = 0; c < d->contexts; c++)
		scale_string_context(below + c * d->radix, seen[c], anywhere, total, d->radix, gap);
}

size_t
renc_strings_train(const renc_string *sample, size_t n, void *out, size_t limit)
{
	renc_strings *d = (renc_strings *) out;
	size_t		wanted = n < RENC_STRINGS_MAX ? n : RENC_STRINGS_MAX;
	size_t		size = 0;

	train_string_digits(d, sample, n);
	choose_string_contexts(d, sample, n, limit);
	d->unused = 0;
	while (wanted > 0 && (size = lay_out_dictionary(d, sample, n, wanted, limit)) == 0)
		wanted = wanted * 3 / 4;
	if (size > 0)
		train_frequencies(d, sample, n);
	return size;
}

static bool
frequencies_valid(const renc_strings *d)
{
	for (int b = 0; b < 256; b++)
	{
		if (d->context[b] >= d->contexts)
			return false;
	}
	for (uint8_t c = 0; c < d->contexts; c++)
	{
		const uint16_t *below = below_of(d, c);

		if (below[0] != 0 || below[d->radix - 1] >= RENC_STRINGS_SCALE)
			return false;
		for (uint32_t i = 1; i < d->radix; i++)
		{
			if (below[i] <= below[i - 1])
				return false;
		}
	}
	return true;
}

bool
renc_strings_valid(const void *data, size_t size)
{
	const renc_strings *d = (const renc_strings *) data;
	size_t		space;

	if (size < offsetof(renc_strings, offset) || d->n < 1 || d->n > RENC_STRINGS_MAX ||
		d->radix < 2 || d->radix > 256 || d->prefix > RENC_STRINGS_MAX_LENGTH ||
		d->contexts < 1 || d->contexts > RENC_STRINGS_CONTEXTS ||
		size < dictionary_fixed_size(d, d->n) + d->prefix)
		return false;
	for (int b = 0; b < 256; b++)
	{
		if (d->digit[b] >= d->radix || (b > 0 && d->digit[b] < d->digit[b - 1]))
			return false;
	}
	space = size - dictionary_fixed_size(d, d->n) - d->prefix;
	if (d->offset[0] != 0 || d->offset[d->n] != space)
		return false;

	/*
	 * Of an interval with one end, nothing is in common; the last has no
	 * splitter to hold it.
	 */
	if (shared_of(d)[0] != 0 || shared_of(d)[d->n] != 0)
		return false;
	for (uint32_t i = 0; i < d->n; i++)
	{
		if (d->offset[i] > d->offset[i + 1] ||
			d->offset[i + 1] - d->offset[i] > RENC_STRINGS_MAX_LENGTH)
			return false;

		/* What the ends of an interval have in common is part of both. */
		if (shared_of(d)[i] > d->offset[i + 1] - d->offset[i])
			return false;
	}
	return frequencies_valid(d);
}
