#ifndef JS_HOST_OWN_CPU_H
#define JS_HOST_OWN_CPU_H

#include <stdint.h>

/*
 * CPU time of this process, of those that it has started and that still run, and of those that these have started. From
 * /proc/PID/task/PID/children (Linux 4.2, CONFIG_PROC_CHILDREN) and clock_getcpuclockid(3).
 */
uint64_t own_cpu_ns(void);

#endif
