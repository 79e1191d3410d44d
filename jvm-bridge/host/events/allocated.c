/*
 * OBJECT_ALLOC up to JDK 15, where JVMTI does not report all allocations. Objects are reported by java.lang.Object's
 * constructor, arrays by the code that makes them (inserted.c), what the JVM makes for Java code by VMObjectAlloc, and
 * what native code makes by JNI functions of our own. Some are seen twice: their ids remember that they were reported.
 */
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/events/inserted.h"
#include "jvm-bridge/host/jni_table.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

static _Atomic(struct JNINativeInterface_ *) before;

/* NULL: nobody wants to know. A thread that is being attached runs its constructor before JVMTI knows it. */
static struct thread *teller(JNIEnv *env)
{
	struct thread *t = any_agent_wants(JVMPI_EVENT_OBJECT_ALLOC) ? thread_find(env) : NULL;

	return thread_may_report(t) && !t->in_alloc && atomic_load(&t->ref) ? t : NULL;
}

/* made: by code of the calling thread, which is still there. */
static void tell(struct thread *t, JNIEnv *env, jobject object, bool made)
{
	jthrowable pending;
	struct object_id *id;
	jlong size = 0;

	if (!object)
		return;
	pending = bridge_exception_take(env);
	t->in_alloc = true;
	t->made = made ? object : NULL;
	id = id_of_object(t, env, object);
	if (id && !atomic_exchange(&id->told, true) && !(*the_bridge.ti)->GetObjectSize(the_bridge.ti, object, &size))
		alloc_report(t, env, id, object, NULL, size);
	t->made = NULL;
	t->in_alloc = false;
	bridge_exception_put(env, pending);
}

void JNICALL call_allocated(JNIEnv *env, jclass klass, jobject object)
{
	struct thread *t = teller(env);

	(void)klass;
	if (t)
		tell(t, env, object, true);
}

static bool has_arrays(JNIEnv *env, jobject array)
{
	jclass klass = (*env)->GetObjectClass(env, array);
	char *signature = NULL;
	bool has = !(*the_bridge.ti)->GetClassSignature(the_bridge.ti, klass, &signature, NULL) && signature[1] == '[';

	bridge_free(signature);
	(*env)->DeleteLocalRef(env, klass);
	return has;
}

static void tell_all(struct thread *t, JNIEnv *env, jobject array)
{
	tell(t, env, array, true);
	if (!has_arrays(env, array))
		return;
	for (jsize i = 0; i < (*env)->GetArrayLength(env, array); i++) {
		jobject inner = (*env)->GetObjectArrayElement(env, array, i);

		if (inner)
			tell_all(t, env, inner);
		(*env)->DeleteLocalRef(env, inner);
	}
}

void JNICALL call_allocated_all(JNIEnv *env, jclass klass, jobject array)
{
	struct thread *t = teller(env);

	(void)klass;
	if (t && !(*env)->EnsureLocalCapacity(env, 300)) /* an array has at most 255 dimensions */
		tell_all(t, env, array);
}

void JNICALL on_vm_alloc(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jclass klass, jlong size)
{
	struct thread *t = teller(env);

	(void)ti, (void)thread, (void)klass, (void)size;
	if (t)
		tell(t, env, object, false);
}

/* NewObject and its like are reported by the object's constructor. */
static jobject told(JNIEnv *env, jobject object)
{
	struct thread *t = object ? teller(env) : NULL;

	if (t)
		tell(t, env, object, false);
	return object;
}

/* A string has an array of its own. */
static jstring told_string(JNIEnv *env, jstring string)
{
	static _Atomic(jfieldID) value;
	struct thread *t = string ? teller(env) : NULL;
	jclass klass;
	jobject array;

	if (!t)
		return string;
	tell(t, env, string, false);
	if (!atomic_load(&value)) {
		klass = (*env)->GetObjectClass(env, string);
		atomic_store(&value, (*env)->GetFieldID(env, klass, "value", jvm_release() < 9 ? "[C" : "[B"));
		(*env)->DeleteLocalRef(env, klass);
	}
	array = atomic_load(&value) ? (*env)->GetObjectField(env, string, atomic_load(&value)) : NULL;
	tell(t, env, array, false);
	(*env)->DeleteLocalRef(env, array);
	return string;
}

static jobject JNICALL alloc_object(JNIEnv *env, jclass klass)
{
	return told(env, atomic_load(&before)->AllocObject(env, klass));
}

static jstring JNICALL new_string(JNIEnv *env, const jchar *text, jsize n)
{
	return told_string(env, atomic_load(&before)->NewString(env, text, n));
}

static jstring JNICALL new_string_utf(JNIEnv *env, const char *text)
{
	return told_string(env, atomic_load(&before)->NewStringUTF(env, text));
}

static jobjectArray JNICALL new_object_array(JNIEnv *env, jsize n, jclass klass, jobject all)
{
	return told(env, atomic_load(&before)->NewObjectArray(env, n, klass, all));
}

#define ARRAYS(X)                                                                                                      \
	X(NewBooleanArray, jbooleanArray)                                                                              \
	X(NewByteArray, jbyteArray)                                                                                    \
	X(NewCharArray, jcharArray)                                                                                    \
	X(NewShortArray, jshortArray)                                                                                  \
	X(NewIntArray, jintArray)                                                                                      \
	X(NewLongArray, jlongArray)                                                                                    \
	X(NewFloatArray, jfloatArray)                                                                                  \
	X(NewDoubleArray, jdoubleArray)

#define NEW_ARRAY(name, type)                                                                                          \
	static type JNICALL new_##name(JNIEnv *env, jsize n)                                                           \
	{                                                                                                              \
		return told(env, atomic_load(&before)->name(env, n));                                                  \
	}

ARRAYS(NEW_ARRAY)

#define CHANGE(name, type) table->name = new_##name;

static void table_change(struct JNINativeInterface_ *table)
{
	table->AllocObject = alloc_object;
	table->NewString = new_string;
	table->NewStringUTF = new_string_utf;
	table->NewObjectArray = new_object_array;
	ARRAYS(CHANGE)
}

bool allocated_prepare(void)
{
	return jni_table_change(&before, table_change);
}
