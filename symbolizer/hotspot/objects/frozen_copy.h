#ifndef JS_HOTSPOT_FROZEN_COPY_H
#define JS_HOTSPOT_FROZEN_COPY_H

#include <stdint.h>

/*
 * The format of a copy of frozen frames: the ContinuationEntry as u64, then for each chunk this head and the chunk's
 * words.
 */
struct frozen_head {
	uint32_t sp, bottom, size, zero;
};

enum {
	FROZEN_ENTRY = 8, /* bytes before the first chunk */
	FROZEN_WORDS_MAX = 1 << 20, /* in a chunk: 8 MiB, more than any thread's stack */
};

#endif
