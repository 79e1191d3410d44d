#ifndef JS_ENGINE_SUSPEND_WISHES_H
#define JS_ENGINE_SUSPEND_WISHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sample_queue;
struct suspend_tick;

/* What the engine's owner wants for single threads. */
struct suspend_wish {
	pid_t tid;
	uint32_t what; /* enum engine_wish */
};

struct suspend_wishes {
	struct sample_queue *queue; /* of struct suspend_wish, from the owner; borrowed */
	bool ask_first; /* threads are sampled only once the owner wishes it */
	uint64_t asked_ns; /* when it was last asked */
};

/* Call both once per tick. */
void suspend_wishes_fulfil(struct suspend_tick *t);

/* With `ask_first`, the owner is asked about each thread again from time to time: names change, and a Java thread
 * gets its name a moment after it starts. */
void suspend_wishes_ask(struct suspend_tick *t);

#endif
