#ifndef JS_ENGINE_SUSPEND_REQUESTS_H
#define JS_ENGINE_SUSPEND_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sample_queue;
struct suspend_tick;

/* What the engine's owner wants for single threads. */
struct suspend_request {
	pid_t tid;
	uint32_t what; /* enum engine_request, or one of these */
};
enum { SUSPEND_REQUEST_FROZEN = 100, SUSPEND_REQUEST_NOT_FROZEN }; /* start or stop copying frames in the heap */

struct suspend_requests {
	struct sample_queue *queue; /* of struct suspend_request, from the owner; borrowed */
	bool ask_first; /* threads are sampled only once the owner requests it */
	uint64_t asked_ns; /* when it was last asked */
};

/* Call both once per tick. */
void suspend_requests_apply(struct suspend_tick *t);

/* With `ask_first`, the owner is asked about each thread again from time to time: names change, and a Java thread
 * gets its name a moment after it starts. */
void suspend_requests_poll_owner(struct suspend_tick *t);

#endif
