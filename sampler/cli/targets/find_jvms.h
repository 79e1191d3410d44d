#ifndef JS_CLI_FIND_JVMS_H
#define JS_CLI_FIND_JVMS_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/inspect/inspect.h"

struct err;

struct found_jvms {
	struct inspection *v; /* by PID */
	size_t n, cap;
	size_t left; /* processes left out: no time or memory for them */
};

/*
 * The JVMs among these processes. Each that may be one is looked at in a child that holds nothing but what belongs to that
 * process (closing_to_one()). 0 or -errno.
 */
int find_jvms(const pid_t *pids, size_t n, struct found_jvms *ret, struct err *err);
void found_jvms_done(struct found_jvms *f);

#endif
