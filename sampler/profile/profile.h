#ifndef JS_PROFILE_PROFILE_H
#define JS_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/raw_sample.h"
#include "sampler/model/walk.h"

/*
 * The hot half of a recording: keys and counts. Frame keys are interned to numbers, a stack is a
 * row of those numbers, each in as few bytes as it needs, stored once; a sample is (stack, thread,
 * state) -> count, weight. 100,000 distinct stacks of 60 frames of some thousand methods take 20 MB:
 * naming them takes the double, and all is to be under 100 MB. Owned by one thread.
 */
struct profile;

enum { PROFILE_DEPTH = 2048 };

struct profile_options {
	/* Frames kept from the leaf, kernel frames aside; deeper: one [truncated] root. 0: PROFILE_DEPTH. What a frame has
	 * inlined counts when it is named (resolver_options.depth). */
	uint32_t depth;
	uint64_t max_bytes; /* new stacks beyond it count under [storage limit]. 0: 512 MiB */
	bool threads; /* keep samples of threads apart */
	bool states; /* keep samples of states apart */
	size_t max_sliced; /* samples kept apart by slice; beyond it slices get wider. 0: 524,288 */
};

struct profile *profile_new(struct profile_options o);
void profile_free(struct profile *p);

/*
 * Keeps samples of time slices apart: of slice_ns from from_ns on, each time on the clock of
 * profile_time(). Before the first sample. Slices become twice as wide, again and again, when their
 * counts grow too many; all samples are kept. profile_slice_ns(): the width they have now; 0: none.
 */
void profile_slices(struct profile *p, uint64_t slice_ns, uint64_t from_ns);
uint64_t profile_slice_ns(const struct profile *p);
/* When the samples that follow were taken. */
void profile_time(struct profile *p, uint64_t time_ns);

/*
 * Counts one sample. Adds the mark that the walk's end calls for as root frame: [incomplete], else
 * [resynchronised], else [frozen]; [truncated] stands inside of it. Never fails: without memory the
 * sample counts under [storage limit]. Returns the number of the stack.
 */
uint32_t profile_add(struct profile *p, pid_t pid, pid_t tid, enum thread_state state,
		 const struct walk *w, uint64_t weight);

/* The same `count` times, `weight` in all. */
uint32_t profile_add_times(struct profile *p, pid_t pid, pid_t tid, enum thread_state state,
		       const struct walk *w, uint32_t count, uint64_t weight);

/*
 * More weight for a stack that is there, of running threads. It is worth `count` samples, which the totals do not count:
 * nothing was walked.
 */
void profile_add_weight(struct profile *p, pid_t pid, pid_t tid, uint32_t stack, uint64_t count, uint64_t weight);

/*
 * CPU time that no sample stands for, under one of the marks MARK_UNSAMPLED_*; it is worth `count` samples. It counts
 * neither as complete nor as incomplete, and only in those totals that say so.
 */
void profile_add_unsampled(struct profile *p, pid_t pid, pid_t tid, enum frame_mark mark, uint64_t count,
			   uint64_t weight);

/*
 * Nothing is added any more: what only that needs is given back, so that naming has it. What is added
 * nevertheless is counted, but equal stacks and samples are no longer one.
 */
void profile_close(struct profile *p);

/* Bytes held elsewhere for the names of frames that are counted here: new stacks have less room. */
void profile_set_elsewhere(struct profile *p, uint64_t bytes);

/* Names for threads; the last one given wins. Kept for threads without samples too. */
void profile_set_thread_name(struct profile *p, pid_t pid, pid_t tid, const char *name);
const char *profile_thread_name(const struct profile *p, pid_t pid, pid_t tid); /* NULL: none */

struct profile_totals {
	uint64_t samples, weight;
	uint64_t ends[WALK_ENDS];
	/* Of these three a sample is one at most; if none, it is incomplete. Stacks of kernel frames
	 * only (WALK_NO_USER) are complete, frozen ones never. */
	uint64_t complete, resynchronised, frozen;
	uint64_t truncated, storage_limit; /* apart from the above */
	uint64_t java, java_complete; /* stacks with a Java frame; of these the complete ones */
	uint64_t unsampled_short, unsampled_kernel; /* what no sample stands for; not in `weight` */
	size_t stacks, frames; /* distinct */
	size_t bytes; /* memory held; after profile_close() what was held before */
};
struct profile_totals profile_totals(const struct profile *p);
void profile_totals_add(struct profile_totals *sum, const struct profile_totals *t);

/* What naming walks over. */
struct profile_sample {
	uint32_t stack;
	pid_t pid, tid; /* tid 0: threads not kept apart */
	uint8_t state;
	uint32_t slice; /* from 1; 0: slices not kept apart */
	uint64_t count, weight;
};
size_t profile_sample_count(const struct profile *p);
struct profile_sample profile_sample(const struct profile *p, size_t i);
size_t profile_stack_count(const struct profile *p); /* stack ids are 0..count-1 */
/* The frames of a stack, leaf first; borrowed from the profile. */
struct stack_cursor {
	const uint8_t *at;
	uint32_t left; /* frames that are still to come; the depth at first */
};
struct stack_cursor profile_stack(const struct profile *p, uint32_t stack);
bool profile_next(struct stack_cursor *c, uint32_t *ret_frame); /* false: there is none */
size_t profile_frame_count(const struct profile *p); /* frame numbers are 0..count-1 */
const struct frame_key *profile_frame(const struct profile *p, uint32_t frame);
bool profile_is_storage_limit(const struct profile *p, uint32_t stack);

#endif
