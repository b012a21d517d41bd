/*
 * scan_report.h
 *		What the scans of one query skipped, for whoever asks for it.
 */
#ifndef RENCODER_SCAN_REPORT_H
#define RENCODER_SCAN_REPORT_H

/* When the library is loaded. */
extern void rencoder_scan_report_init(void);

#endif							/* RENCODER_SCAN_REPORT_H */
