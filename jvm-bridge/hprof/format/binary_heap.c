/*
 * A JVMPI heap dump in the binary format. What its records refer to comes before the first segment, and segments are
 * consecutive, because some readers treat them as one.
 */
#include "jvm-bridge/hprof/base/addresses.h"
#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/format/binary.h"
#include "jvm-bridge/hprof/tables/heap.h"

enum { SEGMENT = 1 << 20, NO_FRAME = -1 };

static struct bytes segment; /* guarded by hprof.data */

/* May end the segment, between two sub-records. */
static void segment_may_end(bool last)
{
	if (segment.n < SEGMENT && !segment.failed && !last)
		return;
	if (segment.n || segment.failed)
		binary_record(RECORD_HEAP_DUMP_SEGMENT, &segment);
	bytes_clear(&segment);
}

static void put_id(struct bytes *b, jobjectID id)
{
	put_u8(b, address_of(id));
}

static jclass array_new(JNIEnv *env, unsigned type)
{
	switch (type) {
	case JVMPI_BOOLEAN: return (*env)->NewBooleanArray(env, 0);
	case JVMPI_CHAR: return (*env)->NewCharArray(env, 0);
	case JVMPI_FLOAT: return (*env)->NewFloatArray(env, 0);
	case JVMPI_DOUBLE: return (*env)->NewDoubleArray(env, 0);
	case JVMPI_BYTE: return (*env)->NewByteArray(env, 0);
	case JVMPI_SHORT: return (*env)->NewShortArray(env, 0);
	case JVMPI_INT: return (*env)->NewIntArray(env, 0);
	default: return (*env)->NewLongArray(env, 0);
	}
}

/* Deletes the reference to the array. */
static struct class *class_of_array(JNIEnv *env, jobject array)
{
	jclass klass = array ? (*env)->GetObjectClass(env, array) : NULL;
	struct class *c = klass ? class_of(hprof.jvmpi->jobject2jobjectID(klass)) : NULL;

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (klass)
		(*env)->DeleteLocalRef(env, klass);
	if (array)
		(*env)->DeleteLocalRef(env, array);
	if (c && !address_set(c->id, class_address(c)))
		return NULL;
	return c;
}

/* JVMPI gives the elements' class, this format wants the array's, for which JVMPI has no record. */
static bool array_class_find(struct heap *h, const struct heap_record *r)
{
	jclass element = NULL;

	if (r->tag == JVMPI_GC_PRIM_ARRAY_DUMP) {
		if (r->type > (unsigned)JVMPI_LONG || h->primitives[r->type])
			return r->type <= (unsigned)JVMPI_LONG;
		h->primitives[r->type] = class_of_array(h->env, array_new(h->env, r->type));
		return h->primitives[r->type];
	}
	if (!r->class || r->class->array)
		return r->class;
	element = hprof.jvmpi->jobjectID2jobject(r->class->id);
	if (!element)
		return false;
	r->class->array = class_of_array(h->env, (*h->env)->NewObjectArray(h->env, 0, element, NULL));
	(*h->env)->DeleteLocalRef(h->env, element);
	return r->class->array;
}

static void thread_place(struct java_thread *t, void *arg)
{
	bool *ok = arg;

	*ok &= !t->object || address_set(t->object, t->address);
}

static bool place(const struct heap_record *r, void *arg)
{
	struct heap *h = arg;

	switch (r->tag) {
	case JVMPI_GC_CLASS_DUMP: return address_set(r->id, class_address(r->class));
	case JVMPI_GC_OBJ_ARRAY_DUMP:
	case JVMPI_GC_PRIM_ARRAY_DUMP:
		if (!array_class_find(h, r))
			return false;
		break;
	case JVMPI_GC_INSTANCE_DUMP: break;
	default: return true;
	}
	/* A thread already has one. */
	return address_of(r->id) || address_set(r->id, address_next(heap_size(r)));
}

static bool is_kept(const struct field *f)
{
	return heap_is_reference(*f->signature) || hprof.options.primfields;
}

static void class_announce(struct class *c)
{
	binary_class_object(c);
	for (size_t i = 0; i < c->n_statics; i++)
		binary_name(c->statics[i].name);
	for (size_t i = 0; i < c->n_fields; i++)
		binary_name(c->fields[i].name);
}

static bool announce(const struct heap_record *r, void *arg)
{
	const struct heap *h = arg;
	struct trace *made = r->tag == JVMPI_GC_CLASS_DUMP || r->id ? heap_trace_made(r) : NULL;

	if (made)
		binary_trace(made);
	if (r->tag == JVMPI_GC_CLASS_DUMP)
		class_announce(r->class);
	else if (r->tag == JVMPI_GC_OBJ_ARRAY_DUMP)
		binary_class_object(r->class->array);
	else if (r->tag == JVMPI_GC_PRIM_ARRAY_DUMP)
		binary_class_object(h->primitives[r->type]);
	return true;
}

static void stack_announce(struct java_thread *t, void *arg)
{
	(void)arg;
	if (t->stack)
		binary_trace(t->stack);
}

static void thread_root(struct java_thread *t, void *arg)
{
	(void)arg;
	put_u1(&segment, JVMPI_GC_ROOT_THREAD_OBJ);
	put_u8(&segment, t->address);
	put_u4(&segment, t->serial);
	put_u4(&segment, t->stack ? t->stack->serial : TRACE_NONE);
	segment_may_end(false);
}

/* Readers look up the thread's stack, and the frame in it. */
static void frame_root(const struct heap_record *r, const struct java_thread *t)
{
	bool has = t->stack && r->depth < t->stack->n;

	put_u1(&segment, r->tag);
	put_id(&segment, r->id);
	put_u4(&segment, t->serial);
	put_u4(&segment, has ? r->depth : (uint32_t)NO_FRAME);
}

static bool root(const struct heap_record *r, void *arg)
{
	const struct java_thread *t = r->env ? thread_of(r->env) : NULL;
	bool of_thread = r->tag == JVMPI_GC_ROOT_NATIVE_STACK || r->tag == JVMPI_GC_ROOT_THREAD_BLOCK;
	bool of_frame = r->tag == JVMPI_GC_ROOT_JNI_LOCAL || r->tag == JVMPI_GC_ROOT_JAVA_FRAME;

	(void)arg;
	if ((r->tag >= JVMPI_GC_CLASS_DUMP && r->tag != JVMPI_GC_ROOT_UNKNOWN) || !address_of(r->id))
		return true;
	if (of_frame && t) {
		frame_root(r, t);
	} else {
		put_u1(&segment, !t && (of_thread || of_frame) ? JVMPI_GC_ROOT_UNKNOWN : r->tag);
		put_id(&segment, r->id);
		if (r->tag == JVMPI_GC_ROOT_JNI_GLOBAL)
			put_u8(&segment, (uint64_t)(uintptr_t)r->ref);
		if (of_thread && t)
			put_u4(&segment, t->serial);
	}
	segment_may_end(false);
	return true;
}

/* Returns the position of the next value. */
static const unsigned char *value(const struct heap_dump *d, const struct field *f, const unsigned char *at)
{
	size_t size = heap_value_size(d, *f->signature);

	if (heap_is_reference(*f->signature))
		put_id(&segment, heap_reference(at));
	else if (hprof.options.primfields)
		put_bytes(&segment, at, size);
	return at + size;
}

static size_t kept_count(const struct field *f, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		kept += is_kept(&f[i]);
	return kept;
}

/* Bytes of an instance's values as written. */
static size_t kept_bytes(const struct class *c)
{
	size_t bytes = 0;

	for (; c; c = c->super)
		for (size_t i = 0; i < c->n_fields; i++)
			if (is_kept(&c->fields[i]))
				bytes += heap_element_size(heap_type(*c->fields[i].signature));
	return bytes;
}

static void class_head(uint64_t id, uint32_t trace, uint64_t super)
{
	put_u1(&segment, JVMPI_GC_CLASS_DUMP);
	put_u8(&segment, id);
	put_u4(&segment, trace);
	put_u8(&segment, super);
}

static void class_write(const struct heap_dump *d, const struct heap_record *r)
{
	const struct class *c = r->class;
	const unsigned char *at = r->values;

	class_head(c->address, heap_trace(r), address_of(r->super));
	put_id(&segment, r->loader);
	put_id(&segment, r->signers);
	put_id(&segment, r->domain);
	put_u8(&segment, 0);
	put_u8(&segment, 0);
	put_u4(&segment, kept_bytes(c));
	put_u2(&segment, 0);
	put_u2(&segment, kept_count(c->statics, c->n_statics));
	for (size_t i = 0; i < c->n_statics; i++) {
		if (is_kept(&c->statics[i])) {
			put_u8(&segment, binary_name(c->statics[i].name));
			put_u1(&segment, heap_type(*c->statics[i].signature));
		}
		at = value(d, &c->statics[i], at);
	}
	put_u2(&segment, kept_count(c->fields, c->n_fields));
	for (size_t i = 0; i < c->n_fields; i++)
		if (is_kept(&c->fields[i])) {
			put_u8(&segment, binary_name(c->fields[i].name));
			put_u1(&segment, heap_type(*c->fields[i].signature));
		}
}

static void array_class_write(const struct heap *h, struct class *c)
{
	class_head(c->address, TRACE_NONE, h->object ? h->object->address : 0);
	for (int i = 0; i < 5; i++)
		put_u8(&segment, 0);
	put_u4(&segment, 0);
	for (int i = 0; i < 3; i++)
		put_u2(&segment, 0);
	segment_may_end(false);
}

static void instance_write(const struct heap_dump *d, const struct heap_record *r)
{
	const unsigned char *at = r->values;

	put_u1(&segment, r->tag);
	put_id(&segment, r->id);
	put_u4(&segment, heap_trace(r));
	put_u8(&segment, r->class->address);
	put_u4(&segment, kept_bytes(r->class));
	for (const struct class *c = r->class; c; c = c->super)
		for (size_t i = 0; i < c->n_fields; i++)
			at = value(d, &c->fields[i], at);
}

static void array_write(const struct heap_record *r)
{
	bool objects = r->tag == JVMPI_GC_OBJ_ARRAY_DUMP;
	uint32_t n = objects || hprof.options.primarrays ? r->n : 0;

	put_u1(&segment, r->tag);
	put_id(&segment, r->id);
	put_u4(&segment, heap_trace(r));
	put_u4(&segment, n);
	if (!objects) {
		put_u1(&segment, r->type);
		put_bytes(&segment, r->values, n * heap_element_size(r->type));
		return;
	}
	put_u8(&segment, r->class->array->address);
	for (uint32_t i = 0; i < n; i++)
		put_id(&segment, heap_reference(r->values + i * sizeof(jobjectID)));
}

/* Writes the array's class before the first such array. */
static void array_class_once(struct heap *h, const struct heap_record *r)
{
	struct class **c = r->tag == JVMPI_GC_OBJ_ARRAY_DUMP ? &r->class->array : &h->primitives[r->type];

	if (!(*c)->written) {
		(*c)->written = true;
		array_class_write(h, *c);
	}
}

static bool object(const struct heap_record *r, void *arg)
{
	struct heap *h = arg;

	switch (r->tag) {
	case JVMPI_GC_CLASS_DUMP: class_write(&h->dump, r); break;
	case JVMPI_GC_INSTANCE_DUMP: instance_write(&h->dump, r); break;
	case JVMPI_GC_OBJ_ARRAY_DUMP:
	case JVMPI_GC_PRIM_ARRAY_DUMP:
		array_class_once(h, r);
		array_write(r);
		break;
	default: return true;
	}
	segment_may_end(false);
	return true;
}

static bool array_class_fresh(const struct heap_record *r, void *arg)
{
	const struct heap *h = arg;

	if (r->tag == JVMPI_GC_OBJ_ARRAY_DUMP)
		r->class->array->written = false;
	else if (r->tag == JVMPI_GC_PRIM_ARRAY_DUMP)
		h->primitives[r->type]->written = false;
	return true;
}

/* Checks that the values match the fields of the class and its superclasses. */
static bool fits(const struct heap_record *r, void *arg)
{
	const struct heap *h = arg;
	size_t bytes = 0;

	if (r->tag != JVMPI_GC_INSTANCE_DUMP)
		return true;
	for (const struct class *c = r->class; c; c = c->super)
		for (size_t i = 0; i < c->n_fields; i++)
			bytes += heap_value_size(&h->dump, *c->fields[i].signature);
	return bytes == r->bytes;
}

void binary_heap(struct heap *h)
{
	bool ok = true;

	bytes_clear(&segment);
	threads_each(thread_place, &ok);
	if (!ok || !heap_read(&h->dump, fits, h) || !heap_read(&h->dump, place, h)) {
		hprof_error("heap dump omitted: out of memory, or its records do not match their classes");
		addresses_clear();
		return;
	}
	binary_heap_begin();
	heap_read(&h->dump, announce, h);
	threads_each(stack_announce, NULL);
	heap_read(&h->dump, array_class_fresh, h);
	threads_each(thread_root, NULL);
	heap_read(&h->dump, root, h);
	heap_read(&h->dump, object, h);
	segment_may_end(true);
	binary_record(RECORD_HEAP_DUMP_END, &segment);
	free(segment.at);
	segment = (struct bytes){0};
	addresses_clear();
}
