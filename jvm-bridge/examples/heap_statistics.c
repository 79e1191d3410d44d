/*
 * Counts the instances of each class and the bytes of their fields, like the JVMTI article's heap statistics: prints
 * the 30 classes with the most bytes on stderr, at SIGQUIT (or jcmd PID JVMTI.data_dump) and when the JVM ends.
 * Arrays are counted by their elements' type.
 *
 *     java -agentpath:/path/libjsampler-bridge.so=agent=/path/libexample_heap_statistics.so ...
 */
#include <stdio.h>
#include <string.h>

#include "jvm-bridge/examples/by_pointer.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

enum { ROWS = 30, POINTER = sizeof(void *), ARRAY = 1 /* added to an aligned id: arrays of that class */ };

/* From CLASS_LOAD, or for arrays in a dump. */
struct class
{
	struct node node;
	char *name; /* NULL: arrays */
	const char *primitive; /* arrays of this type */
	size_t interfaces, statics; /* bytes in its CLASS_DUMP */
	unsigned long instances, bytes;
};

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor lock;
static struct by_pointer classes;

static const char primitive_letters[] = "ZCFDBSIJ"; /* from JVMPI_BOOLEAN on */
static const unsigned char primitive_sizes[] = {1, 2, 4, 8, 1, 2, 4, 8};
static const char *const primitive_names[] = {"boolean", "char", "float", "double", "byte", "short", "int", "long"};

static size_t size_of(char signature)
{
	const char *at = strchr(primitive_letters, signature);

	return at && *at ? primitive_sizes[at - primitive_letters] : POINTER;
}

/* An id is reused after its class has been unloaded, and reported again when its class has been linked. */
static void class_load(const JVMPI_Event *e)
{
	struct class *c;

	jvmpi->RawMonitorEnter(lock);
	c = by_pointer_find(&classes, e->u.class_load.class_id);
	if (!c)
		c = by_pointer_add(&classes, e->u.class_load.class_id, sizeof(*c));
	if (c) {
		free(c->name);
		c->name = strdup(e->u.class_load.class_name);
		c->interfaces = (size_t)e->u.class_load.num_interfaces * POINTER;
		c->statics = 0;
		for (jint i = 0; i < e->u.class_load.num_static_fields; i++)
			c->statics += size_of(e->u.class_load.statics[i].field_signature[0]);
	}
	jvmpi->RawMonitorExit(lock);
}

/* The dump's contents: numbers are big-endian, ids in native order. */
static uint32_t number(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static const char *id_at(const char *p)
{
	const char *id;

	memcpy(&id, p, sizeof(id));
	return id;
}

static void count(const void *id, const char *primitive, size_t bytes)
{
	struct class *c = by_pointer_find(&classes, id);

	if (!c)
		c = by_pointer_add(&classes, id, sizeof(*c));
	if (!c)
		return;
	c->primitive = primitive;
	c->instances++;
	c->bytes += bytes;
}

/* Each takes the position after a record's type and returns the next record's; NULL if that is unknown. */
static const char *class_dump(const char *p)
{
	const struct class *c = by_pointer_find(&classes, id_at(p));

	/* Id, superclass, loader, signers, domain, name, reserved; bytes of an instance; interfaces; an empty pool; statics. */
	return c && c->name ? p + 7 * (size_t)POINTER + 4 + c->interfaces + 2 + c->statics : NULL;
}

static const char *instance_dump(const char *p)
{
	uint32_t size = number(p + 2 * POINTER);

	count(id_at(p + POINTER), NULL, size);
	return p + 2 * POINTER + 4 + size;
}

static const char *objects_dump(const char *p)
{
	size_t size = (size_t)number(p + POINTER) * POINTER;

	count(id_at(p + POINTER + 4) + ARRAY, NULL, size);
	return p + 2 * POINTER + 4 + size;
}

static const char *primitives_dump(const char *p)
{
	unsigned type = (unsigned char)p[POINTER + 4] - (unsigned)JVMPI_BOOLEAN;
	size_t size;

	if (type >= sizeof(primitive_sizes))
		return NULL;
	size = (size_t)number(p + POINTER) * primitive_sizes[type];
	count(primitive_names[type], primitive_names[type], size);
	return p + POINTER + 5 + size;
}

static const char *root(const char *p, int type)
{
	switch (type) {
	case JVMPI_GC_ROOT_JNI_LOCAL:
	case JVMPI_GC_ROOT_JAVA_FRAME: return p + 2 * POINTER + 4;
	case JVMPI_GC_ROOT_JNI_GLOBAL:
	case JVMPI_GC_ROOT_NATIVE_STACK:
	case JVMPI_GC_ROOT_THREAD_BLOCK: return p + 2 * POINTER;
	default: return p + POINTER;
	}
}

static const char *record(const char *p)
{
	int type = (unsigned char)*p++;

	switch (type) {
	case JVMPI_GC_CLASS_DUMP: return class_dump(p);
	case JVMPI_GC_INSTANCE_DUMP: return instance_dump(p);
	case JVMPI_GC_OBJ_ARRAY_DUMP: return objects_dump(p);
	case JVMPI_GC_PRIM_ARRAY_DUMP: return primitives_dump(p);
	default: return root(p, type);
	}
}

static int most_first(const void *a, const void *b)
{
	const struct class *x = *(struct class *const *)a, *y = *(struct class *const *)b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void row_print(const struct class *c)
{
	const char *id = c->node.id, *name = c->name ? c->name : c->primitive;
	const struct class *of = name ? NULL : by_pointer_find(&classes, id - ARRAY);

	if (of)
		name = of->name;
	fprintf(stderr, "%12lu %12lu %s%s\n", c->instances, c->bytes, name ? name : "?", c->name ? "" : "[]");
}

static void table_print(void)
{
	struct node **list = by_pointer_list(&classes);

	if (list)
		qsort(list, classes.n, sizeof(*list), most_first);
	fprintf(stderr, "%12s %12s class\n", "instances", "bytes");
	for (size_t i = 0; list && i < classes.n && i < ROWS; i++)
		if (((struct class *)list[i])->instances)
			row_print((struct class *)list[i]);
	for (size_t i = 0; list && i < classes.n; i++)
		((struct class *)list[i])->instances = ((struct class *)list[i])->bytes = 0;
	free(list);
}

static void heap_dump(const JVMPI_Event *e)
{
	const char *p = e->u.heap_dump.begin;

	jvmpi->RawMonitorEnter(lock);
	while (p && p < e->u.heap_dump.end)
		p = record(p);
	if (!p)
		fprintf(stderr, "heap_statistics: unknown record in the heap dump; the rest is not counted\n");
	table_print();
	jvmpi->RawMonitorExit(lock);
}

static void ask(void)
{
	JVMPI_HeapDumpArg level = {JVMPI_DUMP_LEVEL_2};

	if (jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level) != JVMPI_SUCCESS)
		fprintf(stderr, "heap_statistics: the JVM made no heap dump\n");
}

static void notify(JVMPI_Event *e)
{
	switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
	case JVMPI_EVENT_CLASS_LOAD: class_load(e); break;
	case JVMPI_EVENT_HEAP_DUMP: heap_dump(e); break;
	case JVMPI_EVENT_DATA_DUMP_REQUEST:
	case JVMPI_EVENT_JVM_SHUT_DOWN: ask(); break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "_classes";
	void *interface;

	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1) < 0)
		return JNI_ERR;
	jvmpi = interface;
	lock = jvmpi->RawMonitorCreate(name);
	jvmpi->NotifyEvent = notify;
	if (jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL) ||
	    jvmpi->EnableEvent(JVMPI_EVENT_DATA_DUMP_REQUEST, NULL) ||
	    jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL))
		return JNI_ERR;
	return JNI_OK;
}
