#ifndef JS_HOTSPOT_WALK_CHECK_H
#define JS_HOTSPOT_WALK_CHECK_H

#include <stdint.h>

#include "symbolizer/base/vec.h"
#include "symbolizer/target/mem.h"

/* Memory for the check at the end of a walk. Zero-initialise. */
struct walk_check {
	VEC(struct mem_span) spans;
	VEC(uint8_t) bytes;
};

#endif
