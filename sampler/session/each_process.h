#ifndef JS_SESSION_EACH_PROCESS_H
#define JS_SESSION_EACH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

/*
 * Looks at many processes so that none can hold up the others: a child does it (bounded_child.h), which is ended and
 * replaced when it takes too long over one of them. A child can allocate EACH_BYTES more than the caller has.
 */
enum {
	EACH_PATIENCE_MS = 3000, /* for one process */
	EACH_SLOW_MS = 700, /* one that takes longer has its owner's others come last, too */
	EACH_ALL_MS = 9000,
	EACH_RECORD_MAX = 2048,
	EACH_BYTES = 448 << 20,
};

struct each_process {
	void *ctx;
	size_t record; /* bytes, at most EACH_RECORD_MAX; no pointers */
	/* In the child. false: there is nothing to report. */
	bool (*look)(void *ctx, pid_t pid, void *record);
	/* In the caller: what look() reported. The child has parsed hostile data: trust nothing in it. */
	void (*found)(void *ctx, pid_t pid, const void *record);
	/* In the caller: this one took too long. */
	void (*stuck)(void *ctx, pid_t pid);
};

/*
 * When one process of a user takes long, the user's other processes come last; processes in user namespaces other
 * than the caller's count as one user's. *ret_left: how many there was no time for. 0 or -errno.
 */
int each_process(const pid_t *pids, size_t n, const struct each_process *e, size_t *ret_left, struct err *err);

#endif
