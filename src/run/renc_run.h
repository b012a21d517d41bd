/*
 * renc_run.h
 *		Sorted runs: pairs (cell of a key, heap page), sorted and compressed.
 *
 * A run is a tree of immutable pages.  A query descends to the leaf of its lower
 * bound, as in a B-tree, and reads the heap pages that may hold a match.  A cell
 * is what is left of a key when its last w bits are cut off; w is chosen for each
 * block of entries, so that bits are spent where keys crowd together.  There are
 * no false negatives: whatever is asked, each page with a key in the interval is
 * among the answers.  The run core (src/run) is plain C: no PostgreSQL header, no
 * allocation, no global variables.
 *
 * Integers are little-endian, bits are counted from the least of the first byte.
 * Payload of a leaf ("used" bytes of it are in use):
 *
 *		 0 u8	level, 0
 *		 1 u8	bits 0-2: bytes of a separator - 1; bit 3: blocks have page spans; bit 4:
 *				entries name pages, though the run has parts; bit 5: they name stretches
 *				of RENC_COARSE parts
 *		 2 u16	nblocks
 *		 4 u16	used
 *		 6 u8	shift of the separators
 *		 7 u8	wmax: no cell here is wider than 2^wmax, nor any of an earlier leaf
 *				that reaches into this one
 *		 8 u64	lo, the separator of block 0
 *		16 u32	entries
 *		20 u32	rows
 *		24 sep[nblocks]		1 to 8 bytes each: (separator - lo) >> shift
 *		   off[nblocks]		u16: where the block starts, from the first byte of data
 *		   head[nblocks]	u24: bits 0-5 w, 6-11 parameter, 12-21 entries - 1,
 *							22 cont, 23 coding
 *		   page_span[nblocks]	u32 first page, u32 pages; only if bit 3 of byte 1 is set,
 *							else all blocks have first page 0 and the run's pages
 *		   data				blocks, each from a whole byte on
 *
 * Entries of a block are (c, p), ascending, no two alike: c = (key >> w) -
 * (separator >> w), p = page - first page of the page span; W = pages of the page span.
 * Where entries name parts of pages, or stretches of them, "page" above and below is such
 * a name less the run's first: the page times the names of a page, and which it is.
 *
 *	Coding 0, Rice of v = c * W + p: of each v - (the one before) - 1 (of the first:
 *		v) come first all low parts of "parameter" bits, then all high parts, each as
 *		so many zeros and a one.  So entries can be found by counting.
 *	Coding 1, gaps: for each cell that has pages: x = its gap - 1 (first: c) as q = (x
 *		>> parameter) + 1 in Elias' gamma code (as many zeros as q has bits below its
 *		highest, a one, these bits) and the "parameter" low bits of x; the number m of
 *		its pages in gamma code; then, m < 3: each page in as many bits as W - 1 has;
 *		else the gaps - 1 (first: p), with parameter h, each as h low bits, then the
 *		rest as zeros and a one; h is the highest bit of W * 11 / 16 / m, 0 if none.
 *
 * A separator is at most the first key of its block and above the last key of the
 * block before (equal if the keys are).  cont: a cell of an earlier block reaches the
 * separator or lies beyond.
 *
 * Payload of an inner page, children i in order of keys:
 *
 *		 0 u8	level, 1 above the leaves
 *		 1 u8	0
 *		 2 u16	nchildren
 *		 4 u32	0
 *		 8 key[nchildren]		u64: separator of its first block
 *		   child[nchildren]		u32: its page
 *		   entries[nchildren]	u48: entries of the run in leaves before it
 *		   reach[nchildren]		u8: bit 7: a cell of an earlier leaf reaches its key or
 *								lies beyond; bits 0-5: no such cell is wider
 */
#ifndef RENC_RUN_H
#define RENC_RUN_H

#include "filter/renc_query.h"
#include "renc_place.h"

#define RENC_RUN_MIN_PAYLOAD	128
#define RENC_RUN_MAX_PAYLOAD	32768
#define RENC_RUN_MAX_LEVEL		8	/* of the root; bounds the depth */
#define RENC_RUN_MAX_BLOCK		1024	/* entries of a block (disk format) */

/* What readers need to know of a run. */
typedef struct renc_run
{
	size_t		payload;		/* bytes of a page */
	uint32_t	first_page;		/* heap pages first_page .. + npages - 1 */
	uint32_t	npages;
	uint32_t	parts;			/* of a page, that entries may name */
	uint32_t	root;			/* page of the root; the leaf, if it is the
								 * only one */
	int			level;			/* of the root; 0: a leaf */
	uint32_t	nleaves;
	uint32_t	ninner;
	uint64_t	entries;
	uint64_t	rows;
	uint64_t	least;			/* keys, if there are entries */
	uint64_t	greatest;
} renc_run;

/*
 * Reads a page of the run.  Its payload stays as it is until another page of the same
 * level is asked for or the caller is done; a leaf's, in a search, until any other page is.
 * NULL: it cannot be read; the search ends.
 */
typedef const uint8_t *(*renc_run_read) (void *arg, uint32_t page, int level);

/* Says that a page of the run will be asked for soon. */
typedef void (*renc_run_tell) (void *arg, uint32_t page);

/* ---- Encoder: from sorted pairs to pages ---- */

typedef enum renc_run_target
{
	RENC_RUN_FALSE_PAGES,		/* false pages of a query, on average */
	RENC_RUN_EXACT,				/* whole keys */
	RENC_RUN_DENSE				/* the same; a leaf of pages nearly all of
								 * whose names have entries names pages,
								 * others RENC_COARSE parts, if they may */
} renc_run_target;

/* A finished page. */
typedef struct renc_run_page
{
	const uint8_t *payload;
	size_t		used;			/* bytes of it; the others are zero */
	int			level;
} renc_run_page;

/* Stores a page and says where. */
typedef uint32_t (*renc_run_write) (void *arg, const renc_run_page *page);

typedef struct renc_run_options
{
	size_t		payload;
	uint32_t	first_page;
	uint32_t	npages;
	uint32_t	parts;			/* of a page; 0 is 1 */
	bool		coarse;			/* may a leaf name RENC_COARSE parts together? */
	renc_run_target target;

	/*
	 * Of RENC_RUN_FALSE_PAGES: false pages at most of this run: its share, if
	 * the index has several.  Queries ask for keys that exist, all equally
	 * often, or for values anywhere among a block's keys.
	 */
	double		wanted;

	/*
	 * The same of leaves that name pages, which hold stretches of keys: what
	 * lies between two of these is told from them at the price of bits for
	 * each row.  0: as of others.
	 */
	double		wanted_together;
	uint32_t	block;			/* entries of a block, nominally; 0: 256; not
								 * of RENC_RUN_DENSE */
	renc_run_write write;
	void	   *arg;
} renc_run_options;

typedef struct renc_run_encoder renc_run_encoder;

/* Bytes that an encoder of such pages needs: about half a megabyte. */
extern size_t renc_run_encoder_size(size_t payload);

/* Makes an encoder in "memory", aligned for any type.  NULL: options are not valid. */
extern renc_run_encoder *renc_run_encoder_init(void *memory, const renc_run_options *options);

/*
 * Adds a pair that stands for "rows" rows.  Pairs come in order of (key, place); equal
 * ones become one.  False, from then on always: out of order, not a place of the run, no
 * rows, or more than the tree can hold.
 */
extern bool renc_run_encoder_push(renc_run_encoder *encoder, uint64_t key, uint32_t place, uint32_t rows);

/*
 * Writes what is left and fills in the run.  "false_pages", unless NULL, gets the mean
 * that the cells chosen make one expect of the queries named above, of whichever meet
 * more.  False: no pair has come, or renc_run_encoder_push() has said so before.
 */
extern bool renc_run_encoder_finish(renc_run_encoder *encoder, renc_run *run, double *false_pages);

/* ---- Search: intervals to entries ---- */

/* A page of the path from the root. */
typedef struct renc_run_step
{
	const uint8_t *page;
	uint32_t	number;
	uint32_t	n;
	uint32_t	slot;
} renc_run_step;

/* The children of such a page that were said to be asked for. */
typedef struct renc_run_ahead
{
	uint32_t	slot;			/* the last of them */
	uint32_t	n;				/* behind the present one */
	size_t		next;			/* the first interval that may need another */
} renc_run_ahead;

/* A leaf, opened (renc_run_page.h). */
typedef struct renc_run_leaf
{
	const uint8_t *page;
	const uint8_t *end;			/* of the payload */
	const uint8_t *offset;
	const uint8_t *head;
	const uint8_t *page_span;	/* NULL: none */
	const uint8_t *data;
	uint64_t	lo;
	uint32_t	nblocks;
	uint32_t	npages;			/* of the run; names, if entries name parts */
	uint32_t	names;			/* of a page */
	uint32_t	grain;			/* parts that one stands for */
	uint32_t	entries;
	uint32_t	rows;
	int			sepbytes;
	int			shift;
	int			wmax;
} renc_run_leaf;

/*
 * A search in progress; some 13 kB, meant for the stack.  Of each batch:
 */
typedef struct renc_run_search
{
	uint32_t	n;				/* entries of the batch, one or more */
	int			width;			/* of their cells: 2^width keys */
	uint64_t	separator;		/* no key of them is below */
	uint32_t	page[RENC_RUN_MAX_BLOCK];	/* heap pages */
	uint16_t	part[RENC_RUN_MAX_BLOCK];	/* of them, or RENC_WHOLE_PAGE;
											 * the first of leaf.grain parts */
	uint64_t	cell[RENC_RUN_MAX_BLOCK];	/* key >> width */
	renc_run_leaf leaf;			/* that it is in */
	uint32_t	leaves;			/* read so far */

	/* Once the search is over: NULL, or what is wrong with which page. */
	const char *failure;
	uint32_t	failed_page;

	/* Private. */
	const renc_run *run;
	renc_run_read read;
	void	   *arg;
	renc_interval_set set;
	size_t		next;			/* the first interval that is not done with */
	uint32_t	block;			/* the next of the leaf */
	bool		open;			/* is there a leaf? */
	renc_run_step step[RENC_RUN_MAX_LEVEL + 1];
	renc_run_tell expect;		/* NULL: nobody wants to know */
	uint32_t	distance;
	renc_run_ahead ahead[RENC_RUN_MAX_LEVEL + 1];
} renc_run_search;

/* Bytes of an inner page that are in use, of "payload" at most. */
extern size_t renc_run_inner_size(const uint8_t *page, size_t payload);

/* Begins a search of sorted disjoint intervals, which must outlive it. */
extern void renc_run_search_begin(renc_run_search *search, const renc_run *run,
								  renc_run_read read, void *arg, const renc_interval_set *set);

/*
 * From now on "expect" is told, with the argument of "read", of up to "distance" pages of
 * each level behind the present one, each once and in the order in which they will be read.
 * It is not told of the first one below each inner page, which is read at once, nor of all
 * that lie where an interval ends.
 */
extern void renc_run_search_look_ahead(renc_run_search *search, renc_run_tell expect,
									   uint32_t distance);

/*
 * Finds the next entries, at most a block's, whose cell meets an interval: false when
 * there are no more or something failed.  Forward only: a leaf is read once, an entry
 * comes once, pages may come again.
 */
extern bool renc_run_search_next(renc_run_search *search);

/* The least and the greatest key that entry i of the batch may have. */
static inline uint64_t
renc_run_entry_lo(const renc_run_search *search, uint32_t i)
{
	uint64_t	lo = search->cell[i] << search->width;

	return lo > search->separator ? lo : search->separator;
}

static inline uint64_t
renc_run_entry_hi(const renc_run_search *search, uint32_t i)
{
	return search->cell[i] << search->width | ((UINT64_C(1) << search->width) - 1);
}

/* ---- Ranks: how many entries lie before a bound ---- */

/* Which bound of an interval, both of whose bounds belong to it. */
typedef enum renc_run_side
{
	RENC_RUN_BELOW,				/* its lower: what has lesser keys */
	RENC_RUN_UPTO				/* its upper: what has it or lesser keys */
} renc_run_side;

/*
 * The entries that a search reads before a bound: those of whole cells.  It never falls as keys
 * rise, and an interval's is the difference of two.  NULL, or what is wrong; *before is then what
 * lies before the page that failed.
 */
extern const char *renc_run_rank(const renc_run *run, renc_run_read read, void *arg, uint64_t key,
								 renc_run_side side, double *before);

/*
 * How many entries a search of an interval reads, at least and at most, as pages down to "level"
 * tell: 0: exactly; above the root: of nothing but the least and the greatest key.  NULL, or what is
 * wrong; the bounds are then those of the pages before.
 */
extern const char *renc_run_rank_about(const renc_run *run, renc_run_read read, void *arg,
									   renc_interval interval, int level, double *least,
									   double *most);

/* An entry: the least and the greatest key that it may have, and others of its cell in its block. */
typedef struct renc_run_selected
{
	bool		is_there;		/* it is one that a search of the interval
								 * reads */
	bool		whole;			/* no other block has entries of the cell for
								 * sure */
	uint64_t	lo;
	uint64_t	hi;
	uint32_t	before;
	uint32_t	behind;
} renc_run_selected;

/*
 * The other way round: the entry with so many before it, if it is one of an interval.  NULL, or what is
 * wrong.
 */
extern const char *renc_run_select(const renc_run *run, renc_run_read read, void *arg, uint64_t before,
								   renc_interval interval, renc_run_selected *selected);

/*
 * About how many rows the entries stand for that lie between two ranks: by what their leaves say of
 * themselves, or n of them.  NULL, or what is wrong.
 */
extern const char *renc_run_rows(const renc_run *run, renc_run_read read, void *arg, double below,
								 double upto, int n, double *rows);

/* ---- Verifier: any bytes ---- */

/* What a leaf that is in order says of itself. */
typedef struct renc_run_summary
{
	uint64_t	key;			/* separator of the first block */
	uint64_t	last;			/* nothing begins behind: cell of the last
								 * entry */
	uint64_t	reach;			/* the greatest key of all cells */
	int			widest;			/* cell */
	uint64_t	entries;
	uint64_t	rows;
} renc_run_summary;

/* NULL, or what is wrong with the payload of a leaf of the run. */
extern const char *renc_run_check_leaf(const uint8_t *page, const renc_run *run,
									   renc_run_summary *summary);

/*
 * Checks all pages, and that they fit each other; reads each once.  "exact": cells are to be whole
 * keys.
 */
extern const char *renc_run_check(const renc_run *run, bool exact, renc_run_read read, void *arg,
								  uint32_t *failed_page);

#endif							/* RENC_RUN_H */
