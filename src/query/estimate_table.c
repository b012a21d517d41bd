/*
 * estimate_table.c
 *		What a rencoder index on a column would take, told from a sample of the table.
 *
 * The pages of the sample are numbered without gaps and encoded as a run of their own, by
 * the encoder that the index would use.  A run of the whole table differs from that:
 *
 * An entry takes about 2 + log2(cells * pages / entries) bits.  Pages and entries become
 * more by the same factor, which leaves the bits as they are.  The cells become more as far
 * as the rule of one false page needs finer ones, and there are more keys to tell apart:
 *
 * - keys without order and without equals: as many cells as rows, so each doubling of the
 *	 table costs a bit a row;
 * - few values: there are no more cells than values, which the sample has all of: none;
 * - keys in the order of the table: an entry stands for a page, and a page's neighbours are
 *	 its neighbours in the order of keys, too: none, as a block names the pages of a window.
 *
 * What lies between is measured: a quarter of the sample is encoded, too.  The bits that it
 * takes less, for each doubling of the number of distinct keys between it and the sample,
 * are taken to go on for each doubling up to the distinct keys of the table.
 *
 * Where keys come again and again, it matters how many blocks the pages of a key fill: if
 * several, each of them names its part of the table.  So the sample is repeated until it is as
 * large as the table, each time with pages of its own.  Of a large table, that would take long:
 * there the copies end earlier, and blocks are smaller, as the pages are fewer, but a little
 * larger than that, since small ones lose bits at their ends.  What their headers take more than
 * those of the table's blocks is taken off.  To merge two keys costs as many false pages for each
 * entry as in the table, so as many are allowed.
 *
 * How many distinct keys there are says the estimator of Haas and Stokes (Duj1), which ANALYZE
 * uses for rows; here what is sampled is pairs of key and stretch, so that keys which crowd on
 * a page do not pass for common ones.
 */
#include "query/estimate_table.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/options.h"
#include "run/renc_run.h"
#include "store/group.h"
#include "store/run_format.h"
#include "store/sample_pages.h"

/* The part of the sample that is encoded for comparison: one in so many stretches. */
#define PART			4

/* Stretches that a key is in, on average, from which on keys come again and again. */
#define RECURRING		4

/* Entries that copies of a sample may have: a second or less. */
#define MOST_COPIED		4e6

/*
 * Entries of a block of a run, nominally; of a sample, as a multiple of its part of that, which
 * was found by trying, and at least.
 */
#define BLOCK			256
#define LARGER_BLOCKS	1.25
#define LEAST_BLOCK		8

/* Keys beside the query that say how dense they are, where it finds few; or stretches. */
#define NEIGHBOURS		32

/*
 * Pages of a new index beside those of trees, directory, groups, coder and query samples:
 * metapage, description of the run.
 */
#define OTHER_PAGES		3

/* Pages that a scan reads, some twice, beside those of trees and directory. */
#define OTHER_PAGES_READ	3

/* Children of an inner page: renc_run.h. */
#define FANOUT			((RENCODER_RUN_PAYLOAD - 8) / 19)

/* The part of the places that nulls are in from which on a run names pages, and bits of a place or page. */
#define DENSE_NULLS		0.875
#define MOST_NULL_BITS	1.2

/* Keys of a sample. */
typedef struct SampledKeys
{
	double		distinct;
	double		single;			/* those that are in one stretch */
	double		pairs;			/* of key and stretch */
	double		changes;		/* neighbours, in the order of keys, in
								 * different stretches */
} SampledKeys;

/* A run of a sample. */
typedef struct SampleRun
{
	uint32		copies;			/* of the sample that are in it */
	double		fraction;		/* of the table's pages, so that there are as
								 * many */
	double		rows;
	double		distinct;		/* keys */
	double		used;			/* bytes of leaves */
	double		directory;		/* of these, what says where blocks are */
	double		full;			/* of these, of all leaves but the last */
	double		last;
	double		false_pages;
	renc_run	run;

	/*
	 * While it is made: the last key, and what is left out of the keys below
	 * the next one.
	 */
	bool		in_order;
	uint64		key;
	BlockNumber stretch;
	uint64		step;			/* between the last two keys of a stretch */
	uint64		left_out;
} SampleRun;

/* The stretch of a page of the sample. */
static BlockNumber
stretch_of(const RencoderTableSample *sample, uint32 page)
{
	return sample->page[page].blkno / RENCODER_SAMPLE_STRETCH;
}

/* A renc_run_write that only counts. */
static uint32_t
count_estimated_page(void *arg, const renc_run_page *page)
{
	SampleRun  *run = (SampleRun *) arg;

	CHECK_FOR_INTERRUPTS();
	if (page->level == 0)
	{
		run->full += run->last;
		run->last = page->used;
		run->used += page->used;
		run->directory += page->directory;
	}
	return 0;
}

/*
 * A key as it is encoded.  Of a table in the order of its keys, what lies between two stretches is
 * left out of the keys, as it is of the pages: else the encoder would expect queries there.
 */
static uint64
estimate_without_gaps(const RencoderTableSample *sample, const RencoderSampledKey *k,
					  SampleRun *run)
{
	BlockNumber stretch = stretch_of(sample, k->page);
	uint64		gap = k->key - run->key;

	if (run->in_order && run->rows > 0 && gap > 0)
	{
		if (stretch == run->stretch)
			run->step = gap;
		else
			run->left_out += gap - Min(gap, Max(run->step, 1));
	}
	run->key = k->key;
	run->stretch = stretch;
	return k->key - run->left_out;
}

/* Adds the rows that a page has of a key: in as many of its parts, neighbours from the first on. */
static void
push_estimated_rows(renc_run_encoder *encoder, const RencoderSampledKey *k, uint64 key, uint32 page,
					uint32 parts)
{
	uint32		n = k->parts;
	uint32		first = Min(k->part, parts - n);

	for (uint32 i = 0; i < n; i++)
	{
		if (!renc_run_encoder_push(encoder, key, page * parts + first + i, (k->rows + i) / n))
			elog(ERROR, "could not encode a sample");
	}
}

/* Adds a key's entries from "from" up to before "to" as often as there are copies. */
static void
push_estimated_copies(const RencoderTableSample *sample, const uint32 *number, uint32 npages,
					  size_t from, size_t to, renc_run_encoder *encoder, SampleRun *run)
{
	double		before = run->rows;

	for (uint32 copy = 0; copy < run->copies; copy++)
	{
		for (size_t i = from; i < to; i++)
		{
			const RencoderSampledKey *k = &sample->key[i];

			if (number[k->page] == PG_UINT32_MAX)
				continue;
			push_estimated_rows(encoder, k, estimate_without_gaps(sample, k, run),
								copy * npages + number[k->page], sample->places.parts);
			run->rows += k->rows;
		}
	}
	run->distinct += run->rows > before;
}

/*
 * Encodes the keys of the pages that have a number in "number", PG_UINT32_MAX being none, in
 * blocks of so many entries.
 */
static void
encode_estimated_pages(const RencoderTableSample *sample, const uint32 *number, uint32 npages,
					   double wanted, double together, uint32 block, SampleRun *run)
{
	renc_run_options options = {
		.payload = RENCODER_RUN_PAYLOAD,
		.npages = npages * run->copies,
		.parts = sample->places.parts,
		.target = RENC_RUN_FALSE_PAGES,
		.wanted = wanted,
		.wanted_together = together,
		.block = block,
		.write = count_estimated_page,
		.arg = run
	};
	void	   *memory = palloc(renc_run_encoder_size(options.payload));
	renc_run_encoder *encoder = renc_run_encoder_init(memory, &options);
	size_t		to;

	if (encoder == NULL)
		elog(ERROR, "could not begin to encode a sample");
	for (size_t from = 0; from < sample->nkeys; from = to)
	{
		for (to = from + 1; to < sample->nkeys && sample->key[to].key == sample->key[from].key;)
			to++;
		push_estimated_copies(sample, number, npages, from, to, encoder, run);
	}
	if (run->rows > 0 && !renc_run_encoder_finish(encoder, &run->run, &run->false_pages))
		elog(ERROR, "could not finish the run of a sample");
	run->used -= run->directory * (1 - (double) block / BLOCK);
	pfree(memory);
}

static SampledKeys
count_sampled_keys(const RencoderTableSample *sample)
{
	SampledKeys keys = {0, 0, 0, 0};
	BlockNumber last = InvalidBlockNumber;

	for (size_t i = 0; i < sample->nkeys;)
	{
		uint64		key = sample->key[i].key;
		double		n = 1;

		keys.changes += stretch_of(sample, sample->key[i].page) != last;
		last = stretch_of(sample, sample->key[i].page);
		for (; i < sample->nkeys && sample->key[i].key == key; i++)
		{
			n += stretch_of(sample, sample->key[i].page) != last;
			last = stretch_of(sample, sample->key[i].page);
		}
		keys.distinct += 1;
		keys.single += n == 1;
		keys.pairs += n;
		keys.changes += n - 1;
	}
	return keys;
}

/* Do keys come again and again? */
static bool
estimated_keys_recur(const SampledKeys *keys)
{
	return keys->pairs >= RECURRING * keys->distinct;
}

/* Are the table's rows in the order of keys, but for neighbours? */
static bool
estimate_is_in_order(const RencoderTableSample *sample, const SampledKeys *keys)
{
	return keys->changes <= 2 * ceil((double) sample->npages / RENCODER_SAMPLE_STRETCH);
}

/* How many copies of so many pages of the sample stand for the table. */
static uint32
estimated_copies_of(const RencoderTableSample *sample, uint32 npages)
{
	double		copies = (double) sample->nblocks / Max(npages, 1);

	return (uint32) Max(Min(copies, MOST_COPIED / Max(sample->nkeys, 1)), 1);
}

/*
 * Encodes one stretch of "each" of the sample; 1: all of it.
 *
 * Of keys that come in few stretches, a cell that has one too many costs pages in proportion to
 * the table as far as the sample has all of them: so much less of them is wanted here.
 */
static void
encode_estimated_part(const RencoderTableSample *sample, const RencoderTableEstimate *table,
					  const SampledKeys *keys, uint32 each, SampleRun *run)
{
	double		distinct = Max(keys->distinct / each, 1);
	uint32	   *number = palloc_extended(Max(sample->npages, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	double		together;
	double		page_rows = (double) sample->nkeys / Max(sample->npages, 1);
	double		false_pages = rencoder_options_false_pages(sample->index, sample->nblocks, page_rows,
														   &together);
	double		wanted = false_pages;
	uint32		block = BLOCK;
	uint32		n = 0;

	memset(run, 0, sizeof(*run));
	for (uint32 page = 0; page < sample->npages; page++)
	{
		uint64		hash = hash_bytes_uint32(stretch_of(sample, page));

		number[page] = hash % each == 0 ? n++ : PG_UINT32_MAX;
	}
	run->copies = estimated_keys_recur(keys) ? estimated_copies_of(sample, n) : 1;
	run->in_order = estimate_is_in_order(sample, keys);
	run->fraction = (double) n * run->copies / Max(sample->nblocks, 1);
	if (estimated_keys_recur(keys))
		block = (uint32) Max(BLOCK * Min(LARGER_BLOCKS * run->fraction, 1), LEAST_BLOCK);
	else
		wanted = Min(false_pages * table->distinct / distinct * run->fraction, false_pages);
	if (n > 0)
		encode_estimated_pages(sample, number, n, wanted, together * wanted / false_pages, block,
							   run);
	pfree(number);
}

/* ---- Rows ---- */

/* Distinct keys of the table, at least 1. */
static double
estimate_distinct(const RencoderTableSample *sample, const SampledKeys *keys)
{
	return keys->distinct == 0 ? 1 : keys->pairs * keys->distinct /
		(keys->pairs - keys->single + keys->single * rencoder_table_sample_fraction(sample));
}

/* The number of sampled keys below "key". */
static size_t
estimated_keys_below(const RencoderTableSample *sample, uint64 key)
{
	size_t		lo = 0;
	size_t		hi = sample->nkeys;

	while (lo < hi)
	{
		size_t		mid = lo + (hi - lo) / 2;

		if (sample->key[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Rows in an interval in which the sample has none or few: keys beside it tell how dense
 * they are.  A single key is taken for one that exists.
 */
static void
estimate_beside(const RencoderTableSample *sample, const renc_query *query,
				RencoderTableEstimate *table)
{
	double		fraction = rencoder_table_sample_fraction(sample);
	size_t		lo = estimated_keys_below(sample, query->hull_lo);
	size_t		from = lo > NEIGHBOURS ? lo - NEIGHBOURS : 0;
	size_t		to = Min(lo + NEIGHBOURS, sample->nkeys - 1);
	double		rows = 0;
	double		density;

	for (size_t i = from; i < to; i++)
		rows += sample->key[i].rows;
	density = rows / fraction / Max(1.0, (double) (sample->key[to].key - sample->key[from].key));
	table->found = query->hull_lo == query->hull_hi ? table->rows / table->distinct :
		density * ((double) (query->hull_hi - query->hull_lo) + 1);

	/* As many rows on a page as there. */
	table->found_pages = ceil(table->found * Max(to - from, 1) / Max(rows, 1) - 0.5);
	if (table->found >= 0.5)
		table->found_pages = Max(table->found_pages, 1);
}

/* Where a key stands, or would stand, in a table that is in order: between two sampled ones. */
static double
estimated_block_of(const RencoderTableSample *sample, size_t below, uint64 key)
{
	const RencoderSampledKey *a = &sample->key[below > 0 ? below - 1 : 0];
	const RencoderSampledKey *b = &sample->key[Min(below, sample->nkeys - 1)];
	double		first = sample->page[a->page].blkno;
	double		last = sample->page[b->page].blkno;

	if (key <= a->key)
		return first;
	if (key >= b->key)
		return last;
	return first + (last - first) * ((double) (key - a->key) / (double) (b->key - a->key));
}

/* Rows in an interval of a table in the order of its keys, of which the sample found so many. */
static void
estimate_in_order(const RencoderTableSample *sample, const renc_query *query, double sampled,
				  RencoderTableEstimate *table)
{
	double		rows_a_page = Max(sample->rows / Max(sample->npages, 1), 1);
	uint64		hi = query->hull_hi;
	double		blocks = fabs(estimated_block_of(sample, hi == PG_UINT64_MAX ? sample->nkeys :
												 estimated_keys_below(sample, hi + 1), hi) -
							  estimated_block_of(sample,
												 estimated_keys_below(sample, query->hull_lo),
												 query->hull_lo));

	table->found = Max(sampled, blocks * rows_a_page);
	if (query->hull_lo == hi)
		table->found = Max(table->found, table->rows / table->distinct);
	table->found_pages = table->found < 0.5 ? 0 :
		Max(floor(blocks) + 1, ceil(table->found / rows_a_page));
}

void
rencoder_estimate_rows(const RencoderTableSample *sample, const RencoderKeySet *keys,
					   RencoderTableEstimate *table)
{
	double		fraction = rencoder_table_sample_fraction(sample);
	bool	   *on_page = palloc0(Max(sample->npages, 1));
	SampledKeys sampled = count_sampled_keys(sample);
	BlockNumber last = InvalidBlockNumber;
	double		entries = 0;
	double		stretches = 0;
	double		rows = 0;
	double		pages = 0;

	for (size_t i = 0; i < sample->nkeys; i++)
	{
		const RencoderSampledKey *k = &sample->key[i];

		if (!rencoder_key_set_meets_bounds(keys, k->key, k->key))
			continue;
		entries++;
		stretches += stretch_of(sample, k->page) != last;
		last = stretch_of(sample, k->page);
		rows += k->rows;
		pages += !on_page[k->page];
		on_page[k->page] = true;
	}
	memset(table, 0, sizeof(*table));
	table->rows = Max(sample->rows - sample->nulls, 0) / fraction;
	table->nulls = sample->nulls / fraction;
	table->distinct = estimate_distinct(sample, &sampled);
	table->found = rows / fraction;
	table->found_pages = pages / fraction;
	if (fraction < 1 && sample->nkeys > 1 && !keys->none && keys->set.n == 1)
	{
		if (stretches < NEIGHBOURS && estimate_is_in_order(sample, &sampled))
			estimate_in_order(sample, &keys->query, rows, table);
		else if (entries < NEIGHBOURS)
			estimate_beside(sample, &keys->query, table);
	}
	table->found = Min(table->found, table->rows);
	table->found_pages = Min(table->found_pages, sample->nblocks);
	pfree(on_page);
}

/* ---- The index ---- */

/* Bytes of leaves for a row of the table, whose sample takes so many. */
static double
extrapolate_estimate(const RencoderTableSample *sample, const RencoderTableEstimate *table,
					 const SampledKeys *keys, const SampleRun *whole)
{
	double		bytes = whole->used / whole->rows;
	SampleRun	part;
	double		doublings;
	double		slope;

	if (estimated_keys_recur(keys))
		return bytes;
	encode_estimated_part(sample, table, keys, PART, &part);
	if (part.rows == 0 || part.distinct >= whole->distinct)
		return bytes;
	doublings = log2(whole->distinct / part.distinct);
	slope = (bytes - part.used / part.rows) / Max(doublings, 0.1);

	/* A bit a row, at most. */
	slope = Min(Max(slope, 0), 1.0 / 8);
	return bytes + slope * log2(Max(table->distinct / whole->distinct, 1));
}

/* Leaves of the index, of whose sample this is the run. */
static double
estimated_leaves(const RencoderTableSample *sample, const RencoderTableEstimate *table,
				 const SampledKeys *keys, const SampleRun *whole)
{
	double		leaf = whole->run.nleaves < 2 ? RENCODER_RUN_PAYLOAD :
		whole->full / (whole->run.nleaves - 1);

	if (sample->npages == sample->nblocks)
		return whole->run.nleaves;
	return Max(1, ceil(extrapolate_estimate(sample, table, keys, whole) * table->rows / leaf));
}

/* Leaves of the nulls (run/renc_run_encoder.c). */
static double
null_leaves(const RencoderTableSample *sample, const RencoderTableEstimate *table)
{
	double		places = (double) sample->nblocks * sample->places.parts;
	double		share = 1 - exp(-table->nulls / Max(places, 1));
	double		bits = MOST_NULL_BITS * sample->nblocks;

	if (table->nulls == 0)
		return 0;
	if (share < DENSE_NULLS)
		bits = places * Min(share * (2 - log2(share)), MOST_NULL_BITS);
	return ceil(bits / BITS_PER_BYTE / RENCODER_RUN_PAYLOAD);
}

/* Pages of coder and list of coders. */
static double
estimated_coder_pages(const RencoderTableSample *sample)
{
	if (sample->coder.generation == 0)
		return 0;
	return 1 + ceil((double) sample->coder.size / RENCODER_PAYLOAD_SIZE);
}

/* Pages for what scans record, samples and counts; small tables have none. */
static double
estimated_scan_pages(const RencoderTableSample *sample)
{
	BlockNumber least = sample->coder.generation != 0 ?
		RENCODER_SAMPLE_MIN_CODED_HEAP : RENCODER_SAMPLE_MIN_HEAP;

	return (sample->nblocks < least ? 0 : RENCODER_SAMPLE_PAGES) +
		(sample->nblocks >= RENCODER_SAMPLE_MIN_HEAP);
}

void
rencoder_estimate_own(const RencoderTableSample *sample, const RencoderTableEstimate *table,
					  const RencoderKeySet *keys, RencoderMethodEstimate *estimate)
{
	uint32		per_range = rencoder_options_build_pages_per_range(sample->index, sample->nblocks);
	double		ranges = ceil((double) sample->nblocks / per_range);
	double		groups = ceil(ranges / RENC_GROUP_RANGES);
	double		directory = ceil(groups * RencoderEntrySize(1) / RENCODER_PAYLOAD_SIZE);
	double		always = sample->keyless / rencoder_table_sample_fraction(sample) * per_range;
	SampledKeys sampled = count_sampled_keys(sample);
	double		leaves;
	SampleRun	run;

	memset(estimate, 0, sizeof(*estimate));
	estimate->possible = true;
	encode_estimated_part(sample, table, &sampled, 1, &run);
	estimate->size_pages = 1;
	estimate->index_pages = 1;
	estimate->heap_pages = sample->nblocks;
	estimate->false_pages = sample->nblocks - table->found_pages;
	if (ranges < RENC_SLICE_RANGES || run.rows == 0)
		return;

	leaves = estimated_leaves(sample, table, &sampled, &run);
	estimate->size_pages = OTHER_PAGES + directory + ceil(groups / RENCODER_PAGE_GROUPS) +
		estimated_coder_pages(sample) +
		estimated_scan_pages(sample) + leaves + null_leaves(sample, table);
	estimate->index_pages = OTHER_PAGES_READ + directory +
		ceil(leaves * table->found / table->rows);
	for (double level = leaves; level > 1;)
	{
		level = ceil(level / FANOUT);
		estimate->size_pages += level;
		estimate->index_pages++;
	}
	estimate->false_pages = always;
	if (rencoder_key_set_meets_bounds(keys, sample->key[0].key, sample->key[sample->nkeys - 1].key))
		estimate->false_pages += estimated_keys_recur(&sampled) ?
			run.false_pages / run.fraction : run.false_pages;
	estimate->false_pages = Min(estimate->false_pages, sample->nblocks - table->found_pages);
	estimate->heap_pages = table->found_pages + estimate->false_pages;
}

double
rencoder_estimate_further(const RencoderMethodEstimate *column)
{
	return Max(column->size_pages - OTHER_PAGES, 0);
}
