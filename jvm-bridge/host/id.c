#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id_record.h"
#include "jvm-bridge/host/pump.h"
#include "jvm-bridge/host/refs.h"
#include "jvm-bridge/host/saved_class.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

static struct {
	_Atomic bool ready; /* objects can be tagged */
	_Atomic bool reported; /* OBJECT_FREE reports when they are freed */
	_Atomic uint32_t in_use;
	_Atomic uint32_t by_tag; /* odd while some objects have only a tag */
	size_t by_tag_left;
} ids;

struct object_id *id_from_tag(jlong tag)
{
	return (struct object_id *)(uintptr_t)tag;
}

/* Since JDK 16 OBJECT_FREE is sent outside the pause; see collections/gc.c. */
static bool is_reported_in_pause(void)
{
	int release = jvm_release();

	return release && release < 16;
}

bool ids_are_possible(void)
{
	/* can_tag_objects, can_generate_garbage_collection_events, can_generate_object_free_events */
	return event_capabilities_add(0, 31, -1) && (!is_reported_in_pause() || event_capabilities_add(32, -1));
}

bool ids_init(JNIEnv *env)
{
	jvmtiEnv *ti = the_bridge.ti;

	if (atomic_load(&ids.ready))
		return true;
	if (!env || !ids_are_possible() || !pump_start())
		return false;
	if (is_reported_in_pause()) {
		if ((*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL))
			return false;
		atomic_store(&ids.reported, true);
	}
	atomic_store(&ids.ready, true);
	event_modes_apply();
	return true;
}

bool ids_looked_for(void)
{
	return atomic_load(&ids.ready) && !atomic_load(&ids.reported) && atomic_load(&ids.in_use);
}

struct finding {
	JNIEnv *env;
	struct object_id *found;
};

static void find_add(struct finding *f, struct object_id *id)
{
	id->gone = true;
	id->next = f->found;
	f->found = id;
}

static void untag_one(struct object_id *id, void *arg)
{
	struct finding *f = arg;
	jobject object = id->gone || atomic_load(&id->by_tag) ? NULL : id_object(f->env, id);

	if (!object)
		return;
	if (!(*the_bridge.ti)->SetTag(the_bridge.ti, object, 0))
		find_add(f, id);
	(*f->env)->DeleteLocalRef(f->env, object);
}

/* A thread that has just got an id counts as its user, or is about to: until then no other object has it. */
struct object_id *ids_untag(JNIEnv *env)
{
	struct finding f = {env, NULL};

	id_records_each(untag_one, &f);
	return f.found;
}

static void find_if_dead(struct object_id *id, void *arg)
{
	struct finding *f = arg;
	jweak ref = atomic_load(&id->ref);

	if (ref && !id->gone && (*f->env)->IsSameObject(f->env, ref, NULL))
		find_add(f, id);
}

struct object_id *ids_dead(JNIEnv *env)
{
	struct finding f = {env, NULL};

	id_records_each(find_if_dead, &f);
	return f.found;
}

struct object_id *id_known(jobject object)
{
	jlong tag = 0;

	if (!object || (*the_bridge.ti)->GetTag(the_bridge.ti, object, &tag))
		return NULL;
	return id_from_tag(tag);
}

static struct object_id *id_new(JNIEnv *env, jobject object, enum id_kind kind)
{
	struct object_id *id = id_record_new();
	jweak ref;

	if (!id)
		return NULL;
	id->kind = kind;
	ref = ref_weak_new(env, object);
	if (!ref) {
		(*env)->ExceptionClear(env);
		id_record_free(id);
		return NULL;
	}
	if ((*the_bridge.ti)->SetTag(the_bridge.ti, object, (jlong)(uintptr_t)id)) {
		ref_weak_delete(env, ref);
		id_record_free(id);
		return NULL;
	}
	atomic_store(&id->ref, ref);
	return id;
}

/* JNI would need a reference to java.lang.Class, and might leave an exception. */
static bool is_class(jobject object)
{
	jint status;

	return !(*the_bridge.ti)->GetClassStatus(the_bridge.ti, object, &status);
}

/* An id that stays; NULL: none, or it may be removed. */
static struct object_id *id_permanent(jobject object)
{
	uint32_t seen = atomic_load(&ids.by_tag);
	struct object_id *id = id_known(object);

	return !(seen & 1) && atomic_load(&ids.by_tag) == seen ? id : NULL;
}

/* With the steady lock held. */
static bool id_keep(JNIEnv *env, struct object_id *id, jobject object)
{
	jweak ref = atomic_load(&id->by_tag) ? ref_weak_new(env, object) : NULL;

	if (!atomic_load(&id->by_tag))
		return true;
	if (!ref) {
		(*env)->ExceptionClear(env);
		return false;
	}
	id->kind = is_class(object) ? ID_CLASS : ID_OBJECT;
	atomic_store(&id->ref, ref);
	atomic_store(&id->by_tag, false);
	return true;
}

struct object_id *id_of(struct thread *t, JNIEnv *env, jobject object, enum id_kind kind)
{
	struct object_id *id;
	jthrowable pending;
	bool first = false;

	if (!object || !ids_init(env))
		return NULL;
	id = id_permanent(object);
	if (id)
		return id;
	pending = bridge_exception_take(env);
	steady_lock(t); /* otherwise two threads might tag it */
	id = id_known(object);
	if (!id) {
		id = id_new(env, object, kind);
		first = id && !atomic_fetch_add(&ids.in_use, 1);
	} else if (!id_keep(env, id, object)) {
		id = NULL;
	}
	steady_unlock();
	if (first)
		event_modes_apply();
	bridge_exception_put(env, pending);
	return id;
}

struct object_id *id_of_object(struct thread *t, JNIEnv *env, jobject object)
{
	struct object_id *id = object ? id_permanent(object) : NULL;

	return id ? id : id_of(t, env, object, object && is_class(object) ? ID_CLASS : ID_OBJECT);
}

/* For an id that is only a tag: JVMTI searches all tags. */
static void id_find(JNIEnv *env, struct object_id *id)
{
	jlong tag = (jlong)(uintptr_t)id;
	jobject *objects = NULL;
	jint n = 0;

	steady_lock(thread_find(env));
	if (atomic_load(&id->by_tag) &&
	    !(*the_bridge.ti)->GetObjectsWithTags(the_bridge.ti, 1, &tag, &n, &objects, NULL)) {
		for (jint i = 0; i < n; i++) {
			id_keep(env, id, objects[i]);
			(*env)->DeleteLocalRef(env, objects[i]);
		}
		bridge_free(objects);
	}
	steady_unlock();
}

jobject id_object(JNIEnv *env, struct object_id *id)
{
	jobject local = NULL;
	jweak ref;

	if (atomic_load(&id->by_tag))
		id_find(env, id);

	atomic_fetch_add(&id->users, 1);
	ref = atomic_load(&id->ref);
	if (ref)
		local = (*env)->NewLocalRef(env, ref);
	atomic_fetch_sub(&id->users, 1);
	return local;
}

bool id_empty(JNIEnv *env, struct object_id *id)
{
	jweak ref = atomic_exchange(&id->ref, NULL);

	if (ref)
		id->dead = ref;
	if (atomic_load(&id->users))
		return false;
	if (id->dead)
		ref_weak_delete(env, id->dead);
	id->dead = NULL;
	saved_class_free(atomic_exchange(&id->saved, NULL));
	definition_reset(&id->definition);
	atomic_store(&id->array, 0);
	atomic_store(&id->element, NULL);
	atomic_store(&id->by_tag, false);
	atomic_store(&id->told, false);
	id->record = NULL;
	return true;
}

void id_free(void *arg)
{
	struct object_id *id = arg;

	atomic_fetch_sub(&ids.in_use, 1);
	id->gone = false;
	id->free_reported = id->unload_reported = 0;
	id_record_free(id);
}

bool ids_by_tag_begin(size_t bytes)
{
	atomic_fetch_add(&ids.by_tag, 1);
	ids.by_tag_left = bytes / sizeof(struct object_id);
	return true;
}

struct object_id *id_by_tag(void)
{
	struct object_id *id = ids.by_tag_left ? id_record_new() : NULL;

	if (!id)
		return NULL;
	ids.by_tag_left--;
	id->kind = ID_OBJECT;
	atomic_store(&id->by_tag, true);
	atomic_fetch_add(&ids.in_use, 1);
	return id;
}

static jint JNICALL on_tagged(jlong class_tag, jlong size, jlong *tag, jint length, void *arg)
{
	(void)class_tag, (void)size, (void)length, (void)arg;
	if (*tag && atomic_load(&id_from_tag(*tag)->by_tag))
		*tag = 0;
	return 0;
}

static void by_tag_free(struct object_id *id, void *arg)
{
	(void)arg;
	if (id->record)
		id->record = NULL;
	if (!atomic_load(&id->by_tag) || id->gone)
		return; /* it stays, or the pump has it */
	atomic_store(&id->by_tag, false);
	atomic_fetch_sub(&ids.in_use, 1);
	id_record_free(id);
}

void ids_by_tag_end(struct thread *t)
{
	jvmtiHeapCallbacks callbacks = {.heap_iteration_callback = on_tagged};
	struct allocs kept;

	if (!(atomic_load(&ids.by_tag) & 1))
		return;
	steady_lock(t);
	allocs_keep(t, &kept);
	(*the_bridge.ti)->IterateThroughHeap(the_bridge.ti, JVMTI_HEAP_FILTER_UNTAGGED, NULL, &callbacks, NULL);
	id_records_each(by_tag_free, NULL);
	id_records_trim();
	atomic_fetch_add(&ids.by_tag, 1);
	steady_unlock();
	allocs_send(t, t->env);
}
