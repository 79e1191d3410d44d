#include "jvm-bridge/hprof/tables/heap.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/sites.h"
#include "jvm-bridge/hprof/tables/threads.h"

enum { HEADER = 16, MIRROR = 112 }; /* bytes; the least that a java.lang.Class takes */

static size_t fields_size(const struct class *c)
{
	size_t size = 0;

	for (; c; c = c->super)
		for (size_t i = 0; i < c->n_fields; i++)
			size += heap_element_size(heap_type(*c->fields[i].signature));
	return size;
}

/* The size that the JVM reported at allocation; for older objects, about the size without compressed references. */
uint32_t heap_size(const struct heap_record *r)
{
	size_t size = MIRROR;

	if (r->made)
		return r->made->size;
	if (r->tag == JVMPI_GC_INSTANCE_DUMP)
		size = HEADER + fields_size(r->class);
	else if (r->tag == JVMPI_GC_OBJ_ARRAY_DUMP)
		size = HEADER + r->n * sizeof(jobjectID);
	else if (r->tag == JVMPI_GC_PRIM_ARRAY_DUMP)
		size = HEADER + r->n * heap_element_size(r->type);
	size = (size + 7) & ~(size_t)7;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

struct trace *heap_trace_made(const struct heap_record *r)
{
	return r->made ? r->made->site->trace : NULL;
}

uint32_t heap_trace(const struct heap_record *r)
{
	struct trace *t = heap_trace_made(r);

	return t ? t->serial : TRACE_NONE;
}

/* Prepares for the other records: superclasses must be known before instances are read. */
static bool class_prepare(const struct heap_record *r, void *arg)
{
	struct heap *h = arg;

	if (r->class)
		r->class->array = NULL;
	if (r->tag != JVMPI_GC_CLASS_DUMP)
		return true;
	r->class->super = r->super ? class_of(r->super) : NULL;
	if (!r->super && !strcmp(r->class->name, "java.lang.Object"))
		h->object = r->class;
	return true;
}

/* Records that no pass gets have none. */
static bool made_keep(struct heap *h, size_t number, const struct object *o)
{
	size_t cap = h->cap_made ? h->cap_made : 4096;
	const struct object **grown = h->made;

	while (cap <= number)
		cap *= 2;
	if (!grown || cap != h->cap_made)
		grown = realloc(grown, cap * sizeof(const struct object *));
	if (!grown)
		return false;
	h->made = grown;
	h->cap_made = cap;
	while (h->dump.n_made < number)
		grown[h->dump.n_made++] = NULL;
	grown[h->dump.n_made++] = o;
	return true;
}

/* Looks each object up, once for all passes: in a large heap most look-ups miss the processor's caches. */
static bool count(const struct heap_record *r, void *arg)
{
	struct heap *h = arg;
	struct heap_record known = *r;

	known.made = object_of(r->id);
	if (!made_keep(h, r->number, known.made))
		return false;
	if (r->tag < JVMPI_GC_CLASS_DUMP || r->tag > JVMPI_GC_PRIM_ARRAY_DUMP)
		return true;
	h->objects++;
	h->bytes += heap_size(&known);
	return true;
}

static void stack_forget(struct java_thread *t, void *arg)
{
	(void)arg;
	t->stack = NULL;
}

void stacks_set(const JVMPI_CallTrace *traces, jint n)
{
	threads_each(stack_forget, NULL);
	for (jint i = 0; i < n; i++) {
		struct java_thread *t = thread_of(traces[i].env_id);

		if (t)
			t->stack = trace_of_call(&traces[i]);
	}
}

bool heap_open(struct heap *h, const JVMPI_Event *e)
{
	*h = (struct heap){.env = e->env_id};
	h->dump.begin = (const unsigned char *)e->u.heap_dump.begin;
	h->dump.end = (const unsigned char *)e->u.heap_dump.end;
	h->dump.primitives = e->u.heap_dump.dump_level == JVMPI_DUMP_LEVEL_2;
	if (!heap_read(&h->dump, class_prepare, h) || !heap_read(&h->dump, count, h))
		return false;
	h->dump.made = h->made;
	return true;
}

void heap_close(struct heap *h)
{
	free(h->made);
}
