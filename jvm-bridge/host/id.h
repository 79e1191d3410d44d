#ifndef JS_BRIDGE_ID_H
#define JS_BRIDGE_ID_H

#include "jvm-bridge/host/base/bridge.h"
#include "jvm-bridge/host/definition.h"

struct saved_class;
struct thread;

/*
 * What a jobjectID points to. The object's JVMTI tag is the address of this record; the record has a weak reference
 * to the object. So ids are stable (nothing ever moves), and an id is cheap to turn back into its object. Records lie
 * below 2 GB, because agents from the 32-bit era keep ids in an int.
 */
enum id_kind { ID_OBJECT, ID_CLASS };

struct object_id {
	uint64_t magic;
	_Atomic(jweak) ref; /* NULL: dead */
	_Atomic uint32_t users; /* of ref, or of the record */
	jweak dead; /* the former ref, kept until nobody uses it */
	enum id_kind kind;
	struct definition definition; /* for a class: by CLASS_LOAD */
	bool gone; /* the pump's: found dead */
	uint32_t free_reported, unload_reported; /* the pump's: one bit per agent that knows that the object is dead */
	_Atomic jint array; /* alloc.c, for a class: 1 + is_array of OBJECT_ALLOC; 0: not yet known */
	struct object_id *_Atomic element; /* likewise the class of its elements */
	struct saved_class *_Atomic saved; /* class.c: for RequestEvent inside CLASS_UNLOAD */
	char *record; /* in the heap dump in progress; NULL: not yet reached */
	_Atomic bool told; /* events/allocated.c: by OBJECT_ALLOC */
	_Atomic bool by_tag; /* during that dump: there is no reference, the object is found by its tag */
	struct object_id *next; /* in the list of free or dead records */
};

/* NULL: the object is NULL or dead, or out of memory. */
struct object_id *id_of(struct thread *t, JNIEnv *env, jobject object, enum id_kind kind);
struct object_id *id_of_object(struct thread *t, JNIEnv *env, jobject object); /* of either kind */
struct object_id *id_known(jobject object); /* NULL: it has none */
struct object_id *id_check(jobjectID id); /* NULL: not a valid id */
jobject id_object(JNIEnv *env, struct object_id *id); /* local reference; NULL: dead */
bool id_empty(JNIEnv *env, struct object_id *id); /* the id of a dead object. false: still in use, call again later */
void id_free(void *id); /* an emptied one: another object may get it */
struct object_id *id_from_tag(jlong tag);
bool ids_are_possible(void); /* takes the capabilities that ids need */
bool ids_init(JNIEnv *env);
bool ids_looked_for(void); /* there are ids, and JVMTI does not report which objects are freed */
/* Removes the ids from all live objects, as if these were gone; a list by `next`. Only for the thread that frees. */
struct object_id *ids_untag(JNIEnv *env);
/* Ids whose objects are gone, a list by `next`; each is found once. Only the thread that frees calls it. */
struct object_id *ids_dead(JNIEnv *env);

/*
 * Ids made in the pause of a heap dump, between these two calls, by the thread whose turn it is to make a dump. Ids
 * that somebody asks about meanwhile become ordinary ids.
 */
bool ids_by_tag_begin(size_t bytes); /* as many as fit into `bytes` */
struct object_id *id_by_tag(void); /* its address is the object's new tag; NULL: no room */
void ids_by_tag_end(struct thread *t); /* removes the remaining ones from their objects */

void *low_alloc(size_t size); /* below 2 GB if there is room; zeroed, never freed; NULL: out of memory */

#endif
