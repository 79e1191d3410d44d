#ifndef JS_RING_RING_PRIVATE_H
#define JS_RING_RING_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "sampler/daemon/ring/ring.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct dictionary;

/* The samples of one profile. */
struct chunk {
	uint32_t target, event; /* of the segment, and of its dictionary */
	uint64_t slice_ns, base_ns;
	uint64_t first_ns, last_ns; /* of its samples */
	uint64_t unit; /* the usual weight of one sample; 0: each has its own */
	size_t at, len; /* in segment.samples */
};

/*
 * samples: for each, by time: slice (less that of the one before), node, label (DICT_LABELS, with the whole name of the thread), count * 2,
 * plus 1 if its weight is not count * unit, and follows.
 */
struct segment {
	struct segment *newer;
	unsigned pins; /* number of readers that use it without holding the lock */
	bool forgotten; /* it is no longer in the ring, and is freed with its last pin */
	uint64_t number;
	uint64_t since_ns, mono_ns; /* when it began */
	uint64_t last_mono_ns; /* when the last was added */
	struct dictionary *dict;
	struct arena texts; /* of targets */
	VEC(struct store_target) targets;
	VEC(struct chunk) chunks;
	struct buf samples;
};

/*
 * To be called with the lock held. The texts of a pinned segment stay where they are; everything else may move once the
 * lock is released.
 */
void segment_pin(struct segment *s);
void segment_unpin(struct segment *s);

struct ring {
	pthread_mutex_t lock; /* of all */
	uint64_t max_bytes;
	uint64_t since_ns; /* of an empty ring */
	struct segment *oldest, *newest;
	uint64_t next_number;
};

#endif
