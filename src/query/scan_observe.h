/*
 * scan_observe.h
 *		On how many of the pages that an index let pass was nothing found?
 */
#ifndef RENCODER_SCAN_OBSERVE_H
#define RENCODER_SCAN_OBSERVE_H

/* When the library is loaded. */
extern void rencoder_scan_observe_init(void);

#endif							/* RENCODER_SCAN_OBSERVE_H */
