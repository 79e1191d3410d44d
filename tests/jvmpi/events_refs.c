/* JNI's references. */
#include "tests/jvmpi/events.h"

JNIEXPORT void JNICALL Java_Events_references(JNIEnv *env, jclass klass, jobject object, jint n);

static struct {
	int allocs, frees, weak_allocs, weak_frees, strange;
	struct table live;
} r;

static void refs_seen(JVMPI_Event *e, jint type)
{
	bool ours = jvmpi_events.main && e->env_id == jvmpi_events.main;

	if (!ours)
		return;
	if (type == JVMPI_EVENT_JNI_GLOBALREF_ALLOC || type == JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC) {
		if (e->u.jni_globalref_alloc.obj_id != jvmpi_events.watched[0])
			return;
		*(type == JVMPI_EVENT_JNI_GLOBALREF_ALLOC ? &r.allocs : &r.weak_allocs) += 1;
		r.strange += table_find(&r.live, e->u.jni_globalref_alloc.ref_id) != NULL;
		table_add(&r.live, e->u.jni_globalref_alloc.ref_id, NULL);
	} else if (type == JVMPI_EVENT_JNI_GLOBALREF_FREE || type == JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE) {
		if (!table_find(&r.live, e->u.jni_globalref_free.ref_id))
			return;
		*(type == JVMPI_EVENT_JNI_GLOBALREF_FREE ? &r.frees : &r.weak_frees) += 1;
		table_drop(&r.live, e->u.jni_globalref_free.ref_id);
	}
}

JNIEXPORT void JNICALL Java_Events_references(JNIEnv *env, jclass klass, jobject object, jint n)
{
	(void)klass;
	for (jint i = 0; i < n; i++) {
		jobject ref = (*env)->NewGlobalRef(env, object);
		jweak weak = (*env)->NewWeakGlobalRef(env, object);

		if ((*env)->ExceptionCheck(env))
			return;
		(*env)->DeleteGlobalRef(env, ref);
		(*env)->DeleteWeakGlobalRef(env, weak);
	}
}

static void refs_end(JNIEnv *env)
{
	(void)env;
	check("JNI_GLOBALREF_ALLOC", r.allocs == 1000 && !r.strange, "%d of 1000, %d twice", r.allocs, r.strange);
	check("JNI_GLOBALREF_FREE", r.frees == 1000, "%d of 1000", r.frees);
	check("JNI_WEAK_GLOBALREF_ALLOC", r.weak_allocs == 1000, "%d of 1000", r.weak_allocs);
	check("JNI_WEAK_GLOBALREF_FREE", r.weak_frees == 1000, "%d of 1000", r.weak_frees);
}

static const jint ref_types[] = {JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
				 JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE, 0};

const struct kind kind_refs = {.what = "refs", .types = ref_types, .seen = refs_seen, .end = refs_end};
