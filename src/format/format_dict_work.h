/*
 * format_dict_work.h
 *		What the files of the dictionary format share.
 */
#ifndef RENCODER_FORMAT_DICT_WORK_H
#define RENCODER_FORMAT_DICT_WORK_H

#include "format/format.h"

/* format_dict_offer.c */
extern bool rencoder_dict_offer(const RencoderCollector *c, int col, int width,
								double bits_per_key, double limit, RencoderOffer *offer);

#endif							/* RENCODER_FORMAT_DICT_WORK_H */
