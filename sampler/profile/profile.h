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
 * The part of a recording that grows with samples: keys and counts. Frame keys are interned as numbers. A stack is a
 * row of these numbers, in as few bytes as they need, stored once. A sample is (stack, thread, state) -> count,
 * weight. 100,000 distinct stacks of 60 frames of some thousand methods take 20 MB, and twice as much for naming.
 * Used by one thread.
 */
struct profile;

enum { PROFILE_DEPTH = 2048 };
#define PROFILE_MAX_BYTES (UINT64_C(512) << 20)

/* Memory shared by several profiles. What an empty one takes (some 30 KB) is counted, but never refused. Used by one thread. */
struct profile_memory {
	uint64_t max_bytes, bytes;
};

struct profile_options {
	/*
	 * Frames kept from the leaf, not counting kernel frames; the others become one [truncated] root. 0:
	 * PROFILE_DEPTH. Inlined frames are counted later, when they are named (resolver_options.depth).
	 */
	uint32_t depth;
	uint64_t max_bytes; /* beyond it, new stacks count under [storage limit]. 0: PROFILE_MAX_BYTES */
	struct profile_memory *shared; /* borrowed; an additional limit. NULL: none */
	bool threads; /* count samples of threads separately */
	bool states; /* count samples of states separately */
	size_t max_sliced; /* limit of samples with slices; beyond it, slices get wider. 0: 524,288 */
};

struct profile *profile_new(struct profile_options o);
void profile_free(struct profile *p);

/*
 * Call before the first sample: counts samples of time slices separately. Slices are slice_ns wide from from_ns on,
 * by the clock of profile_time(). When there are too many counts, slices become twice as wide, as often as needed; no
 * sample is lost. profile_slice_ns(): the present width; 0: no slices.
 */
void profile_slices(struct profile *p, uint64_t slice_ns, uint64_t from_ns);
uint64_t profile_slice_ns(const struct profile *p);
/* Sets the time of the samples that follow. */
void profile_time(struct profile *p, uint64_t time_ns);

/*
 * Counts one sample. Adds the mark for the walk's end as root frame: [incomplete], otherwise [resynchronised],
 * otherwise [frozen]; [truncated] is inside of it. Never fails: without memory, the sample is counted under [storage
 * limit]. Returns the stack's number.
 */
uint32_t profile_add(struct profile *p, pid_t pid, pid_t tid, enum thread_state state, const struct walk *w,
		     uint64_t weight);

/* Likewise `count` times, with a total weight of `weight`. */
uint32_t profile_add_times(struct profile *p, pid_t pid, pid_t tid, enum thread_state state, const struct walk *w,
			   uint32_t count, uint64_t weight);

/*
 * Adds weight to a known stack of running threads. It counts as `count` samples, which totals leave out, because
 * nothing was walked.
 */
void profile_add_weight(struct profile *p, pid_t pid, pid_t tid, uint32_t stack, uint64_t count, uint64_t weight);

/*
 * Adds CPU time without samples under one of the marks MARK_UNSAMPLED_*, as `count` samples. It is neither complete
 * nor incomplete, and only in the totals of that name.
 */
void profile_add_unsampled(struct profile *p, pid_t pid, pid_t tid, enum frame_mark mark, uint64_t count,
			   uint64_t weight);

/*
 * Call when nothing more will be added: frees what only adding needs, so that naming can use the memory. Samples
 * added nevertheless are counted, but equal ones are no longer merged.
 */
void profile_close(struct profile *p);

/* Bytes that names of counted frames take elsewhere; leaves less room for new stacks. */
void profile_set_elsewhere(struct profile *p, uint64_t bytes);

/* Sets the name of a thread; the last one is kept, even for threads without samples. */
void profile_set_thread_name(struct profile *p, pid_t pid, pid_t tid, const char *name);
const char *profile_thread_name(const struct profile *p, pid_t pid, pid_t tid); /* NULL: none */
size_t profile_named_threads(const struct profile *p); /* how many have a name */

struct profile_totals {
	uint64_t samples, weight;
	uint64_t ends[WALK_ENDS];
	/*
	 * A sample is at most one of these three; otherwise it is incomplete. Stacks of only kernel frames
	 * (WALK_NO_USER) are complete, frozen ones never.
	 */
	uint64_t complete, resynchronised, frozen;
	uint64_t truncated, storage_limit; /* independent of the above */
	uint64_t java, java_complete; /* stacks with a Java frame; those of them that are complete */
	uint64_t unsampled_short, unsampled_kernel; /* CPU time without samples; not in `weight` */
	size_t stacks, frames; /* distinct */
	size_t bytes; /* memory held; after profile_close(), what was held before */
};
struct profile_totals profile_totals(const struct profile *p);
void profile_totals_add(struct profile_totals *sum, const struct profile_totals *t);

/* What naming iterates over. */
struct profile_sample {
	uint32_t stack;
	pid_t pid, tid; /* tid 0: threads are not counted separately */
	uint8_t state;
	uint32_t slice; /* from 1; 0: no slices */
	uint64_t count, weight;
};
size_t profile_sample_count(const struct profile *p);
struct profile_sample profile_sample(const struct profile *p, size_t i);
size_t profile_stack_count(const struct profile *p); /* stack ids are 0..count-1 */
/* The frames of a stack, leaf first; borrowed from the profile. */
struct stack_cursor {
	const uint8_t *at;
	uint32_t left; /* frames left; at first, the depth */
};
struct stack_cursor profile_stack(const struct profile *p, uint32_t stack);
bool profile_next(struct stack_cursor *c, uint32_t *ret_frame); /* false: no more */
size_t profile_frame_count(const struct profile *p); /* frame numbers are 0..count-1 */
const struct frame_key *profile_frame(const struct profile *p, uint32_t frame);

#endif
