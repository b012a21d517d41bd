/*
 * composite.c
 *		Composite keys: of rows, and the intervals that a query asks for.
 */
#include "key/composite.h"

#include "utils/memutils.h"

const RencoderCoder *
rencoder_composite_column_coder(const RencoderCoder *coder, int col)
{
	return coder == NULL || coder->column[col].data == NULL ? NULL : &coder->column[col];
}

const renc_composite *
rencoder_composite_codes(const RencoderCoder *coder, int n)
{
	/* No more than some points. */
	static renc_composite *untrained[RENC_COMPOSITE_MAX + 1];
	const renc_composite_sample nothing[RENC_COMPOSITE_MAX] = {{NULL, 0}};

	if (coder != NULL)
		return (const renc_composite *) coder->data;
	if (untrained[n] == NULL)
	{
		renc_composite *codes = palloc(RENC_COMPOSITE_MAX_SIZE);
		size_t		size = renc_composite_train(nothing, n, codes);

		untrained[n] = MemoryContextAlloc(TopMemoryContext, size);
		memcpy(untrained[n], codes, size);
		pfree(codes);
	}
	return untrained[n];
}

uint64
rencoder_composite_key(const renc_composite *codes, const uint64 *key, const bool *isnull)
{
	uint64		composite = 0;

	for (int col = 0; col < (int) codes->n; col++)
		composite = (composite << codes->column[col].bits) |
			(isnull[col] ? renc_composite_null(codes, col) : renc_composite_code(codes, col, key[col]));
	return composite;
}

bool
rencoder_composite_is_alone(const renc_composite *codes, int n, uint64 key)
{
	for (int col = 0; col < n; col++)
	{
		if (!renc_composite_is_alone(codes, col, renc_composite_code_in(codes, col, key)))
			return false;
	}
	return true;
}

uint64
rencoder_composite_order_edge(const renc_composite *codes, uint64 key, bool backward,
							  const bool *single)
{
	for (int col = 0; col < (int) codes->n - 1; col++)
	{
		if (!single[col] &&
			!renc_composite_is_alone(codes, col, renc_composite_code_in(codes, col, key)))
		{
			uint64		behind = (UINT64CONST(1) << renc_composite_shift(codes, col)) - 1;

			return backward ? key & ~behind : key | behind;
		}
	}
	return key;
}

/* The codes that a column is asked for. */
static RencoderIntervals
find_asked_codes(const renc_composite *codes, int col, const RencoderCompositeAsked *asked)
{
	uint64		null = renc_composite_null(codes, col);
	RencoderIntervals list = {0};

	if (asked->any || asked->is_null || asked->not_null)
	{
		rencoder_intervals_add(&list, asked->is_null ? null : 0, asked->not_null ? null - 1 : null);
		return list;
	}
	for (size_t i = 0; i < asked->keys->n; i++)
		rencoder_intervals_add(&list, renc_composite_code(codes, col, asked->keys->interval[i].lo),
							   renc_composite_code(codes, col, asked->keys->interval[i].hi));
	rencoder_intervals_normalize(&list);
	return list;
}

/* How many codes the intervals have, if these are no more than "most". */
static uint64
count_codes(const RencoderIntervals *list, uint64 most)
{
	uint64		n = 0;

	for (size_t i = 0; i < list->n && n <= most; i++)
		n = Min(n + Min(list->interval[i].hi - list->interval[i].lo, most), most) + 1;
	return n;
}

/*
 * Puts the codes of another column, of so many bits, behind those of the columns before it: behind
 * each of these all of the column's intervals; where these would be too many, one from the least
 * to the greatest; and where these would be, too, they count at the ends of intervals only.
 */
static void
append_codes(RencoderIntervals *list, const RencoderIntervals *codes, int bits)
{
	const renc_interval hull = {codes->interval[0].lo, codes->interval[codes->n - 1].hi};
	uint64		most = RENCODER_COMPOSITE_INTERVALS;
	uint64		each = count_codes(list, most);
	bool		all = each * codes->n <= most || each <= 1;
	RencoderIntervals result = {0};

	for (size_t i = 0; i < list->n; i++)
	{
		uint64		lo = list->interval[i].lo;
		uint64		hi = list->interval[i].hi;

		if (each > most && lo < hi)
		{
			rencoder_intervals_add(&result, (lo << bits) | hull.lo, (hi << bits) | hull.hi);
			continue;
		}
		for (uint64 code = lo; code <= hi; code++)
		{
			for (size_t j = 0; j < (all ? codes->n : 1); j++)
			{
				const renc_interval *part = all ? &codes->interval[j] : &hull;

				rencoder_intervals_add(&result, (code << bits) | part->lo, (code << bits) | part->hi);
			}
		}
	}
	rencoder_intervals_normalize(&result);
	*list = result;
}

void
rencoder_composite_intervals(const renc_composite *codes, const RencoderCompositeAsked *asked,
							 RencoderIntervals *intervals)
{
	int			n = (int) codes->n;
	int			shift;

	/* Behind the last column that is asked all bits are. */
	while (n > 1 && asked[n - 1].any)
		n--;
	*intervals = find_asked_codes(codes, 0, &asked[0]);
	for (int col = 1; col < n && intervals->n > 0; col++)
	{
		RencoderIntervals next = find_asked_codes(codes, col, &asked[col]);

		if (next.n == 0)
			intervals->n = 0;
		else
			append_codes(intervals, &next, codes->column[col].bits);
	}
	shift = renc_composite_shift(codes, n - 1);
	for (size_t i = 0; i < intervals->n; i++)
	{
		intervals->interval[i].lo <<= shift;
		intervals->interval[i].hi = (intervals->interval[i].hi << shift) |
			((UINT64CONST(1) << shift) - 1);
	}
	rencoder_intervals_normalize(intervals);
}
