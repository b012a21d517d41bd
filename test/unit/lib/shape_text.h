/*
 * shape_text.h
 *		Shapes as text.
 */
#ifndef SHAPE_TEXT_H
#define SHAPE_TEXT_H

#include <stdio.h>

#include "renc_shape.h"

/* Appends like snprintf; *len counts what would have been written. */
#define APPEND(...) \
	(len += (size_t) len < size ? \
		snprintf(buf + len, size - (size_t) len, __VA_ARGS__) : \
		snprintf(NULL, 0, __VA_ARGS__))

/*
 * Text for people, e.g. "{r 18, kw 2, kr 1, L 20,22-24}".  Returns the length
 * as snprintf does.
 */
static inline int
renc_shape_describe(const renc_shape *shape, char *buf, size_t size)
{
	int			len = 0;

	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];
		const char *sep = "";

		APPEND("%s{r %d, kw %d, kr %d, L ", s > 0 ? " " : "",
			   st->root, st->kw, st->kr);
		for (int l = 1; l <= RENC_KEY_BITS; l++)
		{
			int			last = l;

			if (!(st->levels & RENC_LEVEL_BIT(l)))
				continue;
			while (last < RENC_KEY_BITS && (st->levels & RENC_LEVEL_BIT(last + 1)))
				last++;
			if (last == l)
				APPEND("%s%d", sep, l);
			else
				APPEND("%s%d-%d", sep, l, last);
			sep = ",";
			l = last;
		}
		APPEND("}");
	}
	return len;
}

#endif							/* SHAPE_TEXT_H */
