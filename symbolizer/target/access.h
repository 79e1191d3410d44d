#ifndef JS_TARGET_ACCESS_H
#define JS_TARGET_ACCESS_H

struct err;
struct proc;

/*
 * Explains in `err` why the kernel refuses this program access to a process (code: -EACCES or -EPERM; the rules are in
 * __ptrace_may_access() of linux/kernel/ptrace.c), and what would help. Returns code, or -ESRCH if the process has
 * ended.
 */
int access_explain(struct proc *p, int code, struct err *err);

#endif
