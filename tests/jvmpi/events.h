#ifndef JS_TESTS_JVMPI_EVENTS_H
#define JS_TESTS_JVMPI_EVENTS_H

#include <pthread.h>

#include "tests/jvmpi/check.h"

/* What an agent that counts one kind of events knows; tests/java/jvmpi/Events.java makes them. */
enum { WATCHED = 8 };

struct events {
	char what[16];
	pthread_mutex_t lock; /* of the tables */
	struct table methods; /* of class Events, by id */
	struct table classes; /* all: index + 1 into class_info */
	JNIEnv *main; /* the thread that called begin(), between that and end(); NULL */
	jobjectID watched[WATCHED];
	unsigned n_watched;
};

/* Not `events`: libjvm.so of JDK 25 has a symbol of that name, which comes first. */
extern struct events jvmpi_events;

const char *events_method(jmethodID m); /* NULL: not of class Events */
bool events_answered(jint type); /* of EnableEvent in JVM_OnLoad: SUCCESS */

/* What is expected; each of its own kind, from the handler, and at begin() and end(). */
struct kind {
	const char *what;
	const jint *types; /* enabled in JVM_OnLoad; 0 ends them */
	void (*load)(void); /* in JVM_OnLoad */
	void (*seen)(JVMPI_Event *e, jint type);
	void (*begin)(JNIEnv *env);
	void (*end)(JNIEnv *env);
	void (*dump)(JNIEnv *env);
};

extern const struct kind kind_methods;
extern const struct kind kind_steps;
extern const struct kind kind_monitors;
extern const struct kind kind_deadlock;
extern const struct kind kind_alloc;
extern const struct kind kind_eliminated;
extern const struct kind kind_attach;
extern const struct kind kind_refs;
extern const struct kind kind_hook;
extern const struct kind kind_heap;
extern const struct kind kind_arena;
extern const struct kind kind_storm;
extern const struct kind kind_unload;
extern const struct kind kind_inserted;

/* What CLASS_LOAD said. */
struct class_info {
	jobjectID id;
	char name[120];
	jint interfaces, n_statics, n_instances;
	char *statics, *instances; /* first characters of their signatures */
};

const struct class_info *class_info_of(jobjectID id); /* NULL: it was not told */

#endif
