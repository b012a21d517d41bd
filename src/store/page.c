/*
 * page.c
 *		Pages of an index: initialization, verification, reading.
 */
#include "store/page.h"

#include "pgstat.h"
#include "port/pg_crc32c.h"

/* For messages. */
static const char *const page_type_names[] = {
	"metapage", "matrix", "window", "free list", "coder list", "coder", "hint", "run description", "run",
	"pending list"
};

StaticAssertDecl(lengthof(page_type_names) == RENCODER_PAGE_PENDING - RENCODER_PAGE_META + 1,
				 "each page id has a name");

void
rencoder_page_init(Page page, BlockNumber blkno, uint16 page_id)
{
	RencoderPageOpaque opaque;

	PageInit(page, BLCKSZ, sizeof(RencoderPageOpaqueData));
	((PageHeader) page)->pd_lower = ((PageHeader) page)->pd_upper;
	opaque = RencoderPageGetOpaque(page);
	opaque->blkno = blkno;
	opaque->unused = 0;
	opaque->page_id = page_id;
}

void
rencoder_page_trim_lower(Page page)
{
	PageHeader	phdr = (PageHeader) page;

	phdr->pd_lower = phdr->pd_special;
	while (phdr->pd_lower > MAXALIGN(SizeOfPageHeaderData) &&
		   ((const char *) page)[phdr->pd_lower - 1] == 0)
		phdr->pd_lower--;
}

/* Does pd_lower stand where it may in a page of the type? */
static bool
page_lower_is_valid(PageHeader phdr, uint16 page_id)
{
	uint32		start = MAXALIGN(SizeOfPageHeaderData);

	if (phdr->pd_lower == phdr->pd_special)
		return true;
	return (page_id == RENCODER_PAGE_PENDING || page_id == RENCODER_PAGE_RUN ||
			page_id == RENCODER_PAGE_RUN_INFO) &&
		phdr->pd_lower >= start && phdr->pd_lower < phdr->pd_special;
}

const char *
rencoder_page_fault(Page page, BlockNumber blkno, uint16 page_id)
{
	PageHeader	phdr = (PageHeader) page;

	if (PageIsNew(page))
		return "The page is empty.";
	if (PageGetSpecialSize(page) != sizeof(RencoderPageOpaqueData) ||
		phdr->pd_special != BLCKSZ - sizeof(RencoderPageOpaqueData))
		return "The page has a special area of another size.";
	if (RencoderPageGetOpaque(page)->page_id != page_id)
		return "The page is of another type.";
	if (RencoderPageGetOpaque(page)->blkno != blkno)
		return "The page belongs to another block.";
	if (!page_lower_is_valid(phdr, page_id) || phdr->pd_upper != phdr->pd_special)
		return "The page's free space pointers are wrong.";
	return NULL;
}

uint32
rencoder_checksum(const void *data, size_t size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return crc;
}

void
rencoder_page_report(int elevel, Relation index, BlockNumber blkno, const char *detail)
{
	ereport(elevel,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted at block %u",
					RelationGetRelationName(index), blkno),
			 errdetail("%s", detail),
			 errhint("REINDEX INDEX rebuilds the index from its table.")));
}

void
rencoder_page_corrupted(Relation index, BlockNumber blkno, const char *detail)
{
	rencoder_page_report(ERROR, index, blkno, detail);
	pg_unreachable();
}

Buffer
rencoder_page_renew(Relation index, BlockNumber blkno)
{
	if (blkno >= RelationGetNumberOfBlocks(index))
		rencoder_page_corrupted(index, blkno,
								"A page was to be made behind the end of the index.");
	return ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_ZERO_AND_LOCK, NULL);
}

Buffer
rencoder_page_try_read(Relation index, BlockNumber blkno, uint16 page_id,
					   const char **fault)
{
	Buffer		buf = ReadBuffer(index, blkno);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	*fault = rencoder_page_fault(BufferGetPage(buf), blkno, page_id);
	if (*fault != NULL)
	{
		UnlockReleaseBuffer(buf);
		return InvalidBuffer;
	}
	return buf;
}

/* Locks a pinned page and verifies it. */
static void
lock_page(Relation index, Buffer buf, BlockNumber blkno, int lockmode, uint16 page_id)
{
	const char *fault;

	LockBuffer(buf, lockmode);
	fault = rencoder_page_fault(BufferGetPage(buf), blkno, page_id);
	if (fault != NULL)
	{
		char	   *detail = psprintf("Expected a %s page. %s",
									  page_type_names[page_id - RENCODER_PAGE_META], fault);

		UnlockReleaseBuffer(buf);
		rencoder_page_corrupted(index, blkno, detail);
	}
}

Buffer
rencoder_page_read(Relation index, BlockNumber blkno, int lockmode,
				   uint16 page_id)
{
	Buffer		buf = ReadBuffer(index, blkno);

	lock_page(index, buf, blkno, lockmode, page_id);
	return buf;
}

void *
rencoder_page_copy(Relation index, BlockNumber blkno, uint16 page_id)
{
	Buffer		buf = rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, page_id);
	void	   *payload = palloc(RENCODER_PAYLOAD_SIZE);

	memcpy(payload, RencoderPageGetPayload(BufferGetPage(buf)), RENCODER_PAYLOAD_SIZE);
	UnlockReleaseBuffer(buf);
	return payload;
}

Buffer
rencoder_page_read_recent(Relation index, BlockNumber blkno, uint16 page_id,
						  Buffer *recent)
{
	if (BufferIsValid(*recent) &&
		ReadRecentBuffer(rencoder_relation_locator(index), MAIN_FORKNUM, blkno, *recent))
	{
		/* As ReadBuffer() does, for pg_statio_all_indexes. */
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
	}
	else
		*recent = ReadBuffer(index, blkno);
	lock_page(index, *recent, blkno, BUFFER_LOCK_SHARE, page_id);
	return *recent;
}

uint32
rencoder_page_count_new(Relation rel, BlockNumber nblocks, uint32 max)
{
	uint32		n = 0;

	while (n < max && n < nblocks)
	{
		Buffer		buf = ReadBuffer(rel, nblocks - 1 - n);
		bool		is_new;

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		is_new = PageIsNew(BufferGetPage(buf));
		UnlockReleaseBuffer(buf);
		if (!is_new)
			break;
		n++;
	}
	return n;
}
