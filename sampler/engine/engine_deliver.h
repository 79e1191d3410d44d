#ifndef JS_ENGINE_ENGINE_DELIVER_H
#define JS_ENGINE_ENGINE_DELIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct engine;
struct engine_sink;
struct proc;
struct sample_queue;

/* The consumer's side of run(), for engines that sample in a thread of their own. */

/* Passes one message of the queue, of `len` bytes, to the sink. */
typedef void engine_deliver_fn(struct engine *e, const struct engine_sink *sink, const void *msg, size_t len);

/*
 * Delivers all queued messages. True: the deadline (CLOCK_MONOTONIC in ns, 0: none) has passed, or `stop` (NULL:
 * none) is set. Messages queued by the deadline may still be delivered for a tenth of a second.
 */
bool engine_deliver_queued(struct engine *e, struct sample_queue *q, engine_deliver_fn *deliver,
			   const struct engine_sink *sink, uint64_t deadline_ns, const atomic_bool *stop);

/* Calls the sink's turn(). Returns until when to wait: its next turn, or an earlier deadline_ns (0: none). */
uint64_t engine_deliver_turn(const struct engine_sink *sink, uint64_t deadline_ns);

/* Tells the sink a thread's name, unless the thread is gone. */
void engine_report_thread(struct proc *proc, const struct engine_sink *sink, pid_t tid);

#endif
