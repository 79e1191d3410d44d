#ifndef JS_ENGINE_SUSPEND_FROZEN_H
#define JS_ENGINE_SUSPEND_FROZEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"

struct err;

/*
 * Frames in the heap (struct engine_frozen) of a stopped thread. HotSpot's data structures are needed to find them, so
 * the tracing side, which parses nothing, asks its owner to copy them. It lets the thread go when the answer is there
 * or the time is up. Question and answer are in memory that both have mapped.
 */
struct suspend_frozen_box {
	_Atomic uint32_t asked; /* number of the last question; a futex, as is the next */
	_Atomic uint32_t answered;
	_Atomic int32_t tid; /* of the question */
	_Atomic uint32_t len; /* of the answer */
	uint8_t bytes[ENGINE_FROZEN_MAX];
};

/* --- The tracing side */

struct suspend_frozen {
	struct suspend_frozen_box *box;
	uint32_t asked;
};

/*
 * Bytes written to `dst`; 0: none, or not in time. Waits until `until_ns` (CLOCK_MONOTONIC) at most, and not at all while
 * an earlier question has not been answered.
 */
size_t suspend_frozen_take(struct suspend_frozen *f, pid_t tid, uint8_t *dst, size_t max, uint64_t until_ns);

/* --- The owner: a thread that answers */

struct suspend_answers {
	struct suspend_frozen_box *box; /* borrowed, as is what `frozen` refers to */
	struct engine_frozen frozen;
	pthread_t thread;
	bool started;
	_Atomic bool ending;
};

int suspend_answers_start(struct suspend_answers *a, struct err *err); /* 0 or -errno */
void suspend_answers_end(struct suspend_answers *a);

#endif
