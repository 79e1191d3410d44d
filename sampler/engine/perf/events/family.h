#ifndef JS_ENGINE_FAMILY_H
#define JS_ENGINE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/copies/stack_rest.h"
#include "symbolizer/base/map.h"

struct budget;
struct proc;

/*
 * The target and all its descendants, according to the kernel's records of fork(2). There is one ring per CPU, so the
 * record of a fork may be read before that of the parent's own fork, or after the parent's end. For one thread at a
 * time. Zero-initialise all but the target; free with family_done().
 */
enum {
	FAMILY_MAX = 256, /* at a time: each takes two descriptors */
	FAMILY_EARLY = 128, /* forks remembered until their parent is known */
	FAMILY_ENDED = 256, /* members that have ended, but not all of whose forks may have been read */
};

struct family_member {
	pid_t pid;
	struct proc *proc;
	struct stack_rest rest; /* of deep stacks */
	pid_t filter_id; /* for use by the owner */
	UT_hash_handle hh;
};

struct family_fork {
	pid_t parent, pid; /* 0: none */
	uint64_t time_ns;
};

struct family {
	struct proc *target; /* borrowed */
	struct budget *memory; /* charged for what is kept of members; borrowed, NULL: no limit */
	struct family_member *by_pid;
	struct family_fork early[FAMILY_EARLY], ended[FAMILY_ENDED]; /* `ended`: without parent */
	size_t next_early, next_ended;
	/* Called when a process becomes a member, and when it ends; may be NULL. */
	void (*joined)(void *ctx, struct family_member *k);
	void (*left)(void *ctx, struct family_member *k);
	void *ctx;
	uint64_t swept_ns; /* last sweep for lack of room */
	_Atomic uint64_t last_ns; /* when a member was last added; readable from any thread */
	/* Processes. `brief`: had ended when they were found; `refused`: too many members, or no descriptors left. */
	uint64_t followed, brief, refused;
};

/* Is `pid` the target, or a descendant not known to have ended? */
bool family_has(const struct family *f, pid_t pid);
/* The same, or one that had not ended long before `time_ns`. */
bool family_knows(const struct family *f, pid_t pid, uint64_t time_ns);
struct family_member *family_find(const struct family *f, pid_t pid); /* NULL: none, or the target */
bool family_is_empty(const struct family *f);
size_t family_count(const struct family *f); /* without the target */

/* `parent` has started `pid`; it may turn out later whether `pid` belongs to the family. Times: CLOCK_MONOTONIC. */
void family_forked(struct family *f, pid_t parent, pid_t pid, uint64_t time_ns);
/* `pid` is known to belong to the family. */
void family_add(struct family *f, pid_t pid, uint64_t time_ns);
/* Adds the descendants that exist now. */
void family_scan(struct family *f, uint64_t now_ns);
/* Drops members that have ended. */
void family_sweep(struct family *f, uint64_t now_ns);

/* Lists the threads of the target and all members, like proc_tasks(); the caller frees the list. */
int family_tasks(const struct family *f, pid_t **ret, size_t *ret_n);

void family_done(struct family *f);

#endif
