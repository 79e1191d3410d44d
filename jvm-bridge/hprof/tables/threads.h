#ifndef JS_HPROF_THREADS_H
#define JS_HPROF_THREADS_H

#include "jvm-bridge/hprof/tables/classes.h"

enum { THREAD_UNKNOWN = 200000 }; /* serial number for unknown threads; real ones are larger */

struct trace;

/* A live thread. All functions: with hprof.data. */
struct java_thread {
	struct link link; /* by env */
	JNIEnv *env;
	jobjectID object;
	uint32_t serial;
	char *name, *group, *parent; /* never NULL; parent: the group's parent */
	uint64_t address; /* id of its object in the binary output; 0: none yet */
	bool not_sampled; /* by a command */
	struct trace *stack; /* in the dump being written */
	struct {
		struct kind kind; /* the monitor's class, if it is a Java monitor */
		const char *raw; /* name of a raw monitor; NULL: a Java monitor */
		struct trace *trace;
		uint64_t since; /* ns; 0: it is not waiting to enter a monitor */
	} entering;
};

/* NULL: already known, or out of memory. */
struct java_thread *thread_started(const JVMPI_Event *e);
struct java_thread *thread_of(JNIEnv *env); /* NULL: unknown */
uint32_t thread_serial(JNIEnv *env);
uint32_t thread_ended(JNIEnv *env); /* returns its serial number, or 0 */

/* Sets `stack` of the threads in a dump. With traces.h. */
void stacks_set(const JVMPI_CallTrace *traces, jint n);

/* threads_list: all sampled threads but `except`; returns the number. The caller's array of *cap entries may grow. */
void threads_each(void (*f)(struct java_thread *t, void *arg), void *arg);
size_t threads_list(JNIEnv ***at, size_t *cap, JNIEnv *except);

#endif
