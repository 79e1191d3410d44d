#ifndef JS_ENGINE_FAMILY_H
#define JS_ENGINE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/stack_rest.h"
#include "symbolizer/base/map.h"

struct budget;
struct proc;

/*
 * The processes that the target has started, and those that they have: who belongs to it, by the kernel's records of
 * fork(2). Records come from one ring a CPU, so that a fork may be told of before that of the parent, and after the
 * parent's end. One thread at a time uses it. Zero-initialise with the target; family_done().
 */
enum {
	FAMILY_MAX = 256, /* at a time: each takes two descriptors */
	FAMILY_EARLY = 128, /* forks that are remembered until their parent is known */
	FAMILY_ENDED = 256, /* members that ended and whose children may still be told of */
};

struct kin {
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
	struct budget *memory; /* what is kept of the members takes bytes out of it; borrowed, NULL: no limit */
	struct kin *by_pid;
	struct family_fork early[FAMILY_EARLY], ended[FAMILY_ENDED]; /* of the ended ones, only the pid */
	size_t next_early, next_ended;
	/* Told of each that becomes a member, and of its end; NULL: nobody is. */
	void (*joined)(void *ctx, struct kin *k);
	void (*left)(void *ctx, struct kin *k);
	void *ctx;
	_Atomic uint64_t last_ns; /* when the last one was taken in; may be read by any thread */
	/* Processes; `brief`: had ended before they were told of; `refused`: there were too many, or no descriptors. */
	uint64_t followed, brief, refused;
};

/* The target itself, or one that it has started and that has not been seen to have ended. */
bool family_has(const struct family *f, pid_t pid);
/* The same, or one that ended just now. */
bool family_knows(const struct family *f, pid_t pid, uint64_t time_ns);
struct kin *family_find(struct family *f, pid_t pid); /* NULL: none, or the target */
bool family_is_empty(const struct family *f);
size_t family_count(const struct family *f); /* without the target */

/* `parent` has started `pid`, which may belong to the family; times: CLOCK_MONOTONIC. */
void family_forked(struct family *f, pid_t parent, pid_t pid, uint64_t time_ns);
/* `pid` is known to belong to it, from elsewhere. */
void family_add(struct family *f, pid_t pid, uint64_t time_ns);
/* Those that are there already. */
void family_scan(struct family *f, uint64_t now_ns);
/* Lets go of those that have ended. */
void family_sweep(struct family *f, uint64_t now_ns);

/* The threads of all, the target included; the caller's. As proc_tasks(). */
int family_tasks(const struct family *f, pid_t **ret, size_t *ret_n);

void family_done(struct family *f);

#endif
