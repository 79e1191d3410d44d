#ifndef JS_BASE_CLOCK_H
#define JS_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
uint64_t clock_thread_cpu_ns(void); /* CPU time of the calling thread */
uint64_t clock_process_cpu_ns(void);

#endif
