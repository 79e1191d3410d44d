#ifndef JS_HOST_LOOK_WHEN_H
#define JS_HOST_LOOK_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When to look at a process that may become a JVM by execve(2) at any time (scan.h): when it is new, then after 1 s,
 * 2 s, and so on up to every 32 s; up to every 256 s while somebody tells (`told`) when that happens. This has no
 * clock: times are CLOCK_MONOTONIC.
 */
struct look_when {
	uint64_t looked_ns; /* the last look; of a new process, when it was found */
	uint64_t delay_ns; /* 0: the next look is due */
};

uint64_t look_when_next(const struct look_when *l, bool told);
uint64_t look_when_latest(const struct look_when *l, bool told); /* until then, the next look may wait for others */
/* There was a look. One before its time does not make the next ones rarer. */
void look_when_done(struct look_when *l, uint64_t now_ns, bool told);

#endif
