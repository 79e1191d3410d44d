/*
 * Counts the calls of each method of classes whose names begin with one of PREFIXES, and looks whether entries and exits
 * of each thread belong together. Options: "count FILE", or "cost FILE" to do nothing but receive. The report has lines
 * "call CLASS.METHOD SIGNATURE N" and "threads N early N crossed N open N".
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

static const char *const prefixes[] = {"Shapes", "Calls"};

static struct {
	pthread_mutex_t lock;
	struct table methods;
	char path[4000];
	bool count;
	/* Threads that ended; exits without an entry; of another method than the innermost; entries without an exit. */
	_Atomic long threads, early, crossed, open;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct stack *mine;

static bool is_counted(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
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

static void entered(jmethodID method)
{
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
	fprintf(f, "threads %ld early %ld crossed %ld open %ld\n", calls.threads, calls.early, calls.crossed,
		calls.open);
	fclose(f);
}

static void notify(JVMPI_Event *e)
{
	if (!calls.count)
		return;
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD: class_seen(e); break;
	case JVMPI_EVENT_METHOD_ENTRY: entered(e->u.method.method_id); break;
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
	static const jint types[] = {JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_JVM_SHUT_DOWN,
				     JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT};
	char what[16];

	(void)reserved;
	if (!options || sscanf(options, "%15s %3999s", what, calls.path) != 2 || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	calls.count = !strcmp(what, "count");
	jvmpi->NotifyEvent = notify;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (jvmpi->EnableEvent(types[i], NULL) != JVMPI_SUCCESS)
			return JNI_ERR;
	return JNI_OK;
}
