#ifndef JS_HPROF_THREADS_H
#define JS_HPROF_THREADS_H

#include "jvm-bridge/hprof/map.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

enum { THREAD_UNKNOWN = 200000 }; /* the serial number of a thread that nothing is known of; real ones follow */

/* A thread that lives. All functions: with hprof.data. */
struct java_thread {
	struct link link; /* by env */
	JNIEnv *env;
	jobjectID object;
	uint32_t serial;
	char *name, *group, *parent; /* never NULL; parent of the group */
};

/* What was not known already, else NULL. */
struct java_thread *thread_started(const JVMPI_Event *e);
struct java_thread *thread_of(JNIEnv *env); /* NULL: unknown */
uint32_t thread_serial(JNIEnv *env);
uint32_t thread_ended(JNIEnv *env); /* its serial number, or 0 */

/* All threads but `except`; the array is the caller's, of *cap entries, and grows. The number. */
size_t threads_list(JNIEnv ***at, size_t *cap, JNIEnv *except);

#endif
