/*
 * The per-thread method counter of the specification's section 1.5: a counter in thread-local storage, so that
 * METHOD_ENTRY takes no lock. Prints a line on stderr for each thread when it ends, or when the JVM does.
 *
 *     java -agentpath:/path/libjsampler-bridge.so=agent=/path/libexample_method_count.so ...
 */
#include <stdio.h>
#include <stdlib.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

struct counter {
	struct counter *next;
	unsigned long methods;
	char name[128];
};

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock; /* guards the list */
static struct counter *counters;

static void thread_start(const JVMPI_Event *e)
{
	struct counter *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	snprintf(c->name, sizeof(c->name), "%s", e->u.thread_start.thread_name);
	jvmpi->RawMonitorEnter(lock);
	c->next = counters;
	counters = c;
	jvmpi->RawMonitorExit(lock);
	jvmpi->SetThreadLocalStorage(e->u.thread_start.thread_env_id, c);
}

static void print(const struct counter *c)
{
	fprintf(stderr, "thread \"%s\" entered %lu methods\n", c->name, c->methods);
}

static void thread_end(JNIEnv *env)
{
	struct counter *c = jvmpi->GetThreadLocalStorage(env), **at = &counters;

	if (!c)
		return;
	jvmpi->SetThreadLocalStorage(env, NULL);
	print(c);
	jvmpi->RawMonitorEnter(lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	jvmpi->RawMonitorExit(lock);
	free(c);
}

static void method_entry(JNIEnv *env)
{
	struct counter *c = jvmpi->GetThreadLocalStorage(env);

	if (c)
		c->methods++;
}

static void jvm_shut_down(void)
{
	jvmpi->RawMonitorEnter(lock);
	for (const struct counter *c = counters; c; c = c->next)
		print(c);
	jvmpi->RawMonitorExit(lock);
}

static void notify(JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_THREAD_START: thread_start(e); break;
	case JVMPI_EVENT_THREAD_END: thread_end(e->env_id); break;
	case JVMPI_EVENT_METHOD_ENTRY: method_entry(e->env_id); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: jvm_shut_down(); break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jint events[] = {JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END, JVMPI_EVENT_METHOD_ENTRY,
				      JVMPI_EVENT_JVM_SHUT_DOWN};
	static char name[] = "counters";
	void *interface;

	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1) < 0)
		return JNI_ERR;
	jvmpi = interface;
	lock = jvmpi->RawMonitorCreate(name);
	jvmpi->NotifyEvent = notify;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (jvmpi->EnableEvent(events[i], NULL) != JVMPI_SUCCESS) {
			fprintf(stderr, "method_count: event %d is not available\n", (int)events[i]);
			return JNI_ERR;
		}
	return JNI_OK;
}
