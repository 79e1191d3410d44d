#ifndef JS_TARGET_ACCESS_H
#define JS_TARGET_ACCESS_H

struct err;
struct proc;

/*
 * Says in `err` why the kernel refuses (code: -EACCES or -EPERM) to let this program look into a
 * process, and what would help: __ptrace_may_access() in linux/kernel/ptrace.c. Returns code; -ESRCH where the
 * process has ended meanwhile.
 */
int access_explain(struct proc *p, int code, struct err *err);

#endif
