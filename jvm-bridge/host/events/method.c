/*
 * METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT by JVMTI's own events: exact for native methods and exceptions, but all
 * code is interpreted while one of them is enabled. Calls inside an agent's handler are not reported, because that
 * would call the handler again.
 */
#include "jvm-bridge/host/events/method.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/thread.h"

/* NULL: not reported. Of the bridge's own doing are inserted calls, and questions to class loaders. */
static struct thread *event_thread(jmethodID method)
{
	struct thread *t = thread_current();

	return thread_may_report(t) && !t->asking && !bridge_is_call(method) ? t : NULL;
}

/* The receiver of that frame's method. NULL: a static method. */
static jobjectID receiver(struct thread *t, JNIEnv *env, jint depth)
{
	struct object_id *id;
	jobject object = NULL;

	if ((*the_bridge.ti)->GetLocalInstance(the_bridge.ti, NULL, depth, &object) || !object)
		return NULL;
	id = id_of_object(t, env, object);
	(*env)->DeleteLocalRef(env, object);
	return (jobjectID)id;
}

void method_entry_send(struct thread *t, JNIEnv *env, jmethodID method, jint depth)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_METHOD_ENTRY};

	e.u.method.method_id = method;
	event_send_all(t, &e, GC_MAY);
	if (!any_agent_wants(JVMPI_EVENT_METHOD_ENTRY2))
		return;
	e.event_type = JVMPI_EVENT_METHOD_ENTRY2;
	e.u.method_entry2.obj_id = receiver(t, env, depth);
	event_send_all(t, &e, GC_NOT);
}

void JNICALL on_method_entry(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method)
{
	struct thread *t = event_thread(method);

	(void)ti, (void)thread;
	if (t)
		method_entry_send(t, env, method, 0);
}

void JNICALL on_method_exit(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method, jboolean by_exception,
			    jvalue value)
{
	struct thread *t = event_thread(method);
	JVMPI_Event e = {.event_type = JVMPI_EVENT_METHOD_EXIT};

	(void)ti, (void)env, (void)thread, (void)by_exception, (void)value;
	if (!t)
		return;
	e.u.method.method_id = method;
	event_send_all(t, &e, GC_MAY);
}
