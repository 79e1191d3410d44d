/*
 * Calls every function with NULL, with garbage, and with ids that are no longer valid: in JVM_OnLoad, and in the first
 * handlers of each event. Options: the file for what it has to say: "called" when ids of all kinds have gone, and "to the
 * end" from JVM_SHUT_DOWN.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/jvmpi/check.h"

enum { TYPES = JVMPI_MAX_EVENT_TYPE_VAL + 1, TIMES = 2, FRAMES = 8 };

static struct {
	char path[4000];
	_Alignas(16) char garbage[256];
	_Atomic int seen[TYPES];
	_Atomic bool called;
	/* What has gone. */
	_Atomic(jobjectID) object, klass;
	_Atomic(JNIEnv *) thread;
	_Atomic(jmethodID) method;
	JVMPI_RawMonitor monitor;
	/* What goes later. */
	_Atomic(jobjectID) loaded;
	_Atomic(jmethodID) loaded_method;
} o;

static void monitor_functions(JVMPI_RawMonitor m)
{
	jvmpi->RawMonitorEnter(m);
	jvmpi->RawMonitorWait(m, 1);
	jvmpi->RawMonitorNotifyAll(m);
	jvmpi->RawMonitorExit(m);
	jvmpi->RawMonitorDestroy(m);
}

static void thread_functions(JNIEnv *env)
{
	JVMPI_CallFrame frames[FRAMES];
	JVMPI_CallTrace trace = {env, 0, frames};
	JNIEnv *twice[] = {env, env};
	jint results[2];

	jvmpi->SuspendThread(env);
	jvmpi->GetCallTrace(&trace, FRAMES);
	trace.frames = NULL;
	jvmpi->GetCallTrace(&trace, FRAMES);
	jvmpi->GetThreadStatus(env);
	jvmpi->ThreadHasRun(env);
	jvmpi->ResumeThread(env);
	jvmpi->SuspendThreadList(2, twice, results);
	jvmpi->ResumeThreadList(2, twice, NULL);
	jvmpi->SetThreadLocalStorage(env, NULL);
	jvmpi->GetThreadLocalStorage(env);
	jvmpi->GetThreadObject(env);
}

/* HEAP_DUMP's argument is no id. */
static void id_functions(jobjectID id)
{
	jvmpi->jobjectID2jobject(id);
	for (jint type = -1; type <= TYPES; type++)
		if (type != JVMPI_EVENT_HEAP_DUMP)
			jvmpi->RequestEvent(type, id);
}

static void method_functions(jmethodID m)
{
	jvmpi->GetMethodClass(m);
	jvmpi->RequestEvent(JVMPI_EVENT_JS_METHOD, m);
}

static void other_functions(void)
{
	jvmpi->EnableEvent(-1, NULL);
	jvmpi->DisableEvent(TYPES, NULL);
	jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, NULL);
	jvmpi->GetCallTrace(NULL, FRAMES);
	jvmpi->SuspendThreadList(1, NULL, NULL);
	jvmpi->ResumeThreadList(1, NULL, NULL);
	jvmpi->RawMonitorDestroy(jvmpi->RawMonitorCreate(NULL));
	jvmpi->GetCurrentThreadCpuTime();
	jvmpi->CreateSystemThread(NULL, -1, NULL);
	jvmpi->jobject2jobjectID(NULL);
	jvmpi->EnableGC();
	jvmpi->DisableGC();
	jvmpi->RunGC(); /* at once: the caller has GC disabled */
	jvmpi->EnableGC();
}

static void functions(void)
{
	other_functions();
	monitor_functions(NULL);
	monitor_functions((JVMPI_RawMonitor)o.garbage);
	monitor_functions(o.monitor);
	thread_functions(NULL);
	thread_functions((JNIEnv *)o.garbage);
	thread_functions(o.thread);
	id_functions(NULL);
	id_functions((jobjectID)o.garbage);
	id_functions(o.object);
	id_functions(o.klass);
	method_functions(NULL);
	method_functions((jmethodID)o.garbage);
	method_functions(o.method);
}

static void ends(void *arg)
{
	(void)arg;
}

/* Keeps what has gone or will. */
static void keep(const JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD:
		if (!o.loaded && !strcmp(e->u.class_load.class_name, "Throwaway")) {
			o.loaded_method = e->u.class_load.methods[0].method_id;
			o.loaded = e->u.class_load.class_id;
		}
		break;
	case JVMPI_EVENT_CLASS_UNLOAD:
		if (e->u.class_unload.class_id == o.loaded)
			o.method = o.loaded_method;
		break;
	case JVMPI_EVENT_THREAD_END: o.thread = e->env_id; break;
	case JVMPI_EVENT_JVM_INIT_DONE: jvmpi->CreateSystemThread(o.path, JVMPI_NORMAL_PRIORITY, ends); break;
	}
}

static void notify(JVMPI_Event *e)
{
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	if (type >= TYPES)
		return;
	keep(e);
	if (o.seen[type]++ < TIMES)
		functions();
	else if (type == JVMPI_EVENT_METHOD_ENTRY || type == JVMPI_EVENT_METHOD_ENTRY2 ||
		 type == JVMPI_EVENT_METHOD_EXIT || type == JVMPI_EVENT_INSTRUCTION_START)
		jvmpi->DisableEvent(type, NULL);
	if (type == JVMPI_EVENT_OBJECT_FREE)
		o.object = e->u.obj_free.obj_id;
	if (type == JVMPI_EVENT_CLASS_UNLOAD)
		o.klass = e->u.class_unload.class_id;
	if (o.object && o.klass && o.thread && o.method && !atomic_exchange(&o.called, true)) {
		functions();
		say(o.path, "called");
	}
	if (type == JVMPI_EVENT_JVM_SHUT_DOWN)
		say(o.path, "to the end");
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (!options || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	snprintf(o.path, sizeof(o.path), "%s", options);
	o.monitor = jvmpi->RawMonitorCreate(o.path);
	jvmpi->RawMonitorDestroy(o.monitor);
	functions();
	jvmpi->NotifyEvent = notify;
	for (jint type = 1; type < TYPES; type++)
		jvmpi->EnableEvent(type, NULL);
	functions();
	return JNI_OK;
}
