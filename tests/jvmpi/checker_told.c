/* What was told against what JVMTI says that there is. */
#include <jvmti.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/jvmpi/checker.h"

JNIEXPORT jboolean JNICALL Java_Jvmpi_isTold(JNIEnv *env, jclass klass, jclass about);

static bool is_reported(struct table *t, jobjectID id)
{
	bool told;

	pthread_mutex_lock(&checker.lock);
	told = table_find(t, id);
	pthread_mutex_unlock(&checker.lock);
	return told;
}

/* What another thread links or starts just now is told by that thread: a moment later. *patience: ms, of all. */
static bool gets_told(struct table *t, jobject object, int *patience)
{
	jobjectID id = jvmpi->jobject2jobjectID(object);

	for (; !is_reported(t, id) && *patience > 0; --*patience)
		usleep(1000);
	return is_reported(t, id);
}

static void classes_check(JNIEnv *env, jvmtiEnv *ti)
{
	int patience = 30000, missing = 0;
	jclass *list = NULL;
	jint n = 0, status;

	if ((*ti)->GetLoadedClasses(ti, &n, &list) || (*env)->EnsureLocalCapacity(env, n + 64))
		n = 0;
	check("JVM_INIT_DONE", n > 100, "%d classes", n);
	for (jint i = 0; i < n; i++) {
		if (!(*ti)->GetClassStatus(ti, list[i], &status) && (status & JVMTI_CLASS_STATUS_PREPARED))
			missing += !gets_told(&checker.classes, list[i], &patience);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	check("JVM_INIT_DONE", !missing, "%d of %d classes are not told", missing, n);
	(*ti)->Deallocate(ti, (unsigned char *)list);
}

static void threads_check(JNIEnv *env, jvmtiEnv *ti)
{
	int patience = 30000, missing = 0;
	jthread *list = NULL;
	jint n = 0;

	if ((*ti)->GetAllThreads(ti, &n, &list))
		n = 0;
	check("JVM_INIT_DONE", n >= 4, "%d threads", n);
	for (jint i = 0; i < n; i++) {
		missing += !gets_told(&checker.objects, list[i], &patience);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	check("JVM_INIT_DONE", !missing, "%d of %d threads are not told", missing, n);
	(*ti)->Deallocate(ti, (unsigned char *)list);
}

void told_check(void)
{
	JNIEnv *env = env_here();
	void *ti = NULL;

	if (!env || (*java_vm)->GetEnv(java_vm, &ti, JVMTI_VERSION_1_2) || (*env)->PushLocalFrame(env, 256)) {
		check("JVM_INIT_DONE", false, "no JVMTI, or no JNI");
		return;
	}
	classes_check(env, ti);
	threads_check(env, ti);
	(*env)->PopLocalFrame(env, NULL);
	(*(jvmtiEnv *)ti)->DisposeEnvironment(ti);
}

/* Called by the initializer of a class, which is the first of its methods. */
JNIEXPORT jboolean JNICALL Java_Jvmpi_isTold(JNIEnv *env, jclass klass, jclass about)
{
	bool told = is_reported(&checker.classes, jvmpi->jobject2jobjectID(about));

	(void)env, (void)klass;
	check("CLASS_LOAD", told, "a method runs before its class is told");
	return told;
}
