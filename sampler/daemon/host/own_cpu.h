#ifndef JS_HOST_OWN_CPU_H
#define JS_HOST_OWN_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * CPU time of this process, of those that it has started and that still run, and of those that these have started. From
 * `except` are not counted. From /proc/PID/task/PID/children (Linux 4.2, CONFIG_PROC_CHILDREN) and clock_getcpuclockid(3).
 */
uint64_t own_cpu_ns(const pid_t *except, size_t n);

#endif
