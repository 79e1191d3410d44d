/*
 * Counts the calls of each method, like the JVMTI article's minst, which rewrites classes: prints the 30 most called
 * ones on stderr when the JVM ends. The option is a prefix of class names to count; without it, all classes are
 * counted.
 *
 *     java -agentpath:/path/libjsampler-bridge.so=agent=/path/libexample_method_statistics.so:com.example. ...
 */
#include <stdio.h>
#include <string.h>

#include "jvm-bridge/examples/by_pointer.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

enum { ROWS = 30 };

struct method {
	struct node node;
	unsigned long calls;
	char *name;
};

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static struct by_pointer methods;
static const char *wanted = "";

static char *full_name(const char *class, const JVMPI_Method *m)
{
	size_t size = strlen(class) + strlen(m->method_name) + strlen(m->method_signature) + 2;
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%s.%s%s", class, m->method_name, m->method_signature);
	return name;
}

/* A class may be defined twice, with the same methods. */
static void class_load(const JVMPI_Event *e)
{
	const char *class = e->u.class_load.class_name;

	if (strncmp(class, wanted, strlen(wanted)) != 0)
		return;
	jvmpi->RawMonitorEnter(lock);
	for (jint i = 0; i < e->u.class_load.num_methods; i++) {
		const JVMPI_Method *from = &e->u.class_load.methods[i];
		struct method *m = by_pointer_find(&methods, from->method_id);

		if (!m)
			m = by_pointer_add(&methods, from->method_id, sizeof(*m));
		if (m && !m->name)
			m->name = full_name(class, from);
	}
	jvmpi->RawMonitorExit(lock);
}

static void method_entry(jmethodID id)
{
	struct method *m;

	jvmpi->RawMonitorEnter(lock);
	m = by_pointer_find(&methods, id);
	if (m)
		m->calls++;
	jvmpi->RawMonitorExit(lock);
}

static int most_first(const void *a, const void *b)
{
	const struct method *x = *(struct method *const *)a, *y = *(struct method *const *)b;

	return (x->calls < y->calls) - (x->calls > y->calls);
}

static void jvm_shut_down(void)
{
	struct node **list;

	jvmpi->RawMonitorEnter(lock);
	list = by_pointer_list(&methods);
	if (list)
		qsort(list, methods.n, sizeof(*list), most_first);
	fprintf(stderr, "%12s method\n", "calls");
	for (size_t i = 0; list && i < methods.n && i < ROWS; i++) {
		const struct method *m = (struct method *)list[i];

		if (m->calls)
			fprintf(stderr, "%12lu %s\n", m->calls, m->name ? m->name : "?");
	}
	free(list);
	jvmpi->RawMonitorExit(lock);
}

static void notify(JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD: class_load(e); break;
	case JVMPI_EVENT_METHOD_ENTRY: method_entry(e->u.method.method_id); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: jvm_shut_down(); break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jint events[] = {JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_JVM_SHUT_DOWN};
	static char name[] = "_methods";
	void *interface;

	(void)reserved;
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1) < 0)
		return JNI_ERR;
	jvmpi = interface;
	if (options && *options)
		wanted = strdup(options);
	lock = jvmpi->RawMonitorCreate(name);
	if (!wanted)
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (jvmpi->EnableEvent(events[i], NULL) != JVMPI_SUCCESS) {
			fprintf(stderr, "method_statistics: event %d is not available\n", (int)events[i]);
			return JNI_ERR;
		}
	return JNI_OK;
}
