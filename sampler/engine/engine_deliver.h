#ifndef JS_ENGINE_ENGINE_DELIVER_H
#define JS_ENGINE_ENGINE_DELIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine;
struct engine_sink;
struct proc;
struct sample_queue;

/* What engines with a thread of their own share on the side of run(). */

/* Tells the sink of one message of the queue. */
typedef void engine_deliver_fn(struct engine *e, const struct engine_sink *sink, const void *msg);

/*
 * All that is queued; true: the deadline (CLOCK_MONOTONIC in ns, 0: none) has come, or `stop` (NULL: none) was set.
 * Once the deadline has come, what is queued may still be delivered for a tenth of a second.
 */
bool engine_deliver_queued(struct engine *e, struct sample_queue *q, engine_deliver_fn *deliver,
			   const struct engine_sink *sink, uint64_t deadline_ns, const atomic_bool *stop);

/* Tells the sink of a thread and its name; one that is gone is not told of. */
void engine_tell_thread(struct proc *proc, const struct engine_sink *sink, pid_t tid);

#endif
