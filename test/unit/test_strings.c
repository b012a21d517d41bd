/*
 * test_strings.c
 *		Keys of byte strings: monotone, prefixes covered, dictionaries sound.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_strings.h"

#define SAMPLE		3000
#define OTHERS		3000
#define MAX_LENGTH	400
#define LIMIT		65280

/* How random strings look. */
typedef struct kind
{
	const char *name;
	const char *prefix;			/* many begin so */
	int			first;			/* bytes from .. */
	int			nbytes;			/* .. as many */
	size_t		length;			/* at most, behind the prefix */
} kind;

static const kind kinds[] = {
	{"letters", "", 'a', 26, 12},
	{"addresses", "https://www.example.com/", 'a', 26, 10},
	{"two letters", "", '0', 2, 80},
	{"any bytes", "", 0, 256, 20},
	{"one byte", "", 'x', 1, 300},
	{"long", "", 'a', 3, 390},
	{"few", "", 'a', 2, 3},
	{"ends of the alphabet", "", 0xFE, 4, 40},	/* 0xFE, 0xFF, 0, 1 */
};

typedef struct string
{
	uint8_t		data[MAX_LENGTH];
	size_t		length;
} string;

static int
compare(const void *a, const void *b)
{
	const string *x = (const string *) a;
	const string *y = (const string *) b;
	int			cmp = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);

	if (cmp != 0)
		return cmp;
	return (x->length > y->length) - (x->length < y->length);
}

static void
random_string(string *s, const kind *k)
{
	size_t		n = rnd_below(k->length + 1);
	size_t		prefix = strlen(k->prefix);

	/* Now and then without the prefix, or with half of it. */
	if (prefix > 0 && rnd_below(20) == 0)
		prefix = rnd_below(prefix);
	memcpy(s->data, k->prefix, prefix);
	for (size_t i = 0; i < n; i++)
		s->data[prefix + i] = (uint8_t) (k->first + rnd_below(k->nbytes));
	s->length = prefix + n;
}

/* A string of the kind with a byte that is not, or cut, or drawn out. */
static void
strange_string(string *s, const kind *k)
{
	random_string(s, k);
	switch (rnd_below(4))
	{
		case 0:
			s->data[rnd_below(s->length + 1)] = (uint8_t) rnd();
			break;
		case 1:
			s->length = rnd_below(s->length + 1);
			break;
		case 2:
			for (size_t i = 0; i < 3 && s->length < MAX_LENGTH; i++)
				s->data[s->length++] = rnd_below(2) ? 0 : 0xFF;
			break;
	}
	if (s->length == 0)
		s->length = rnd_below(2);
}

static size_t
train(const string *sample, size_t n, renc_strings *d, size_t limit)
{
	renc_string *distinct = test_alloc(n * sizeof(renc_string));
	size_t		kept = 0;
	size_t		size;

	for (size_t i = 0; i < n; i++)
	{
		if (i > 0 && compare(&sample[i], &sample[i - 1]) == 0)
			continue;
		distinct[kept].data = sample[i].data;
		distinct[kept].length = sample[i].length;
		kept++;
	}
	size = renc_strings_train(distinct, kept, d, limit);
	free(distinct);
	return size;
}

static size_t
count_unordered(const renc_strings *d, const string *s, size_t n)
{
	size_t		bad = 0;

	for (size_t i = 1; i < n; i++)
		bad += renc_strings_key(d, s[i - 1].data, s[i - 1].length) >
			renc_strings_key(d, s[i].data, s[i].length);
	return bad;
}

/* Strings whose keys lie outside the interval of one of their prefixes. */
static size_t
count_uncovered(const renc_strings *d, const string *s, size_t n)
{
	size_t		bad = 0;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	key = renc_strings_key(d, s[i].data, s[i].length);

		for (size_t length = 0; length <= s[i].length; length++)
			bad += key < renc_strings_key(d, s[i].data, length) ||
				key > renc_strings_last_key(d, s[i].data, length);
	}
	return bad;
}

/* Distinct keys of distinct strings. */
static size_t
count_keys(const renc_strings *d, const string *s, size_t n)
{
	size_t		keys = 1;

	for (size_t i = 1; i < n; i++)
		keys += renc_strings_key(d, s[i - 1].data, s[i - 1].length) !=
			renc_strings_key(d, s[i].data, s[i].length);
	return keys;
}

/* Keys are the same by what is worked out once. */
static size_t
count_memo_differences(const renc_strings *d, const string *s, size_t n)
{
	renc_strings_memo *memo = (renc_strings_memo *) test_alloc((d->n + 1) * sizeof(renc_strings_memo));
	size_t		bad = 0;

	renc_strings_remember(d, memo);
	for (size_t i = 0; i < n; i++)
		for (size_t length = 0; length <= s[i].length; length++)
			bad += renc_strings_key(d, s[i].data, length) != renc_strings_key_by(d, memo, s[i].data, length);
	free(memo);
	return bad;
}

/* A head decides: what lies behind it does not matter. */
static size_t
count_head_differences(const renc_strings *d, const string *s, size_t n)
{
	size_t		bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += s[i].length > RENC_STRINGS_HEAD &&
			renc_strings_key(d, s[i].data, s[i].length) !=
			renc_strings_key(d, s[i].data, RENC_STRINGS_HEAD);
	return bad;
}

static void
test_kind(const kind *k, size_t limit)
{
	string	   *sample = test_alloc(SAMPLE * sizeof(string));
	string	   *all = test_alloc((SAMPLE + OTHERS) * sizeof(string));
	renc_strings *d = test_alloc(LIMIT);
	size_t		n = 1 + rnd_below(SAMPLE);
	size_t		size;

	for (size_t i = 0; i < n; i++)
		random_string(&sample[i], k);
	qsort(sample, n, sizeof(string), compare);
	size = train(sample, n, d, limit);
	tap_ok(size > 0 && size <= limit && renc_strings_valid(d, size),
		   "%s, limit %zu: a sound dictionary (%u splitters, radix %u, %zu bytes)",
		   k->name, limit, d->n, d->radix, size);

	memcpy(all, sample, n * sizeof(string));
	for (size_t i = 0; i < OTHERS; i++)
		strange_string(&all[n + i], k);
	qsort(all, n + OTHERS, sizeof(string), compare);
	tap_ok(count_unordered(d, all, n + OTHERS) == 0, "%s: keys are monotone", k->name);
	tap_ok(count_uncovered(d, all, n + OTHERS) == 0, "%s: prefixes are covered", k->name);
	tap_ok(count_head_differences(d, all, n + OTHERS) == 0, "%s: the head decides", k->name);
	tap_ok(count_memo_differences(d, all, n + OTHERS) == 0, "%s: the same by what is worked out once", k->name);
	tap_ok(count_unordered(NULL, all, n + OTHERS) == 0 &&
		   count_uncovered(NULL, all, n + OTHERS) == 0,
		   "%s: the same without a dictionary", k->name);
	free(sample);
	free(all);
	free(d);
}

/* Dictionaries of one to five strings, and often of little space. */
static void
test_small(void)
{
	string	   *s = test_alloc(200 * sizeof(string));
	renc_strings *d = test_alloc(LIMIT);
	size_t		trained = 0;
	size_t		bad = 0;

	for (int i = 0; i < 1000; i++)
	{
		const kind *k = &kinds[rnd_below(sizeof(kinds) / sizeof(kinds[0]))];
		size_t		n = 1 + rnd_below(5);
		size_t		limit = rnd_below(2) ? 570 + rnd_below(100) : LIMIT;
		size_t		size;

		for (size_t j = 0; j < n; j++)
			random_string(&s[j], k);
		qsort(s, n, sizeof(string), compare);
		size = train(s, n, d, limit);
		if (size == 0)
			continue;
		trained++;
		bad += size > limit || !renc_strings_valid(d, size);
		for (size_t j = n; j < 60; j++)
			strange_string(&s[j], k);
		qsort(s, 60, sizeof(string), compare);
		bad += count_unordered(d, s, 60) + count_uncovered(d, s, 60);
	}
	tap_ok(trained > 500 && bad == 0, "%zu dictionaries of few strings: monotone, prefixes covered",
		   trained);
	free(s);
	free(d);
}

/* Have these strings keys of their own? */
static bool
differ(const renc_strings *d, const char *a, const char *b)
{
	return renc_strings_key(d, (const uint8_t *) a, strlen(a)) !=
		renc_strings_key(d, (const uint8_t *) b, strlen(b));
}

/* Addresses that differ behind their 24th byte are told apart. */
static void
test_depth(void)
{
	string	   *s = test_alloc(SAMPLE * sizeof(string));
	string	   *few = test_alloc(SAMPLE / 16 * sizeof(string));
	renc_strings *d = test_alloc(LIMIT);
	size_t		n = 0;

	for (size_t i = 0; i < SAMPLE; i++)
	{
		s[i].length = (size_t) sprintf((char *) s[i].data,
									   "https://www.example.com/%016llx",
									   (unsigned long long) rnd());
	}
	qsort(s, SAMPLE, sizeof(string), compare);
	for (size_t i = 0; i < SAMPLE; i++)
	{
		if (n == 0 || compare(&s[i], &s[n - 1]) != 0)
			s[n++] = s[i];
	}
	train(s, n, d, LIMIT);
	tap_ok(count_keys(d, s, n) == n, "addresses have keys of their own");

	/* Not only those of the sample: what all have in common takes no bits. */
	for (size_t i = 0; i < n / 16; i++)
		few[i] = s[i * 16];
	train(few, n / 16, d, LIMIT);
	tap_ok(count_keys(d, s, n) == n, "all others, too");
	tap_ok(differ(d, "aa", "at") && differ(d, "sa", "st") && differ(d, "https://s", "https://t"),
		   "and strings that are no such addresses");
	tap_ok(count_keys(NULL, s, n) == 1, "which need a dictionary");
	free(s);
	free(few);
	free(d);
}

/* Letters of which each is followed by one of four, mostly. */
static void
like_language(string *s)
{
	size_t		letter = rnd_below(26);

	s->length = 40;
	for (size_t i = 0; i < s->length; i++)
	{
		letter = rnd_below(20) == 0 ? rnd_below(26) : (letter * 7 + rnd_below(4)) % 26;
		s->data[i] = (uint8_t) ('a' + letter);
	}
}

/*
 * With as many bits for each of 26 letters, 52 bits would hold 11 of them.
 * Here a letter has 2.6 bits of information.
 */
static void
test_frequencies(void)
{
	string	   *s = test_alloc(SAMPLE * sizeof(string));
	renc_strings *d = test_alloc(LIMIT);
	size_t		bytes = 0;

	for (size_t i = 0; i < SAMPLE; i++)
		like_language(&s[i]);
	qsort(s, SAMPLE, sizeof(string), compare);
	train(s, SAMPLE, d, LIMIT);
	for (size_t i = 0; i < OTHERS; i++)
	{
		string		other;
		size_t		length = 1;

		like_language(&other);
		while (length < other.length &&
			   renc_strings_last_key(d, other.data, length) - renc_strings_key(d, other.data, length) > 1)
			length++;
		bytes += length;
	}

	/* The interval stands for four, at least. */
	tap_ok(bytes > OTHERS * (4 + 15), "a key holds %.1f letters that follow each other",
		   (double) bytes / OTHERS);
	free(s);
	free(d);
}

/*
 * A word has a key that no string just above or below it has, so that what is asked for beside it
 * need not ask for it.
 */
static void
test_neighbours(void)
{
	string	   *s = test_alloc(SAMPLE * sizeof(string));
	renc_strings *d = test_alloc(LIMIT);
	size_t		above = 0;
	size_t		below = 0;

	for (size_t i = 0; i < SAMPLE; i++)
	{
		like_language(&s[i]);
		s[i].length = 4 + rnd_below(5);
	}
	qsort(s, SAMPLE, sizeof(string), compare);
	train(s, SAMPLE, d, LIMIT);
	for (size_t i = 0; i < SAMPLE; i++)
	{
		string		other = s[i];
		uint64_t	key = renc_strings_key(d, other.data, other.length);

		other.data[other.length] = 0;
		above += renc_strings_key(d, other.data, other.length + 1) > key;
		other.data[other.length - 1]--;
		below += renc_strings_last_key(d, other.data, other.length) < key;
	}
	tap_ok(above > SAMPLE * 9 / 10 && below > SAMPLE * 9 / 10,
		   "%zu and %zu of %d words have other keys than what is just above and below", above, below,
		   SAMPLE);
	free(s);
	free(d);
}

/* Damaged dictionaries are refused, or at least used without harm. */
static void
test_damage(void)
{
	string	   *s = test_alloc(200 * sizeof(string));
	uint8_t    *good = test_alloc(LIMIT);
	uint8_t    *bad = test_alloc(LIMIT);
	uint64_t	sum = 0;
	int			refused = 0;
	size_t		size;

	for (int i = 0; i < 200; i++)
		random_string(&s[i], &kinds[0]);
	qsort(s, 200, sizeof(string), compare);
	size = train(s, 200, (renc_strings *) good, LIMIT);
	for (int i = 0; i < 5000; i++)
	{
		/* Of the exact size, so that a sanitizer sees reads beyond the end. */
		uint8_t    *copy = test_alloc(size);

		memcpy(copy, good, size);
		for (int j = 0; j < 3; j++)
			copy[rnd_below(size)] = (uint8_t) rnd();
		if (!renc_strings_valid(copy, size))
			refused++;
		else
			for (int j = 0; j < 200; j++)
				sum += renc_strings_last_key((renc_strings *) copy, s[j].data, s[j].length);
		free(copy);
	}
	tap_ok(refused > 0 && refused < 5000, "damaged dictionaries: %d of 5000 refused (%llu)",
		   refused, (unsigned long long) sum);
	tap_ok(!renc_strings_valid(good, size - 1) && !renc_strings_valid(good, 10),
		   "a dictionary cut short is refused");
	free(s);
	free(good);
	free(bad);
}

/* One wrong field is enough to be refused. */
static void
test_fields(void)
{
	string	   *s = test_alloc(200 * sizeof(string));
	renc_strings *good = test_alloc(LIMIT);
	renc_strings *bad = test_alloc(LIMIT);
	size_t		size;
	int			accepted = 0;

	for (int i = 0; i < 200; i++)
		random_string(&s[i], &kinds[0]);
	qsort(s, 200, sizeof(string), compare);
	size = train(s, 200, good, LIMIT);
	for (int i = 0; i < 19; i++)
	{
		uint16_t   *shared = (uint16_t *) (bad->offset + good->n + 1);
		uint16_t   *below = shared + good->n + 1;

		memcpy(bad, good, size);
		switch (i)
		{
			case 0:
				bad->n = 0;
				break;
			case 1:
				bad->n = RENC_STRINGS_MAX + 1;
				break;
			case 2:
				bad->n--;
				break;
			case 3:
				bad->radix = 0;
				break;
			case 4:
				bad->radix = 1;
				break;
			case 5:
				bad->radix = 257;
				break;
			case 6:
				bad->prefix = RENC_STRINGS_MAX_LENGTH + 1;
				break;
			case 7:
				bad->digit['m'] = 0;
				break;
			case 8:
				bad->digit[255] = (uint8_t) bad->radix;
				break;
			case 9:
				bad->offset[1] = bad->offset[2] + 1;
				break;
			case 10:
				bad->offset[0] = 1;
				break;
			case 11:
				shared[5] = (uint16_t) (bad->offset[6] - bad->offset[5] + 1);
				break;
			case 12:
				bad->contexts = 0;
				break;
			case 13:
				bad->contexts = RENC_STRINGS_CONTEXTS + 1;
				break;
			case 14:
				bad->context['m'] = (uint8_t) bad->contexts;
				break;
			case 15:
				below[0] = 1;
				break;
			case 16:
				below[good->radix + 2] = below[good->radix + 1];
				break;
			case 17:
				shared[0] = 1;
				break;
			case 18:
				shared[good->n] = 1;
				break;
		}
		if (renc_strings_valid(bad, size))
		{
			accepted++;
			printf("# damage %d is not noticed\n", i);
		}
	}
	tap_ok(renc_strings_valid(good, size) && accepted == 0, "each wrong field is refused");
	free(s);
	free(good);
	free(bad);
}

/* Keys are on disk. */
static void
test_golden(void)
{
	static const renc_string sample[] = {
		{(const uint8_t *) "apple", 5}, {(const uint8_t *) "apricot", 7},
		{(const uint8_t *) "banana", 6}, {(const uint8_t *) "cherry", 6},
	};
	renc_strings *d = test_alloc(LIMIT);

	renc_strings_train(sample, 4, d, LIMIT);
	tap_ok(renc_strings_key(d, (const uint8_t *) "banana", 6) == UINT64_C(0x0041c4f6ae7126af) &&
		   renc_strings_last_key(d, (const uint8_t *) "ap", 2) == UINT64_C(0x0032262052affffb) &&
		   renc_strings_key(NULL, (const uint8_t *) "banana", 6) == UINT64_C(0x62616e616e610000),
		   "golden keys: 0x%016llx 0x%016llx",
		   (unsigned long long) renc_strings_key(d, (const uint8_t *) "banana", 6),
		   (unsigned long long) renc_strings_last_key(d, (const uint8_t *) "ap", 2));
	free(d);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_strings");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		test_kind(&kinds[i], LIMIT);
		test_kind(&kinds[i], 2000);
	}
	test_small();
	test_depth();
	test_frequencies();
	test_neighbours();
	test_damage();
	test_fields();
	test_golden();
	return tap_finish();
}
