#ifndef JS_BRIDGE_ID_H
#define JS_BRIDGE_ID_H

#include "jvm-bridge/host/bridge.h"
#include "jvm-bridge/host/told.h"

struct saved_class;
struct thread;

/*
 * What a jobjectID points to. The object has the record's address as its JVMTI tag; the record has a
 * weak reference to the object. So ids are stable (nothing ever moves) and cheap to turn back. Records lie
 * below 2 GB: agents of the 32-bit time keep ids in an int.
 */
enum id_kind { ID_OBJECT, ID_CLASS };

struct object_id {
	uint64_t magic;
	_Atomic(jweak) ref; /* NULL: dead */
	_Atomic uint32_t users; /* of ref, or of the record */
	jweak dead; /* what ref was, until nobody uses it any more */
	enum id_kind kind;
	struct told told; /* of a class: by CLASS_LOAD */
	bool gone; /* of the pump: found dead */
	uint32_t freed_told, unload_told; /* bit an agent, of the pump: the object is dead, and the agent knows */
	_Atomic jint array; /* alloc.c, of a class: 1 + what is_array of OBJECT_ALLOC is; 0: not known yet */
	struct object_id *_Atomic element; /* and the class of its elements */
	struct saved_class *_Atomic saved; /* class.c: for RequestEvent inside CLASS_UNLOAD */
	char *record; /* in the heap dump that is being made; NULL: not met */
	_Atomic bool by_tag; /* for as long as that dump: there is no reference, the object is found by its tag */
	struct object_id *next; /* of the free, or the dead */
};

/* NULL: the object is NULL or dead, or no memory. */
struct object_id *id_of(struct thread *t, JNIEnv *env, jobject object, enum id_kind kind);
struct object_id *id_of_object(struct thread *t, JNIEnv *env, jobject object); /* of either kind */
struct object_id *id_known(jobject object); /* NULL: it has none */
struct object_id *id_check(jobjectID id); /* NULL: no such id */
jobject id_object(JNIEnv *env, struct object_id *id); /* local reference; NULL: dead */
bool id_empty(JNIEnv *env, struct object_id *id); /* of a dead object. false: in use; to be called again later */
void id_free(void *id); /* an empty one: it may be given to another object */
struct object_id *id_from_tag(jlong tag);
bool ids_are_possible(void); /* the capabilities, which it takes */
bool ids_init(JNIEnv *env);
bool ids_looked_for(void); /* there are ids, and JVMTI does not report which objects are freed */
/* All whose objects live, linked by `next`: the objects lose them, as if they were gone. Only the thread that frees asks. */
struct object_id *ids_untag(JNIEnv *env);
/* Those whose objects have gone, linked by `next`; each is found once. Only the thread that frees asks. */
struct object_id *ids_dead(JNIEnv *env);

/*
 * Ids that are made in the pause of a heap dump, between these two calls, by whoever has the turn of making one. Those that
 * somebody asks about meanwhile become ids like all others.
 */
bool ids_by_tag_begin(size_t bytes); /* as many as have room there */
struct object_id *id_by_tag(void); /* the object's new tag; NULL: no room */
void ids_by_tag_end(struct thread *t); /* the rest is taken off its objects */

void *low_alloc(size_t size); /* below 2 GB where there is room; zeroed, never freed; NULL */

#endif
