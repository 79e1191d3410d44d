#ifndef JS_CLI_FIND_JVMS_H
#define JS_CLI_FIND_JVMS_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/inspect/inspect.h"

struct err;

struct found_jvms {
	struct inspection *v; /* by PID */
	size_t n, cap;
	size_t left; /* left out for lack of time or memory */
};

/*
 * Finds the JVMs among these processes. Each possible one is examined in a child that has access only to that process
 * (closing_for_one_process()). 0 or -errno.
 */
int find_jvms(const pid_t *pids, size_t n, struct found_jvms *ret, struct err *err);
void found_jvms_done(struct found_jvms *f);

#endif
