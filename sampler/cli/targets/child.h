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
};

int child_start(char **command, struct child *ret, struct err *err);
/* Lets it run. -errno, with a message, if the command cannot be executed. */
int child_release(struct child *c, const char *name, struct err *err);
bool child_is_over(const struct child *c); /* child_ended() still returns its status afterwards */
/* Has it ended, and with which exit status, in a shell's terms (128 + signal)? Call on SIGCHLD. */
bool child_ended(const struct child *c, int *ret_status);
void child_abandon(struct child *c); /* ends a child that was never released */

#endif
