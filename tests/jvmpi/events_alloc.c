/* Allocations. */
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/events.h"

JNIEXPORT void JNICALL Java_Events_allocate(JNIEnv *env, jclass klass, jclass of, jint n);
JNIEXPORT jint JNICALL Java_Events_freed(JNIEnv *env, jclass klass);

enum { PLAIN = 30000 + 30 + 40 + 50, INTS = 60, ARRAYS = 70, INNER = 80, NESTED = 160, PLAINS = 30120, TRACED = 3000 };
enum { WIDES = 90, WIDE = 2 * 11111, PRODUCTS = 110, PRODUCT = 4 * (61 + 62) };

static struct {
	_Atomic int plain, ints, arrays, bytes, wides, products, freed;
	int wrong_size;
	jmethodID by_plain, by_arrays; /* the caller of what makes objects; what makes arrays */
	int wrong_trace;
	jclass klass; /* Events, and its method that a handler calls */
	jmethodID nested;
	bool is_nested;
	int loaded; /* traces of the class that this loads, which begin with it */
	struct table live; /* ids of Plain */
	struct {
		jobjectID obj_id, class_id;
		jint is_array, size;
		int n;
	} asked; /* by RequestEvent */
} a;

/* Who made it: a frame of the calling thread, without those of constructors. */
static jmethodID maker(const JVMPI_Event *e, jint depth)
{
	JVMPI_CallFrame frames[2];
	JVMPI_CallTrace trace = {e->env_id, 0, frames};

	jvmpi->GetCallTrace(&trace, depth + 1);
	return trace.num_frames > depth ? frames[depth].method_id : NULL;
}

static void traces_compare(jmethodID *seen, jmethodID method)
{
	a.wrong_trace += !method || (*seen && *seen != method);
	*seen = method;
}

static void alloc_begin(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "Events");

	a.klass = klass ? (*env)->NewGlobalRef(env, klass) : NULL;
	a.nested = a.klass ? (*env)->GetStaticMethodID(env, a.klass, "nested", "(I)V") : NULL;
}

/* Code that runs in a handler has traces of its own, and the trace of what the handler is about stays. */
static void nested_call(JNIEnv *env)
{
	a.is_nested = true;
	if (a.nested)
		(*env)->CallStaticVoidMethod(env, a.klass, a.nested, 1);
	a.loaded -= (*env)->ExceptionCheck(env);
	a.is_nested = false;
}

static void nested_load(const JVMPI_Event *e)
{
	jmethodID first = maker(e, 0);
	const char *name = first ? events_method(first) : NULL;

	a.loaded += name && !strcmp(name, "nested");
}

/* On the main thread, between begin() and end(). */
static void alloc_seen(const JVMPI_Event *e)
{
	jint size = e->u.obj_alloc.size;

	if (e->u.obj_alloc.class_id == jvmpi_events.watched[0] && !e->u.obj_alloc.is_array) {
		if (++a.plain == TRACED / 2)
			nested_call(e->env_id);
		if (a.plain <= TRACED)
			traces_compare(&a.by_plain, maker(e, 1));
		a.wrong_size += size != 16 && size != 24;
		pthread_mutex_lock(&jvmpi_events.lock);
		table_add(&a.live, e->u.obj_alloc.obj_id, NULL);
		pthread_mutex_unlock(&jvmpi_events.lock);
	}
	a.arrays += e->u.obj_alloc.class_id == jvmpi_events.watched[0] && e->u.obj_alloc.is_array == JVMPI_CLASS &&
		    size > 7777 * 4 && size < 7777 * 9;
	a.ints += e->u.obj_alloc.is_array == JVMPI_INT && !e->u.obj_alloc.class_id && size > 12345 * 4 &&
		  size < 12345 * 4 + 40;
	if (a.ints == 1)
		traces_compare(&a.by_arrays, maker(e, 0));
	a.wides += (e->u.obj_alloc.is_array == JVMPI_BYTE || e->u.obj_alloc.is_array == JVMPI_CHAR) && size > WIDE &&
		   size < WIDE + 40;
	a.products += e->u.obj_alloc.is_array == JVMPI_INT && size > PRODUCT && size < PRODUCT + 28;
	a.bytes += e->u.obj_alloc.is_array == JVMPI_BYTE && size > 33333 && size < 33333 + 40;
}

static void objects_seen(JVMPI_Event *e, jint type)
{
	struct entry *live;

	if (e->event_type == (JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT)) {
		a.asked.n++;
		a.asked.obj_id = e->u.obj_alloc.obj_id;
		a.asked.class_id = e->u.obj_alloc.class_id;
		a.asked.is_array = e->u.obj_alloc.is_array;
		a.asked.size = e->u.obj_alloc.size;
	} else if (type == JVMPI_EVENT_OBJECT_ALLOC && jvmpi_events.main && e->env_id == jvmpi_events.main) {
		alloc_seen(e);
	} else if (type == JVMPI_EVENT_CLASS_LOAD && a.is_nested && e->env_id == jvmpi_events.main) {
		nested_load(e);
	} else if (type == JVMPI_EVENT_OBJECT_FREE) {
		pthread_mutex_lock(&jvmpi_events.lock);
		live = table_find(&a.live, e->u.obj_free.obj_id);
		a.freed += live != NULL;
		table_drop(&a.live, e->u.obj_free.obj_id);
		pthread_mutex_unlock(&jvmpi_events.lock);
	}
}

static void ask(const char *what, jobject object, jobjectID class_id, jint is_array, jint least)
{
	jobjectID id = jvmpi->jobject2jobjectID(object);
	int before = a.asked.n;
	jint r = jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, id);

	check("RequestEvent", r == JVMPI_SUCCESS && a.asked.n == before + 1 && a.asked.obj_id == id,
	      "OBJECT_ALLOC of %s: %d", what, r);
	check("RequestEvent", a.asked.class_id == class_id && a.asked.is_array == is_array && a.asked.size >= least,
	      "OBJECT_ALLOC of %s: class %p, is_array %d, size %d", what, (void *)a.asked.class_id, a.asked.is_array,
	      a.asked.size);
}

static void requests_check(JNIEnv *env)
{
	jclass class_class = (*env)->FindClass(env, "java/lang/Class"),
	       object_class = (*env)->FindClass(env, "java/lang/Object");
	jclass plain = jvmpi->jobjectID2jobject(jvmpi_events.watched[0]);
	jobjectArray objects = (*env)->NewObjectArray(env, 3, plain, NULL), nested;
	jclass array_class = (*env)->GetObjectClass(env, objects);

	nested = (*env)->NewObjectArray(env, 2, array_class, NULL);
	if ((*env)->ExceptionCheck(env))
		return;
	ask("an object", (*env)->AllocObject(env, plain), jvmpi_events.watched[0], JVMPI_NORMAL_OBJECT, 16);
	ask("an array of objects", objects, jvmpi_events.watched[0], JVMPI_CLASS, 24);
	ask("an array of arrays", nested, jvmpi->jobject2jobjectID(array_class), JVMPI_CLASS, 24);
	ask("an array of longs", (*env)->NewLongArray(env, 10), NULL, JVMPI_LONG, 96);
	ask("an array of booleans", (*env)->NewBooleanArray(env, 10), NULL, JVMPI_BOOLEAN, 22);
	ask("a class", object_class, jvmpi->jobject2jobjectID(class_class), JVMPI_NORMAL_OBJECT, 16);
	ask("java.lang.Class", class_class, NULL, JVMPI_NORMAL_OBJECT, 16);
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, &a) == JVMPI_FAIL,
	      "OBJECT_ALLOC of garbage");
	check("RequestEvent", jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL) == JVMPI_FAIL,
	      "OBJECT_ALLOC of NULL");
}

static void objects_end(JNIEnv *env)
{
	if (events_answered(JVMPI_EVENT_OBJECT_ALLOC)) {
		check("OBJECT_ALLOC", a.plain == PLAIN, "%d objects of %d", a.plain, PLAIN);
		check("OBJECT_ALLOC", !a.wrong_size, "%d have another size", a.wrong_size);
		check("OBJECT_ALLOC", a.ints == INTS, "%d arrays of ints, not %d", a.ints, INTS);
		check("OBJECT_ALLOC", a.arrays == ARRAYS, "%d arrays of objects, not %d", a.arrays, ARRAYS);
		check("OBJECT_ALLOC", !a.wrong_trace && a.by_plain == a.by_arrays, "%d made by another method",
		      a.wrong_trace);
		check("OBJECT_ALLOC", a.bytes == NESTED, "%d arrays of bytes in arrays, not %d", a.bytes, NESTED);
		check("OBJECT_ALLOC", a.wides == WIDES, "%d arrays of wide strings, not %d", a.wides, WIDES);
		check("OBJECT_ALLOC", a.products == PRODUCTS, "%d arrays of products, not %d", a.products, PRODUCTS);
		check("OBJECT_ALLOC", a.loaded == 1, "%d classes loaded in a handler, by its own code", a.loaded);
	}
	jvmpi->DisableEvent(JVMPI_EVENT_OBJECT_ALLOC, NULL);
	requests_check(env);
}

JNIEXPORT void JNICALL Java_Events_allocate(JNIEnv *env, jclass klass, jclass of, jint n)
{
	(void)klass;
	for (jint i = 0; i < n; i++) {
		jobject object = (*env)->AllocObject(env, of);

		if ((*env)->ExceptionCheck(env))
			return;
		(*env)->DeleteLocalRef(env, object);
	}
}

/* Where allocations are not told, none is waited for. */
JNIEXPORT jint JNICALL Java_Events_freed(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
	if (!events_answered(JVMPI_EVENT_OBJECT_ALLOC))
		return PLAINS;
	if (a.freed == PLAIN)
		check("OBJECT_FREE", true, "all of them");
	return a.freed;
}

static void objects_done(JVMPI_Event *e, jint type)
{
	objects_seen(e, type);
	if (type == JVMPI_EVENT_JVM_SHUT_DOWN && events_answered(JVMPI_EVENT_OBJECT_ALLOC))
		check("OBJECT_FREE", a.freed == PLAIN, "%d of %d", a.freed, PLAIN);
}

enum { ROUNDS = 20 };

/* What the compiler had removed is allocated for a dump, on the thread that asks for it. */
static void eliminated_dump(JNIEnv *env)
{
	JVMPI_HeapDumpArg level = {JVMPI_DUMP_LEVEL_1};
	int heap = 0, heaps = 0, monitors = 0;

	(void)env;
	for (int i = 0; i < ROUNDS; i++) {
		int before = a.plain;

		heaps += jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) == JVMPI_SUCCESS;
		heap += a.plain > before;
		usleep(20000);
		monitors += jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL) == JVMPI_SUCCESS;
		usleep(20000);
	}
	check("HEAP_DUMP", heaps == ROUNDS, "%d of %d", heaps, ROUNDS);
	if (events_answered(JVMPI_EVENT_OBJECT_ALLOC))
		check("OBJECT_ALLOC", heap > ROUNDS / 4, "of what was removed, in %d of %d dumps", heap, ROUNDS);
	check("MONITOR_DUMP", monitors == ROUNDS, "%d of %d", monitors, ROUNDS);
}

static const jint eliminated_types[] = {JVMPI_EVENT_OBJECT_ALLOC, 0};

const struct kind kind_eliminated = {
	.what = "eliminated", .types = eliminated_types, .seen = objects_seen, .dump = eliminated_dump};

static const jint alloc_types[] = {JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_FREE, 0};

const struct kind kind_alloc = {
	.what = "alloc", .types = alloc_types, .seen = objects_done, .begin = alloc_begin, .end = objects_end};
