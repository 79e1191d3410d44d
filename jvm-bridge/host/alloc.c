/*
 * OBJECT_ALLOC: SampledObjectAlloc (JDK 16 and later) with an interval of 0, which reports each real allocation,
 * including those by compiled code and by the JVM. When it is enabled, two kinds of allocation would still be missed:
 * those that fit into a thread's current allocation buffer, so a garbage collection retires the buffers; and those
 * before the thread's next sample, which was chosen by the previous interval (512 kB on average), so the calling
 * thread allocates more than that. Up to JDK 15, events/allocated.c does it.
 *
 * Allocations by an agent's own handlers are not reported, because that would call the handlers again. RequestEvent
 * works for such objects, and for those that existed before.
 */
#include "jvm-bridge/host/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/refs.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

enum {
	ARENA = 1, /* there is only one heap */
	KEPT_MAX = 1 << 18,
};

jint jvmpi_type(char signature)
{
	static const char letters[] = "ZCFDBSIJ"; /* in the order of JVMPI_BOOLEAN and so on */
	const char *at = strchr(letters, signature);

	return signature && at ? JVMPI_BOOLEAN + (jint)(at - letters) : JVMPI_CLASS;
}

static jclass component_type(JNIEnv *env, jclass klass)
{
	static _Atomic(jmethodID) method;
	jmethodID m = atomic_load(&method);
	jclass of;

	if (!m) {
		of = (*env)->GetObjectClass(env, klass); /* java.lang.Class */
		m = (*env)->GetMethodID(env, of, "getComponentType", "()Ljava/lang/Class;");
		(*env)->DeleteLocalRef(env, of);
		atomic_store(&method, m);
	}
	of = m ? (*env)->CallObjectMethod(env, klass, m) : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	return of;
}

/* Calls Java code only for arrays of objects. */
static bool kind_find(struct thread *t, JNIEnv *env, jclass klass, struct object_id *id, struct class_kind *ret)
{
	char *signature = NULL;
	jclass element;

	*ret = (struct class_kind){JVMPI_NORMAL_OBJECT, (jobjectID)id};
	if ((*the_bridge.ti)->GetClassSignature(the_bridge.ti, klass, &signature, NULL))
		return false;
	if (signature[0] == '[')
		*ret = (struct class_kind){jvmpi_type(signature[1]), NULL};
	bridge_free(signature);
	if (ret->is_array != JVMPI_CLASS)
		return true;
	t->inside++; /* the bridge's own call is not reported */
	element = component_type(env, klass);
	t->inside--;
	ret->class_id = element ? (jobjectID)id_of(t, env, element, ID_CLASS) : NULL;
	if (element)
		(*env)->DeleteLocalRef(env, element);
	return ret->class_id;
}

/* Two callers find the same: an array's class keeps its elements' class alive. */
bool class_kind_of_class(struct thread *t, JNIEnv *env, jclass klass, struct class_kind *ret)
{
	struct object_id *id = id_of(t, env, klass, ID_CLASS);

	if (!id)
		return false;
	ret->is_array = atomic_load(&id->array) - 1;
	ret->class_id = ret->is_array == JVMPI_NORMAL_OBJECT ? (jobjectID)id : (jobjectID)atomic_load(&id->element);
	if (ret->is_array >= 0)
		return true;
	if (!kind_find(t, env, klass, id, ret))
		return false;
	if (ret->is_array != JVMPI_NORMAL_OBJECT)
		atomic_store(&id->element, (struct object_id *)ret->class_id);
	atomic_store(&id->array, ret->is_array + 1);
	return true;
}

bool class_kind_of(struct thread *t, JNIEnv *env, jobject object, jclass klass, struct class_kind *ret)
{
	jclass of = klass ? klass : (*env)->GetObjectClass(env, object);
	bool ok = class_kind_of_class(t, env, of, ret);

	/* java.lang.Class is its own class: an agent that asks for the class of each unknown class would never end. */
	if (ok && (*env)->IsSameObject(env, of, object))
		ret->class_id = NULL;
	if (!klass)
		(*env)->DeleteLocalRef(env, of);
	return ok;
}

static bool alloc_send(struct agent *a, struct thread *t, struct object_id *id, const struct class_kind *kind,
		       jlong size, jint type)
{
	JVMPI_Event e = {.event_type = type};

	e.u.obj_alloc.arena_id = ARENA;
	e.u.obj_alloc.class_id = kind->class_id;
	e.u.obj_alloc.is_array = kind->is_array;
	e.u.obj_alloc.size = (jint)size;
	e.u.obj_alloc.obj_id = (jobjectID)id;
	return event_send(a, t, &e, GC_NOT);
}

void arena_report(struct agent *a, struct thread *t)
{
	static char name[] = "Java heap";
	JVMPI_Event e = {.event_type = JVMPI_EVENT_ARENA_NEW};

	e.u.new_arena.arena_id = ARENA;
	e.u.new_arena.arena_name = name;
	if (agent_wants(a, JVMPI_EVENT_ARENA_NEW))
		event_send(a, t, &e, GC_MAY);
}

jint alloc_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id)
{
	jthrowable pending = bridge_exception_take(env);
	jobject object = id_object(env, id);
	struct class_kind kind;
	jlong size = 0;
	bool ok = object && class_kind_of(t, env, object, NULL, &kind) &&
		  !(*the_bridge.ti)->GetObjectSize(the_bridge.ti, object, &size);

	bridge_exception_put(env, pending);
	if (ok)
		ok = alloc_send(a, t, id, &kind, size, JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT);
	if (object)
		(*env)->DeleteLocalRef(env, object);
	return ok ? JVMPI_SUCCESS : JVMPI_FAIL;
}

/* JDK 11 has the event, but sends it for none with Serial and Parallel, and for most with G1. */
bool allocs_are_sampled(void)
{
	return jvm_release() >= 16;
}

bool alloc_prepare(void)
{
	if (!allocs_are_sampled())
		return the_bridge.insert_allocs();
	return !(*the_bridge.ti)->SetHeapSamplingInterval(the_bridge.ti, 0);
}

/* In small pieces, so that they fit into a small heap. They are not reported, because the bridge makes them. */
static void samples_pass(struct thread *t, JNIEnv *env)
{
	enum { PIECE = 1 << 16, PIECES = 256 };
	jthrowable pending = bridge_exception_take(env);

	t->inside++;
	for (int i = 0; i < PIECES; i++) {
		jbyteArray piece = (*env)->NewByteArray(env, PIECE);

		if (!piece) {
			(*env)->ExceptionClear(env);
			break;
		}
		(*env)->DeleteLocalRef(env, piece);
	}
	t->inside--;
	bridge_exception_put(env, pending);
}

void alloc_begin(void)
{
	struct thread *t = thread_current();

	if (t)
		samples_pass(t, t->env);
	(*the_bridge.ti)->ForceGarbageCollection(the_bridge.ti);
}

void allocs_keep(struct thread *t, struct allocs *ret)
{
	*ret = (struct allocs){0};
	t->allocs = ret;
}

static void alloc_keep(struct allocs *kept, JNIEnv *env, jobject object, jlong size)
{
	size_t cap = kept->cap ? 2 * kept->cap : 64;
	struct alloc_kept *more = kept->at;

	if (kept->n == kept->cap) {
		more = kept->n < KEPT_MAX ? realloc(kept->at, cap * sizeof(*more)) : NULL;
		kept->cap = more ? cap : kept->cap;
		kept->at = more ? more : kept->at;
	}
	if (more)
		more[kept->n] = (struct alloc_kept){ref_new(env, object), size};
	if (more && more[kept->n].ref)
		kept->n++;
	else
		kept->lost++;
}

void alloc_report(struct thread *t, JNIEnv *env, struct object_id *id, jobject object, jclass klass, jlong size)
{
	unsigned n = atomic_load(&the_bridge.n_agents);
	struct class_kind kind;

	if (!id || !class_kind_of(t, env, object, klass, &kind))
		return;
	for (unsigned i = 0; i < n; i++)
		if (agent_wants(&the_bridge.agents[i], JVMPI_EVENT_OBJECT_ALLOC))
			alloc_send(&the_bridge.agents[i], t, id, &kind, size, JVMPI_EVENT_OBJECT_ALLOC);
}

void allocs_send(struct thread *t, JNIEnv *env)
{
	struct allocs *kept = t->allocs;
	jthrowable pending = bridge_exception_take(env);

	t->allocs = NULL;
	for (size_t i = 0; i < kept->n; i++) {
		jobject object = (*env)->NewLocalRef(env, kept->at[i].ref);

		ref_delete(env, kept->at[i].ref);
		if (object)
			alloc_report(t, env, id_of_object(t, env, object), object, NULL, kept->at[i].size);
		(*env)->DeleteLocalRef(env, object);
	}
	if (kept->lost)
		bridge_say("OBJECT_ALLOC: %zu allocations during a dump were not reported", kept->lost);
	free(kept->at);
	bridge_exception_put(env, pending);
}

void JNICALL on_sampled_alloc(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jclass klass, jlong size)
{
	struct thread *t = thread_current();
	jthrowable pending;
	bool in_alloc;

	(void)ti, (void)thread;
	if (!thread_may_report(t))
		return;
	in_alloc = t->in_alloc;
	pending = bridge_exception_take(env);
	t->in_alloc = true;
	if (t->allocs)
		alloc_keep(t->allocs, env, object, size);
	else
		alloc_report(t, env, id_of_object(t, env, object), object, klass, size);
	t->in_alloc = in_alloc;
	bridge_exception_put(env, pending);
}
