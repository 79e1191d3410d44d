#ifndef JS_ENGINE_LEFT_ALONE_H
#define JS_ENGINE_LEFT_ALONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The first few processes that the target starts, where they are not followed: their names, for whoever wonders
 * where the CPU time went. A process has the name of the one that started it until it calls execve(2), hence the looks
 * now and then. Zero-initialise; nothing to free.
 */
enum { LEFT_ALONE_MAX = 8 };
#define LEFT_ALONE_PAUSE_NS UINT64_C(100000000)

struct left_alone {
	struct left_alone_child {
		pid_t pid;
		char comm[16];
	} children[LEFT_ALONE_MAX];
	size_t n;
	uint64_t next_ns;
};

void left_alone_add(struct left_alone *l, pid_t pid);
/* Tells of each name that is new; `now_ns`: CLOCK_MONOTONIC, as often as one likes. */
void left_alone_look(struct left_alone *l, uint64_t now_ns,
		     void (*named)(void *ctx, const struct left_alone_child *c), void *ctx);

#endif
