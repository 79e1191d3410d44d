#ifndef JS_TESTS_JVMPI_CHECKER_H
#define JS_TESTS_JVMPI_CHECKER_H

#include <pthread.h>

#include "tests/jvmpi/check.h"

/* What the checker has seen; under its lock. */
struct checker {
	pthread_mutex_t lock;
	struct table classes, methods, threads, objects, code, js_code;
	unsigned count[256]; /* by the low byte of the type */
	unsigned collections, freed, inlined;
	bool in_gc, ended, asked;
	JNIEnv *gc_env;
	jobjectID unloading;
	int last_class_methods;
	bool method_name_ok;
	struct {
		bool on;
		jint interfaces, methods, statics, instances, line;
	} expected; /* of the next CLASS_LOAD that answers a request */
};

extern struct checker checker;

#endif
