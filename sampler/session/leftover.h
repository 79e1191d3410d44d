#ifndef JS_SESSION_LEFTOVER_H
#define JS_SESSION_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine_ended;

/*
 * What threads had used since their last sample when they, or the recording, ended. Where a thread is sampled by its own CPU
 * time, on each CPU by an event of its own, each of these leaves something over, half a period in the mean; of a thread of
 * two periods on two CPUs that is half of all it used. The kernel says how much it was. It belongs to the thread, and the thread's samples
 * are the best that is known of where it was spent: one of them, drawn at random, is given that weight besides. Of a thread
 * without a sample nothing is known, and nothing is given.
 */
struct leftovers;

/* CPU time of one thread. */
struct leftover {
	pid_t tid;
	uint32_t stack; /* of the sample that it is given to, and that sample's time */
	uint64_t time_ns;
	uint64_t sampled_ns; /* the part for that stack */
	uint64_t kernel_ns; /* that part for which there was no sample because it was spent in the kernel */
};

struct leftovers *leftovers_new(void); /* NULL: out of memory */
void leftovers_free(struct leftovers *l);

/* A sample, with its stack's number in the profile. */
void leftovers_sample(struct leftovers *l, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns);
void leftovers_ended(struct leftovers *l, const struct engine_ended *e);
/* Stacks have other numbers now: what is known of threads goes. */
void leftovers_forget(struct leftovers *l);

/*
 * Takes the leftover of a thread that ended a second before `now_ns` (samples of another CPU may come later than the news of
 * its end), UINT64_MAX: of any. False: there is none.
 */
bool leftovers_next(struct leftovers *l, uint64_t now_ns, struct leftover *ret);

/* The sample that was drawn of a thread; the parts are 0. False: it has none. */
bool leftovers_drawn(const struct leftovers *l, pid_t tid, struct leftover *ret);

#endif
