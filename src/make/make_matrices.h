/*
 * make_matrices.h
 *		Making a run of matrices: filters of the rows of heap pages.
 */
#ifndef RENCODER_MAKE_MATRICES_H
#define RENCODER_MAKE_MATRICES_H

#include "make/read_rows.h"

/* Is asked between two blocks; false: to give up. */
typedef bool (*RencoderMatrixPause) (void *arg);

/*
 * Reads the pages [from, end) and writes matrices of them, block by block; *rows is as of
 * rencoder_read_rows_begin(), which is not called, and gets what was read.  False: given up.
 */
extern bool rencoder_make_matrices(RencoderReadRows *rows, RencoderRunWriter *writer, BlockNumber from,
								   BlockNumber to, BlockNumber end, RencoderMatrixPause pause, void *arg);

#endif							/* RENCODER_MAKE_MATRICES_H */
