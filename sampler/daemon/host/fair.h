#ifndef JS_HOST_FAIR_H
#define JS_HOST_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The order in which processes are looked at: one of each user in turn, so that a user who starts many processes delays
 * only their own.
 */
struct fair {
	pid_t pid;
	int64_t owner; /* each_process_owner() */
	uint64_t due_ns; /* since when a look at it is due; the earliest of a user's processes comes first */
	bool last; /* after all others: this user's processes take long */
	uint32_t rank; /* set by fair_order() */
};

void fair_order(struct fair *v, size_t n);

#endif
