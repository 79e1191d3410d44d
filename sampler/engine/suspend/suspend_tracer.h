#ifndef JS_ENGINE_SUSPEND_TRACER_H
#define JS_ENGINE_SUSPEND_TRACER_H

#include <stdbool.h>
#include <stdint.h>

struct engine_options;
struct err;
struct proc;
struct suspend_link;

/*
 * Stops threads (suspend_loop.h) in a separate process, which is confined by engine_options.confine_tracer. Only that
 * process has the right to stop them. It serves one target, to which it has descriptors of the /proc directory, and
 * ends when its parent does. Its requests come through suspend_link.h.
 */
struct suspend_tracer;

/* `proc` and `link` are borrowed. Forks, and waits until the process is ready. 0 or -errno. */
int suspend_tracer_new(struct proc *proc, struct suspend_link *link, const struct engine_options *o,
		       struct suspend_tracer **ret, struct err *err);
int suspend_tracer_start(struct suspend_tracer *t, struct err *err); /* sampling. 0 or -errno */
void suspend_tracer_stop(struct suspend_tracer *t); /* async-signal-safe */
/* Waits until there may be something in the queue, it is done, or until_ns (CLOCK_MONOTONIC, 0: no limit). */
void suspend_tracer_wait(struct suspend_tracer *t, uint64_t until_ns);
bool suspend_tracer_done(const struct suspend_tracer *t); /* everything is in the queue */
/* The result once it is done. 0, or -EPIPE: the process that stops threads ended early, and *err says how. */
int suspend_tracer_result(const struct suspend_tracer *t, struct err *err);
void suspend_tracer_free(struct suspend_tracer *t); /* stops and waits for it; NULL is fine */

#endif
