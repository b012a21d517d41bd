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
guess_intervals(GuessReader *r, renc_interval_set set, int depth, RencoderRunChoice *choice)
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
	choice->least += least * set.n / Max(looked, 1);
	choice->most += Min(most * set.n / Max(looked, 1), (double) run->entries);
}

/* Adds what a run has for a column. */
static void
guess_in_run(RencoderRunScan *scan, const RencoderWantedRun *wanted, int depth,
			 RencoderRunChoice *choice)
{
	const RencoderColumnQuery *q = &scan->query->column[choice->col];
	const RencoderRunInfoData *info = wanted->run->info;
	int			nulls = rencoder_run_null_tree(scan->query->natts, choice->col);
	int			tree = q->has_keys || q->wants_values ? choice->col : nulls;
	const RencoderRunColumn *column = &info->column[tree];
	const RencoderKeySet *k = NULL;
	GuessReader r;

	choice->all += (double) info->column[choice->col].entries + info->column[nulls].entries;
	choice->places += (double) column->npages * Max(column->parts, 1);
	if (column->root == RENCODER_NO_BLOCK)
		return;
	if (q->has_keys)
	{
		k = rencoder_key_get_set(scan->query, choice->col, column->coder);
		if (k == NULL || !rencoder_key_set_meets_bounds(k, column->least, column->greatest))
			return;
	}
	choice->trees++;
	choice->level = Max(choice->level, column->level);
	choice->leaves += column->nleaves;
	choice->entries += (double) column->entries;
	if (k == NULL)
	{
		choice->least += (double) column->entries;
		choice->most += (double) column->entries;
		choice->decides &= q->wants_null ||
			!rencoder_run_scan_many_values((double) column->entries, (double) info->column[nulls].rows,
										   scan->nblocks);
		return;
	}
	if (!rencoder_run_reader_begin(&r.reader, scan->index, info, tree))
		return;
	r.reader.prefetch = scan->prefetch;
	r.reader.in_place = true;
	guess_intervals(&r, k->cover, depth, choice);
	scan->npages += r.reader.npages;
	rencoder_run_reader_end(&r.reader);
}

/* How many entries has a column that a search reads? */
static void
guess_column(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n, int depth,
			 RencoderRunChoice *choice)
{
	RencoderRunChoice guess = {.col = choice->col,.depth = depth,.decides = true};

	for (int i = 0; i < n; i++)
		guess_in_run(scan, &wanted[i], depth, &guess);

	/* Right below the roots are leaves. */
	if (depth == TO_ROOTS && guess.level <= 1)
		guess.depth = TO_LEAVES;
	*choice = guess;
}

/* What the search of a column costs that reads so many entries. */
static double
choice_cost(const RencoderRunChoice *choice, double entries)
{
	return rencoder_run_choice_cost(Min(choice->trees + choice->leaves * entries / Max(choice->entries, 1),
										choice->leaves), entries);
}

/*
 * Is there more to be learnt in the leaves?  Of an interval within one leaf, which is one page to
 * read; others are known well enough.
 */
static bool
is_worth_a_look(const RencoderRunChoice *choice, int depth)
{
	return choice->depth < depth && choice->least < choice->most &&
		(depth < INTO_LEAVES ||
		 choice->most * choice->leaves <= 1.5 * choice->trees * choice->entries);
}

/* Is a column to be searched before another one? */
static bool
goes_before(const RencoderRunChoice *a, const RencoderRunChoice *b)
{
	if (a->decides != b->decides)
		return a->decides;
	return a->least + a->most < b->least + b->most;
}

/* Looks more closely at the columns that may promise the fewest entries, if they are several. */
static void
look_closer(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n, int depth)
{
	double		best = HUGE_VAL;
	double		cost = HUGE_VAL;
	int			rivals = 0;

	for (int i = 0; i < scan->nasked; i++)
		if (scan->choice[i].decides)
			best = Min(best, scan->choice[i].most);
	for (int i = 0; i < scan->nasked; i++)
		rivals += scan->choice[i].decides && scan->choice[i].least <= best;
	for (int i = 0; i < scan->nasked && rivals > 1 && cost > FEW_PAGES; i++)
	{
		RencoderRunChoice *choice = &scan->choice[i];

		if (!choice->decides || choice->least > best)
			continue;
		if (is_worth_a_look(choice, depth))
			guess_column(scan, wanted, n, depth, choice);
		best = Min(best, choice->most);
		cost = Min(cost, choice_cost(choice, choice->most));
	}
}

/* Is the search of the first column alone to be broken off? */
static bool
may_break_off(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n)
{
	double		limit = scan->early->limit;

	for (int i = 1; i < scan->nasked; i++)
	{
		RencoderRunChoice *choice = &scan->choice[i];

		if (choice_cost(choice, choice->least) <= limit && choice_cost(choice, choice->most) > limit &&
			is_worth_a_look(choice, TO_LEAVES))
			guess_column(scan, wanted, n, TO_LEAVES, choice);
		if (choice_cost(choice, (choice->least + choice->most) / 2) <= limit)
			return false;
	}
	return scan->choice[0].decides;
}

void
rencoder_run_choose(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n)
{
	int			nasked = 0;

	scan->chosen = true;
	for (int col = 0; col < scan->query->natts; col++)
	{
		if (rencoder_column_is_asked(&scan->query->column[col]))
			scan->choice[nasked++].col = col;
	}
	if (nasked < 2)
		return;
	for (int i = 0; i < nasked; i++)
		guess_column(scan, wanted, n, TO_ROOTS, &scan->choice[i]);
	for (int depth = TO_LEAVES; depth <= INTO_LEAVES; depth++)
		look_closer(scan, wanted, n, depth);
	for (int i = 1; i < nasked; i++)
	{
		RencoderRunChoice choice = scan->choice[i];
		int			at = i;

		for (; at > 0 && goes_before(&choice, &scan->choice[at - 1]); at--)
			scan->choice[at] = scan->choice[at - 1];
		scan->choice[at] = choice;
	}
	if (scan->early == NULL)
		return;
	if (!may_break_off(scan, wanted, n))
	{
		scan->early = NULL;
		return;
	}
	for (int i = 1; i < nasked; i++)
		scan->choice[i].decided = scan->choice[i].left_out = true;
}

void
rencoder_run_choice_decide(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n, int i,
						   double found)
{
	RencoderRunChoice *choice = &scan->choice[i];

	for (int depth = choice->depth;; depth++)
	{
		double		entries;
		double		saved;

		/* What it takes to look is another page. */
		if (depth > choice->depth && is_worth_a_look(choice, depth) &&
			choice_cost(choice, choice->least) + 1 <= found)
			guess_column(scan, wanted, n, depth, choice);
		entries = (choice->least + choice->most) / 2;
		saved = found * (1 - rencoder_run_choice_share(entries, choice->all, choice->places));
		choice->left_out = choice_cost(choice, entries) > saved;
		if (depth == INTO_LEAVES || choice_cost(choice, choice->most) <= saved)
			break;
	}
	choice->decided = true;
}
