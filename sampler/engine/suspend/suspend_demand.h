#ifndef JS_ENGINE_SUSPEND_DEMAND_H
#define JS_ENGINE_SUSPEND_DEMAND_H

#include <stdint.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * How much CPU the tracing thread needs: the time that it has a CPU, and the time that it waits for one. Threads that
 * it has stopped stay stopped during both.
 */
struct suspend_demand {
	int fd; /* schedstat; -1: not known */
	struct has_run_account before;
};

void suspend_demand_open(struct suspend_demand *d); /* of the calling thread */
uint64_t suspend_demand_take(struct suspend_demand *d); /* ns since it was opened or last taken; 0: not known */
void suspend_demand_close(struct suspend_demand *d);

#endif
