#ifndef JS_HPROF_CPU_TIMES_H
#define JS_HPROF_CPU_TIMES_H

#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * cpu=times and cpu=old: each call is timed on its thread's CPU clock. When a method returns, its self and total time
 * are added to the trace of the innermost frames. Without hprof.data, except the last function.
 */
void cpu_times_entered(JNIEnv *env, jmethodID method);
void cpu_times_left(JNIEnv *env, jmethodID method);
void cpu_times_thread_ended(JNIEnv *env);

#endif
