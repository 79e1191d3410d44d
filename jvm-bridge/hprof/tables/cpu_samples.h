#ifndef JS_HPROF_CPU_SAMPLES_H
#define JS_HPROF_CPU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * cpu=samples: a thread of the agent that, at each interval, stops the running threads and counts their traces. Call
 * at JVM_INIT_DONE. 0, or -EAGAIN: the thread cannot be created.
 */
int cpu_samples_start(void);

/* `thread`: the id of the thread's object in the output; 0: all threads. With hprof.data. */
void cpu_samples_switch(uint64_t thread, bool on);

#endif
