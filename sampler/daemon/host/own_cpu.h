#ifndef JS_HOST_OWN_CPU_H
#define JS_HOST_OWN_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rusage;

/* Zero-initialise. */
struct own_cpu {
	uint64_t left_out_ns; /* of children that do not count, and have ended */
	uint64_t last_ns; /* the last answer */
	bool stale; /* it is the one before that */
	uint64_t vanished_ns; /* what processes had used that ended without being waited for */
};

/*
 * CPU time of this process, of its children, and of their children, whether these run or have ended, except those in
 * `except`. Never less than before. A process that has ended counts if its parent has waited for it; of others, what they
 * had used when they were last seen. If something cannot be read, or a child of a child is waited for meanwhile, this is
 * the last answer again. Uses /proc/PID/task/PID/children (Linux 4.2, CONFIG_PROC_CHILDREN), /proc/PID/stat,
 * getrusage(2) and clock_getcpuclockid(3).
 */
uint64_t own_cpu_ns(struct own_cpu *o, const pid_t *except, size_t n);
/* One of `except` has ended, and wait4(2) has returned this. */
void own_cpu_left_out(struct own_cpu *o, const struct rusage *usage);

#endif
