#ifndef JS_SESSION_PARTS_LEFTOVER_H
#define JS_SESSION_PARTS_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/parts/part.h"

struct engine_ended;

/*
 * The CPU time that threads used after their last sample, until they or the recording ended. If
 * each thread is sampled by its own CPU time, with an event on each CPU, every event leaves half a
 * period on average; a thread that runs for two periods on two CPUs loses half of its time. The
 * kernel says how much time that was. It belongs to the thread, and its samples are the best guess
 * where it was spent: one of them, drawn at random, gets it as additional weight. Threads without
 * samples get nothing.
 */
struct leftovers;

/* CPU time of one thread. */
struct leftover {
	pid_t tid;
	uint32_t stack; /* stack and time of the sample that gets it */
	uint64_t time_ns;
	uint64_t sampled_ns; /* the part that this stack gets */
	uint64_t kernel_ns; /* the part that has no sample because it was spent in the kernel */
};

struct leftovers *leftovers_new(void); /* NULL: out of memory */
void leftovers_free(struct leftovers *l);
extern const struct part_ops leftovers_part; /* notes samples; to be closed */

/* Notes a sample, with the number of its stack in the profile. */
void leftovers_sample(struct leftovers *l, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns);
void leftovers_ended(struct leftovers *l, const struct engine_ended *e);
void leftovers_drop(struct leftovers *l, pid_t tid); /* of a thread that did not end by leftovers_ended() */
/* Another address space: forgets what is known of threads. */
void leftovers_forget(struct leftovers *l);
/* Stacks have new numbers: a leftover can go to samples that follow only. */
void leftovers_renew(struct leftovers *l);

/*
 * Takes the leftover of a thread that ended at least a second before `now_ns`, since samples of
 * another CPU may come later than the record of its end; UINT64_MAX: of any thread. False: there is
 * none.
 */
bool leftovers_next(struct leftovers *l, uint64_t now_ns, struct leftover *ret);

/* The sample drawn for a thread, with its parts 0. False: it has none. */
bool leftovers_drawn(const struct leftovers *l, pid_t tid, struct leftover *ret);

#endif
