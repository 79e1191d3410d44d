#ifndef JS_CLI_DAEMON_TARGETS_H
#define JS_CLI_DAEMON_TARGETS_H

#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/vec.h"

/* A process that the daemon has sampled in the last ten minutes. */
struct daemon_target {
	pid_t pid;
	uint64_t since_s; /* CLOCK_REALTIME */
	double hz; /* samples per second of CPU time; 0: it varies */
	char service[128];
};

typedef VEC(struct daemon_target) daemon_targets;

/*
 * Asks the daemon. The result is empty if there is no daemon, or if it may not be asked. Processes that have ended, and
 * those whose PID now belongs to another process, are left out.
 */
void daemon_targets_read(const char *socket, daemon_targets *ret);
const struct daemon_target *daemon_targets_find(const daemon_targets *t,
						pid_t pid); /* the last program of the process; NULL: none */

#endif
