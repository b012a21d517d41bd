/*
 * renc_run_search.c
 *		From intervals to the entries whose cells meet them.
 *
 * One pass over leaves and blocks in order of keys, whatever the number of intervals:
 * each block is compared with all intervals that are not done with, up to the last one that may
 * begin in it, then those that end before the next block are done with, and the search goes to
 * where the first of the others begins, unless that lies behind.
 */
#include "renc_run_block.h"

void
renc_run_search_begin(renc_run_search *s, const renc_run *run, renc_run_read read, void *arg,
					  const renc_interval_set *set)
{
	s->n = 0;
	s->failure = NULL;
	s->failed_page = 0;
	s->run = run;
	s->read = read;
	s->arg = arg;
	s->set = *set;
	s->next = 0;
	s->block = 0;
	s->leaves = 0;
	s->open = false;
	s->expect = NULL;
	s->distance = 0;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		s->failure = "the level of the root is not valid";
}

void
renc_run_search_look_ahead(renc_run_search *s, renc_run_tell expect, uint32_t distance)
{
	s->expect = expect;
	s->distance = distance;
}

static bool
fail(renc_run_search *s, uint32_t page, const char *failure)
{
	s->failure = failure;
	s->failed_page = page;
	return false;
}

static const uint8_t *
read_page(renc_run_search *s, uint32_t number, int level)
{
	const uint8_t *page = s->read(s->arg, number, level);

	s->step[level].number = number;
	if (page == NULL)
		(void) fail(s, number, "it cannot be read");
	return page;
}

static bool
open_inner(renc_run_search *s, uint32_t number, int level)
{
	const uint8_t *page = read_page(s, number, level);
	const char *wrong;

	if (page == NULL)
		return false;
	wrong = renc_run_open_inner(&s->step[level], page, s->run->payload, level);
	s->ahead[level].slot = 0;
	s->ahead[level].n = 0;
	s->ahead[level].next = s->next;
	return wrong == NULL || fail(s, number, wrong);
}

static bool
open_leaf(renc_run_search *s, uint32_t number)
{
	const uint8_t *page;
	const char *wrong;

	/* Of a damaged tree there may be no end. */
	if (s->leaves++ >= s->run->nleaves)
		return fail(s, number, "the run has more leaves than it says");
	page = read_page(s, number, 0);
	if (page == NULL)
		return false;
	wrong = renc_run_open_leaf(&s->leaf, page, s->run);
	s->open = wrong == NULL;
	return s->open || fail(s, number, wrong);
}

/* The child with which a search of "key" begins. */
static uint32_t
first_child_to_search(const renc_run_step *step, uint64_t key)
{
	uint32_t	i = renc_run_find_child(step, key);

	while (i > 0 && renc_run_child_reach(step, i) & REACHED &&
		   renc_run_reaches(renc_run_child_key(step, i), renc_run_child_reach(step, i) & MAX_WIDTH, key))
		i--;
	return i;
}

/* The block with which a search of "key" begins in the leaf. */
static uint32_t
first_block(const renc_run_leaf *leaf, uint64_t key)
{
	uint32_t	j = renc_run_find_block(leaf, key);

	while (j > 0 && renc_run_cont(leaf, j) &&
		   renc_run_reaches(renc_run_separator(leaf, j), leaf->wmax, key))
		j--;
	return j;
}

/*
 * The greatest key with which an interval may begin that meets a cell of block j: a search that begins
 * with a greater one would begin behind the block (first_block(), first_child_to_search()).
 */
static uint64_t
last_beginning(const renc_run_search *s, uint32_t j)
{
	const renc_run_step *up = &s->step[1];
	uint64_t	key;

	if (++j < s->leaf.nblocks)
	{
		key = renc_run_separator(&s->leaf, j);
		return renc_run_cont(&s->leaf, j) ? renc_run_ceiling(key, s->leaf.wmax) : key - 1;
	}
	if (s->run->level == 0 || up->slot + 1 >= up->n)
		return UINT64_MAX;
	key = renc_run_child_key(up, up->slot + 1);
	j = renc_run_child_reach(up, up->slot + 1);
	return j & REACHED ? renc_run_ceiling(key, j & MAX_WIDTH) : key - 1;
}

/*
 * Moves on to the next child of the page of "level" that next_searched_leaf() will come to.  False:
 * there is none, or it is not below this page.
 */
static bool
foresee_searched_child(const renc_run_search *s, int level, renc_run_ahead *ahead)
{
	const renc_run_step *step = &s->step[level];
	uint32_t	least = ahead->slot + 1;

	for (; least < step->n && ahead->next < s->set.n; ahead->next++)
	{
		const renc_interval *interval = &s->set.interval[ahead->next];
		uint32_t	want;

		if (interval->hi < renc_run_child_key(step, least))
			continue;
		want = first_child_to_search(step, interval->lo);
		want = want > least ? want : least;
		if (want + 1 == step->n && level < s->run->level &&
			first_child_to_search(&s->step[level + 1], interval->lo) > s->step[level + 1].slot)
			return false;
		if (interval->hi < renc_run_child_key(step, want))
			continue;
		ahead->slot = want;
		return true;
	}
	return false;
}

/* To be called when the search has moved on "level". */
static void
look_ahead(renc_run_search *s, int level)
{
	const renc_run_step *step = &s->step[level];
	renc_run_ahead *ahead = &s->ahead[level];

	if (s->expect == NULL)
		return;
	if (ahead->slot <= step->slot)
	{
		ahead->slot = step->slot;
		ahead->n = 0;
	}
	else if (ahead->n > 0)
		ahead->n--;
	while (ahead->n < s->distance && foresee_searched_child(s, level, ahead))
	{
		s->expect(s->arg, renc_run_child_page(step, ahead->slot));
		ahead->n++;
	}
}

/* From the root to the inner page above the leaf where "key" begins. */
static bool
descend_in_search(renc_run_search *s, uint64_t key)
{
	uint32_t	number = s->run->root;

	for (int level = s->run->level; level > 0; level--)
	{
		if (!open_inner(s, number, level))
			return false;
		s->step[level].slot = first_child_to_search(&s->step[level], key);
		look_ahead(s, level);
		number = renc_run_child_page(&s->step[level], s->step[level].slot);
	}
	return true;
}

/*
 * Moves on "level" to the child where "key" begins, but not before "least"; to the next
 * page of the level if it may lie there.  False: there is none, or failure.
 */
static bool
seek_searched_child(renc_run_search *s, int level, uint64_t key, uint32_t least)
{
	renc_run_step *step = &s->step[level];
	uint32_t	want = first_child_to_search(step, key);

	want = want > least ? want : least;
	if (want + 1 >= step->n && level < s->run->level)
	{
		renc_run_step *up = &s->step[level + 1];

		if (want >= step->n || first_child_to_search(up, key) > up->slot)
		{
			if (!seek_searched_child(s, level + 1, key, up->slot + 1))
			{
				/* The last page of its level, perhaps. */
				if (s->failure != NULL || want >= step->n)
					return false;
			}
			else
			{
				look_ahead(s, level + 1);
				if (!open_inner(s, renc_run_child_page(up, up->slot), level))
					return false;
				want = first_child_to_search(step, key);
			}
		}
	}
	if (want >= step->n)
		return false;
	step->slot = want;
	return true;
}

/* Goes to the next leaf that an interval needs; false if none does. */
static bool
next_searched_leaf(renc_run_search *s)
{
	renc_run_step *step = &s->step[1];
	uint32_t	least;

	s->open = false;
	if (s->run->level == 0)
		return s->leaves == 0 && s->run->nleaves > 0 && open_leaf(s, s->run->root);
	if (s->leaves == 0)
	{
		if (!descend_in_search(s, s->set.interval[s->next].lo))
			return false;
	}
	else
	{
		least = step->slot + 1;
		for (;;)
		{
			size_t		next = s->next;

			if (!seek_searched_child(s, 1, s->set.interval[next].lo, least))
				return false;
			while (next < s->set.n && s->set.interval[next].hi < renc_run_child_key(step, step->slot))
				next++;
			if (next == s->set.n)
				return false;
			if (next == s->next)
				break;
			s->next = next;
			least = step->slot;
		}
		look_ahead(s, 1);
	}
	return open_leaf(s, renc_run_child_page(step, step->slot));
}

/*
 * From s->block on, the next block of the leaf that an interval needs; false if none
 * does.  Intervals that end before it are done with.
 */
static bool
next_searched_block(renc_run_search *s)
{
	while (s->block < s->leaf.nblocks && s->next < s->set.n)
	{
		uint32_t	first = first_block(&s->leaf, s->set.interval[s->next].lo);

		if (s->block < first)
			s->block = first;
		if (s->set.interval[s->next].hi >= renc_run_separator(&s->leaf, s->block))
			return true;
		s->next++;
	}
	return false;
}

/* From what the entries of the batch name to heap pages and their first parts. */
static void
split_searched_places(renc_run_search *s)
{
	const uint32_t names = s->leaf.names;
	const uint32_t grain = s->leaf.grain;

	for (uint32_t i = 0; i < s->n; i++)
	{
		uint32_t	name = s->page[i];

		s->part[i] = names == 1 ? RENC_WHOLE_PAGE : (uint16_t) (renc_place_part(name, names) * grain);
		s->page[i] = s->run->first_page + renc_place_page(name, names);
	}
}

bool
renc_run_search_next(renc_run_search *s)
{
	renc_run_block block;
	renc_run_found found;
	const char *wrong;

	found.cell = s->cell;
	found.page = s->page;
	s->n = 0;
	while (s->failure == NULL && s->next < s->set.n)
	{
		if (!s->open)
		{
			if (!next_searched_leaf(s))
				return false;
			s->block = 0;
		}
		if (!next_searched_block(s))
		{
			s->open = false;
			continue;
		}
		wrong = renc_run_open_block(&block, &s->leaf, s->block++);
		if (s->next + 1 < s->set.n)
			block.last = last_beginning(s, s->block - 1);
		if (wrong == NULL)
			wrong = renc_run_scan_block(&block, s->set.interval + s->next, s->set.n - s->next, &found);
		if (wrong != NULL)
			return fail(s, s->step[0].number, wrong);
		if (found.n == 0)
			continue;
		s->n = found.n;
		split_searched_places(s);
		s->width = block.width;
		s->separator = block.separator;
		return true;
	}
	return false;
}
