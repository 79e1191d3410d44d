#include "jvm-bridge/hprof/tables/heap_read.h"

#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"

struct reader {
	const struct heap_dump *dump;
	const unsigned char *at;
	bool failed;
};

/* NULL: not enough bytes left. */
static const unsigned char *take(struct reader *r, size_t n)
{
	const unsigned char *at = r->at;

	if (r->failed || (size_t)(r->dump->end - at) < n) {
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return at;
}

static uint32_t take_number(struct reader *r, size_t size)
{
	const unsigned char *at = take(r, size);
	uint32_t v = 0;

	for (size_t i = 0; at && i < size; i++)
		v = v << 8 | at[i];
	return v;
}

static void *take_pointer(struct reader *r)
{
	const unsigned char *at = take(r, sizeof(void *));
	void *p = NULL;

	if (at)
		memcpy(&p, at, sizeof(p));
	return p;
}

size_t heap_element_size(unsigned type)
{
	switch (type) {
	case JVMPI_BOOLEAN:
	case JVMPI_BYTE: return 1;
	case JVMPI_CHAR:
	case JVMPI_SHORT: return 2;
	case JVMPI_FLOAT:
	case JVMPI_INT: return 4;
	default: return 8;
	}
}

unsigned heap_type(char signature)
{
	static const char letters[] = "ZCFDBSIJ"; /* from JVMPI_BOOLEAN on */
	const char *at = signature ? strchr(letters, signature) : NULL;

	return at ? (unsigned)JVMPI_BOOLEAN + (unsigned)(at - letters) : (unsigned)JVMPI_CLASS;
}

size_t heap_value_size(const struct heap_dump *d, char signature)
{
	if (heap_is_reference(signature))
		return sizeof(jobjectID);
	return d->primitives ? heap_element_size(heap_type(signature)) : 0;
}

jobjectID heap_reference(const unsigned char *at)
{
	jobjectID id;

	memcpy(&id, at, sizeof(id));
	return id;
}

static void constants_skip(struct reader *r)
{
	for (uint32_t n = take_number(r, 2); n && !r->failed; n--) {
		unsigned type = (take_number(r, 2), take_number(r, 1));

		take(r, type == (unsigned)JVMPI_CLASS ? sizeof(jobjectID) : heap_element_size(type));
	}
}

static void class_read(struct reader *r, struct heap_record *h)
{
	size_t statics = 0;

	h->id = take_pointer(r);
	h->class = class_of(h->id);
	h->super = take_pointer(r);
	h->loader = take_pointer(r);
	h->signers = take_pointer(r);
	h->domain = take_pointer(r);
	take_pointer(r); /* its name */
	take_pointer(r);
	h->bytes = take_number(r, 4);
	r->failed |= !h->class;
	if (r->failed)
		return;
	take(r, h->class->n_interfaces * sizeof(jobjectID));
	constants_skip(r);
	for (size_t i = 0; i < h->class->n_statics; i++)
		statics += heap_value_size(r->dump, *h->class->statics[i].signature);
	h->values = take(r, statics);
}

static void object_read(struct reader *r, struct heap_record *h)
{
	h->id = take_pointer(r);
	if (h->tag == JVMPI_GC_INSTANCE_DUMP) {
		h->class = class_of(take_pointer(r));
		h->bytes = take_number(r, 4);
		h->values = take(r, h->bytes);
		return;
	}
	h->n = take_number(r, 4);
	if (h->tag == JVMPI_GC_OBJ_ARRAY_DUMP) {
		h->class = class_of(take_pointer(r));
		h->values = take(r, h->n * sizeof(jobjectID));
	} else {
		h->type = take_number(r, 1);
		h->values = take(r, r->dump->primitives ? h->n * heap_element_size(h->type) : 0);
	}
}

static void root_read(struct reader *r, struct heap_record *h)
{
	h->id = take_pointer(r);
	switch (h->tag) {
	case JVMPI_GC_ROOT_JNI_GLOBAL: h->ref = take_pointer(r); break;
	case JVMPI_GC_ROOT_JNI_LOCAL:
	case JVMPI_GC_ROOT_JAVA_FRAME:
		h->env = take_pointer(r);
		h->depth = take_number(r, 4);
		break;
	case JVMPI_GC_ROOT_NATIVE_STACK:
	case JVMPI_GC_ROOT_THREAD_BLOCK: h->env = take_pointer(r); break;
	case JVMPI_GC_ROOT_UNKNOWN:
	case JVMPI_GC_ROOT_STICKY_CLASS:
	case JVMPI_GC_ROOT_MONITOR_USED: break;
	default: r->failed = true;
	}
}

bool heap_read(const struct heap_dump *d, bool (*f)(const struct heap_record *r, void *arg), void *arg)
{
	struct reader r = {d, d->begin, false};
	size_t number = 0;

	while (r.at < d->end) {
		const unsigned char *at = r.at;
		struct heap_record h = {.tag = take_number(&r, 1), .number = number++};

		if (d->made && h.number < d->n_made)
			h.made = d->made[h.number];
		if (h.tag == JVMPI_GC_CLASS_DUMP)
			class_read(&r, &h);
		else if (h.tag >= JVMPI_GC_INSTANCE_DUMP && h.tag <= JVMPI_GC_PRIM_ARRAY_DUMP)
			object_read(&r, &h);
		else
			root_read(&r, &h);
		if (r.failed) {
			hprof_error("cannot read the heap dump from byte %zu on: record 0x%02x%s",
				    (size_t)(at - d->begin), h.tag,
				    h.tag == JVMPI_GC_CLASS_DUMP ? " of an unknown class" : "");
			return false;
		}
		if ((h.class || h.tag != JVMPI_GC_INSTANCE_DUMP) && !f(&h, arg))
			return false;
	}
	return true;
}
