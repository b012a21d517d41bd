/*
 * run_data.h
 *		Keys in the order of a table, made or from a file.
 */
#ifndef RUN_DATA_H
#define RUN_DATA_H

#include "basics.h"

/*
 * Keys by the name of their kind (data_kinds[]), or of a file: one string in a line, of
 * which the first 8 bytes are the key, after "s:"; one number in a line, after "n:".
 * *n: how many are wanted, then how many there are.  NULL: unknown.
 */
extern uint64_t *data_keys(const char *name, size_t *n);

/* Ends in NULL. */
extern const char *const data_kinds[];

#endif							/* RUN_DATA_H */
