/*
 * The interface functions. JVMPI gives them no context, so those that depend on the agent exist once for each of
 * AGENTS_MAX. After JVM_SHUT_DOWN all but ProfilerExit never return, as in HotSpot: an agent's thread freezes instead
 * of racing the end of the process. The exception is the thread inside exit(), which runs the agents' destructors:
 * for it the functions return without doing anything, because the JVM is gone and a monitor's owner may be frozen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jvm-bridge/host/agents/agent.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/collections/gc.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/stacks/stacks.h"
#include "jvm-bridge/host/thread.h"
#include "jvm-bridge/jvmpi/layout.h"

/* false: do nothing. */
static bool alive(void)
{
	if (!atomic_load(&the_bridge.dead))
		return true;
	if (!exit_is_here())
		bridge_freeze();
	return false;
}

static void call_trace(JVMPI_CallTrace *trace, jint depth)
{
	if (alive() && trace)
		stacks_trace_get(trace, trace->frames ? depth : 0);
}

/* Like the JVM's own exit, without shutdown hooks or JVM_SHUT_DOWN. Works in JVM_OnLoad as well. */
static void profiler_exit(jint code)
{
	exit_begin();
	atomic_store(&the_bridge.dead, true);
	fflush(NULL);
	exit(code);
}

static JVMPI_RawMonitor raw_create(char *name)
{
	return alive() ? monitor_create(name) : NULL;
}

static void raw_enter(JVMPI_RawMonitor m)
{
	if (alive())
		monitor_enter(m);
}

static void raw_exit(JVMPI_RawMonitor m)
{
	if (alive())
		monitor_exit(m);
}

static void raw_wait(JVMPI_RawMonitor m, jlong ms)
{
	if (alive())
		monitor_wait(m, ms);
	(void)alive();
}

static void raw_notify_all(JVMPI_RawMonitor m)
{
	if (alive())
		monitor_notify_all(m);
}

static void raw_destroy(JVMPI_RawMonitor m)
{
	if (alive())
		monitor_destroy(m);
}

static jlong cpu_time(void)
{
	(void)alive();
	return (jlong)clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void suspend(JNIEnv *env)
{
	if (alive())
		stacks_suspend_list(1, &env, NULL);
}

static void resume(JNIEnv *env)
{
	if (alive())
		stacks_resume_list(1, &env, NULL);
}

static void suspend_list(jint n, JNIEnv **envs, jint *results)
{
	if (alive() && envs)
		stacks_suspend_list(n, envs, results);
}

static void resume_list(jint n, JNIEnv **envs, jint *results)
{
	if (alive() && envs)
		stacks_resume_list(n, envs, results);
}

static jint status(JNIEnv *env)
{
	return alive() ? thread_status(env) : JVMPI_FAIL;
}

static jboolean has_run(JNIEnv *env)
{
	return alive() ? stacks_has_run(env) : JNI_FALSE;
}

/* Calls f(NULL) on a new thread with that name. In JVM_OnLoad, before the JVM is live: JNI_ERR. */
static jint create_thread(char *name, jint priority, void (*f)(void *))
{
	return alive() ? thread_create(name, priority, f, NULL) : JNI_ERR;
}

static jobjectID thread_id(JNIEnv *id)
{
	JNIEnv *env = alive() ? bridge_env() : NULL;
	struct thread *t = thread_find(id);
	jobject object;
	struct object_id *found;

	object = t && env ? thread_object(t, env) : NULL;
	if (!object)
		return NULL;
	found = id_of(thread_current(), env, object, ID_OBJECT);
	(*env)->DeleteLocalRef(env, object);
	return (jobjectID)found;
}

static jobjectID method_class(struct agent *a, jmethodID method)
{
	JNIEnv *env = alive() ? bridge_env() : NULL;
	struct object_id *found;
	jclass klass = NULL;

	if (!env || !method || (*the_bridge.ti)->GetMethodDeclaringClass(the_bridge.ti, method, &klass) || !klass)
		return NULL;
	found = id_of(thread_current(), env, klass, ID_CLASS);
	if (found)
		class_id_given(a, env, klass, found);
	(*env)->DeleteLocalRef(env, klass);
	return (jobjectID)found;
}

static jobject id_to_object(jobjectID id)
{
	JNIEnv *env = alive() ? bridge_env() : NULL;
	struct object_id *found = id_check(id);

	return found && env ? id_object(env, found) : NULL;
}

static jobjectID object_to_id(struct agent *a, jobject object)
{
	JNIEnv *env = alive() ? bridge_env() : NULL;
	struct object_id *id;

	if (!env || !object)
		return NULL;
	id = id_of_object(thread_current(), env, object);
	if (id && id->kind == ID_CLASS)
		class_id_given(a, env, object, id);
	return (jobjectID)id;
}

static void tls_set(unsigned agent, JNIEnv *env, void *data)
{
	struct thread *t = thread_find(env);

	if (!alive())
		return;
	if (!t && env == bridge_env())
		t = thread_current();
	if (t)
		atomic_store(&t->tls[agent], data);
}

static void *tls_get(unsigned agent, JNIEnv *env)
{
	struct thread *t = thread_find(env);

	return alive() && t ? atomic_load(&t->tls[agent]) : NULL;
}

#define AGENT_FUNCTIONS(n)                                                                                             \
	static jint enable_##n(jint type, void *arg)                                                                   \
	{                                                                                                              \
		(void)arg;                                                                                             \
		return alive() ? event_enable(&the_bridge.agents[n], type, true) : JVMPI_FAIL;                         \
	}                                                                                                              \
	static jint disable_##n(jint type, void *arg)                                                                  \
	{                                                                                                              \
		(void)arg;                                                                                             \
		return alive() ? event_enable(&the_bridge.agents[n], type, false) : JVMPI_FAIL;                        \
	}                                                                                                              \
	static jint request_##n(jint type, void *arg)                                                                  \
	{                                                                                                              \
		return alive() ? event_request(&the_bridge.agents[n], type, arg) : JVMPI_FAIL;                         \
	}                                                                                                              \
	static void tls_set_##n(JNIEnv *env, void *data)                                                               \
	{                                                                                                              \
		tls_set(n, env, data);                                                                                 \
	}                                                                                                              \
	static void *tls_get_##n(JNIEnv *env)                                                                          \
	{                                                                                                              \
		return tls_get(n, env);                                                                                \
	}                                                                                                              \
	static void gc_off_##n(void)                                                                                   \
	{                                                                                                              \
		if (alive())                                                                                           \
			gc_disable(&the_bridge.agents[n]);                                                             \
	}                                                                                                              \
	static void gc_on_##n(void)                                                                                    \
	{                                                                                                              \
		if (alive())                                                                                           \
			gc_enable(&the_bridge.agents[n]);                                                              \
	}                                                                                                              \
	static void gc_run_##n(void)                                                                                   \
	{                                                                                                              \
		if (alive())                                                                                           \
			gc_run(&the_bridge.agents[n]);                                                                 \
	}                                                                                                              \
	static jobjectID method_class_##n(jmethodID method)                                                            \
	{                                                                                                              \
		return method_class(&the_bridge.agents[n], method);                                                    \
	}                                                                                                              \
	static jobjectID object_to_id_##n(jobject object)                                                              \
	{                                                                                                              \
		return object_to_id(&the_bridge.agents[n], object);                                                    \
	}

AGENT_FUNCTIONS(0)
AGENT_FUNCTIONS(1)
AGENT_FUNCTIONS(2)
AGENT_FUNCTIONS(3)
AGENT_FUNCTIONS(4)
AGENT_FUNCTIONS(5)
AGENT_FUNCTIONS(6)
AGENT_FUNCTIONS(7)

#define AGENT_ENTRY(n)                                                                                                 \
	{                                                                                                              \
		.EnableEvent = enable_##n, .DisableEvent = disable_##n, .RequestEvent = request_##n,                   \
		.SetThreadLocalStorage = tls_set_##n, .GetThreadLocalStorage = tls_get_##n, .DisableGC = gc_off_##n,   \
		.EnableGC = gc_on_##n, .RunGC = gc_run_##n, .GetMethodClass = method_class_##n,                        \
		.jobject2jobjectID = object_to_id_##n                                                                  \
	}

static const JVMPI_Interface of_agent[AGENTS_MAX] = {AGENT_ENTRY(0), AGENT_ENTRY(1), AGENT_ENTRY(2), AGENT_ENTRY(3),
						     AGENT_ENTRY(4), AGENT_ENTRY(5), AGENT_ENTRY(6), AGENT_ENTRY(7)};

void functions_fill(struct agent *a)
{
	a->iface = of_agent[a->index];
	a->iface.version = JVMPI_VERSION_1_2; /* HotSpot gave its highest version, whatever was requested */
	a->iface.GetCallTrace = call_trace;
	a->iface.ProfilerExit = profiler_exit;
	a->iface.RawMonitorCreate = raw_create;
	a->iface.RawMonitorEnter = raw_enter;
	a->iface.RawMonitorExit = raw_exit;
	a->iface.RawMonitorWait = raw_wait;
	a->iface.RawMonitorNotifyAll = raw_notify_all;
	a->iface.RawMonitorDestroy = raw_destroy;
	a->iface.GetCurrentThreadCpuTime = cpu_time;
	a->iface.SuspendThread = suspend;
	a->iface.ResumeThread = resume;
	a->iface.GetThreadStatus = status;
	a->iface.ThreadHasRun = has_run;
	a->iface.CreateSystemThread = create_thread;
	a->iface.GetThreadObject = thread_id;
	a->iface.jobjectID2jobject = id_to_object;
	a->iface.SuspendThreadList = suspend_list;
	a->iface.ResumeThreadList = resume_list;
}
