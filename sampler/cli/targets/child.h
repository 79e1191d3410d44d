#ifndef JS_CLI_CHILD_H
#define JS_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/*
 * A command that is sampled from its first instruction: forked, and held before execve() until child_release(). It
 * inherits stdin, stdout and stderr.
 */
struct child {
	pid_t pid;
	int gate; /* if closed without a byte, the child exits */
	int exec_error; /* receives the errno of a failed execve() */
	int end; /* a pipe on which its parent reports how it ended; -1: this process is the parent */
	int pidfd; /* in case the parent ends first; -1: the kernel has no pidfds. Only if end is not -1 */
};

int child_start(char **command, struct child *ret, struct err *err);

/*
 * The same with two processes: the first one makes the pipes and uses struct child; the second one, its child, is the
 * command's parent. If Yama's ptrace_scope is 1, descendants of the first process may trace the command, and
 * descendants of the second one may also trace what the command starts.
 */
struct child_parent {
	char **command;
	pid_t pid;
	struct child *child;
	int gate, report, end; /* the other ends of its pipes */
};

/* In the first process; child_know() is called once the second one runs. 0 or -errno. */
int child_prepare(char **command, struct child *ret, struct child_parent *p, struct err *err);
int child_know(struct child *c, struct child_parent *p, struct err *err);
/* In the second process. 0 or -errno. */
int child_parent_start(void *p, pid_t *ret);
int child_parent_watch(void *p); /* starts a thread that reports how it ends */
void child_parent_end(void *p); /* waits for it if it has ended */
/* To be polled if it is not -1; otherwise SIGCHLD reports the end. */
int child_end_fd(const struct child *c);

/* Lets it run. -errno, with a message, if the command cannot be executed. */
int child_release(struct child *c, const char *name, struct err *err);
bool child_is_over(const struct child *c); /* child_ended() still returns its status afterwards */
enum { CHILD_STATUS_UNKNOWN = -1 };
/*
 * Has it ended, and with which exit status, in a shell's terms (128 + signal)? CHILD_STATUS_UNKNOWN: its parent was killed, or
 * another part of this process has waited for it. Call on SIGCHLD.
 */
bool child_ended(const struct child *c, int *ret_status);
void child_abandon(struct child *c); /* ends a child that was never released */

#endif
