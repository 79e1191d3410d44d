#ifndef JS_SESSION_JAVA_STACK_H
#define JS_SESSION_JAVA_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/buf.h"

struct proc;
struct view;

/*
 * The Java frames of a thread that waits, seen without stopping it: sp and pc of
 * /proc/PID/task/TID/syscall (proc(5)), the stack read while it lies still (DESIGN section 6).
 */
struct java_stack {
	uint64_t sp, pc;
	uint64_t cpu_ns; /* CPU time the thread had used: the same later means it did not run */
	struct buf names; /* "java.lang.Thread.run", each with its NUL, leaf first */
	size_t n;
	bool complete, frozen;
};

/* -EAGAIN: the thread runs, or ran meanwhile; -ESRCH: gone. */
int java_stack_look(struct view *v, struct proc *p, pid_t tid, int32_t ns_tid,
		    struct java_stack *ret);
/* Has the thread run since? */
bool java_stack_unchanged(struct proc *p, pid_t tid, const struct java_stack *s);
void java_stack_done(struct java_stack *s);

#endif
