#ifndef JS_HOTSPOT_LINE_TABLE_H
#define JS_HOTSPOT_LINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/base/cursor.h"

/* The compressed line number table after a method's bytecodes. */
struct line_reader {
	struct cursor c;
	uint32_t bias; /* unsigned5_bias() */
	int32_t bci, line;
};

bool line_table_next(struct line_reader *r); /* false: the end, or invalid (c.bad) */

/* The line of the entry at bci, or of the nearest one below it; -1: none. */
int line_table_find(const uint8_t *table, uint32_t len, int major, int32_t bci);

#endif
