/*
 * encode_text.c
 *		Keys of strings: text, char(n), name, bytea.
 *
 * Keys follow the order of bytes (renc_strings.h).  So do equality, LIKE, ^@, what a regular
 * expression begins with, and the operators of the pattern families under any deterministic
 * collation, others than these are refused (build.c); and the plain comparisons where the collation
 * is C, elsewhere they are only rechecked (scan_keys.c).
 *
 * A key depends on the first bytes of a string only.  Of a value in TOAST no
 * more than these is fetched.
 */
#include "key/encode.h"

#include "access/detoast.h"
#include "utils/builtins.h"

#include "filter/renc_strings.h"
#include "key/coder_trainer.h"

PG_FUNCTION_INFO_V1(rencoder_text_intervals);
PG_FUNCTION_INFO_V1(rencoder_bpchar_intervals);
PG_FUNCTION_INFO_V1(rencoder_bpchar_pattern_intervals);

/* The bytes of a string that its key depends on. */
static renc_string
text_string_head(Datum value)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);
	renc_string s;

	if (VARATT_IS_COMPRESSED(v) || VARATT_IS_EXTERNAL(v))
		v = PG_DETOAST_DATUM_SLICE(value, 0, RENC_STRINGS_HEAD);
	s.data = (const uint8_t *) VARDATA_ANY(v);
	s.length = Min(VARSIZE_ANY_EXHDR(v), RENC_STRINGS_HEAD);
	return s;
}

/* Blanks at the end of a char(n) do not count. */
static void
strip_text_blanks(renc_string *s)
{
	while (s->length > 0 && s->data[s->length - 1] == ' ')
		s->length--;
}

/*
 * The same for char(n).  Blanks at the end of the head are at the end of the
 * value only if nothing else follows, which takes all of it to know.
 */
static renc_string
bpchar_head(Datum value)
{
	renc_string s = text_string_head(value);

	if (s.length > 0 && s.data[s.length - 1] == ' ')
	{
		struct varlena *whole = PG_DETOAST_DATUM_PACKED(value);

		s.data = (const uint8_t *) VARDATA_ANY(whole);
		s.length = VARSIZE_ANY_EXHDR(whole);
		strip_text_blanks(&s);
		s.length = Min(s.length, RENC_STRINGS_HEAD);
	}
	return s;
}

static renc_string
name_string(Name name)
{
	renc_string s = {(const uint8_t *) NameStr(*name), strlen(NameStr(*name))};

	return s;
}

/* The dictionary of a coder, or NULL. */
static const renc_strings *
text_dictionary(const RencoderCoder *coder)
{
	return coder == NULL ? NULL : (const renc_strings *) coder->data;
}

static uint64
text_string_key(renc_string s, const RencoderCoder *coder)
{
	if (coder == NULL)
		return renc_strings_key(NULL, s.data, s.length);
	return renc_strings_key_by(text_dictionary(coder), coder->memo, s.data, s.length);
}

/* Support function 4; text, varchar and bytea. */
#define ARGUMENT_CODER		(((RencoderEncoding *) PG_GETARG_POINTER(1))->coder)

RENCODER_KEY_FUNCTION(rencoder_text_key,
					  text_string_key(text_string_head(PG_GETARG_DATUM(0)), ARGUMENT_CODER));
RENCODER_KEY_FUNCTION(rencoder_bpchar_key,
					  text_string_key(bpchar_head(PG_GETARG_DATUM(0)), ARGUMENT_CODER));
RENCODER_KEY_FUNCTION(rencoder_name_key,
					  text_string_key(name_string(PG_GETARG_NAME(0)), ARGUMENT_CODER));

/*
 * Where strings below and above one are.  The least one above is that with a zero byte behind
 * it.  One below p || b, where b is a byte, is not above p || (b - 1) followed by bytes of 255;
 * if b is zero, it is not above p.  Keys of a string's neighbour need not differ from its own.
 */
static void
find_text_neighbours(renc_string s, RencoderBound *bound)
{
	const renc_strings *d = text_dictionary(bound->coder);
	uint8_t		buf[RENC_STRINGS_HEAD];
	size_t		length = s.length;

	/* Others may be alike as far as keys depend on them. */
	if (length >= RENC_STRINGS_HEAD)
		return;
	memcpy(buf, s.data, length);
	buf[length] = 0;
	bound->gt = renc_strings_key(d, buf, length + 1);
	bound->nothing_lt = length == 0;
	if (length == 0)
		return;
	if (buf[length - 1]-- == 0)
		bound->lt = renc_strings_key(d, buf, length - 1);
	else
		bound->lt = renc_strings_last_key(d, buf, length);
}

/*
 * Support function 2; text, varchar and bytea.  Values of char(n) are compared as the strings that
 * are left without blanks at the end.
 */
RENCODER_VOID_FUNCTION(rencoder_text_bound,
					   find_text_neighbours(text_string_head(PG_GETARG_DATUM(0)), ARGUMENT_BOUND));
RENCODER_VOID_FUNCTION(rencoder_bpchar_bound,
					   find_text_neighbours(bpchar_head(PG_GETARG_DATUM(0)), ARGUMENT_BOUND));

/* Support function 5. */
#define ARGUMENT_TRAINER	((RencoderTrainer *) PG_GETARG_POINTER(1))

RENCODER_VOID_FUNCTION(rencoder_text_sample,
					   rencoder_trainer_add_string(ARGUMENT_TRAINER,
												   text_string_head(PG_GETARG_DATUM(0))));
RENCODER_VOID_FUNCTION(rencoder_bpchar_sample,
					   rencoder_trainer_add_string(ARGUMENT_TRAINER, bpchar_head(PG_GETARG_DATUM(0))));
RENCODER_VOID_FUNCTION(rencoder_name_sample,
					   rencoder_trainer_add_string(ARGUMENT_TRAINER, name_string(PG_GETARG_NAME(0))));

/*
 * What all strings that match a pattern begin with, in "buf" (of
 * RENC_STRINGS_HEAD bytes).  *exact: no other string matches.  Bytes will do
 * in all server encodings: no byte of a longer character looks like ASCII.
 * Source: like_match.c of PostgreSQL for what the wildcards and the escape
 * mean.  A pattern that ends with an escape is an error once it is matched
 * with a row; here it ends before.
 */
static renc_string
text_pattern_prefix(const renc_string *pattern, uint8_t *buf, bool *exact)
{
	renc_string prefix = {buf, 0};
	size_t		i = 0;

	*exact = false;
	while (i < pattern->length && prefix.length < RENC_STRINGS_HEAD)
	{
		uint8_t		byte = pattern->data[i++];

		if (byte == '%' || byte == '_')
			return prefix;
		if (byte == '\\')
		{
			if (i == pattern->length)
				return prefix;
			byte = pattern->data[i++];
		}
		buf[prefix.length++] = byte;
	}
	*exact = i == pattern->length;
	return prefix;
}

/* With no prefix all keys, even those that no string has: the planner asks for that. */
static void
add_text_prefix(RencoderOperand *operand, const renc_string *prefix)
{
	const renc_strings *d = text_dictionary(operand->coder);

	rencoder_intervals_add(operand->intervals,
						   renc_strings_key(d, prefix->data, prefix->length),
						   prefix->length == 0 ? PG_UINT64_MAX :
						   renc_strings_last_key(d, prefix->data, prefix->length));
}

/* Strings that match a pattern; "blanks" at their ends do not count. */
static void
add_text_pattern(RencoderOperand *operand, const renc_string *pattern, bool blanks)
{
	uint8_t		buf[RENC_STRINGS_HEAD];
	bool		exact;
	renc_string prefix = text_pattern_prefix(pattern, buf, &exact);
	uint64		key;

	if (blanks)
		strip_text_blanks(&prefix);
	if (!exact)
		add_text_prefix(operand, &prefix);
	else
	{
		key = text_string_key(prefix, operand->coder);
		rencoder_intervals_add(operand->intervals, key, key);
	}
}

/* Operators of the pattern families. */
static void
add_text_comparison(RencoderOperand *operand, const renc_string *s, int strategy)
{
	uint64		key = text_string_key(*s, operand->coder);
	RencoderBound bound = {operand->coder, key, key, key, key, false, false};

	find_text_neighbours(*s, &bound);
	if (strategy == RENCODER_STRATEGY_PATTERN_LE)
		rencoder_intervals_add(operand->intervals, 0, bound.le);
	else if (strategy == RENCODER_STRATEGY_PATTERN_GE)
		rencoder_intervals_add(operand->intervals, bound.ge, PG_UINT64_MAX);
	else if (strategy == RENCODER_STRATEGY_PATTERN_GT)
		rencoder_intervals_add(operand->intervals, bound.gt, PG_UINT64_MAX);
	else if (!bound.nothing_lt)
		rencoder_intervals_add(operand->intervals, 0, bound.lt);
}

/* A pattern, whole. */
static renc_string
whole_text_string(Datum value)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);
	renc_string s = {(const uint8_t *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};

	return s;
}

/*
 * What all strings that match a regular expression begin with, as far as PostgreSQL can tell:
 * nothing, if it is not anchored.  Bytes will do under any collation, since none changes what a
 * character matches, but for those under which regular expressions are an error.
 */
static void
add_text_regex(RencoderOperand *operand, Datum regex, Oid collation)
{
	bool		exact;
	char	   *prefix = regexp_fixed_prefix(DatumGetTextPP(regex), false, collation, &exact);
	renc_string s = {(const uint8_t *) (prefix == NULL ? "" : prefix), 0};

	s.length = strlen((const char *) s.data);
	add_text_prefix(operand, &s);
	if (prefix != NULL)
		pfree(prefix);
}

/*
 * rencoder_text_intervals(text, int2, internal) returns void
 *
 * Support function 3; text, varchar and bytea, and name on the left.
 */
Datum
rencoder_text_intervals(PG_FUNCTION_ARGS)
{
	renc_string s = whole_text_string(PG_GETARG_DATUM(0));
	int			strategy = PG_GETARG_INT16(1);
	RencoderOperand *operand = (RencoderOperand *) PG_GETARG_POINTER(2);

	switch (strategy)
	{
		case RENCODER_STRATEGY_LIKE:
			add_text_pattern(operand, &s, false);
			break;
		case RENCODER_STRATEGY_PREFIX:
			add_text_prefix(operand, &s);
			break;
		case RENCODER_STRATEGY_REGEX:
			add_text_regex(operand, PG_GETARG_DATUM(0), PG_GET_COLLATION());
			break;
		case RENCODER_STRATEGY_PATTERN_LT:
		case RENCODER_STRATEGY_PATTERN_LE:
		case RENCODER_STRATEGY_PATTERN_GE:
		case RENCODER_STRATEGY_PATTERN_GT:
			add_text_comparison(operand, &s, strategy);
			break;
		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
	PG_RETURN_VOID();
}

/*
 * rencoder_bpchar_intervals(bpchar, int2, internal) returns void
 *
 * Support function 3: char(n) compared with char(n).
 */
Datum
rencoder_bpchar_intervals(PG_FUNCTION_ARGS)
{
	renc_string s = bpchar_head(PG_GETARG_DATUM(0));

	add_text_comparison((RencoderOperand *) PG_GETARG_POINTER(2), &s, PG_GETARG_INT16(1));
	PG_RETURN_VOID();
}

/*
 * rencoder_bpchar_pattern_intervals(text, int2, internal) returns void
 *
 * Support function 3: char(n) LIKE text.  The pattern is matched with the
 * padded value, of whose blanks the key knows nothing.
 */
Datum
rencoder_bpchar_pattern_intervals(PG_FUNCTION_ARGS)
{
	renc_string s = whole_text_string(PG_GETARG_DATUM(0));

	add_text_pattern((RencoderOperand *) PG_GETARG_POINTER(2), &s, true);
	PG_RETURN_VOID();
}
