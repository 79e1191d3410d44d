/* Ids of objects, classes and methods, and what they are good for when the object is gone. */
#include <pthread.h>
#include <unistd.h>

#include "tests/jvmpi/checker.h"

enum { OBJECTS = 100 };

static bool is_requestable(jint type)
{
	static const jint types[] = {
		JVMPI_EVENT_CLASS_LOAD,  JVMPI_EVENT_THREAD_START, JVMPI_EVENT_OBJECT_ALLOC,
		JVMPI_EVENT_OBJECT_DUMP, JVMPI_EVENT_HEAP_DUMP,    JVMPI_EVENT_MONITOR_DUMP,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i] == type)
			return true;
	return false;
}

void ids_check(JNIEnv *env, jclass klass, jobject object)
{
	jobjectID id = jvmpi->jobject2jobjectID(object), class_id = jvmpi->jobject2jobjectID(klass);
	jobject back = jvmpi->jobjectID2jobject(id);
	jmethodID spin = (*env)->GetStaticMethodID(env, klass, "spin", "(J)J");
	char garbage[64] = {0};

	pthread_mutex_lock(&checker.lock);
	table_add(&checker.objects, id, NULL);
	pthread_mutex_unlock(&checker.lock);
	check("jobject2jobjectID", id && id == jvmpi->jobject2jobjectID(object), "two ids of one object");
	check("jobject2jobjectID", (unsigned long)id >> 31 == 0, "not below 2 GB: %p", (void *)id);
	check("jobject2jobjectID", !jvmpi->jobject2jobjectID(NULL), "NULL has one");
	check("jobjectID2jobject", back && (*env)->GetObjectRefType(env, back) == JNILocalRefType,
	      "no local reference");
	check("jobjectID2jobject", back && (*env)->IsSameObject(env, back, object), "another object");
	check("jobjectID2jobject", !jvmpi->jobjectID2jobject((jobjectID)(void *)garbage), "garbage is an object");
	check("GetMethodClass", jvmpi->GetMethodClass(spin) == class_id && class_id, "not the class of spin");
	check("GetMethodClass", !jvmpi->GetMethodClass(NULL), "NULL has one");
	checker.method_name_ok = false;
	check("RequestEvent",
	      jvmpi->RequestEvent(JVMPI_EVENT_JS_METHOD, spin) == JVMPI_SUCCESS && checker.method_name_ok,
	      "JS_METHOD of Jvmpi.spin");
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, garbage) == JVMPI_FAIL, "garbage is a class");
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, id) == JVMPI_FAIL, "an object is a class");
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, garbage) == JVMPI_FAIL,
	      "garbage is a thread");
	checker.told = NULL;
	check("RequestEvent",
	      jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, env) == JVMPI_SUCCESS && checker.told == env,
	      "no THREAD_START");
	checker.told = NULL;
	check("RequestEvent",
	      jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, jvmpi->GetThreadObject(env)) == JVMPI_SUCCESS &&
		      checker.told == env,
	      "no THREAD_START by the id of the thread's object");
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_THREAD_START, id) == JVMPI_FAIL, "an object is a thread");
	for (jint type = -2; type < 2100; type++)
		if (!is_requestable(type))
			check("RequestEvent", jvmpi->RequestEvent(type, NULL) == JVMPI_NOT_AVAILABLE, "event %d", type);
}

/* With an exception of the caller's: it stays, and -Xcheck:jni has nothing to say. */
void pending_check(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/IllegalStateException");
	jobject object = klass ? (*env)->AllocObject(env, klass) : NULL;
	jthrowable pending;
	jobjectID id;

	if (!object || (*env)->ThrowNew(env, klass, "the agent's"))
		return;
	id = jvmpi->jobject2jobjectID(object);
	checker.runner = env;
	jvmpi->RunGC();
	checker.runner = NULL;
	pending = (*env)->ExceptionOccurred(env);
	(*env)->ExceptionClear(env);
	check("jobject2jobjectID", id && pending && (*env)->IsInstanceOf(env, pending, klass),
	      "an exception is lost, or no id");
	pthread_mutex_lock(&checker.lock);
	table_add(&checker.objects, id, NULL);
	pthread_mutex_unlock(&checker.lock);
}

static void objects_make(JNIEnv *env, jobjectID *ret)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Object");

	for (int i = 0; i < OBJECTS && klass; i++) {
		jobject object = (*env)->AllocObject(env, klass);

		if ((*env)->ExceptionCheck(env))
			return;
		ret[i] = jvmpi->jobject2jobjectID(object);
		pthread_mutex_lock(&checker.lock);
		table_add(&checker.objects, ret[i], NULL);
		pthread_mutex_unlock(&checker.lock);
		(*env)->DeleteLocalRef(env, object);
	}
}

static void collect(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/System");
	jmethodID gc = klass ? (*env)->GetStaticMethodID(env, klass, "gc", "()V") : NULL;

	if (gc)
		(*env)->CallStaticVoidMethod(env, klass, gc);
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
}

static int told_free(const jobjectID *ids)
{
	int n = 0;

	pthread_mutex_lock(&checker.lock);
	for (int i = 0; i < OBJECTS; i++)
		n += !table_find(&checker.objects, ids[i]);
	pthread_mutex_unlock(&checker.lock);
	return n;
}

/* While GC is disabled an object may be gone, but its id is nobody else's. */
void dead_ids_check(JNIEnv *env)
{
	jobjectID dead[OBJECTS] = {0}, other[OBJECTS] = {0};

	jvmpi->DisableGC();
	objects_make(env, dead);
	collect(env);
	usleep(50000);
	for (int i = 0; i < OBJECTS; i++)
		check("jobjectID2jobject", !jvmpi->jobjectID2jobject(dead[i]), "the dead object %d", i);
	objects_make(env, other);
	for (int i = 0; i < OBJECTS * OBJECTS; i++)
		check("DisableGC", dead[i / OBJECTS] != other[i % OBJECTS], "an id is used again");
	check("DisableGC", !told_free(dead), "objects were told as freed");
	jvmpi->EnableGC();
	collect(env);
	for (int i = 0; i < 30000 && told_free(dead) < OBJECTS / 2; i++)
		usleep(1000);
	check("OBJECT_FREE", told_free(dead) >= OBJECTS / 2, "%d of %d, and of those that came later %d",
	      told_free(dead), OBJECTS, told_free(other));
}
