#ifndef JS_BRIDGE_ALLOC_H
#define JS_BRIDGE_ALLOC_H

#include "jvm-bridge/host/id.h"

/* OBJECT_ALLOC, ARENA_NEW, and what JVMPI reports about an object's class. */

/* What JVMPI reports about the objects of one class; kept with the class's id. */
struct class_kind {
	jint is_array; /* JVMPI_NORMAL_OBJECT, JVMPI_CLASS (an array of objects), or the type of a primitive array's elements */
	jobjectID class_id; /* the class; of an array of objects, its elements' class; of a primitive array, NULL */
};

/* `klass` is a local reference to the object's class, or NULL to look it up. false: out of memory. */
bool class_kind_of(struct thread *t, JNIEnv *env, jobject object, jclass klass, struct class_kind *ret);
bool class_kind_of_class(struct thread *t, JNIEnv *env, jclass klass, struct class_kind *ret);

jint jvmpi_type(char signature); /* the first character of a signature to JVMPI_BOOLEAN and so on, or JVMPI_CLASS */

void arena_report(struct agent *a, struct thread *t); /* a JVM has only one arena */
jint alloc_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id);
bool allocs_are_sampled(void); /* by JVMTI; otherwise events/allocated.c reports them */
bool alloc_prepare(void); /* false: allocations cannot be reported */
/* To each agent that wants it. id: the object's, or NULL, which reports nothing; klass: NULL to look it up. No exception is pending. */
void alloc_report(struct thread *t, JNIEnv *env, struct object_id *id, jobject object, jclass klass, jlong size);
void alloc_begin(void); /* call right after enabling JVMTI's event; all later allocations are reported */

/*
 * To walk the heap, or to look at what monitors a stopped thread owns, HotSpot allocates what escape analysis had removed
 * from other threads' compiled frames (EscapeBarrier, deoptimization.cpp; JDK 16 and later). It stops these threads
 * meanwhile, wherever they are, and reports the allocations on the calling thread. So the calling thread keeps them
 * between these two, and may hold `steady`; allocs_send() is called when the others go on and `steady` is free.
 */
struct allocs {
	struct alloc_kept {
		jobject ref; /* global */
		jlong size;
	} * at;
	size_t n, cap, lost;
};

void allocs_keep(struct thread *t, struct allocs *ret);
void allocs_send(struct thread *t, JNIEnv *env);

void JNICALL on_sampled_alloc(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jclass klass, jlong size);

#endif
