/*
 * The sampling loop of the JVMPI paper inside the JVM: each period, GC disabled, suspend the threads that are
 * runnable, ask which have run, take their call traces, resume; then count. It switches the events it needs
 * off and on all the while. Options: the file for the counts, "PERIOD_MS FILE".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

enum { THREADS = 256, FRAMES = 32 };

static struct {
	pthread_mutex_t lock;
	struct table methods, threads;
	JNIEnv *self;
	_Atomic bool stop;
	unsigned period_ms;
	long ticks, samples, empty, unnamed;
	char path[4096];
} s = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned threads_list(JNIEnv **ret)
{
	unsigned n = 0;

	pthread_mutex_lock(&s.lock);
	for (unsigned i = 0; i < s.threads.cap && n < THREADS; i++) {
		struct entry *e = &s.threads.entries[i];

		if (e->key && !e->value && e->key != s.self)
			ret[n++] = (JNIEnv *)e->key;
	}
	pthread_mutex_unlock(&s.lock);
	return n;
}

static unsigned tick(JVMPI_CallTrace *traces)
{
	JNIEnv *all[THREADS], *runnable[THREADS];
	jint results[THREADS];
	unsigned n = threads_list(all), runs = 0, taken = 0;

	for (unsigned i = 0; i < n; i++)
		if ((jvmpi->GetThreadStatus(all[i]) & ~JVMPI_THREAD_INTERRUPTED) == JVMPI_THREAD_RUNNABLE)
			runnable[runs++] = all[i];
	jvmpi->DisableGC();
	jvmpi->SuspendThreadList((jint)runs, runnable, results);
	for (unsigned i = 0; i < runs; i++) {
		if (results[i] || !jvmpi->ThreadHasRun(runnable[i]))
			continue;
		traces[taken].env_id = runnable[i];
		jvmpi->GetCallTrace(&traces[taken++], FRAMES);
	}
	jvmpi->ResumeThreadList((jint)runs, runnable, results);
	jvmpi->EnableGC();
	return taken;
}

static void count(const JVMPI_CallTrace *t)
{
	struct entry *e;

	s.samples++;
	if (!t->num_frames) {
		s.empty++;
		return;
	}
	pthread_mutex_lock(&s.lock);
	e = table_find(&s.methods, t->frames[0].method_id);
	if (!e)
		s.unnamed++;
	else if (e->value < 0x3fffffff)
		e->value++;
	pthread_mutex_unlock(&s.lock);
}

static void loop(void *arg)
{
	JVMPI_CallTrace *traces = calloc(THREADS, sizeof(*traces));
	JVMPI_CallFrame *frames = calloc((size_t)THREADS * FRAMES, sizeof(*frames));

	(void)arg;
	s.self = env_here();
	for (unsigned i = 0; i < THREADS && traces && frames; i++)
		traces[i].frames = frames + (size_t)i * FRAMES;
	while (!s.stop && traces && frames) {
		unsigned n = tick(traces);

		for (unsigned i = 0; i < n; i++)
			count(&traces[i]);
		if (++s.ticks % 50 == 0) {
			jvmpi->DisableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
			jvmpi->DisableEvent(JVMPI_EVENT_GC_START, NULL);
		} else if (s.ticks % 50 == 25) {
			jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
			jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL);
		}
		usleep(s.period_ms * 1000);
	}
}

static void report(void)
{
	FILE *f = fopen(s.path, "we");

	if (!f)
		return;
	fprintf(f, "ticks %ld samples %ld empty %ld unnamed %ld\n", s.ticks, s.samples, s.empty, s.unnamed);
	for (unsigned i = 0; i < s.methods.cap; i++)
		if (s.methods.entries[i].key && s.methods.entries[i].value)
			fprintf(f, "%s %d\n", s.methods.entries[i].name, s.methods.entries[i].value);
	fclose(f);
}

static void class_seen(const JVMPI_Event *e)
{
	char name[512];

	for (jint i = 0; i < e->u.class_load.num_methods; i++) {
		snprintf(name, sizeof(name), "%s.%s", e->u.class_load.class_name,
			 e->u.class_load.methods[i].method_name);
		table_add(&s.methods, e->u.class_load.methods[i].method_id, name);
	}
}

static void notify(JVMPI_Event *e)
{
	static char name[] = "paper sampler";

	pthread_mutex_lock(&s.lock);
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD: class_seen(e); break;
	case JVMPI_EVENT_THREAD_START:
		table_add(&s.threads, e->u.thread_start.thread_env_id, e->u.thread_start.thread_name);
		break;
	case JVMPI_EVENT_THREAD_END: table_drop(&s.threads, e->env_id); break;
	}
	pthread_mutex_unlock(&s.lock);
	if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
		jvmpi->CreateSystemThread(name, JVMPI_MAXIMUM_PRIORITY, loop);
	if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN) {
		s.stop = true;
		report();
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jint wanted[] = {JVMPI_EVENT_CLASS_LOAD,    JVMPI_EVENT_THREAD_START,
				      JVMPI_EVENT_THREAD_END,    JVMPI_EVENT_JVM_INIT_DONE,
				      JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_COMPILED_METHOD_LOAD,
				      JVMPI_EVENT_GC_START};

	(void)reserved;
	if (!options || sscanf(options, "%u %4095s", &s.period_ms, s.path) != 2 ||
	    !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (jvmpi->EnableEvent(wanted[i], NULL))
			return JNI_ERR;
	return JNI_OK;
}
