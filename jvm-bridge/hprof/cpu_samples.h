#ifndef JS_HPROF_CPU_SAMPLES_H
#define JS_HPROF_CPU_SAMPLES_H

#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * cpu=samples: a thread of the agent that stops those that run, each interval, and counts their traces. To be called at
 * JVM_INIT_DONE. 0, or -EAGAIN: there can be no such thread.
 */
int cpu_samples_start(JavaVM *vm);

#endif
