#ifndef JS_ENGINE_FAMILY_H
#define JS_ENGINE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/stack_rest.h"
#include "symbolizer/base/map.h"

struct budget;
struct proc;

/*
 * The target and all its descendants, by the kernel's records of fork(2). There is one ring per CPU, so the record of a fork may
 * be read before that of the parent's own fork, or after the parent's end. One thread at a time uses it. Zero-initialise but
 * for the target; free with family_done().
 */
enum {
	FAMILY_MAX = 256, /* at a time: each takes two descriptors */
	FAMILY_EARLY = 128, /* forks that are remembered until their parent is known */
	FAMILY_ENDED = 256, /* members that have ended, and whose forks may not all have been read */
};

struct family_member {
	pid_t pid;
	struct proc *proc;
	struct stack_rest rest; /* of deep stacks */
	pid_t filter_id; /* for the owner */
	UT_hash_handle hh;
};

struct family_fork {
	pid_t parent, pid; /* 0: none */
	uint64_t time_ns;
};

struct family {
	struct proc *target; /* borrowed */
	struct budget *memory; /* what is kept of members takes bytes out of it; borrowed, NULL: no limit */
	struct family_member *by_pid;
	struct family_fork early[FAMILY_EARLY], ended[FAMILY_ENDED]; /* `ended`: without parent */
	size_t next_early, next_ended;
	/* Called for each process that becomes a member, and when it ends; may be NULL. */
	void (*joined)(void *ctx, struct family_member *k);
	void (*left)(void *ctx, struct family_member *k);
	void *ctx;
	uint64_t swept_ns; /* when there was no room last */
	_Atomic uint64_t last_ns; /* when the last one was taken in; may be read by any thread */
	/* Processes. `brief`: had ended when they were found; `refused`: too many members, or no descriptors. */
	uint64_t followed, brief, refused;
};

/* The target, or a descendant that is not known to have ended. */
bool family_has(const struct family *f, pid_t pid);
/* The same, or one that had not ended long before `time_ns`. */
bool family_knows(const struct family *f, pid_t pid, uint64_t time_ns);
struct family_member *family_find(const struct family *f, pid_t pid); /* NULL: none, or the target */
bool family_is_empty(const struct family *f);
size_t family_count(const struct family *f); /* without the target */

/* `parent` has started `pid`; whether that belongs to the family may turn out later. Times: CLOCK_MONOTONIC. */
void family_forked(struct family *f, pid_t parent, pid_t pid, uint64_t time_ns);
/* `pid` is known to belong to the family. */
void family_add(struct family *f, pid_t pid, uint64_t time_ns);
/* Adds the descendants that there are now. */
void family_scan(struct family *f, uint64_t now_ns);
/* Drops members that have ended. */
void family_sweep(struct family *f, uint64_t now_ns);

/* The threads of all members and the target, like proc_tasks(); the caller frees the list. */
int family_tasks(const struct family *f, pid_t **ret, size_t *ret_n);

void family_done(struct family *f);

#endif
