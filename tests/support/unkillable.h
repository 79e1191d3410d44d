#ifndef JS_TESTS_SUPPORT_UNKILLABLE_H
#define JS_TESTS_SUPPORT_UNKILLABLE_H

#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

/*
 * A child that its parent cannot reap, SIGKILL or not, like one in a read that never ends: it is traced by a process that
 * does not wait for it, ptrace(2). Needs no rights.
 */
enum { UNKILLABLE_MS = 30000 }; /* at most: what waits for it without limit ends then */

struct unkillable {
	int gate[2]; /* its tracer stays until the test closes the second */
};

static inline void unkillable_begin(struct unkillable *u)
{
	if (pipe(u->gate) < 0)
		u->gate[0] = u->gate[1] = -1;
}

/* In the child. false: tracing is refused here. */
static inline bool be_unkillable(const struct unkillable *u)
{
	int told[2];
	pid_t tracee = getpid(), tracer;
	char ok = 0;

	if (pipe(told) < 0)
		return false;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	tracer = fork();
	if (tracer == 0) {
		close(u->gate[1]);
		ok = ptrace(PTRACE_SEIZE, tracee, 0, 0) == 0;
		(void)!write(told[1], &ok, 1);
		poll(&(struct pollfd){.fd = u->gate[0], .events = POLLIN}, 1, UNKILLABLE_MS);
		_exit(0);
	}
	close(told[1]);
	if (tracer < 0 || read(told[0], &ok, 1) != 1)
		ok = 0;
	close(told[0]);
	return ok;
}

/* In the test: the child can be reaped from now on. */
static inline void unkillable_end(struct unkillable *u)
{
	close(u->gate[0]);
	close(u->gate[1]);
}

#endif
