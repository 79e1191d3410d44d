#ifndef JS_INSPECT_EACH_PROCESS_H
#define JS_INSPECT_EACH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Examines many processes so that none can delay the others: a child does it (bounded_child.h), and is killed and
 * replaced when one process takes too long. A child can allocate EACH_BYTES more than the caller has.
 */
enum {
	EACH_PATIENCE_MS = 3000, /* per process, not counting when no CPU was free */
	EACH_SLOW_MS = 700, /* once a user's processes have taken so long in all, the user's others come last */
	EACH_ALL_MS = 9000,
	EACH_RECORD_MAX = 2048,
	EACH_BYTES = 448 << 20,
};

struct each_process {
	void *ctx;
	size_t record; /* bytes, at most EACH_RECORD_MAX; no pointers */
	const int64_t *owners; /* of the processes, each_process_owner(); NULL: not yet known */
	uint64_t deadline_ns; /* for all of them (clock_monotonic_ns()); 0: EACH_ALL_MS from now */
	bool apart; /* one child per process, so that a process that takes over its child gets at no other */
	void (*begin)(void); /* in each child, first: drops what looking does not need. NULL: nothing */
	/* In the child. false: nothing to report; or, if *failed has been set, it could not be examined. */
	bool (*look)(void *ctx, pid_t pid, void *record, struct err *failed);
	/* In the caller: receives what look() reported, which is not trusted: the child has parsed hostile data. */
	void (*found)(void *ctx, pid_t pid, const void *record);
	/* In the caller: this process took too long (signal 0), or it ended the child by `signal`. */
	void (*stuck)(void *ctx, pid_t pid, int signal);
	struct err *failed; /* in the caller: why some process could not be examined; NULL: not wanted */
};

void each_process_say_stuck(pid_t pid, int signal); /* logs a warning */
/* If something was `found`, a failure causes a warning; otherwise it is the result, -EPERM. 0: there was no failure. */
int each_process_take_failed(const struct err *failed, bool found, struct err *err);

/*
 * Whose a process is: the real user id. In a user namespace a user may have 65,536 ids (newuidmap(1)), so all processes in
 * such namespaces count as one user's: a negative number, as is that of processes that have ended.
 */
int64_t each_process_owner(pid_t pid);

/*
 * When a user's processes take too long, one or all together, the user's others come last; all processes in other user
 * namespaces count as one user's. *ret_left: number of processes left out for lack of time. 0 or -errno.
 */
int each_process(const pid_t *pids, size_t n, const struct each_process *e, size_t *ret_left, struct err *err);

#endif
