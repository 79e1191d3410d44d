#include "jvm-bridge/host/refs.h"

#include <stdlib.h>

#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/jni_table.h"
#include "jvm-bridge/host/thread.h"

static _Atomic(struct JNINativeInterface_ *) before;

static const struct JNINativeInterface_ *functions(JNIEnv *env)
{
	const struct JNINativeInterface_ *f = atomic_load(&before);

	return f ? f : *env;
}

jobject ref_new(JNIEnv *env, jobject object)
{
	return functions(env)->NewGlobalRef(env, object);
}

void ref_delete(JNIEnv *env, jobject ref)
{
	functions(env)->DeleteGlobalRef(env, ref);
}

jweak ref_weak_new(JNIEnv *env, jobject object)
{
	return functions(env)->NewWeakGlobalRef(env, object);
}

void ref_weak_delete(JNIEnv *env, jweak ref)
{
	functions(env)->DeleteWeakGlobalRef(env, ref);
}

/* References by an agent's handler are not reported, because that would call the handler again. */
static struct thread *teller(JNIEnv *env, jint type)
{
	struct thread *t = any_agent_wants(type) && !atomic_load(&the_bridge.dead) ? thread_current() : NULL;

	(void)env;
	return t && !t->inside && !t->system ? t : NULL;
}

static void report_ref_alloc(JNIEnv *env, jobject object, jobject ref, jint type)
{
	struct thread *t = ref ? teller(env, type) : NULL;
	JVMPI_Event e = {.event_type = type};
	jthrowable pending;

	if (!t)
		return;
	pending = bridge_exception_take(env);
	e.u.jni_globalref_alloc.obj_id = (jobjectID)id_of_object(t, env, object);
	e.u.jni_globalref_alloc.ref_id = ref;
	if (e.u.jni_globalref_alloc.obj_id)
		event_send_all(t, &e, GC_NOT);
	bridge_exception_put(env, pending);
}

/* Sent before freeing; otherwise another thread's new reference at that address might be reported first. */
static void report_ref_free(JNIEnv *env, jobject ref, jint type)
{
	struct thread *t = ref ? teller(env, type) : NULL;
	JVMPI_Event e = {.event_type = type};

	if (!t)
		return;
	e.u.jni_globalref_free.ref_id = ref;
	event_send_all(t, &e, GC_MAY);
}

static jobject JNICALL new_global(JNIEnv *env, jobject object)
{
	jobject ref = ref_new(env, object);

	report_ref_alloc(env, object, ref, JVMPI_EVENT_JNI_GLOBALREF_ALLOC);
	return ref;
}

static void JNICALL delete_global(JNIEnv *env, jobject ref)
{
	report_ref_free(env, ref, JVMPI_EVENT_JNI_GLOBALREF_FREE);
	ref_delete(env, ref);
}

static jweak JNICALL new_weak(JNIEnv *env, jobject object)
{
	jweak ref = ref_weak_new(env, object);

	report_ref_alloc(env, object, ref, JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC);
	return ref;
}

static void JNICALL delete_weak(JNIEnv *env, jweak ref)
{
	report_ref_free(env, ref, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE);
	ref_weak_delete(env, ref);
}

static void table_change(struct JNINativeInterface_ *table)
{
	table->NewGlobalRef = new_global;
	table->DeleteGlobalRef = delete_global;
	table->NewWeakGlobalRef = new_weak;
	table->DeleteWeakGlobalRef = delete_weak;
}

bool refs_prepare(void)
{
	return jni_table_change(&before, table_change);
}
