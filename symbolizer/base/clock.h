#ifndef JS_BASE_CLOCK_H
#define JS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
uint64_t clock_thread_cpu_ns(void); /* CPU time of the calling thread */
uint64_t clock_process_cpu_ns(void);
/*
 * CPU time of any process; this needs no rights over it (clock_getcpuclockid(3)). false: there is no process with that
 * PID.
 */
bool clock_cpu_of_ns(pid_t pid, uint64_t *ret);
bool clock_read_ns(clockid_t clock, uint64_t *ret); /* any clock; false: no clock has that id */

struct timespec clock_timespec(uint64_t ns);

#endif
