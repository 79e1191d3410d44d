#ifndef JS_ENGINE_UNFOLLOWED_H
#define JS_ENGINE_UNFOLLOWED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Names of the first few processes that the target starts and that are not followed, to explain where CPU time went.
 * A process has its parent's name until it calls execve(2), so names are read from time to time. Zero-initialise;
 * nothing to free.
 */
enum { UNFOLLOWED_MAX = 8 };
#define UNFOLLOWED_PAUSE_NS UINT64_C(100000000)

struct unfollowed {
	struct unfollowed_child {
		pid_t pid;
		char comm[16];
	} children[UNFOLLOWED_MAX];
	size_t n;
	uint64_t next_ns;
};

void unfollowed_add(struct unfollowed *l, pid_t pid);
/* Calls `named` for each new name. `now_ns`: CLOCK_MONOTONIC; may be called often. */
void unfollowed_poll(struct unfollowed *l, uint64_t now_ns, void (*named)(void *ctx, const struct unfollowed_child *c),
		     void *ctx);

#endif
