#ifndef JS_HPROF_THREADS_H
#define JS_HPROF_THREADS_H

#include "jvm-bridge/hprof/classes.h"

enum { THREAD_UNKNOWN = 200000 }; /* the serial number of a thread that nothing is known of; real ones follow */

struct trace;

/* A thread that lives. All functions: with hprof.data. */
struct java_thread {
	struct link link; /* by env */
	JNIEnv *env;
	jobjectID object;
	uint32_t serial;
	char *name, *group, *parent; /* never NULL; parent of the group */
	uint64_t address; /* of its object, in the binary output; 0: none yet */
	bool not_sampled; /* by a command */
	struct trace *stack; /* in the dump that is being written */
	struct {
		struct kind kind; /* of the monitor, if it is Java's */
		const char *raw; /* its name; NULL: it is Java's */
		struct trace *trace;
		uint64_t since; /* ns; 0: it waits to enter none */
	} entering;
};

/* What was not known already, else NULL. */
struct java_thread *thread_started(const JVMPI_Event *e);
struct java_thread *thread_of(JNIEnv *env); /* NULL: unknown */
uint32_t thread_serial(JNIEnv *env);
uint32_t thread_ended(JNIEnv *env); /* its serial number, or 0 */

/* The stacks of a dump. With traces.h. */
void stacks_set(const JVMPI_CallTrace *traces, jint n);

/* All threads that are sampled, but `except`; the array is the caller's, of *cap entries, and grows. The number. */
void threads_each(void (*f)(struct java_thread *t, void *arg), void *arg);
size_t threads_list(JNIEnv ***at, size_t *cap, JNIEnv *except);

#endif
