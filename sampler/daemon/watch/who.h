#ifndef JS_WATCH_WHO_H
#define JS_WATCH_WHO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/buf.h"

struct identity_facts;
struct session;

enum { WHO_MAIN_MAX = 512 };

/* What a target says of itself, read while it lives. Zero-initialise; who_done() releases. */
struct who {
	struct buf cgroup, environment, properties;
	char main[WHO_MAIN_MAX];
	uint64_t since_ns, next_ns; /* of the first look, and the earliest time of the next; CLOCK_MONOTONIC */
	bool over; /* the JVM's memory was read, too, or it took too long */
};

/*
 * Reads this when sampling begins, and once more when the JVM can be read. Call it in the thread of the session,
 * between two samples. Returns when to call it again, in ns from now; 0: never, since
 * nothing more can be found. Until then the target may turn out to have another name, and other rules.
 */
uint64_t who_look(struct who *w, pid_t pid, struct session *s);
void who_facts(const struct who *w, struct identity_facts *f); /* sets what was read; borrows from w */
void who_done(struct who *w);

#endif
