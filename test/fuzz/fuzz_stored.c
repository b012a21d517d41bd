/*
 * fuzz_stored.c
 *		Any bytes as coders of strings.
 */
#include "fuzz.h"

#include "renc_strings.h"

/* Strings with much in common, now and then. */
static size_t
take_string(fuzz_input *in, uint8_t *s, size_t most)
{
	size_t		n = fuzz_take_below(in, (uint32_t) most + 1);

	if (fuzz_take8(in) % 4 > 0)
		n %= 24;
	fuzz_take_bytes(in, s, n);
	if (fuzz_take8(in) % 2)
		for (size_t i = 0; i < n; i++)
			s[i] = (uint8_t) ("ab/\xFF"[s[i] % 4]);
	return n;
}

/* As large as it is, so that the sanitizers notice a read behind it. */
static void *
exact_copy(const void *data, size_t size)
{
	void	   *copy = malloc(size > 0 ? size : 1);

	if (copy == NULL)
		fuzz_failed("out of memory");
	memcpy(copy, data, size);
	return copy;
}

static void
check_order(const renc_strings *d, const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	uint64_t	ka = renc_strings_key(d, a, na);
	uint64_t	kb = renc_strings_key(d, b, nb);
	int			cmp = memcmp(a, b, na < nb ? na : nb);

	if (cmp < 0 || (cmp == 0 && na <= nb))
		fuzz_expect(ka <= kb, "keys of strings are not in order");
	if (cmp > 0 || (cmp == 0 && na >= nb))
		fuzz_expect(ka >= kb, "keys of strings are not in order");
	if (cmp == 0 && na <= nb)
		fuzz_expect(kb <= renc_strings_last_key(d, a, na),
					"a string is above the last that begins like it");
}

/* Keys of strings of the sample and others, by a coder if it is valid. */
static void
check_strings(fuzz_input *in, const uint8_t *bytes, size_t size, const renc_string *sample, int n,
			  bool unchanged)
{
	uint8_t		any[400];
	renc_strings *d = (renc_strings *) exact_copy(bytes, size);

	for (int i = 0; i < 8 && renc_strings_valid(d, size); i++)
	{
		bool		known = i < 4 && n > 0;
		size_t		na = known ? sample[i % n].length : take_string(in, any, sizeof(any));
		uint8_t    *a = (uint8_t *) exact_copy(known ? sample[i % n].data : any, na);
		size_t		nb = take_string(in, any, sizeof(any));
		uint8_t    *b = (uint8_t *) exact_copy(any, nb);

		(void) renc_strings_key(d, a, na);
		(void) renc_strings_key(d, b, nb);
		(void) renc_strings_last_key(d, a, na);
		if (unchanged)
			check_order(d, a, na, b, nb);
		free(a);
		free(b);
	}
	free(d);
}

/*
 * A coder of any bytes, or a trained one with some of them changed.  If it is
 * valid, all strings have keys; an unchanged one keeps their order.
 */
void
fuzz_strings(fuzz_input *in)
{
	static uint64_t aligned[8192];
	static uint8_t text[64][400];
	renc_string sample[64];
	uint8_t    *bytes = (uint8_t *) aligned;
	size_t		size = fuzz_take_below(in, sizeof(aligned));
	uint8_t		how = fuzz_take8(in);
	int			n = 0;

	if (how < 32)
		fuzz_take_bytes(in, bytes, size);
	else
	{
		for (int i = 0; i < 1 + how % 32; i++)
		{
			renc_string s = {text[i], take_string(in, text[i], 300)};
			int			at = n;

			while (at > 0)
			{
				size_t		common = sample[at - 1].length < s.length ? sample[at - 1].length : s.length;
				int			cmp = memcmp(sample[at - 1].data, s.data, common);

				if (cmp == 0 && sample[at - 1].length == s.length)
					break;
				if (cmp < 0 || (cmp == 0 && sample[at - 1].length < s.length))
					break;
				at--;
			}
			if (at > 0 && sample[at - 1].length == s.length && memcmp(sample[at - 1].data, s.data, s.length) == 0)
				continue;
			memmove(sample + at + 1, sample + at, (size_t) (n - at) * sizeof(renc_string));
			sample[at] = s;
			n++;
		}
		size = renc_strings_train(sample, (size_t) n, bytes, 1024 + fuzz_take_below(in, 30000));
		if (size == 0)
			return;
		fuzz_expect(renc_strings_valid(bytes, size), "a trained coder is not valid");
	}
	if (how >= 64)
	{
		/* In the fixed part, the offsets and lengths behind it, or anywhere. */
		for (int i = 0; i < 1 + how % 4; i++)
		{
			uint8_t		where = fuzz_take8(in) % 3;
			size_t		at = where == 0 ? fuzz_take_below(in, 560) :
				where == 1 ? 556 + fuzz_take_below(in, (uint32_t) (7 * n + 8)) :
				fuzz_take_below(in, (uint32_t) size);

			bytes[at % size] ^= fuzz_take8(in);
		}
		if (fuzz_take8(in) % 8 == 0)
			size -= fuzz_take_below(in, (uint32_t) size);
	}
	check_strings(in, bytes, size, sample, how < 32 ? 0 : n, how >= 32 && how < 64);
}
