#ifndef JS_SUPERVISE_QUARANTINE_H
#define JS_SUPERVISE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Targets under whose samples the worker has ended. One that was to blame twice is left out for a minute, and for twice as long each time it
 * is to blame again, up to a day. A user could start new processes for ever, so the same holds for all of a user's targets once they were to
 * blame QUARANTINE_USER times. What was blamed for nothing for a day is forgotten. Times: CLOCK_MONOTONIC.
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

/* The worker has ended over a sample of this one. How long it is left out now; 0: not yet. */
uint64_t quarantine_blame(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns);

/* How much longer it, or its user, is left out; 0: it may be sampled. */
uint64_t quarantine_left_ns(struct quarantine *q, const struct quarantine_who *who, uint64_t now_ns);

#endif
