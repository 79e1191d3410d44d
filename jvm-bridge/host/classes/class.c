/* CLASS_LOAD, CLASS_UNLOAD, and the names of methods. */
#include <string.h>

#include "jvm-bridge/host/base/pool.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/lines.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/saved_class.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

enum { ACC_STATIC = 8 };

/*
 * "Ljava/lang/String;" -> "java.lang.String", arrays keep their brackets. JVMTI writes the slash of a
 * hidden class's name (JVM Specification 4.2.1 does not allow it) as a dot: Class.getName() swaps both.
 */
static char *class_name(struct pool *p, const char *signature, bool slashes)
{
	char *name = pool_string(p, signature);
	size_t n;

	if (!name)
		return NULL;
	n = strlen(name);
	if (name[0] == 'L' && n > 1) {
		memmove(name, name + 1, n - 1);
		name[n - 2] = 0;
	}
	for (char *c = name; *c && !slashes; c++)
		*c = *c == '/' ? '.' : *c == '.' ? '/' : *c;
	return name;
}

static char *taken(struct pool *p, char *of_jvmti)
{
	char *s = of_jvmti ? pool_string(p, of_jvmti) : NULL;

	bridge_free(of_jvmti);
	return s;
}

static char *source_name(struct pool *p, jclass klass)
{
	char *s = NULL;

	if (!event_capabilities_add(11, -1) || (*the_bridge.ti)->GetSourceFileName(the_bridge.ti, klass, &s))
		return NULL;
	return taken(p, s);
}

static bool method_fill(struct pool *p, jmethodID id, JVMPI_Method *ret)
{
	char *name = NULL, *signature = NULL;
	struct lines lines;

	if ((*the_bridge.ti)->GetMethodName(the_bridge.ti, id, &name, &signature, NULL))
		return false;
	ret->method_name = taken(p, name);
	ret->method_signature = taken(p, signature);
	ret->method_id = id;
	lines_get(id, &lines);
	lines_range(&lines, &ret->start_lineno, &ret->end_lineno);
	lines_done(&lines);
	/* Native and abstract methods have no lines. */
	if (ret->start_lineno < 0)
		ret->start_lineno = ret->end_lineno = -1;
	return ret->method_name && ret->method_signature;
}

static bool methods_fill(struct pool *p, jclass klass, JVMPI_Event *e)
{
	jmethodID *ids = NULL;
	jint n = 0;
	bool ok = true;

	if ((*the_bridge.ti)->GetClassMethods(the_bridge.ti, klass, &n, &ids))
		return true; /* arrays, primitive types and unlinked classes have none */
	e->u.class_load.methods = pool_alloc(p, (size_t)n * sizeof(JVMPI_Method));
	if (e->u.class_load.methods)
		for (jint i = 0; i < n && ok; i++)
			ok = method_fill(p, ids[i], &e->u.class_load.methods[i]);
	else
		ok = false;
	e->u.class_load.num_methods = ok ? n : 0;
	bridge_free(ids);
	return ok;
}

/* In HotSpot's order: last declared first. */
static bool fields_fill(struct pool *p, jclass klass, JVMPI_Event *e)
{
	jvmtiEnv *ti = the_bridge.ti;
	jfieldID *ids = NULL;
	jint n = 0;

	if ((*ti)->GetClassFields(ti, klass, &n, &ids))
		return true;
	e->u.class_load.statics = pool_alloc(p, (size_t)n * sizeof(JVMPI_Field));
	e->u.class_load.instances = pool_alloc(p, (size_t)n * sizeof(JVMPI_Field));
	for (jint i = n; i-- > 0 && e->u.class_load.statics && e->u.class_load.instances;) {
		char *name = NULL, *signature = NULL;
		jint modifiers = 0;
		JVMPI_Field f;

		(*ti)->GetFieldModifiers(ti, klass, ids[i], &modifiers);
		if ((*ti)->GetFieldName(ti, klass, ids[i], &name, &signature, NULL))
			break;
		f = (JVMPI_Field){taken(p, name), taken(p, signature)};
		if (modifiers & ACC_STATIC)
			e->u.class_load.statics[e->u.class_load.num_static_fields++] = f;
		else
			e->u.class_load.instances[e->u.class_load.num_instance_fields++] = f;
	}
	bridge_free(ids);
	return e->u.class_load.statics && e->u.class_load.instances;
}

static void interfaces_count(JNIEnv *env, jclass klass, JVMPI_Event *e)
{
	jclass *list = NULL;
	jint n = 0;

	if ((*the_bridge.ti)->GetImplementedInterfaces(the_bridge.ti, klass, &n, &list))
		return;
	for (jint i = 0; i < n; i++)
		(*env)->DeleteLocalRef(env, list[i]);
	bridge_free(list);
	e->u.class_load.num_interfaces = n;
}

static bool class_fill(struct pool *p, const struct agent *a, JNIEnv *env, jclass klass, JVMPI_Event *e)
{
	char *signature = NULL;

	if ((*the_bridge.ti)->GetClassSignature(the_bridge.ti, klass, &signature, NULL))
		return false;
	e->u.class_load.class_name = class_name(p, signature, the_bridge.slashes && !a->lean);
	bridge_free(signature);
	if (!e->u.class_load.class_name)
		return false;
	e->u.class_load.source_name = source_name(p, klass);
	if (!methods_fill(p, klass, e))
		return false;
	if (a->lean)
		return true;
	interfaces_count(env, klass, e);
	return fields_fill(p, klass, e);
}

/* An unprepared class has no methods and fields. */
static bool is_prepared(jclass klass)
{
	jint status = 0;

	return !(*the_bridge.ti)->GetClassStatus(the_bridge.ti, klass, &status) &&
	       (status & JVMTI_CLASS_STATUS_PREPARED);
}

static void class_keep(const struct agent *a, const JVMPI_Event *e, struct object_id *id)
{
	struct saved_class *none = NULL, *saved;

	if (a->lean || !agent_wants(a, JVMPI_EVENT_CLASS_UNLOAD) || atomic_load(&id->saved))
		return;
	saved = saved_class_new(e);
	if (!atomic_compare_exchange_strong(&id->saved, &none, saved))
		saved_class_free(saved);
}

static bool class_send(struct agent *a, struct thread *t, JNIEnv *env, jclass klass, struct object_id *id,
		       jint requested)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_CLASS_LOAD | requested};
	bool prepared = is_prepared(klass), sent = false;
	struct pool pool = {0};

	if (class_fill(&pool, a, env, klass, &e)) {
		e.u.class_load.class_id = (jobjectID)id;
		if (prepared)
			class_keep(a, &e, id);
		sent = event_send(a, t, &e, GC_NOT);
	}
	pool_done(&pool);
	return sent;
}

void class_id_given(struct agent *a, JNIEnv *env, jclass klass, struct object_id *id)
{
	JVMPI_Event e = {0};
	struct pool pool = {0};

	if (!definition_id_given(&id->definition, a) || a->lean || !agent_wants(a, JVMPI_EVENT_CLASS_UNLOAD))
		return;
	if (class_fill(&pool, a, env, klass, &e)) {
		e.u.class_load.class_id = (jobjectID)id;
		class_keep(a, &e, id);
	}
	pool_done(&pool);
}

static void class_report_requested(struct agent *a, struct thread *t, JNIEnv *env, jclass klass, jint requested)
{
	struct object_id *id = id_of(t, env, klass, ID_CLASS);
	bool first, sent;

	if (!id)
		return;
	atomic_fetch_add(&id->users, 1);
	first = definition_begin(&id->definition, a, t);
	if (first || requested) {
		sent = class_send(a, t, env, klass, id, requested);
		if (first)
			definition_end(&id->definition, a, sent);
	}
	atomic_fetch_sub(&id->users, 1);
}

void class_report(struct agent *a, struct thread *t, JNIEnv *env, jclass klass)
{
	class_report_requested(a, t, env, klass, 0);
}

void class_report_of_method(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method)
{
	jclass klass = NULL;

	if (!agent_wants(a, JVMPI_EVENT_CLASS_LOAD) || a->lean)
		return;
	if ((*the_bridge.ti)->GetMethodDeclaringClass(the_bridge.ti, method, &klass) || !klass)
		return;
	class_report(a, t, env, klass);
	(*env)->DeleteLocalRef(env, klass);
}

/* Only prepared classes: one that is only loaded has no methods yet, and will be reported at its CLASS_PREPARE. */
bool class_report_all(struct agent *a, struct thread *t, JNIEnv *env, bool again)
{
	jclass *list = NULL;
	jint n = 0;
	bool ok;

	if ((*env)->PushLocalFrame(env, 16)) {
		(*env)->ExceptionClear(env);
		return false;
	}
	/* JNI promises room for at most 65,536 references. JVMTI makes room for its own; this is for a few more. */
	ok = !(*the_bridge.ti)->GetLoadedClasses(the_bridge.ti, &n, &list) && !(*env)->EnsureLocalCapacity(env, 64);
	for (jint i = 0; i < n; i++) {
		/* The agent may disable the event at any time. */
		if (ok && agent_wants(a, JVMPI_EVENT_CLASS_LOAD) && is_prepared(list[i]))
			class_report_requested(a, t, env, list[i], again ? JVMPI_REQUESTED_EVENT : 0);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	bridge_free(list);
	(*env)->PopLocalFrame(env, NULL);
	return ok;
}

jint class_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id)
{
	jobject klass = id->kind == ID_CLASS ? id_object(env, id) : NULL;
	struct saved_class *saved = atomic_load(&id->saved);
	JVMPI_Event e;

	if (id->kind != ID_CLASS)
		return JVMPI_FAIL;
	if (klass) {
		/*
		 * An unprepared class is reported with its name only; CLASS_LOAD with its methods will follow. If it
		 * was prepared meanwhile, it is reported again, so that the last report the agent gets is complete.
		 */
		if (!is_prepared(klass))
			class_send(a, t, env, klass, id, JVMPI_REQUESTED_EVENT);
		if (is_prepared(klass))
			class_report_requested(a, t, env, klass, JVMPI_REQUESTED_EVENT);
		definition_id_given(&id->definition, a);
		(*env)->DeleteLocalRef(env, klass);
		return JVMPI_SUCCESS;
	}
	/* In CLASS_UNLOAD, on the thread that will free it afterwards, `saved` stays valid during this call. */
	if (!saved || !t->system)
		return JVMPI_FAIL;
	e = saved->event;
	e.event_type = JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT;
	event_send(a, t, &e, GC_NOT);
	return JVMPI_SUCCESS;
}

bool class_report_unload(struct agent *a, struct thread *t, struct object_id *id)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_CLASS_UNLOAD};

	e.u.class_unload.class_id = (jobjectID)id;
	return event_send(a, t, &e, GC_FREES);
}

jint method_request(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_JS_METHOD | JVMPI_REQUESTED_EVENT};
	jvmtiEnv *ti = the_bridge.ti;
	struct pool pool = {0};
	JVMPI_Method m = {0};
	jclass klass = NULL;
	char *signature = NULL;
	bool ok;

	if (!method || (*ti)->GetMethodDeclaringClass(ti, method, &klass) || !klass)
		return JVMPI_FAIL;
	ok = !(*ti)->GetClassSignature(ti, klass, &signature, NULL) && method_fill(&pool, method, &m);
	if (ok) {
		e.u.js_method.method_id = method;
		e.u.js_method.class_name = class_name(&pool, signature, the_bridge.slashes && !a->lean);
		e.u.js_method.source_name = source_name(&pool, klass);
		e.u.js_method.method_name = m.method_name;
		e.u.js_method.method_signature = m.method_signature;
		e.u.js_method.start_lineno = m.start_lineno;
		e.u.js_method.end_lineno = m.end_lineno;
		ok = e.u.js_method.class_name != NULL;
	}
	if (ok)
		event_send(a, t, &e, GC_MAY);
	bridge_free(signature);
	pool_done(&pool);
	(*env)->DeleteLocalRef(env, klass);
	return ok ? JVMPI_SUCCESS : JVMPI_FAIL;
}
