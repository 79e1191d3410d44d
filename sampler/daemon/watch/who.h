#ifndef JS_WATCH_WHO_H
#define JS_WATCH_WHO_H

#include <stdbool.h>
#include <stddef.h>
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
	unsigned looks;
	bool complete; /* the JVM's memory was read, too */
};

/*
 * Reads it when sampling begins, and once more when the JVM can be read. Call it in the thread of the session, between two samples.
 * Returns when to call it again, in ns from now; 0: not any more.
 */
uint64_t who_look(struct who *w, pid_t pid, struct session *s);
void who_facts(const struct who *w, struct identity_facts *f); /* sets what was read; borrows from w */
void who_done(struct who *w);

#endif
