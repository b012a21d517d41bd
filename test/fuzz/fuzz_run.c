/*
 * fuzz_run.c
 *		Runs that are sound, damaged or of any bytes.
 *
 * No reader leaves a page or goes on without end, whatever the bytes; what the
 * verifier passes, a search reads to its end; a sound run misses nothing.
 */
#include "fuzz.h"

#include "renc_run.h"
#include "renc_run_spread.h"

#define MAX_PAIRS	400
#define MAX_PAGES	128

typedef struct stored_run
{
	renc_run	run;
	uint8_t    *page[MAX_PAGES];	/* each as large as it is, for the
									 * sanitizers */
	uint32_t	n;
}			stored_run;

static uint32_t
store_page(void *arg, const renc_run_page *page)
{
	stored_run *s = (stored_run *) arg;

	if (s->n == MAX_PAGES)
		fuzz_failed("a small run has many pages");
	s->page[s->n] = (uint8_t *) malloc(s->run.payload);
	if (s->page[s->n] == NULL)
		fuzz_failed("out of memory");
	memcpy(s->page[s->n], page->payload, s->run.payload);
	return s->n++;
}

static const uint8_t *
read_page(void *arg, uint32_t page, int level)
{
	const		stored_run *s = (const stored_run *) arg;

	(void) level;
	return page < s->n ? s->page[page] : NULL;
}

/* Parts of pages, one more often than others. */
static uint32_t
take_parts(fuzz_input * in)
{
	static const uint32_t parts[] = {1, 1, 1, 2, 3, 9, 73, 291};

	return parts[fuzz_take8(in) % 8];
}

/* Returns the number of pairs; their keys ascend. */
static uint32_t
build_run(fuzz_input * in, stored_run * s, uint64_t *key, uint32_t *place)
{
	static uint64_t memory[200000];
	renc_run_options options = {.target = RENC_RUN_FALSE_PAGES,.wanted = 1,.write = store_page};
	renc_run_encoder *encoder;
	uint8_t		how = fuzz_take8(in);
	uint32_t	n = 1 + fuzz_take_below(in, MAX_PAIRS);
	uint32_t	kept = 0;
	uint32_t	first;
	uint32_t	nplaces;
	uint64_t	k = fuzz_take64(in) >> fuzz_take8(in) % 64;

	options.arg = s;
	options.payload = s->run.payload = how & 1 ? PAYLOAD : 160 + fuzz_take_below(in, 1000);
	options.first_page = how & 2 ? 0 : fuzz_take_below(in, 100000);
	options.npages = 1 + fuzz_take_below(in, how & 4 ? 20 : 1 << 20);
	options.parts = take_parts(in);
	first = options.first_page * options.parts;
	nplaces = options.npages * options.parts;
	options.target = (renc_run_target) (how >> 3) % 2;
	options.wanted = 1 + how % 16;
	options.block = how & 128 ? 16 : 0;
	if (renc_run_encoder_size(options.payload) > sizeof(memory))
		fuzz_failed("an encoder needs much memory");
	encoder = renc_run_encoder_init(memory, &options);
	fuzz_expect(encoder != NULL, "options are refused");
	for (uint32_t i = 0; i < n; i++)
	{
		uint8_t		step = fuzz_take8(in);
		uint64_t	next = k + (step < 64 ? 0 : step < 128 ? step % 4 : fuzz_take64(in) >> (1 + step % 63));
		uint32_t	p = first + fuzz_take_below(in, nplaces);
		uint32_t	rows = how & 64 ? 1U + step : (1U + step) * options.parts;

		k = next < k ? k : next;
		if (kept > 0 && key[kept - 1] == k && place[kept - 1] > p)
			continue;
		fuzz_expect(renc_run_encoder_push(encoder, k, p, rows), "a pair is refused");
		key[kept] = k;
		place[kept++] = p;
	}
	fuzz_expect(renc_run_encoder_finish(encoder, &s->run, NULL), "a run is not finished");
	return kept;
}

/* Changes some bytes, the first ones of a page more often. */
static void
damage(fuzz_input * in, stored_run * s)
{
	for (uint8_t i = fuzz_take8(in) % 6; i-- > 0;)
	{
		uint32_t	page = fuzz_take_below(in, s->n);
		uint32_t	at = fuzz_take_below(in, fuzz_take8(in) % 2 ? 100 : (uint32_t) s->run.payload);

		s->page[page][at] ^= fuzz_take8(in);
	}
}

/* Any bytes behind heads that may be right. */
static void
any_pages(fuzz_input * in, stored_run * s)
{
	for (uint32_t i = 0; i < s->n; i++)
	{
		uint8_t    *p = s->page[i];
		uint8_t		level = p[0];
		uint8_t		how = fuzz_take8(in);

		fuzz_take_bytes(in, p, s->run.payload);
		if (how & 1)
			p[0] = level;
		if (how & 2)
		{
			p[1] &= 31;
			p[3] = 0;
			p[4] = (uint8_t) (s->run.payload - how % 4);
			p[5] = (uint8_t) ((s->run.payload - how % 4) >> 8);
			p[6] &= 63;
			p[7] &= 63;
		}
	}
}

static bool
is_named(const renc_run_search *search, uint32_t i, uint32_t place, uint32_t parts)
{
	return place / parts == search->page[i] &&
		(search->part[i] == RENC_WHOLE_PAGE || search->part[i] == place % parts);
}

static void
search_run(stored_run * s, const renc_interval_set *set, const uint64_t *key, const uint32_t *place,
		   uint32_t n, bool sound)
{
	static renc_run_search search;
	static bool found[MAX_PAIRS];
	uint64_t	batches = 0;

	memset(found, 0, sizeof(found));
	renc_run_search_begin(&search, &s->run, read_page, s, set);
	while (renc_run_search_next(&search))
	{
		fuzz_expect(search.n > 0 && search.n <= RENC_RUN_MAX_BLOCK, "a batch has no size");
		fuzz_expect(++batches <= (uint64_t) s->run.nleaves * s->run.payload, "a search does not end");
		for (uint32_t i = 0; i < search.n; i++)
		{
			fuzz_expect(search.page[i] - s->run.first_page < s->run.npages, "a page is none of the run");
			fuzz_expect(search.part[i] == RENC_WHOLE_PAGE ||
						(search.part[i] < s->run.parts && s->run.parts > 1), "a page has no such part");
			for (uint32_t j = 0; sound && j < n; j++)
				if (is_named(&search, i, place[j], s->run.parts) && key[j] >= renc_run_entry_lo(&search, i) &&
					key[j] <= renc_run_entry_hi(&search, i))
					found[j] = true;
		}
	}
	if (!sound)
		return;
	fuzz_expect(search.failure == NULL, "a sound run cannot be searched");
	for (uint32_t j = 0; j < n; j++)
		fuzz_expect(found[j] || renc_interval_set_overlap(set, key[j], key[j]) == RENC_DISJOINT,
					"a search misses a pair");
}

/* All entries of a tree that has passed the verifier. */
static void
read_all(stored_run * s)
{
	static renc_run_search search;
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	uint64_t	entries = 0;

	renc_run_search_begin(&search, &s->run, read_page, s, &set);
	while (renc_run_search_next(&search))
		entries += search.n;
	fuzz_expect(search.failure == NULL && entries == s->run.entries, "the verifier passes an unreadable run");
}

/* Pages that an interval fills are about as many as there are, whatever a run says. */
static void
spread_run(fuzz_input * in, stored_run * s, renc_interval interval)
{
	static renc_run_spread spread;
	double		pages;
	double		places;

	renc_run_spread_look(&spread, &s->run, read_page, s, interval);
	renc_run_spread_estimate(&spread, &s->run, 1 + fuzz_take_below(in, MAX_PAIRS), &pages, &places);
	fuzz_expect(pages >= 0 && pages <= s->run.npages + 1e-6 && places <= pages + 1e-6,
				"there are more pages than a run has");
}

void
fuzz_run(fuzz_input * in)
{
	static stored_run s;
	static uint64_t key[MAX_PAIRS];
	static uint32_t place[MAX_PAIRS];
	uint32_t	n = build_run(in, &s, key, place);
	uint8_t		how = fuzz_take8(in) % 4;
	renc_interval interval[4];
	renc_interval_set set = fuzz_take_intervals(in, key, n < 8 ? n : 8, interval);
	uint32_t	failed;
	const char *wrong;

	if (how == 1 || how == 2)
		damage(in, &s);
	if (how == 3)
		any_pages(in, &s);
	wrong = renc_run_check(&s.run, false, read_page, &s, &failed);
	if (how == 0)
		fuzz_expect(wrong == NULL, "the verifier refuses a sound run");
	if (wrong == NULL)
		read_all(&s);
	search_run(&s, &set, key, place, n, how == 0);
	for (size_t i = 0; i < set.n; i++)
	{
		double		before;

		(void) renc_run_rank(&s.run, read_page, &s, set.interval[i].lo, RENC_RUN_BELOW, &before);
		(void) renc_run_rank(&s.run, read_page, &s, set.interval[i].hi, RENC_RUN_UPTO, &before);
		spread_run(in, &s, set.interval[i]);
	}
	for (uint32_t i = 0; i < s.n; i++)
	{
		renc_run_summary summary;

		(void) renc_run_check_leaf(s.page[i], &s.run, &summary);
		free(s.page[i]);
	}
	s.n = 0;
}
