/*
 * run_scan_choice.c
 *		Which columns a scan searches the runs for, and in which order.
 */
#include "scan/run_scan.h"

#include "store/run_pages.h"

/* How far a guess looks down into the trees. */
#define TO_ROOTS	0
#define TO_LEAVES	1			/* but not into them */
#define INTO_LEAVES	2

/* Intervals that are looked at; of more, so many, and they stand for the others. */
#define MAX_LOOKED_AT	16

/* Where one column costs no more, others are not looked at more closely to find the first. */
#define FEW_PAGES		4

/* Both bounds of an interval are mostly in one leaf, which is read once. */
typedef struct GuessReader
{
	RencoderRunReader reader;
	uint32		leaf;			/* that is held */
	const uint8_t *payload;		/* of it */
} GuessReader;

static const uint8_t *
read_for_guess(void *arg, uint32_t page, int level)
{
	GuessReader *r = (GuessReader *) arg;
	const uint8_t *payload;

	if (level == 0 && BufferIsValid(r->reader.leaf) && r->leaf == page)
		return r->payload;
	payload = rencoder_run_reader_read(&r->reader, page, level);
	if (level == 0)
	{
		r->leaf = page;
		r->payload = payload;
	}
	return payload;
}

/* Adds to the bounds of the choice what the pages down to "depth" tell of a set. */
static void
guess_intervals(GuessReader *r, renc_interval_set set, int depth, RencoderColumnGuess *guess)
{
	const renc_run *run = &r->reader.run;
	int			level = depth == INTO_LEAVES ? 0 : depth == TO_LEAVES ? 1 : Max(run->level, 1);
	size_t		step = (set.n + MAX_LOOKED_AT - 1) / MAX_LOOKED_AT;
	double		least = 0;
	double		most = 0;
	size_t		looked = 0;

	for (size_t i = step / 2; i < set.n; i += step, looked++)
	{
		double		l;
		double		m;

		/* What is wrong with a page the search will say. */
		(void) renc_run_rank_about(run, read_for_guess, r, set.interval[i], level, &l, &m);
		least += l;
		most += m;
	}
	guess->least += least * set.n / Max(looked, 1);
	guess->most += Min(most * set.n / Max(looked, 1), (double) run->entries);
}

/*
 * How many entries has a column that a search reads?  Of the run that was looked at, times "scale"
 * for the others.
 */
static void
guess_in_run(RencoderRunScan *scan, const RencoderSearchedRun *run, RencoderAskedColumn *asked,
			 double scale, RencoderColumnGuess *guess)
{
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	const RencoderRunInfoData *info = run->info;
	int			nulls = rencoder_run_null_tree(scan->query->natts, asked->col);
	int			tree = q->has_keys || q->wants_values ? asked->col : nulls;
	const RencoderRunColumn *column = &info->column[tree];
	const RencoderKeySet *k = NULL;
	GuessReader r;

	guess->all = scale * ((double) info->column[asked->col].entries + info->column[nulls].entries);
	guess->places = scale * column->npages * Max(column->parts, 1);
	if (column->root == RENCODER_NO_BLOCK)
		return;
	if (q->has_keys)
	{
		/* What is missing the search will say. */
		k = rencoder_key_get_set(scan->query, asked->col, column->coder);
		if (k == NULL || !rencoder_key_set_meets_bounds(k, column->least, column->greatest))
			return;
	}
	guess->trees = scan->nsearched;
	guess->level = column->level;
	guess->leaves = scale * column->nleaves;
	guess->entries = scale * column->entries;
	if (k == NULL)
	{
		guess->least = guess->most = guess->entries;
		guess->decides = q->wants_null ||
			!rencoder_run_scan_many_values((double) column->entries, (double) info->column[nulls].rows,
										   scan->copies->nblocks);
		return;
	}
	if (!rencoder_run_reader_begin(&r.reader, scan->index, info, tree))
		return;
	r.reader.prefetch = &scan->prefetch;
	r.reader.in_place = r.reader.roots = true;
	guess_intervals(&r, k->cover, guess->depth, guess);
	guess->least *= scale;
	guess->most *= scale;
	scan->npages += r.reader.npages;
	rencoder_run_reader_end(&r.reader);
}

static void
guess_column(RencoderRunScan *scan, int depth, RencoderAskedColumn *asked)
{
	RencoderColumnGuess guess = {.depth = depth,.decides = true};

	if (scan->largest != NULL)
		guess_in_run(scan, scan->largest, asked, scan->scale, &guess);

	/* Right below the roots are leaves. */
	if (depth == TO_ROOTS && guess.level <= 1)
		guess.depth = TO_LEAVES;
	asked->guess = guess;
}

/*
 * Looks at the largest of the runs that are wanted, if there are any.  False: as
 * rencoder_run_choose().
 */
static bool
look_at_largest(RencoderRunScan *scan)
{
	double		rows = 0;

	scan->largest = NULL;
	scan->nsearched = 0;
	for (int i = 0; i < scan->nruns; i++)
	{
		RencoderSearchedRun *run = &scan->run[i];

		if (!run->wanted || run->entry->kind == RENCODER_RUN_MATRIX)
			continue;
		scan->nsearched++;
		rows += (double) run->entry->first.rows;
		if (scan->largest == NULL || run->entry->first.rows > scan->largest->entry->first.rows)
			scan->largest = run;
	}
	if (scan->largest == NULL)
		return true;
	scan->scale = rows / Max((double) scan->largest->entry->first.rows, 1);
	return rencoder_run_scan_look(scan, scan->largest, false);
}

/* What the search of a column costs that reads so many entries. */
static double
choice_cost(const RencoderColumnGuess *guess, double entries)
{
	return rencoder_run_choice_cost(Min(guess->trees + guess->leaves * entries / Max(guess->entries, 1),
										guess->leaves), entries);
}

/*
 * Is there more to be learnt in the leaves?  Of an interval within one leaf, which is one page to
 * read; others are known well enough.
 */
static bool
is_worth_a_look(const RencoderColumnGuess *guess, int depth)
{
	return guess->depth < depth && guess->least < guess->most &&
		(depth < INTO_LEAVES ||
		 guess->most * guess->leaves <= 1.5 * guess->trees * guess->entries);
}

/* Is a column to be searched before another one? */
static bool
goes_before(const RencoderColumnGuess *a, const RencoderColumnGuess *b)
{
	if (a->decides != b->decides)
		return a->decides;
	return a->least + a->most < b->least + b->most;
}

/* Looks more closely at the columns that may promise the fewest entries, if they are several. */
static void
look_closer(RencoderRunScan *scan, int depth)
{
	double		best = HUGE_VAL;
	double		cost = HUGE_VAL;
	int			rivals = 0;

	for (int i = 0; i < scan->nasked; i++)
		if (scan->asked[i].guess.decides)
			best = Min(best, scan->asked[i].guess.most);
	for (int i = 0; i < scan->nasked; i++)
		rivals += scan->asked[i].guess.decides && scan->asked[i].guess.least <= best;
	for (int i = 0; i < scan->nasked && rivals > 1 && cost > FEW_PAGES; i++)
	{
		RencoderColumnGuess *guess = &scan->asked[i].guess;

		if (!guess->decides || guess->least > best)
			continue;
		if (is_worth_a_look(guess, depth))
			guess_column(scan, depth, &scan->asked[i]);
		best = Min(best, guess->most);
		cost = Min(cost, choice_cost(guess, guess->most));
	}
}

/* Is the search of the first column alone to be broken off? */
static bool
may_break_off(RencoderRunScan *scan)
{
	double		limit = scan->early->limit;

	for (int i = 1; i < scan->nasked; i++)
	{
		RencoderColumnGuess *guess = &scan->asked[i].guess;

		if (choice_cost(guess, guess->least) <= limit && choice_cost(guess, guess->most) > limit &&
			is_worth_a_look(guess, TO_LEAVES))
			guess_column(scan, TO_LEAVES, &scan->asked[i]);
		if (choice_cost(guess, (guess->least + guess->most) / 2) <= limit)
			return false;
	}
	return scan->asked[0].guess.decides;
}

bool
rencoder_run_choose(RencoderRunScan *scan)
{
	/* One that has nothing for the query says nothing of the others. */
	do
	{
		if (!look_at_largest(scan))
			return false;
	} while (scan->largest != NULL && !scan->largest->wanted);
	for (int i = 0; i < scan->nasked; i++)
		guess_column(scan, TO_ROOTS, &scan->asked[i]);
	for (int depth = TO_LEAVES; depth <= INTO_LEAVES; depth++)
		look_closer(scan, depth);
	for (int i = 1; i < scan->nasked; i++)
	{
		RencoderAskedColumn asked = scan->asked[i];
		int			at = i;

		for (; at > 0 && goes_before(&asked.guess, &scan->asked[at - 1].guess); at--)
			scan->asked[at] = scan->asked[at - 1];
		scan->asked[at] = asked;
	}
	if (scan->early != NULL && !may_break_off(scan))
		scan->early = NULL;
	for (int i = 1; i < scan->nasked && scan->early != NULL; i++)
		scan->asked[i].decided = scan->asked[i].left_out = true;
	return true;
}

void
rencoder_run_choice_decide(RencoderRunScan *scan, int i, double found)
{
	RencoderAskedColumn *asked = &scan->asked[i];
	const RencoderColumnGuess *guess = &asked->guess;

	for (int depth = guess->depth;; depth++)
	{
		double		entries;
		double		saved;

		/* What it takes to look is another page. */
		if (depth > guess->depth && is_worth_a_look(guess, depth) &&
			choice_cost(guess, guess->least) + 1 <= found)
			guess_column(scan, depth, asked);
		entries = (guess->least + guess->most) / 2;
		saved = found * (1 - rencoder_run_choice_share(entries, guess->all, guess->places));
		asked->left_out = choice_cost(guess, entries) > saved;
		if (depth == INTO_LEAVES || choice_cost(guess, guess->most) <= saved)
			break;
	}
	asked->decided = true;
}
