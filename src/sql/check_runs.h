/*
 * check_runs.h
 *		rencoder_index_check: are the runs and the pending list of an index sound?
 */
#ifndef RENCODER_CHECK_RUNS_H
#define RENCODER_CHECK_RUNS_H

#include "sql/check_state.h"

/*
 * Verifies the run list, all pages of LIVE runs, and the pending list.  Keeps nobody out:
 * what moves meanwhile is looked at again.  Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_runs(CheckState *state);

/*
 * Verifies what the group in state->copy says of a run.  On a primary the caller is the
 * maintainer.  Raises ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_check_run_of_group(CheckState *state);

#endif							/* RENCODER_CHECK_RUNS_H */
