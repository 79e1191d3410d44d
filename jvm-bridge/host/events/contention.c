/*
 * Contention on Java monitors. JVMTI has no event for the exit of a contended monitor: the entering thread sends it,
 * right before its own MONITOR_CONTENDED_ENTERED, on behalf of the thread that owned the monitor when it began to
 * wait.
 */
#include "jvm-bridge/host/events/contention.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/owner.h"
#include "jvm-bridge/host/thread.h"

/* NULL inside an agent's handler: the handler would be called again for its own waits. */
static struct thread *event_thread(void)
{
	struct thread *t = thread_current();

	return !t || t->inside || atomic_load(&the_bridge.dead) ? NULL : t;
}

/* JNIEnv of the monitor's owner; NULL: no owner, or not a thread that the bridge knows. */
static JNIEnv *owner_of(JNIEnv *env, jobject object)
{
	jvmtiMonitorUsage usage = {0};
	struct thread *owner = NULL;

	if (!owner_is_asked())
		return owner_of_pending(env, object);
	if ((*the_bridge.ti)->GetObjectMonitorUsage(the_bridge.ti, object, &usage))
		return NULL;
	if (usage.owner) {
		owner = thread_of_object(usage.owner, env);
		(*env)->DeleteLocalRef(env, usage.owner);
	}
	for (jint i = 0; i < usage.waiter_count; i++)
		(*env)->DeleteLocalRef(env, usage.waiters[i]);
	for (jint i = 0; i < usage.notify_waiter_count; i++)
		(*env)->DeleteLocalRef(env, usage.notify_waiters[i]);
	bridge_free(usage.waiters);
	bridge_free(usage.notify_waiters);
	return owner ? owner->env : NULL;
}

/* Sends to each agent that wants it. If the monitor is a class, the agent will be told of its unloading. */
static void object_send(struct thread *t, JNIEnv *env, jobject object, JVMPI_Event *e)
{
	struct object_id *id = (struct object_id *)e->u.monitor.object;
	unsigned n = id && id->kind == ID_CLASS ? atomic_load(&the_bridge.n_agents) : 0;

	for (unsigned i = 0; i < n; i++)
		if (agent_wants(&the_bridge.agents[i], e->event_type))
			class_id_given(&the_bridge.agents[i], env, object, id);
	event_send_all(t, e, GC_NOT);
}

static void monitor_send(struct thread *t, JNIEnv *env, jobject object, jint type, JNIEnv *about)
{
	JVMPI_Event e = {.event_type = type, .env_id = about};

	if (!any_agent_wants(type))
		return;
	e.u.monitor.object = (jobjectID)id_of_object(t, env, object);
	object_send(t, env, object, &e);
}

void JNICALL on_monitor_enter(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object)
{
	struct thread *t = event_thread();
	jthrowable pending;

	(void)ti, (void)thread;
	if (!t)
		return;
	pending = bridge_exception_take(env);
	if (any_agent_wants(JVMPI_EVENT_MONITOR_CONTENDED_EXIT))
		t->contended_owner = owner_of(env, object);
	monitor_send(t, env, object, JVMPI_EVENT_MONITOR_CONTENDED_ENTER, NULL);
	bridge_exception_put(env, pending);
}

void JNICALL on_monitor_entered(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object)
{
	struct thread *t = event_thread();
	jthrowable pending;

	(void)ti, (void)thread;
	if (!t)
		return;
	pending = bridge_exception_take(env);
	if (t->contended_owner)
		monitor_send(t, env, object, JVMPI_EVENT_MONITOR_CONTENDED_EXIT, t->contended_owner);
	t->contended_owner = NULL;
	monitor_send(t, env, object, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, NULL);
	bridge_exception_put(env, pending);
}

static void wait_send(struct thread *t, JNIEnv *env, jobject object, jint type, jlong ms)
{
	JVMPI_Event e = {.event_type = type};
	jthrowable pending;

	if (!any_agent_wants(type))
		return;
	pending = bridge_exception_take(env);
	e.u.monitor_wait.object = (jobjectID)id_of_object(t, env, object);
	e.u.monitor_wait.timeout = ms;
	object_send(t, env, object, &e);
	bridge_exception_put(env, pending);
}

void JNICALL on_monitor_wait(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jlong timeout)
{
	struct thread *t = event_thread();

	(void)ti, (void)thread;
	if (!t)
		return;
	wait_send(t, env, object, JVMPI_EVENT_MONITOR_WAIT, timeout);
	t->wait_began = clock_ns(CLOCK_MONOTONIC);
}

/* JVMTI tells whether the wait timed out; JVMPI wants how long it took. */
void JNICALL on_monitor_waited(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jboolean timed_out)
{
	struct thread *t = event_thread();
	uint64_t ns;

	(void)ti, (void)thread, (void)timed_out;
	if (!t)
		return;
	ns = t->wait_began ? clock_ns(CLOCK_MONOTONIC) - t->wait_began : 0;
	t->wait_began = 0;
	wait_send(t, env, object, JVMPI_EVENT_MONITOR_WAITED, (jlong)(ns / 1000000));
}
