/*
 * matrix_pages.c
 *		Runs of kind MATRIX: what is said of their blocks.
 */
#include "store/matrix_pages.h"

bool
rencoder_matrix_read_entry(Relation index, uint32 number, const RencoderRunColumn *column, int natts,
						   uint32 block, int col, RencoderKept *kept, RencoderMatrixEntry *entry,
						   int64 *npages, BlockNumber *blkno, const char **fault)
{
	uint64		i = (uint64) block * natts + col;
	PGAlignedBlock room;
	Page		page;

	*blkno = column->root + (BlockNumber) (i / RENCODER_MATRIX_ENTRIES);
	page = rencoder_kept_read(kept, index, *blkno, RENCODER_PAGE_MATRIX, room.data, npages, fault);
	if (page == NULL)
		return false;
	if (RencoderPageGetMatrices(page)->number != number)
	{
		*fault = "The page is of another run.";
		return false;
	}
	*entry = RencoderPageGetMatrices(page)->entry[i % RENCODER_MATRIX_ENTRIES];
	return true;
}

void
rencoder_matrix_write_entries(RencoderRunWriter *writer, const RencoderRunColumn *column,
							  const RencoderMatrixEntry *entry, uint64 n)
{
	uint32		npages = (uint32) ((n + RENCODER_MATRIX_ENTRIES - 1) / RENCODER_MATRIX_ENTRIES);
	RencoderExtent extent = rencoder_run_writer_reserve(writer, npages);
	RencoderMatrixPageData *page = palloc(RENCODER_PAYLOAD_SIZE);

	for (uint32 i = 0; i < npages; i++)
	{
		uint64		first = (uint64) i * RENCODER_MATRIX_ENTRIES;

		memset(page, 0, RENCODER_PAYLOAD_SIZE);
		page->number = rencoder_run_writer_number(writer);
		memcpy(page->entry, entry + first,
			   Min(n - first, RENCODER_MATRIX_ENTRIES) * sizeof(RencoderMatrixEntry));
		rencoder_run_writer_put(writer, extent.start + i, RENCODER_PAGE_MATRIX, (char *) page);
	}
	rencoder_run_writer_set_matrices(writer, column, extent.start);
	pfree(page);
}
