/* METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT by inserted calls: what they do. */
#include <stdlib.h>

#include "jvm-bridge/host/calls.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/events/inserted.h"
#include "jvm-bridge/host/events/method.h"
#include "jvm-bridge/host/events/numbers.h"
#include "jvm-bridge/host/thread.h"

/*
 * NULL: no events of this thread. A thread that is being attached runs its constructor before JVMTI knows it; a carrier
 * runs code while it changes from one virtual thread to another, when JVMTI must not be called; a question to a class
 * loader is the bridge's own doing.
 */
static struct thread *event_thread(JNIEnv *env)
{
	struct thread *t = thread_find(env);

	if (!thread_may_report(t) || t->asking || !atomic_load(&t->ref))
		return NULL;
	return thread_is_carrier(t) ? NULL : t;
}

static bool is_wanted(void)
{
	return any_agent_wants(JVMPI_EVENT_METHOD_ENTRY) || any_agent_wants(JVMPI_EVENT_METHOD_ENTRY2) ||
	       any_agent_wants(JVMPI_EVENT_METHOD_EXIT);
}

/* The thread, if it has calls that somebody wants to know of. */
static struct thread *calls_thread(JNIEnv *env)
{
	struct thread *t = event_thread(env);

	if (!t || is_wanted())
		return t;
	calls_forget(t->calls);
	return NULL;
}

static void exits_send(struct thread *t, uint32_t to)
{
	JVMPI_Event e;
	uint32_t number;

	while (calls_drop(t->calls, to, &number)) {
		e = (JVMPI_Event){.event_type = JVMPI_EVENT_METHOD_EXIT};
		e.u.method.method_id = number_method(number);
		event_send_all(t, &e, GC_MAY);
	}
}

void JNICALL call_entered(JNIEnv *env, jclass klass, jint number)
{
	struct thread *t = calls_thread(env);
	jmethodID method = t ? number_method((uint32_t)number) : NULL;

	(void)klass;
	if (!t || (!method && !(method = number_learn((uint32_t)number))))
		return;
	if (!t->calls)
		t->calls = calloc(1, sizeof(*t->calls));
	if (t->calls && calls_entered(t->calls, (uint32_t)number))
		method_entry_send(t, env, method, 1);
}

void JNICALL call_left(JNIEnv *env, jclass klass, jint number)
{
	struct thread *t = calls_thread(env);
	uint32_t to;

	(void)klass;
	if (t && t->calls && calls_left(t->calls, (uint32_t)number, &to))
		exits_send(t, to);
}

void JNICALL call_caught(JNIEnv *env, jclass klass, jint number)
{
	struct thread *t = calls_thread(env);
	uint32_t to;

	(void)klass;
	if (t && t->calls && calls_caught(t->calls, (uint32_t)number, &to))
		exits_send(t, to);
}
