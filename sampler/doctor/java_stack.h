#ifndef JS_DOCTOR_JAVA_STACK_H
#define JS_DOCTOR_JAVA_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/buf.h"

struct proc;
struct readers;

/*
 * The Java frames of a waiting thread, read without stopping it: /proc/PID/task/TID/syscall (proc(5)) has sp and pc,
 * and the stack does not change while the thread waits.
 */
struct java_stack {
	uint64_t sp, pc;
	uint64_t cpu_ns; /* the thread's CPU time: if it is the same later, the thread did not run */
	struct buf names; /* "java.lang.Thread.run" and so on, NUL-terminated, leaf first */
	size_t n;
	bool complete, frozen;
};

/* -EAGAIN: the thread is running, or ran meanwhile; -ESRCH: gone. */
int java_stack_read(struct readers *v, struct proc *p, pid_t tid, int32_t ns_tid, struct java_stack *ret);
/* Has the thread not run since? */
bool java_stack_unchanged(struct proc *p, pid_t tid, const struct java_stack *s);
void java_stack_done(struct java_stack *s);

#endif
