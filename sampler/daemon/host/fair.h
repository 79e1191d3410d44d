#ifndef JS_HOST_FAIR_H
#define JS_HOST_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In which order processes are looked at: one of each user in turn, so that a flood of one user's delays only his own. */
struct fair {
	pid_t pid;
	int64_t owner; /* each_process_owner() */
	uint64_t due_ns; /* since when it is to be looked at; of one user's processes, the first comes first */
	bool last; /* after all others: this user's processes take long */
	uint32_t rank; /* set by fair_order() */
};

void fair_order(struct fair *v, size_t n);

#endif
