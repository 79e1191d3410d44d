#ifndef JS_ENGINE_SUSPEND_WISHES_H
#define JS_ENGINE_SUSPEND_WISHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sample_queue;
struct suspend_tick;

/* What the engine's owner wants done to single threads. */
struct suspend_wish {
	pid_t tid;
	uint32_t what; /* enum engine_wish */
};

struct suspend_wishes {
	struct sample_queue *queue; /* of struct suspend_wish, from the owner; borrowed */
	bool ask_first; /* threads are sampled once the owner wishes it */
	uint64_t asked_ns; /* when it was last asked */
};

/* Both once a tick. */
void suspend_wishes_fulfil(struct suspend_tick *t);

/* With `ask_first`, the owner is asked again about each thread now and then: names change, and Java threads have theirs
 * a moment after they start. */
void suspend_wishes_ask(struct suspend_tick *t);

#endif
