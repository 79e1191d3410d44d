#ifndef JS_CLI_CHILD_H
#define JS_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/*
 * A command to be sampled from its first instruction: forked, and held before its execve() until
 * child_release(). Its stdin, stdout and stderr are ours.
 */
struct child {
	pid_t pid;
	int gate; /* closing it without a byte ends the child */
	int exec_error; /* errno of a failed execve() arrives here */
};

int child_start(char **command, struct child *ret, struct err *err);
/* Lets it run; -errno and a message when the command cannot be executed. */
int child_release(struct child *c, const char *name, struct err *err);
bool child_is_over(const struct child *c); /* it has ended, and child_ended() still tells how */
/* Has it ended, and with which exit status, as a shell gives it (128 + signal)? SIGCHLD tells when to ask. */
bool child_ended(const struct child *c, int *ret_status);
void child_abandon(struct child *c); /* one that was never released ends */

#endif
