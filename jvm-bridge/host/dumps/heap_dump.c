/*
 * HEAP_DUMP: one FollowReferences from the roots, in a pause. Each object gets its record when it is first reached;
 * its references are filled in as they are reported. Roots are written before the objects.
 *
 * No reference can be created in the pause, so an object without an id gets one by its tag alone. Such ids are valid
 * until the agent's handler returns (id.h); those it asks about meanwhile stay.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/trace.h"
#include "jvm-bridge/host/dumps/dump.h"
#include "jvm-bridge/host/dumps/dump_write.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/thread.h"

enum { LIMIT_MB = 1024, TRACE_FRAMES = 64, THREADS_MAX = 65536 };

static unsigned limit_mb = LIMIT_MB;

struct root_thread {
	const struct object_id *id;
	JNIEnv *env;
};

struct walk {
	struct layouts layouts;
	struct dump_space space;
	jint level;
	bool full; /* a limit was exceeded */
	const struct object_id *class_class; /* java.lang.Class */
	struct root_thread *threads; /* sorted by id */
	size_t n_threads, cap_threads;
};

void dump_limit_set(unsigned megabytes)
{
	limit_mb = megabytes;
}

/* Marks objects that were reached but are not dumped. */
static char not_dumped;

static char *record_of(struct object_id *id)
{
	return id && id->record != &not_dumped ? id->record : NULL;
}

static jint stop(struct walk *w)
{
	w->full = true;
	return JVMTI_VISIT_ABORT;
}

static char *simple_record(struct walk *w, const struct object_id *id, jint type)
{
	char *p = dump_behind(&w->space, 9);

	if (p)
		put_pointer(put_u1(p, (unsigned)type), id);
	return p;
}

static char *array_record(struct walk *w, const struct object_id *id, const struct class_layout *c, jint length)
{
	bool objects = value_is_reference(c->element);
	size_t values = (size_t)length * (objects || w->layouts.primitives ? value_size(c->element) : 0);
	char *p;

	if (!w->level)
		return simple_record(w, id, objects ? JVMPI_CLASS : jvmpi_type(c->element));
	p = dump_behind(&w->space, (objects ? ARRAY_AT_VALUES : PRIMITIVES_AT_VALUES) + values);
	if (p && objects)
		objects_record(p, id, c, length);
	else if (p)
		primitives_record(p, id, c->element, length);
	return p;
}

static char *class_mirror_record(struct walk *w, const struct object_id *id)
{
	const struct class_layout *c = layout_find(&w->layouts, id);
	char *p;

	if (!c || !c->is_dumped)
		return &not_dumped;
	if (!w->level)
		return simple_record(w, id, JVMPI_NORMAL_OBJECT);
	p = dump_behind(&w->space, class_record_size(c));
	if (p)
		class_record(p, c);
	return p;
}

/* NULL: limit reached. */
static char *record_new(struct walk *w, const struct object_id *id, const struct class_layout *c, jint length)
{
	char *p;

	if (c && c->id == w->class_class)
		return class_mirror_record(w, id);
	if (!c)
		return &not_dumped; /* its class was loaded after the classes had been listed */
	if (length >= 0)
		return array_record(w, id, c, length);
	if (!w->level)
		return simple_record(w, id, JVMPI_NORMAL_OBJECT);
	p = dump_behind(&w->space, INSTANCE_AT_VALUES + c->bytes);
	if (p)
		instance_record(p, id, c);
	return p;
}

static int thread_order(const void *a, const void *b)
{
	const struct root_thread *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static JNIEnv *env_of(const struct walk *w, jlong tag)
{
	struct root_thread key = {id_from_tag(tag), NULL};
	const struct root_thread *found =
		tag ? bsearch(&key, w->threads, w->n_threads, sizeof(key), thread_order) : NULL;

	return found ? found->env : NULL;
}

static bool root_simple(struct walk *w, unsigned kind, const struct object_id *id)
{
	char *p = dump_before(&w->space, 9);

	if (p)
		put_pointer(put_u1(p, kind), id);
	return p;
}

/* JVMTI does not report the JNI reference itself. */
static bool root_global(struct walk *w, const struct object_id *id)
{
	char *p = dump_before(&w->space, 17);

	if (p)
		put_pointer(put_pointer(put_u1(p, JVMPI_GC_ROOT_JNI_GLOBAL), id), NULL);
	return p;
}

static bool root_thread(struct walk *w, const struct object_id *id)
{
	char *p = dump_before(&w->space, 17);

	if (p)
		put_pointer(put_pointer(put_u1(p, JVMPI_GC_ROOT_THREAD_BLOCK), id), env_of(w, (jlong)(uintptr_t)id));
	return p;
}

static bool root_frame(struct walk *w, unsigned kind, const struct object_id *id, jlong thread, jint depth)
{
	char *p = dump_before(&w->space, 21);

	if (p)
		put_u4(put_pointer(put_pointer(put_u1(p, kind), id), env_of(w, thread)), (uint32_t)depth);
	return p;
}

static bool root_write(struct walk *w, jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
		       const struct object_id *id)
{
	switch (kind) {
	case JVMTI_HEAP_REFERENCE_JNI_GLOBAL: return root_global(w, id);
	case JVMTI_HEAP_REFERENCE_SYSTEM_CLASS: return root_simple(w, JVMPI_GC_ROOT_STICKY_CLASS, id);
	case JVMTI_HEAP_REFERENCE_MONITOR: return root_simple(w, JVMPI_GC_ROOT_MONITOR_USED, id);
	case JVMTI_HEAP_REFERENCE_STACK_LOCAL:
		return root_frame(w, JVMPI_GC_ROOT_JAVA_FRAME, id, info->stack_local.thread_tag,
				  info->stack_local.depth);
	case JVMTI_HEAP_REFERENCE_JNI_LOCAL:
		return root_frame(w, JVMPI_GC_ROOT_JNI_LOCAL, id, info->jni_local.thread_tag, info->jni_local.depth);
	case JVMTI_HEAP_REFERENCE_THREAD: return root_thread(w, id);
	default: return root_simple(w, JVMPI_GC_ROOT_UNKNOWN, id);
	}
}

/* A reference from a class to something that is not one of its fields. */
static void class_refer(char *record, jvmtiHeapReferenceKind kind, const struct object_id *to)
{
	if (kind == JVMTI_HEAP_REFERENCE_CLASS_LOADER)
		put_pointer(record + CLASS_AT_LOADER, to);
	else if (kind == JVMTI_HEAP_REFERENCE_SIGNERS)
		put_pointer(record + CLASS_AT_SIGNERS, to);
	else if (kind == JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN)
		put_pointer(record + CLASS_AT_DOMAIN, to);
}

static void refer(struct walk *w, jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
		  struct object_id *from, const struct object_id *class_of_from, const struct object_id *to)
{
	char *record = record_of(from);
	bool is_class = class_of_from == w->class_class;
	const struct class_layout *c = layout_find(&w->layouts, is_class ? from : class_of_from);
	const struct field_place *f;
	uint32_t at;

	if (!record || !c)
		return;
	if (kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT) {
		put_pointer(record + ARRAY_AT_VALUES + 8 * (size_t)info->array.index, to);
	} else if (kind == JVMTI_HEAP_REFERENCE_FIELD && !is_class) {
		f = layout_field(c, info->field.index, &at);
		if (f && value_is_reference(f->type))
			put_pointer(record + INSTANCE_AT_VALUES + at, to);
	} else if (kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD && is_class) {
		f = layout_static(c, info->field.index);
		if (f && value_is_reference(f->type))
			put_pointer(class_statics(record, c) + f->at, to);
	} else if (is_class) {
		class_refer(record, kind, to);
	}
}

static jint JNICALL on_reference(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
				 jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
				 void *arg)
{
	struct walk *w = arg;
	struct object_id *id = id_from_tag(*tag);

	(void)size;
	if (!id) {
		id = id_by_tag();
		if (!id)
			return stop(w);
		*tag = (jlong)(uintptr_t)id;
	}
	if (!id->record) {
		id->record = record_new(w, id, layout_find(&w->layouts, id_from_tag(class_tag)), length);
		if (!id->record)
			return stop(w);
	}
	if (!w->level)
		return JVMTI_VISIT_OBJECTS;
	if (referrer_tag)
		refer(w, kind, info, id_from_tag(*referrer_tag), id_from_tag(referrer_class_tag), id);
	else if (!root_write(w, kind, info, id))
		return stop(w);
	return JVMTI_VISIT_OBJECTS;
}

static jint JNICALL on_primitive(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
				 jlong *tag, jvalue value, jvmtiPrimitiveType type, void *arg)
{
	struct walk *w = arg;
	struct object_id *id = id_from_tag(*tag);
	bool is_static = kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD;
	const struct class_layout *c = layout_find(&w->layouts, is_static ? id : id_from_tag(class_tag));
	char *record = record_of(id);
	const struct field_place *f;
	uint32_t at;

	if (!record || !c)
		return JVMTI_VISIT_OBJECTS;
	f = is_static ? layout_static(c, info->field.index) : layout_field(c, info->field.index, &at);
	/* A class's record has no room for the instance fields of its java.lang.Class object. */
	if (!f || f->type != (char)type || (!is_static && c->id == w->class_class))
		return JVMTI_VISIT_OBJECTS;
	put_value(is_static ? class_statics(record, c) + f->at : record + INSTANCE_AT_VALUES + at, f->type, value);
	return JVMTI_VISIT_OBJECTS;
}

static jint JNICALL on_elements(jlong class_tag, jlong size, jlong *tag, jint n, jvmtiPrimitiveType type,
				const void *elements, void *arg)
{
	char *p = record_of(id_from_tag(*tag));
	size_t each = value_size((char)type);

	(void)class_tag, (void)size, (void)arg;
	if (!p)
		return JVMTI_VISIT_OBJECTS;
	p += PRIMITIVES_AT_VALUES;
	for (size_t i = 0; i < (size_t)n; i++) {
		uint64_t v = 0;

		memcpy(&v, (const char *)elements + i * each, each);
		p = put_big(p, v, each);
	}
	return JVMTI_VISIT_OBJECTS;
}

/*
 * The JDK's archive (CDS) has objects of classes that are not yet linked. JVMTI knows the fields of linked classes
 * only; getDeclaredFields0 links the class without initializing it.
 */
static void class_link(JNIEnv *env, jmethodID fields, jclass klass)
{
	jint status = JVMTI_CLASS_STATUS_PREPARED;
	jobject loader = NULL, list;

	(*the_bridge.ti)->GetClassStatus(the_bridge.ti, klass, &status);
	if (status & (JVMTI_CLASS_STATUS_PREPARED | JVMTI_CLASS_STATUS_ARRAY | JVMTI_CLASS_STATUS_PRIMITIVE |
		      JVMTI_CLASS_STATUS_ERROR))
		return;
	if ((*the_bridge.ti)->GetClassLoader(the_bridge.ti, klass, &loader) || loader) {
		(*env)->DeleteLocalRef(env, loader);
		return;
	}
	list = (*env)->CallObjectMethod(env, klass, fields, JNI_FALSE);
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, list);
}

/* NULL: this JDK does not have the method. */
static jmethodID fields_method(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Class");
	jmethodID m =
		klass ? (*env)->GetMethodID(env, klass, "getDeclaredFields0", "(Z)[Ljava/lang/reflect/Field;") : NULL;

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, klass);
	return m;
}

/* Every class that a record refers to is reported by CLASS_LOAD, if the agent wants that. */
static bool classes_add(struct walk *w, struct agent *a, JNIEnv *env)
{
	jmethodID fields = fields_method(env);
	jclass *list = NULL;
	jint n = 0;
	bool ok =
		!(*the_bridge.ti)->GetLoadedClasses(the_bridge.ti, &n, &list) && !(*env)->EnsureLocalCapacity(env, 64);

	for (jint i = 0; i < n; i++) {
		struct class_layout *c;

		if (fields)
			class_link(env, fields, list[i]);
		c = ok ? layout_add(&w->layouts, list[i]) : NULL;
		ok = c;
		if (c && c->is_dumped && agent_wants(a, JVMPI_EVENT_CLASS_LOAD))
			class_report(a, w->layouts.t, env, list[i]);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	bridge_free(list);
	return ok;
}

static bool class_class_find(struct walk *w, JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Class");

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	w->class_class = klass ? id_of(w->layouts.t, env, klass, ID_CLASS) : NULL;
	return w->class_class;
}

static void thread_add_root(struct thread *of, void *arg)
{
	struct walk *w = arg;
	JNIEnv *env = w->layouts.env;
	jobject object = w->n_threads < w->cap_threads ? thread_object(of, env) : NULL;

	if (!object)
		return;
	w->threads[w->n_threads] = (struct root_thread){id_of(w->layouts.t, env, object, ID_OBJECT), of->env};
	w->n_threads += w->threads[w->n_threads].id != NULL;
	(*env)->DeleteLocalRef(env, object);
}

static bool threads_add(struct walk *w)
{
	w->cap_threads = THREADS_MAX;
	w->threads = calloc(w->cap_threads, sizeof(*w->threads));
	if (!w->threads)
		return false;
	thread_each(thread_add_root, w);
	qsort(w->threads, w->n_threads, sizeof(*w->threads), thread_order);
	return true;
}

static bool heap_walk(struct walk *w)
{
	jvmtiHeapCallbacks callbacks = {.heap_reference_callback = on_reference};
	struct allocs kept;
	jvmtiError r;

	if (w->level) {
		callbacks.primitive_field_callback = w->level == JVMPI_DUMP_LEVEL_2 ? on_primitive : NULL;
		callbacks.array_primitive_value_callback = w->level == JVMPI_DUMP_LEVEL_2 ? on_elements : NULL;
	}
	/* No other thread gives an object an id meanwhile. */
	steady_lock(w->layouts.t);
	allocs_keep(w->layouts.t, &kept);
	r = (*the_bridge.ti)->FollowReferences(the_bridge.ti, 0, NULL, NULL, &callbacks, w);
	steady_unlock();
	allocs_send(w->layouts.t, w->layouts.env);
	return !r && !w->full;
}

/* dump_limit, but at most half of the machine's available memory. */
static size_t limit_bytes(void)
{
	static const char name[] = "MemAvailable:";
	size_t limit = (size_t)limit_mb << 20;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		size_t left = 0;

		if (strncmp(line, name, sizeof(name) - 1))
			continue;
		for (const char *c = line; *c; c++)
			left = *c >= '0' && *c <= '9' ? left * 10 + (size_t)(*c - '0') : left;
		limit = left * 512 < limit ? left * 512 : limit; /* kB, half of it */
	}
	if (f)
		fclose(f);
	return limit & ~(size_t)4095;
}

static jint dump_send(struct agent *a, struct thread *t, struct walk *w)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT};
	struct traces traces = {0};

	traces_get(&traces, TRACE_FRAMES);
	e.u.heap_dump.dump_level = w->level;
	e.u.heap_dump.begin = w->space.begin;
	e.u.heap_dump.end = w->space.end;
	e.u.heap_dump.num_traces = traces.n;
	e.u.heap_dump.traces = traces.at;
	event_send(a, t, &e, GC_NOT);
	traces_done(&traces);
	return JVMPI_SUCCESS;
}

static jint dump_make(struct agent *a, struct thread *t, JNIEnv *env, struct walk *w)
{
	size_t limit = limit_bytes();

	if (!class_class_find(w, env) || !classes_add(w, a, env) || !threads_add(w))
		return JVMPI_FAIL;
	/* Ids take about as much memory as the records of small objects. */
	if (!dump_space_open(&w->space, limit / 2) || !ids_by_tag_begin(limit / 2)) {
		bridge_say("HEAP_DUMP: cannot reserve %zu MB of memory", limit >> 20);
		return JVMPI_FAIL;
	}
	if (heap_walk(w))
		return dump_send(a, t, w);
	if (w->full)
		bridge_say("HEAP_DUMP: the dump would exceed dump_limit=%zu (MB; never more than half of the available "
			   "memory)",
			   limit >> 20);
	return JVMPI_FAIL;
}

jint heap_dump_request(struct agent *a, struct thread *t, JNIEnv *env, const JVMPI_HeapDumpArg *arg)
{
	static _Atomic bool busy;
	jint level = arg ? arg->heap_dump_level : JVMPI_DUMP_LEVEL_2, r = JVMPI_FAIL;
	struct walk w = {.level = level};
	jthrowable pending;

	/* A dump links classes, and the JVM crashes when one is linked in the midst of its linking. */
	if (t->in_alloc)
		return JVMPI_FAIL;
	if (level < JVMPI_DUMP_LEVEL_0 || level > JVMPI_DUMP_LEVEL_2 || !ids_init(env) || atomic_exchange(&busy, true))
		return JVMPI_FAIL;
	w.layouts = (struct layouts){.primitives = level == JVMPI_DUMP_LEVEL_2, .t = t, .env = env};
	/* Objects in the dump are not reported as freed before the agent has read it. */
	gc_disable(a);
	pending = bridge_exception_take(env);
	if (!(*env)->PushLocalFrame(env, 16)) {
		r = dump_make(a, t, env, &w);
		(*env)->PopLocalFrame(env, NULL);
	}
	gc_enable(a);
	ids_by_tag_end(t);
	dump_space_done(&w.space);
	layouts_done(&w.layouts);
	free(w.threads);
	atomic_store(&busy, false);
	bridge_exception_put(env, pending);
	return r;
}
