#ifndef JS_SUPERVISE_QUARANTINE_H
#define JS_SUPERVISE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Targets that the worker was working on when it ended. A target that was blamed twice is left out for a minute, and
 * each further time for twice as long, up to a day. Since a user could go on starting new processes, the same holds for
 * all of a user's targets once they were blamed QUARANTINE_USER times. Targets and users that were not blamed for a day
 * are forgotten. Times: CLOCK_MONOTONIC.
 */
struct quarantine;

enum { QUARANTINE_TARGET = 2, QUARANTINE_USER = 8, QUARANTINE_MAX = 1024 };

struct quarantine_who {
	pid_t pid;
	uint64_t start_ticks;
	uid_t uid;
};

struct quarantine *quarantine_new(void); /* NULL: out of memory */
void quarantine_free(struct quarantine *q);

/* The worker has ended while working on this target. Returns for how long it is now left out; 0: not yet. */
uint64_t quarantine_blame(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns);

/* For how much longer the target or its user is left out; 0: it may be sampled. */
uint64_t quarantine_left_ns(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns);

#endif
