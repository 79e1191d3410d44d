#ifndef JS_TARGET_ACCESS_H
#define JS_TARGET_ACCESS_H

struct err;
struct proc;

/*
 * Explains in `err` why the kernel refuses this program access to a process (code: -EACCES or -EPERM), and what would
 * help: __ptrace_may_access() in linux/kernel/ptrace.c. Returns code, or -ESRCH if the process has ended.
 */
int access_explain(struct proc *p, int code, struct err *err);

/* kernel.yama.ptrace_scope; 0: Yama is not in use or does not restrict. */
int access_yama_scope(void);

#endif
