/*
 * sql_bounds.h
 *		"From lo to hi", as users type it, as scan keys.
 */
#ifndef RENCODER_SQL_BOUNDS_H
#define RENCODER_SQL_BOUNDS_H

#include "key/key.h"

#include "fmgr.h"

#include "store/open_index.h"

/*
 * The query for "column from lo to hi", both included: of a function whose second and third argument
 * they are, declared anycompatible, and which runs as the index's owner.  The column is 0-based.
 *
 * A bound may be of another type of the operator family, or of one that is cast to the column's
 * implicitly, as the right side of "column >= bound" may.  A string that is neither is read by the
 * input function of the column's type: a quoted literal arrives as text.
 *
 * Of points and geometries lo and hi are opposite corners of a box, either two.
 * Strings are compared by the order of bytes (as by ~<=~) where that of the
 * collation is another, which the index cannot serve; the order of all else is
 * that of the operator class.  Equal bounds become one key with "=".
 *
 * Casts and input functions run as the caller, since the type may be his own.
 * Errors: a bound is NULL; its type cannot be compared; what the input function
 * says; strings under a collation in the wrong order by their bytes.
 */
extern RencoderQuery *rencoder_bounds_query(FunctionCallInfo fcinfo, RencoderOpenIndex *target, int col);

#endif							/* RENCODER_SQL_BOUNDS_H */
