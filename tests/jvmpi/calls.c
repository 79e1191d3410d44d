/*
 * Counts the calls of each method of classes whose names begin with one of PREFIXES, and looks whether entries and exits
 * of each thread belong together. Options: "count FILE"; "late FILE" to begin when CallsLate.begin() is called; "both FILE" with
 * OBJECT_ALLOC; "cost FILE" to do nothing but receive; "allocs FILE" to receive
 * OBJECT_ALLOC instead. The report has lines "call CLASS.METHOD SIGNATURE N" and "threads N early N crossed N open N wrong N".
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/jvmpi/check.h"

enum { DEEPEST = 1 << 16 };

struct stack {
	jmethodID at[DEEPEST];
	unsigned depth;
};

#define CALLS_CLASS "java.lang.JSamplerCalls"

JNIEXPORT void JNICALL Java_CallsLate_begin(JNIEnv *env, jclass klass);

static const jint method_types[] = {JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT, 0};
static const jint alloc_types[] = {JVMPI_EVENT_OBJECT_ALLOC, 0};
static const char *const prefixes[] = {"Shapes", "Calls"};

static struct {
	pthread_mutex_t lock;
	struct table methods;
	char path[4000];
	bool count, late, both;
	/* Threads that ended; exits without an entry; of another method than the innermost; entries without an exit; entries
	 * that are not the program's, or whose trace begins with another method. */
	_Atomic long threads, early, crossed, open, wrong, traced;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct stack *mine;

static bool is_counted(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strcmp(name, CALLS_CLASS);
}

static bool enable(const jint *types)
{
	for (; *types; types++)
		if (jvmpi->EnableEvent(*types, NULL) != JVMPI_SUCCESS)
			return false;
	return true;
}

/* Hidden classes have other names in each run: up to the dot that JDK 15 and later have in them. */
static void class_seen(const JVMPI_Event *e)
{
	char name[1024];

	if (!is_counted(e->u.class_load.class_name))
		return;
	pthread_mutex_lock(&calls.lock);
	for (jint i = 0; i < e->u.class_load.num_methods; i++) {
		const JVMPI_Method *m = &e->u.class_load.methods[i];

		snprintf(name, sizeof(name), "%s.%s %s", e->u.class_load.class_name, m->method_name,
			 m->method_signature);
		table_add(&calls.methods, m->method_id, name);
	}
	pthread_mutex_unlock(&calls.lock);
}

/* The program's own call: the trace begins with it, and no method of the bridge's called it. */
static bool is_right(JNIEnv *env, jmethodID method)
{
	JVMPI_CallFrame frames[2];
	JVMPI_CallTrace trace = {env, 0, frames};
	struct entry *by;
	bool right;

	jvmpi->GetCallTrace(&trace, 2);
	if (trace.num_frames < 1 || frames[0].method_id != method)
		return false;
	pthread_mutex_lock(&calls.lock);
	by = trace.num_frames > 1 ? table_find(&calls.methods, frames[1].method_id) : NULL;
	right = !by || strncmp(by->name, CALLS_CLASS, strlen(CALLS_CLASS)) != 0;
	pthread_mutex_unlock(&calls.lock);
	return right;
}

static void entered(JNIEnv *env, jmethodID method)
{
	enum { TRACED = 2000 };
	struct entry *e;

	if (!mine)
		mine = calloc(1, sizeof(*mine));
	if (!mine || mine->depth == DEEPEST)
		abort();
	mine->at[mine->depth++] = method;
	pthread_mutex_lock(&calls.lock);
	e = table_find(&calls.methods, method);
	if (e)
		e->value++;
	pthread_mutex_unlock(&calls.lock);
	if (calls.both || (e && calls.traced < TRACED)) {
		calls.traced++;
		calls.wrong += !is_right(env, method);
	}
}

static void left(jmethodID method)
{
	if (!mine || !mine->depth)
		calls.early++;
	else if (mine->at[--mine->depth] != method)
		calls.crossed++;
}

static void thread_end(void)
{
	calls.threads++;
	calls.open += mine ? mine->depth : 0;
	free(mine);
	mine = NULL;
}

JNIEXPORT void JNICALL Java_CallsLate_begin(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
	if (calls.late && !enable(method_types))
		abort();
}

static void report(void)
{
	FILE *f = fopen(calls.path, "we");

	if (!f)
		return;
	pthread_mutex_lock(&calls.lock);
	for (unsigned i = 0; i < calls.methods.cap; i++)
		if (calls.methods.entries[i].value)
			fprintf(f, "call %s %d\n", calls.methods.entries[i].name, calls.methods.entries[i].value);
	pthread_mutex_unlock(&calls.lock);
	fprintf(f, "threads %ld early %ld crossed %ld open %ld wrong %ld\n", calls.threads, calls.early, calls.crossed,
		calls.open, calls.wrong);
	fclose(f);
}

static void notify(JVMPI_Event *e)
{
	if (!calls.count)
		return;
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD: class_seen(e); break;
	case JVMPI_EVENT_METHOD_ENTRY: entered(e->env_id, e->u.method.method_id); break;
	case JVMPI_EVENT_METHOD_EXIT: left(e->u.method.method_id); break;
	case JVMPI_EVENT_THREAD_END: thread_end(); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
		jvmpi->DisableEvent(JVMPI_EVENT_METHOD_EXIT, NULL);
		report();
		break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jint types[] = {JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_SHUT_DOWN, 0};
	char what[16];

	(void)reserved;
	if (!options || sscanf(options, "%15s %3999s", what, calls.path) != 2 || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	calls.late = !strcmp(what, "late");
	calls.both = !strcmp(what, "both");
	calls.count = calls.late || calls.both || !strcmp(what, "count");
	jvmpi->NotifyEvent = notify;
	if (!enable(types))
		return JNI_ERR;
	if (calls.late)
		return JNI_OK;
	if ((calls.both || !strcmp(what, "allocs")) && !enable(alloc_types))
		return JNI_ERR;
	return !strcmp(what, "allocs") || enable(method_types) ? JNI_OK : JNI_ERR;
}
