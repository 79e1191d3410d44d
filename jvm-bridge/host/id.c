#include "jvm-bridge/host/id.h"

#include <sys/mman.h>

#include "jvm-bridge/host/thread.h"

enum { CHUNK = 1 << 18, CHUNKS_MAX = 4096 };
#define ID_MAGIC 0x4a53424f424a4944ull
#define ID_PER_CHUNK (CHUNK / sizeof(struct object_id))

/* Only grows. Ids are checked without the lock: n is published behind its chunk. */
static struct {
	struct lock lock;
	struct object_id *_Atomic chunks[CHUNKS_MAX];
	_Atomic unsigned n;
	unsigned used; /* records of the last chunk */
	struct object_id *free;
	_Atomic bool ready; /* objects can be tagged */
	_Atomic bool reported; /* by OBJECT_FREE, when they are freed */
	_Atomic uint32_t in_use;
} ids;

static void *pages(void *hint, size_t size, int flags)
{
	void *p = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* MAP_32BIT looks from 1 GB on only, where ZGC may have its heap; then any free place below 2 GB. */
void *low_alloc(size_t size)
{
	const uintptr_t step = 1 << 24, end = (uintptr_t)1 << 31;
	void *p = pages(NULL, size, MAP_32BIT);

	for (uintptr_t at = step; !p && at < end; at += step) {
		p = pages((void *)at, size, 0);
		if (p && (uintptr_t)p + size > end) {
			munmap(p, size);
			p = NULL;
		}
	}
	return p ? p : pages(NULL, size, 0);
}

static struct object_id *record_new_locked(void)
{
	unsigned n = atomic_load(&ids.n);
	struct object_id *id = ids.free;

	if (id) {
		ids.free = id->next;
		id->next = NULL;
		id->magic = ID_MAGIC;
		return id;
	}
	if (!n || ids.used == ID_PER_CHUNK) {
		id = n < CHUNKS_MAX ? low_alloc(CHUNK) : NULL;
		if (!id)
			return NULL;
		atomic_store(&ids.chunks[n], id);
		atomic_store(&ids.n, ++n);
		ids.used = 0;
	}
	id = atomic_load(&ids.chunks[n - 1]) + ids.used++;
	id->magic = ID_MAGIC;
	return id;
}

static struct object_id *record_new(void)
{
	struct object_id *id;

	lock_take(&ids.lock);
	id = record_new_locked();
	lock_drop(&ids.lock);
	return id;
}

static void record_free(struct object_id *id)
{
	lock_take(&ids.lock);
	id->magic = 0;
	id->next = ids.free;
	ids.free = id;
	lock_drop(&ids.lock);
}

struct object_id *id_from_tag(jlong tag)
{
	return (struct object_id *)(uintptr_t)tag;
}

/* JDK 16 is where OBJECT_FREE left the pause; see gc.c. */
static bool is_reported_in_pause(void)
{
	jint version = 0;

	if ((*the_bridge.ti)->GetVersionNumber(the_bridge.ti, &version))
		return false;
	return (version & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR < 16;
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
	if (!env || !ids_are_possible() || !gc_pump_start())
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

/* Whoever got an id just before counts as its user, or is about to: by then it is nobody else's yet. */
struct object_id *ids_untag(JNIEnv *env)
{
	unsigned n = atomic_load(&ids.n);
	struct object_id *list = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct object_id *chunk = atomic_load(&ids.chunks[i]);

		for (size_t k = 0; k < ID_PER_CHUNK; k++) {
			jobject object = chunk[k].gone ? NULL : id_object(env, &chunk[k]);

			if (!object)
				continue;
			if (!(*the_bridge.ti)->SetTag(the_bridge.ti, object, 0)) {
				chunk[k].gone = true;
				chunk[k].next = list;
				list = &chunk[k];
			}
			(*env)->DeleteLocalRef(env, object);
		}
	}
	return list;
}

struct object_id *ids_dead(JNIEnv *env)
{
	unsigned n = atomic_load(&ids.n);
	struct object_id *dead = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct object_id *chunk = atomic_load(&ids.chunks[i]);

		for (size_t k = 0; k < ID_PER_CHUNK; k++) {
			jweak ref = atomic_load(&chunk[k].ref);

			if (!ref || chunk[k].gone || !(*env)->IsSameObject(env, ref, NULL))
				continue;
			chunk[k].gone = true;
			chunk[k].next = dead;
			dead = &chunk[k];
		}
	}
	return dead;
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
	struct object_id *id = record_new();
	jweak ref;

	if (!id)
		return NULL;
	id->kind = kind;
	ref = (*env)->NewWeakGlobalRef(env, object);
	if (!ref) {
		(*env)->ExceptionClear(env);
		record_free(id);
		return NULL;
	}
	if ((*the_bridge.ti)->SetTag(the_bridge.ti, object, (jlong)(uintptr_t)id)) {
		(*env)->DeleteWeakGlobalRef(env, ref);
		record_free(id);
		return NULL;
	}
	atomic_store(&id->ref, ref);
	return id;
}

struct object_id *id_of(struct thread *t, JNIEnv *env, jobject object, enum id_kind kind)
{
	struct object_id *id;
	jthrowable pending;
	bool first = false;

	if (!object || !ids_init(env))
		return NULL;
	id = id_known(object);
	if (id)
		return id;
	pending = bridge_exception_take(env);
	steady_take(t); /* or two threads tag it */
	id = id_known(object);
	if (!id) {
		id = id_new(env, object, kind);
		first = id && !atomic_fetch_add(&ids.in_use, 1);
	}
	steady_drop();
	if (first)
		event_modes_apply();
	bridge_exception_put(env, pending);
	return id;
}

struct object_id *id_check(jobjectID id)
{
	uintptr_t p = (uintptr_t)id;
	unsigned n = atomic_load(&ids.n);

	for (unsigned i = 0; i < n; i++) {
		uintptr_t base = (uintptr_t)atomic_load(&ids.chunks[i]);

		if (p < base || p - base >= ID_PER_CHUNK * sizeof(struct object_id))
			continue;
		if ((p - base) % sizeof(struct object_id))
			return NULL;
		return ((struct object_id *)p)->magic == ID_MAGIC ? (struct object_id *)p : NULL;
	}
	return NULL;
}

jobject id_object(JNIEnv *env, struct object_id *id)
{
	jobject local = NULL;
	jweak ref;

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
		(*env)->DeleteWeakGlobalRef(env, id->dead);
	id->dead = NULL;
	class_forget(atomic_exchange(&id->saved, NULL));
	told_forget(&id->told);
	return true;
}

void id_free(void *arg)
{
	struct object_id *id = arg;

	atomic_fetch_sub(&ids.in_use, 1);
	id->gone = false;
	id->freed_told = id->unload_told = 0;
	record_free(id);
}
