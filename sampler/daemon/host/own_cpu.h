#ifndef JS_HOST_OWN_CPU_H
#define JS_HOST_OWN_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * CPU time of this process, of its running children, and of their children, except those in `except`. Uses
 * /proc/PID/task/PID/children (Linux 4.2, CONFIG_PROC_CHILDREN) and clock_getcpuclockid(3).
 */
uint64_t own_cpu_ns(const pid_t *except, size_t n);

#endif
