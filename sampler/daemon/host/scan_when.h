#ifndef JS_HOST_SCAN_WHEN_H
#define JS_HOST_SCAN_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When to look for new JVMs (scan.h): every second, but every 15 s while the worker tells of processes that may have become
 * JVMs; and 250 ms after the last time if something has happened. Any program can have the worker tell something, and each
 * scan costs CPU time, for which JVMs may be sampled less often. So while the worker tells, and no new JVM is found, the
 * 250 ms are doubled each time, up to 4 s. This has no clock: times are CLOCK_MONOTONIC. Zero-initialise.
 */
struct scan_when {
	uint64_t scanned_ns; /* the last scan */
	uint64_t early_ns; /* the next one, because of scan_when_ask(); 0: no such */
	unsigned doubled; /* so many times */
	bool told; /* by the worker, since the last scan */
	bool tells; /* scan_when_tells() */
	bool left; /* the last scan has not looked at all processes */
};

uint64_t scan_when_next(const struct scan_when *w); /* when the next scan is due */
/* One should come earlier. told: because the worker said something, and not only because a target has ended. */
void scan_when_ask(struct scan_when *w, bool told);
/*
 * Whether the worker tells of processes, from now on. Returns whether it has just begun to, so that nobody has told of
 * what has happened since the last scan; an earlier scan is asked for then.
 */
bool scan_when_tells(struct scan_when *w, bool tells);
/* There was a scan. left: it could not look at all processes, or failed; found: it has found a new JVM. */
void scan_when_done(struct scan_when *w, uint64_t now_ns, bool left, bool found);

#endif
