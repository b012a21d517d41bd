/*
 * scan_report.h
 *		What the scans of one query skipped, for whoever asks for it.
 */
#ifndef RENCODER_SCAN_REPORT_H
#define RENCODER_SCAN_REPORT_H

/*
 * Hooks into the executor and EXPLAIN, once: before a session's first plan with a scan of ours
 * is executed.
 */
extern void rencoder_scan_report_init(void);

#endif							/* RENCODER_SCAN_REPORT_H */
