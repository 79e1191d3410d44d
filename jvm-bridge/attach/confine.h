#ifndef JS_ATTACH_CONFINE_H
#define JS_ATTACH_CONFINE_H

struct err;
struct proc;

/*
 * What the attaching child gives up at its start, before it has received a byte: all descriptors but `parent` and
 * those of `proc`, stdio (to /dev/null), and all capabilities but those with which it reaches the target and becomes
 * its user. It gets a system call filter, a list of what is allowed: it opens existing files for reading only, starts
 * no process, and signals none but the target, with SIGQUIT. Another call ends it with SIGSYS. A kernel or container
 * that refuses a filter is no error. 0 or -errno.
 */
int confine_child(struct proc *proc, int parent, struct err *err);

/* Once it has the target's ids: a root of the target's keeps what its files and its /proc take. 0 or -errno. */
int confine_to_target(struct err *err);

#endif
