#ifndef JS_HPROF_CPU_SAMPLES_H
#define JS_HPROF_CPU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * cpu=samples: a thread of the agent that stops those that run, each interval, and counts their traces. To be called at
 * JVM_INIT_DONE. 0, or -EAGAIN: there can be no such thread.
 */
int cpu_samples_start(void);

/* Of the thread whose object has this id in the output; 0: of all. With hprof.data. */
void cpu_samples_switch(uint64_t thread, bool on);

#endif
