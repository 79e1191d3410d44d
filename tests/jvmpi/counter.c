/*
 * The skeleton of the specification's per-thread method counter, section 1.5: a counter in thread-local storage,
 * made at THREAD_START, added up and freed at THREAD_END. METHOD_ENTRY is counted where it can be had; instead
 * the events of the thread itself are. Options: the file for the sums.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/jvmpi/check.h"

struct counter {
	long events;
	char name[64];
};

static struct {
	JVMPI_RawMonitor lock;
	long started, ended, events, lost;
	jint method_entry; /* the answer to EnableEvent */
	char path[4096];
} counters;

static void thread_start(const JVMPI_Event *e)
{
	struct counter *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	snprintf(c->name, sizeof(c->name), "%s", e->u.thread_start.thread_name);
	jvmpi->SetThreadLocalStorage(e->u.thread_start.thread_env_id, c);
	jvmpi->RawMonitorEnter(counters.lock);
	counters.started++;
	jvmpi->RawMonitorExit(counters.lock);
}

static void thread_end(const JVMPI_Event *e)
{
	struct counter *c = jvmpi->GetThreadLocalStorage(e->env_id);

	jvmpi->RawMonitorEnter(counters.lock);
	counters.ended++;
	if (c)
		counters.events += c->events;
	else
		counters.lost++;
	jvmpi->RawMonitorExit(counters.lock);
	jvmpi->SetThreadLocalStorage(e->env_id, NULL);
	free(c);
}

static void report(void)
{
	FILE *f = fopen(counters.path, "we");

	if (!f)
		return;
	fprintf(f, "started %ld ended %ld events %ld lost %ld method_entry %d\n", counters.started, counters.ended,
		counters.events, counters.lost, (int)counters.method_entry);
	fclose(f);
}

static void notify(JVMPI_Event *e)
{
	struct counter *c;

	switch (e->event_type) {
	case JVMPI_EVENT_THREAD_START: thread_start(e); break;
	case JVMPI_EVENT_THREAD_END: thread_end(e); break;
	case JVMPI_EVENT_CLASS_LOAD:
	case JVMPI_EVENT_METHOD_ENTRY:
		c = jvmpi->GetThreadLocalStorage(e->env_id);
		if (c)
			c->events++;
		break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: report(); break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "counters";

	(void)reserved;
	if (!options || !interface_get(vm, JVMPI_VERSION_1))
		return JNI_ERR;
	snprintf(counters.path, sizeof(counters.path), "%s", options);
	counters.lock = jvmpi->RawMonitorCreate(name);
	jvmpi->NotifyEvent = notify;
	counters.method_entry = jvmpi->EnableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_THREAD_END, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return JNI_OK;
}
