/*
 * sample_record.h
 *		Query samples that scans leave.
 */
#ifndef RENCODER_SAMPLE_RECORD_H
#define RENCODER_SAMPLE_RECORD_H

#include "key/key.h"
#include "store/sample_pages.h"

/*
 * Records what a scan asked for, if the index is to have filters and it is its turn: every n-th scan of the
 * session (rencoder.sample_rate).  What goes wrong is not the scan's: no error but cancellation.  Nothing in parallel mode before
 * PostgreSQL 17.  Cost: as rencoder_samples_store_as_hint().
 */
extern void rencoder_sample_record_scan(const RencoderQuery *query);

#endif							/* RENCODER_SAMPLE_RECORD_H */
