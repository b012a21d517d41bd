/*
 * sample_pages.c
 *		Query samples: what was asked of a column, kept in the index.
 */
#include "store/sample_pages.h"

#include "access/xlog.h"
#include "common/pg_prng.h"

/* CRC-32C of an entry, folded. */
static uint16
sample_entry_check(const RencoderSample *entry)
{
	uint32		crc = rencoder_checksum(entry, offsetof(RencoderSample, check));

	return (uint16) (crc ^ (crc >> 16));
}

static bool
sample_entry_is_valid(const RencoderSample *entry)
{
	return entry->source >= RENCODER_SAMPLE_SCAN && entry->lo <= entry->hi &&
		entry->check == sample_entry_check(entry);
}

RencoderSample
rencoder_sample_interval(uint64 lo, uint64 hi, uint32 coder, RencoderSampleSource source)
{
	RencoderSample sample = {0};

	sample.lo = lo;
	sample.hi = hi;
	sample.coder = coder;
	sample.source = source;
	return sample;
}

/*
 * The slot for a new entry.  What another coder made is of no use to whoever asks for keys of the
 * newest.
 */
static uint32
choose_sample_slot(const RencoderSamplePageData *page, const RencoderSample *sample)
{
	uint32		next = page->next % RENCODER_SAMPLE_SLOTS;

	for (uint32 i = 0; i < RENCODER_SAMPLE_SLOTS; i++)
	{
		uint32		slot = (next + i) % RENCODER_SAMPLE_SLOTS;
		const RencoderSample *e = &page->entry[slot];

		if (e->source < RENCODER_SAMPLE_SCAN || e->coder != sample->coder)
			return slot;
	}
	return next;
}

static void
put_sample(Page image, const RencoderSample *sample)
{
	RencoderSamplePageData *page = RencoderPageGetSamples(image);
	uint32		slot = choose_sample_slot(page, sample);

	page->entry[slot] = *sample;
	page->entry[slot].check = sample_entry_check(sample);
	page->next = (slot + 1) % RENCODER_SAMPLE_SLOTS;
}

/* Those of one page, into "samples", with room for RENCODER_SAMPLE_SLOTS; their number. */
static int
samples_of_page(const RencoderSamplePageData *page, const uint32 *coder, RencoderSample *samples)
{
	int			n = 0;

	for (size_t slot = 0; slot < RENCODER_SAMPLE_SLOTS; slot++)
	{
		if ((coder == NULL || page->entry[slot].coder == *coder) &&
			sample_entry_is_valid(&page->entry[slot]))
			samples[n++] = page->entry[slot];
	}
	return n;
}

static BlockNumber
sample_page(BlockNumber root, int col, int i)
{
	return root + col * RENCODER_SAMPLE_PAGES + i;
}

RencoderSample *
rencoder_samples_read(Relation index, int col, const uint32 *coder, int *n)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_SAMPLES);
	RencoderSample *samples = palloc(RENCODER_SAMPLES_MAX * sizeof(RencoderSample));

	*n = 0;
	for (int i = 0; i < RENCODER_SAMPLE_PAGES && root != RENCODER_NO_BLOCK; i++)
	{
		Buffer		buf = rencoder_hints_lock(index, sample_page(root, col, i), BUFFER_LOCK_SHARE, NULL);

		if (!BufferIsValid(buf))
			continue;
		*n += samples_of_page(RencoderPageGetSamples(BufferGetPage(buf)), coder, samples + *n);
		UnlockReleaseBuffer(buf);
	}
	return samples;
}

/* One of a column's pages, or RENCODER_NO_BLOCK. */
static BlockNumber
random_sample_page(Relation index, int col)
{
	BlockNumber root = rencoder_space_find_root(index, RENCODER_ROOT_SAMPLES);

	return root == RENCODER_NO_BLOCK ? root :
		sample_page(root, col, (int) pg_prng_uint64_range(&pg_global_prng_state, 0, RENCODER_SAMPLE_PAGES - 1));
}

void
rencoder_samples_store(Relation index, int col, const RencoderSample *sample)
{
	BlockNumber blkno = random_sample_page(index, col);
	RencoderWal *wal;
	Buffer		buf;
	Page		image;

	if (blkno == RENCODER_NO_BLOCK)
		return;
	buf = rencoder_hints_pin(index, blkno);
	if (!BufferIsValid(buf))
		rencoder_page_corrupted(index, RENCODER_META_BLKNO,
								"It refers to sample pages behind the end of the index.");
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, true);
	image = rencoder_wal_register_new(wal, buf);
	if (!rencoder_hints_valid(buf))
		rencoder_page_init(image, blkno, RENCODER_PAGE_HINTS);
	put_sample(image, sample);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

void
rencoder_samples_store_as_hint(Relation index, int col, const RencoderSample *sample)
{
	Buffer		buf;
	bool		busy;

	if (RecoveryInProgress())
		return;
	buf = rencoder_hints_lock(index, random_sample_page(index, col), BUFFER_LOCK_EXCLUSIVE, &busy);
	if (!BufferIsValid(buf))
		return;
	put_sample(BufferGetPage(buf), sample);
	rencoder_hints_changed(index, buf);
}
