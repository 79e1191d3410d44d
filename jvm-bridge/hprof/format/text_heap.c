/* HEAP DUMP as text: references only, as in the original HPROF. */
#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/tables/heap.h"
#include "jvm-bridge/hprof/tables/threads.h"

static unsigned long long printed(const void *id)
{
	return (unsigned long long)(uintptr_t)id;
}

static void thread_root(struct java_thread *t, void *arg)
{
	(void)arg;
	out_print("ROOT %llx (kind=<thread>, id=%u, trace=%u)\n", printed(t->object), t->serial,
		  t->stack ? t->stack->serial : TRACE_NONE);
	out_whole();
}

static bool root_print(const struct heap_record *r, void *arg)
{
	unsigned long long id = printed(r->id);
	unsigned thread = r->env ? thread_serial(r->env) : THREAD_UNKNOWN;
	int depth = (int)r->depth;

	(void)arg;
	switch (r->tag) {
	case JVMPI_GC_ROOT_UNKNOWN: out_print("ROOT %llx (kind=<unknown>)\n", id); break;
	case JVMPI_GC_ROOT_JNI_GLOBAL:
		out_print("ROOT %llx (kind=<JNI global ref>, id=%llx, trace=%u)\n", id, printed(r->ref), TRACE_NONE);
		break;
	case JVMPI_GC_ROOT_JNI_LOCAL:
		out_print("ROOT %llx (kind=<JNI local ref>, thread=%u, frame=%d)\n", id, thread, depth);
		break;
	case JVMPI_GC_ROOT_JAVA_FRAME:
		out_print("ROOT %llx (kind=<Java stack>, thread=%u, frame=%d)\n", id, thread, depth);
		break;
	case JVMPI_GC_ROOT_NATIVE_STACK: out_print("ROOT %llx (kind=<native stack>, thread=%u)\n", id, thread); break;
	case JVMPI_GC_ROOT_STICKY_CLASS: {
		struct class *c = class_of(r->id);

		out_print("ROOT %llx (kind=<system class>, name=%.3000s)\n", id, c ? c->name : "<Unknown>");
		break;
	}
	case JVMPI_GC_ROOT_MONITOR_USED: out_print("ROOT %llx (kind=<busy monitor>)\n", id); break;
	case JVMPI_GC_ROOT_THREAD_BLOCK: out_print("ROOT %llx (kind=<thread block>, thread=%u)\n", id, thread); break;
	}
	out_whole();
	return true;
}

static void member(const char *name, jobjectID id)
{
	if (id)
		out_print("\t%.2000s\t%s%llx\n", name, strlen(name) < 8 ? "\t" : "", printed(id));
}

static void class_print(const struct heap_dump *d, const struct heap_record *r)
{
	const unsigned char *at = r->values;
	const struct class *c = r->class;

	out_print("CLS %llx (name=%.3000s, trace=%u)\n", printed(r->id), c->name, heap_trace(r));
	member("super", r->super);
	member("loader", r->loader);
	member("signers", r->signers);
	member("domain", r->domain);
	for (size_t i = 0; i < c->n_statics; i++) {
		jobjectID id = heap_is_reference(*c->statics[i].signature) ? heap_reference(at) : NULL;

		if (id)
			out_print("\tstatic %.2000s\t%llx\n", c->statics[i].name, printed(id));
		at += heap_value_size(d, *c->statics[i].signature);
	}
}

static void instance_print(const struct heap_dump *d, const struct heap_record *r)
{
	const unsigned char *at = r->values;

	out_print("OBJ %llx (sz=%u, trace=%u, class=%.3000s@%llx)\n", printed(r->id), heap_size(r), heap_trace(r),
		  r->class->name, printed(r->class->id));
	for (const struct class *c = r->class; c; c = c->super)
		for (size_t i = 0; i < c->n_fields; i++) {
			size_t size = heap_value_size(d, *c->fields[i].signature);

			if ((size_t)(r->values + r->bytes - at) < size)
				return;
			if (heap_is_reference(*c->fields[i].signature))
				member(c->fields[i].name, heap_reference(at));
			at += size;
		}
}

static void array_print(const struct heap_record *r)
{
	static const char *const types[] = {"boolean", "char", "float", "double", "byte", "short", "int", "long"};
	char name[NAME_MAX_];

	out_print("ARR %llx (sz=%u, trace=%u, nelems=%u, elem type=", printed(r->id), heap_size(r), heap_trace(r),
		  r->n);
	if (r->tag == JVMPI_GC_PRIM_ARRAY_DUMP) {
		bool known = r->type >= (unsigned)JVMPI_BOOLEAN && r->type <= (unsigned)JVMPI_LONG;

		out_print("%s)\n", known ? types[r->type - (unsigned)JVMPI_BOOLEAN] : "?");
		return;
	}
	out_print("%s@%llx)\n", class_source_name(r->class, name), printed(r->class ? r->class->id : NULL));
	for (uint32_t i = 0; i < r->n; i++) {
		jobjectID id = heap_reference(r->values + i * sizeof(id));

		if (id)
			out_print("\t[%u]\t\t%llx\n", i, printed(id));
	}
}

static bool object_print(const struct heap_record *r, void *arg)
{
	const struct heap *h = arg;

	switch (r->tag) {
	case JVMPI_GC_CLASS_DUMP: class_print(&h->dump, r); break;
	case JVMPI_GC_INSTANCE_DUMP: instance_print(&h->dump, r); break;
	case JVMPI_GC_OBJ_ARRAY_DUMP:
	case JVMPI_GC_PRIM_ARRAY_DUMP: array_print(r); break;
	default: return true;
	}
	out_whole();
	return true;
}

static bool trace_print(const struct heap_record *r, void *arg)
{
	struct trace *t = heap_trace_made(r);

	(void)arg;
	if (t)
		text_trace(t);
	return true;
}

static void stack_print(struct java_thread *t, void *arg)
{
	(void)arg;
	if (t->stack)
		text_trace(t->stack);
}

void text_heap(const struct heap *h)
{
	struct heap copy = *h;
	char now[TEXT_TIME];

	threads_each(stack_print, NULL);
	heap_read(&h->dump, trace_print, NULL);
	out_print("HEAP DUMP BEGIN (%llu objects, %llu bytes) %s", (unsigned long long)h->objects,
		  (unsigned long long)h->bytes, text_time(now));
	threads_each(thread_root, NULL);
	heap_read(&h->dump, root_print, NULL);
	heap_read(&h->dump, object_print, &copy);
	out_print("HEAP DUMP END\n");
	out_whole();
}
