#ifndef JS_SESSION_EACH_PROCESS_H
#define JS_SESSION_EACH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

/*
 * Looks at many processes, none of which can hold up the others: in a child, which is killed when it takes too
 * long over one, and replaced. (A read of memory whose pages a FUSE daemon keeps back cannot even be killed: that
 * child is left behind.) Children have no more memory than EACH_BYTES besides what is there at the call.
 */
enum {
	EACH_PATIENCE_MS = 3000, /* for one process */
	EACH_ALL_MS = 9000,
	EACH_RECORD_MAX = 2048,
	EACH_BYTES = 384 << 20,
};

struct each_process {
	void *ctx;
	size_t record; /* bytes, at most EACH_RECORD_MAX; no pointers */
	/* In the child. false: nothing to say. */
	bool (*look)(void *ctx, pid_t pid, void *record);
	/* In the caller: what look() said. It comes from a child that has parsed what is hostile. */
	void (*found)(void *ctx, pid_t pid, const void *record);
	/* In the caller: this one took too long. */
	void (*stuck)(void *ctx, pid_t pid);
};

/*
 * Of a user who has one process that takes too long, the others come last. *ret_left: processes for which no time
 * was left. 0 or -errno.
 */
int each_process(const pid_t *pids, size_t n, const struct each_process *e, size_t *ret_left, struct err *err);

#endif
