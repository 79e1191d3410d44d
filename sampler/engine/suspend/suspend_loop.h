#ifndef JS_ENGINE_SUSPEND_LOOP_H
#define JS_ENGINE_SUSPEND_LOOP_H

#include <sys/types.h>

struct engine_options;
struct err;
struct proc;
struct suspend_link;

/*
 * The tracing side: begins ticks when they are due and takes the threads' answers in between, all in one thread. That thread
 * is the tracer, so the kernel releases all traced threads when it ends, however it ends.
 */
struct suspend_loop;

/*
 * Opens what it needs of the target. `proc` and `link` are borrowed. parent: the owner; when
 * that ends, so does the loop. 0 or -errno.
 */
int suspend_loop_new(struct proc *proc, struct suspend_link *link, const struct engine_options *o, pid_t parent,
		     struct suspend_loop **ret, struct err *err);
void suspend_loop_run(struct suspend_loop *l); /* until link->shared->stopping, or the target ends */
void suspend_loop_free(struct suspend_loop *l);

#endif
