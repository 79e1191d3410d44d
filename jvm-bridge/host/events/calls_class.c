/* The class that inserted calls are of. */
#include "jvm-bridge/host/events/calls_class.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/events/inserted.h"
#include "jvm-bridge/host/rewrite/rewrite.h"
#include "jvm-bridge/host/thread.h"

enum { FOUND = 1, FOUND_NOT }; /* tags of loaders */

/* A loader that a thread is asking: what that loads is not to be changed before the answer. */
struct asking {
	jobject loader;
	struct asking *outer;
};

static struct {
	jvmtiEnv *ti;
	jclass klass; /* these are global references */
	jstring name;
	jclass class_class;
	jmethodID for_name;
	bool linked; /* its methods are ours */
} calls;

/* A global reference in place of a local one. */
static jobject kept(JNIEnv *env, jobject local)
{
	jobject global = local ? (*env)->NewGlobalRef(env, local) : NULL;

	(*env)->DeleteLocalRef(env, local);
	return global;
}

/* NULL: the JVM does not define the class. */
static jclass define(JNIEnv *env)
{
	struct writer w;
	jclass klass = NULL;

	if (!calls_class_write(&w))
		klass = (*env)->DefineClass(env, CALLS_CLASS, NULL, (const jbyte *)w.p, (jsize)w.size);
	free(w.p);
	return kept(env, klass);
}

/* As Class.forName(). */
static jclass by_name(JNIEnv *env, jboolean initialize, jobject loader)
{
	jobject found =
		(*env)->CallStaticObjectMethod(env, calls.class_class, calls.for_name, calls.name, initialize, loader);

	if (!(*env)->ExceptionCheck(env))
		return found;
	(*env)->ExceptionClear(env);
	return NULL;
}

static bool by_name_prepare(JNIEnv *env)
{
	calls.class_class = kept(env, (*env)->FindClass(env, "java/lang/Class"));
	if (!calls.class_class)
		return false;
	calls.for_name = (*env)->GetStaticMethodID(env, calls.class_class, "forName",
						   "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
	calls.name = calls.for_name ? kept(env, (*env)->NewStringUTF(env, CALLS_NAME)) : NULL;
	return calls.name;
}

void JNICALL on_class_prepare_link(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass klass)
{
	static char entered[] = CALLS_ENTERED, left[] = CALLS_LEFT, caught[] = CALLS_CAUGHT, type[] = CALLS_TYPE;
	static char allocated[] = CALLS_ALLOCATED, all[] = CALLS_ALLOCATED_ALL, alloc_type[] = CALLS_ALLOC_TYPE;
	const JNINativeMethod methods[] = {{entered, type, (void *)call_entered},
					   {left, type, (void *)call_left},
					   {caught, type, (void *)call_caught},
					   {allocated, alloc_type, (void *)call_allocated},
					   {all, alloc_type, (void *)call_allocated_all}};

	(void)ti, (void)thread;
	if ((*env)->IsSameObject(env, klass, calls.klass))
		calls.linked = !(*env)->RegisterNatives(env, klass, methods, sizeof(methods) / sizeof(*methods));
}

static void methods_find(jvmtiEnv *ti)
{
	jmethodID *at = NULL;
	jint n = 0;

	if ((*ti)->GetClassMethods(ti, calls.klass, &n, &at))
		return;
	n = n < CALL_METHODS_MAX ? n : CALL_METHODS_MAX;
	memcpy(the_bridge.calls, at, (size_t)n * sizeof(*at));
	atomic_store(&the_bridge.n_calls, (unsigned)n);
	bridge_free(at);
}

/*
 * From JDK 16 on the JVM warns of native methods that are registered for a class of its own, unless a class of its own
 * does it. Class.forName() does, as far as it can see, if they are registered while it links the class.
 */
static void link_by_name(jvmtiEnv *ti, JNIEnv *env)
{
	jthread self = NULL;

	if ((*ti)->GetCurrentThread(ti, &self) ||
	    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, self))
		return;
	by_name(env, JNI_TRUE, NULL);
	(*ti)->SetEventNotificationMode(ti, JVMTI_DISABLE, JVMTI_EVENT_CLASS_PREPARE, self);
	if (calls.linked)
		methods_find(ti);
}

bool calls_class_link(jvmtiEnv *ti, JNIEnv *env)
{
	if (calls.klass)
		return calls.linked;
	if ((*env)->PushLocalFrame(env, 16)) {
		(*env)->ExceptionClear(env);
		return false;
	}
	calls.ti = ti;
	if (by_name_prepare(env))
		calls.klass = define(env);
	if (calls.klass)
		link_by_name(ti, env);
	(*env)->ExceptionClear(env);
	(*env)->PopLocalFrame(env, NULL);
	return calls.linked;
}

static bool is_being_asked(const struct thread *t, JNIEnv *env, jobject loader)
{
	for (const struct asking *a = t->asking; a; a = a->outer)
		if ((*env)->IsSameObject(env, a->loader, loader))
			return true;
	return false;
}

/* If it finds the class, the JVM does not ask it again. */
static bool ask(struct thread *t, JNIEnv *env, jobject loader)
{
	struct asking mine = {loader, t->asking};
	bool found = false;

	if (!(*env)->PushLocalFrame(env, 16)) {
		t->asking = &mine;
		found = (*env)->IsSameObject(env, by_name(env, JNI_FALSE, loader), calls.klass);
		t->asking = mine.outer;
		(*env)->PopLocalFrame(env, NULL);
	}
	(*env)->ExceptionClear(env);
	return found;
}

bool calls_class_is_found(JNIEnv *env, jobject loader)
{
	struct thread *t;
	jthrowable pending;
	jlong tag = 0;

	if (!loader)
		return true;
	if ((*calls.ti)->GetTag(calls.ti, loader, &tag))
		return false;
	if (tag)
		return tag == FOUND;
	t = thread_current();
	if (!t || is_being_asked(t, env, loader))
		return false;
	pending = bridge_exception_take(env);
	tag = ask(t, env, loader) ? FOUND : FOUND_NOT;
	bridge_exception_put(env, pending);
	return !(*calls.ti)->SetTag(calls.ti, loader, tag) && tag == FOUND;
}
