/*
 * Enables every event that the host delivers and counts them; a thread of its own makes ids, takes call traces and dumps and
 * collects garbage. Options: the file for the counts, rewritten twice a second, so that it is there when the JVM stands
 * still.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

enum { FRAMES = 64, EVENTS = 128, EXTENSIONS = 16, OBJECTS = 1000 };

static struct {
	_Atomic long seen[EVENTS], extensions[EXTENSIONS];
	_Atomic bool ended;
	_Atomic(JNIEnv *) other; /* a thread that started; it may be gone */
	unsigned enabled;
	long traces, runs, late; /* RunGC: without its GC_FINISH */
	long dumps; /* asked for and made */
	char path[4096];
} churn;

static void report(void)
{
	char tmp[sizeof(churn.path) + 8];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.new", churn.path);
	f = fopen(tmp, "we");
	if (!f)
		return;
	fprintf(f, "enabled %u\ntraces %ld\nruns %ld\nlate %ld\ndumps %ld\nended %d\n", churn.enabled, churn.traces,
		churn.runs, churn.late, churn.dumps, churn.ended);
	for (unsigned i = 0; i < EVENTS; i++)
		if (churn.seen[i])
			fprintf(f, "event %u: %ld\n", i, churn.seen[i]);
	for (unsigned i = 0; i < EXTENSIONS; i++)
		if (churn.extensions[i])
			fprintf(f, "extension %u: %ld\n", i, churn.extensions[i]);
	if (!fclose(f))
		rename(tmp, churn.path);
}

/* Objects with ids that nobody keeps: the more are freed at once, the longer JVMTI takes to report them. */
static void objects_drop(JNIEnv *env)
{
	jclass klass;

	if ((*env)->PushLocalFrame(env, 16))
		return;
	klass = (*env)->FindClass(env, "java/lang/Object");
	for (unsigned i = 0; klass && i < OBJECTS; i++) {
		jobject object = (*env)->AllocObject(env, klass);

		jvmpi->jobject2jobjectID(object);
		(*env)->DeleteLocalRef(env, object);
	}
	(*env)->PopLocalFrame(env, NULL);
}

static void dumps_ask(unsigned i)
{
	JVMPI_HeapDumpArg level = {(jint)(i % 3)};

	churn.dumps += jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) == JVMPI_SUCCESS;
	churn.dumps += jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL) == JVMPI_SUCCESS;
}

static void loop(void *arg)
{
	JVMPI_CallFrame frames[FRAMES];

	(void)arg;
	for (unsigned i = 0; !churn.ended; i++) {
		JVMPI_CallTrace trace = {.env_id = churn.other, .frames = frames};

		objects_drop(env_here());
		jvmpi->GetCallTrace(&trace, FRAMES);
		churn.traces++;
		if (i % 10 == 0) {
			long before = churn.seen[JVMPI_EVENT_GC_FINISH];

			jvmpi->RunGC();
			churn.runs++;
			churn.late += churn.seen[JVMPI_EVENT_GC_FINISH] == before;
		}
		if (i % 50 == 0)
			report();
		if (i % 50 == 25)
			dumps_ask(i / 50);
		usleep(10000);
	}
}

static void notify(JVMPI_Event *e)
{
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;
	static char name[] = "churner";

	if (type >= JVMPI_EVENT_JS_CODE_LOAD && type < JVMPI_EVENT_JS_CODE_LOAD + EXTENSIONS)
		churn.extensions[type - JVMPI_EVENT_JS_CODE_LOAD]++;
	else if (type > 0 && type < EVENTS)
		churn.seen[type]++;
	switch (type) {
	case JVMPI_EVENT_THREAD_START: churn.other = e->u.thread_start.thread_env_id; break;
	case JVMPI_EVENT_CLASS_UNLOAD: jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, e->u.class_unload.class_id); break;
	case JVMPI_EVENT_JVM_INIT_DONE: jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, loop); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		churn.ended = true;
		report();
		break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (!options || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	snprintf(churn.path, sizeof(churn.path), "%s", options);
	jvmpi->NotifyEvent = notify;
	for (jint type = 1; type < EVENTS; type++)
		churn.enabled += jvmpi->EnableEvent(type, NULL) == JVMPI_SUCCESS;
	for (jint i = 0; i < EXTENSIONS; i++)
		churn.enabled += jvmpi->EnableEvent(JVMPI_EVENT_JS_CODE_LOAD + i, NULL) == JVMPI_SUCCESS;
	return JNI_OK;
}
