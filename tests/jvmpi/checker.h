#ifndef JS_TESTS_JVMPI_CHECKER_H
#define JS_TESTS_JVMPI_CHECKER_H

#include <pthread.h>

#include "tests/jvmpi/check.h"

/* What the checker has seen; under its lock. */
struct checker {
	pthread_mutex_t lock;
	struct table classes, methods, threads, objects, code, js_code;
	struct table live; /* methods of Throwaway: versions of their code that are there */
	unsigned count[256]; /* by the low byte of the type */
	unsigned collections, freed, inlined, versions, lambdas, own_ended;
	bool in_gc;
	_Atomic bool bare; /* GC_START and GC_FINISH are disabled, OBJECT_FREE is not */
	_Atomic bool standing; /* from the first OBJECT_FREE to GC_FINISH; read without the lock, too */
	unsigned in_window; /* events that began meanwhile */
	JNIEnv *_Atomic runner; /* the thread that is in RunGC */
	unsigned own_starts; /* GC_START on that thread */
	bool ended, asked;
	JNIEnv *gc_env;
	jobjectID unloading, unloaded; /* the class that its handler asks about, and asked */
	JNIEnv *told; /* by the last THREAD_START that was asked for */
	int last_class_methods;
	bool method_name_ok;
	struct {
		bool on;
		jint interfaces, methods, statics, instances, line;
	} expected; /* of the next CLASS_LOAD that answers a request */
};

extern struct checker checker;

const char *checker_method(jmethodID m); /* its name, or "?" */
JNIEnv *checker_thread(const char *name); /* NULL: none */
bool checker_waits(const _Atomic int *v, int value); /* half a minute */

/* At JVM_INIT_DONE, not under the lock: checker_told.c. */
void told_check(void);

/* Called from Java_Jvmpi_functions: checker_monitors.c, checker_ids.c. */
void monitors_check(JNIEnv *env);
void ids_check(JNIEnv *env, jclass klass, jobject object);
void dead_ids_check(JNIEnv *env);
void pending_check(JNIEnv *env);

#endif
