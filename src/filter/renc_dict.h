/*
 * renc_dict.h
 *		Exact dictionary of a low-cardinality group: key -> set of ranges.
 *
 * When a group has few distinct keys, listing them with the ranges that hold
 * them is smaller than a filter and has no false positives.  The image is one
 * data page, or a fence page followed by up to renc_dict_max_pages() data
 * pages in key order.  Payload of a data page ("width" as for rows), integers
 * little-endian:
 *
 *		 0         2          8                8 + 8 cap
 *		 | nsorted | nentries | key[cap] (8 B) | mask[cap] (width B) |
 *
 * Entries [0, nsorted) are in key order; [nsorted, nentries) were added later
 * and are not.  Page i of the dictionary takes the keys from its fence up to
 * the next; the first page takes all smaller ones.  Payload of a fence page:
 *
 *		 0        8
 *		 | npages | first key of page 1, 2, .. (8 B each) |
 *
 * A key that finds its page full is refused; the caller then marks the range.
 */
#ifndef RENC_DICT_H
#define RENC_DICT_H

#include "renc_query.h"

typedef enum renc_dict_result
{
	RENC_DICT_PRESENT,			/* the bit was set already */
	RENC_DICT_ADDED,
	RENC_DICT_FULL				/* refused, page unchanged */
} renc_dict_result;

/* Entries that a data page of "payload" bytes can hold. */
extern uint32_t renc_dict_capacity(size_t payload, int width);

/* The most data pages that one fence page can direct to. */
extern uint32_t renc_dict_max_pages(size_t payload);

/*
 * Pages, fence page included, of a new dictionary of "nkeys" keys; 0 if they
 * are too many for the format.  Pages are filled to nine tenths.
 */
extern uint32_t renc_dict_npages(size_t nkeys, size_t payload, int width);

/* Writes an image of renc_dict_npages() payloads.  Keys sorted and distinct. */
extern void renc_dict_build(uint8_t *image, size_t payload, int width,
							const uint64_t *keys, const renc_mask *masks,
							size_t nkeys);

/* The data page (0 = first) whose interval holds "key". */
extern uint32_t renc_dict_route(const uint8_t *fence, uint64_t key);

/* Does the interval of data page "page" of "npages" hold keys of the query? */
extern bool renc_dict_page_meets(const uint8_t *fence, uint32_t npages,
								 uint32_t page, const renc_query *query);

/* Ranges of a data page that hold a key satisfying the query. */
extern renc_mask renc_dict_probe(const uint8_t *page, size_t payload, int width,
								 const renc_query *query);

/* Adds "slot" to "key" in the data page that renc_dict_route() named. */
extern renc_dict_result renc_dict_set(uint8_t *page, size_t payload, int width,
									  uint64_t key, unsigned int slot);

/* Removes the slots from every entry; true if something changed. */
extern bool renc_dict_clear(uint8_t *page, size_t payload, int width,
							renc_mask slots);

/*
 * Bits set in all entries.  Where nothing is taken away, a page has changed if
 * and only if it has more than before.
 */
extern uint32_t renc_dict_nbits(const uint8_t *page, size_t payload, int width);

/* Reading entries: number in a data page, and the i-th. */
extern uint32_t renc_dict_nentries(const uint8_t *page);
extern uint64_t renc_dict_entry(const uint8_t *page, size_t payload, int width,
								uint32_t i, renc_mask *mask);

/*
 * Can the payload be read as a data or fence page without leaving it?  A look
 * at the counts only, cheap enough for every probe.  npages: data pages of the
 * dictionary.  *reason is a static string.
 */
extern bool renc_dict_check_page(const uint8_t *page, size_t payload, int width,
								 const char **reason);
extern bool renc_dict_check_fence(const uint8_t *page, size_t payload,
								  uint32_t npages, const char **reason);

/* The least and the greatest key that data page "page" of "npages" may hold. */
extern void renc_dict_page_bounds(const uint8_t *fence, uint32_t npages,
								  uint32_t page, uint64_t *lo, uint64_t *hi);

/*
 * Does the page, whose counts are good, have its keys where a probe looks for
 * them: within [lo, hi], sorted but for the tail, none twice?  And do the keys
 * of a fence page ascend?
 */
extern bool renc_dict_check_keys(const uint8_t *page, uint64_t lo, uint64_t hi,
								 const char **reason);
extern bool renc_dict_check_fence_keys(const uint8_t *page, const char **reason);

#endif							/* RENC_DICT_H */
