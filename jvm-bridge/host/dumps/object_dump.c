/* OBJECT_DUMP: the record of one object, read with JNI. */
#include <stdlib.h>

#include "jvm-bridge/host/dumps/dump.h"
#include "jvm-bridge/host/dumps/dump_write.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/thread.h"

struct one {
	struct layouts layouts;
	char *data;
	size_t size;
};

static jobjectID id_of_value(struct one *o, jobject value)
{
	struct object_id *id = value ? id_of_object(o->layouts.t, o->layouts.env, value) : NULL;

	if (value)
		(*o->layouts.env)->DeleteLocalRef(o->layouts.env, value);
	return (jobjectID)id;
}

static void field_write(struct one *o, jobject object, const struct field_place *f, char *p)
{
	JNIEnv *env = o->layouts.env;
	jvalue v = {0};

	switch (f->type) {
#define READ(letter, member, Type)                                                                                     \
	case letter:                                                                                                   \
		v.member = f->is_static ? (*env)->GetStatic##Type##Field(env, object, f->id) :                         \
					  (*env)->Get##Type##Field(env, object, f->id);                                \
		break
		READ('Z', z, Boolean);
		READ('B', b, Byte);
		READ('C', c, Char);
		READ('S', s, Short);
		READ('I', i, Int);
		READ('J', j, Long);
		READ('F', f, Float);
		READ('D', d, Double);
#undef READ
	default:
		put_pointer(p, id_of_value(o, f->is_static ? (*env)->GetStaticObjectField(env, object, f->id) :
							     (*env)->GetObjectField(env, object, f->id)));
		return;
	}
	put_value(p, f->type, v);
}

static bool data_new(struct one *o, size_t size)
{
	o->data = size <= INT32_MAX ? calloc(1, size) : NULL;
	o->size = size;
	return o->data;
}

static bool instance_dump(struct one *o, jobject object, struct object_id *id, const struct class_layout *c)
{
	char *at;

	if (!data_new(o, INSTANCE_AT_VALUES + c->bytes))
		return false;
	instance_record(o->data, id, c);
	at = o->data + INSTANCE_AT_VALUES;
	for (; c; at += c->own_bytes, c = c->super)
		for (jint i = 0; i < c->n_fields; i++)
			if (!c->fields[i].is_static)
				field_write(o, object, &c->fields[i], at + c->fields[i].at);
	return true;
}

/* Signers and the protection domain are left out: JNI cannot read them. */
static bool class_dump(struct one *o, jclass klass, const struct class_layout *c)
{
	jobject loader = NULL;

	if (!data_new(o, class_record_size(c)))
		return false;
	class_record(o->data, c);
	if (!(*the_bridge.ti)->GetClassLoader(the_bridge.ti, klass, &loader) && loader)
		put_pointer(o->data + CLASS_AT_LOADER, id_of_value(o, loader));
	for (jint i = 0; i < c->n_fields; i++)
		if (c->fields[i].is_static)
			field_write(o, klass, &c->fields[i], class_statics(o->data, c) + c->fields[i].at);
	return true;
}

static bool objects_dump(struct one *o, jobject object, struct object_id *id, const struct class_layout *c)
{
	JNIEnv *env = o->layouts.env;
	jint n = (*env)->GetArrayLength(env, object);
	char *at;

	if (!data_new(o, ARRAY_AT_VALUES + 8 * (size_t)n))
		return false;
	objects_record(o->data, id, c, n);
	at = o->data + ARRAY_AT_VALUES;
	for (jint i = 0; i < n; i++)
		at = put_pointer(at, id_of_value(o, (*env)->GetObjectArrayElement(env, object, i)));
	return true;
}

static bool primitives_dump(struct one *o, jobject object, struct object_id *id, const struct class_layout *c)
{
	JNIEnv *env = o->layouts.env;
	jint n = (*env)->GetArrayLength(env, object);
	size_t each = value_size(c->element);
	const char *elements;
	char *at;

	if (!data_new(o, PRIMITIVES_AT_VALUES + each * (size_t)n))
		return false;
	primitives_record(o->data, id, c->element, n);
	at = o->data + PRIMITIVES_AT_VALUES;
	elements = n ? (*env)->GetPrimitiveArrayCritical(env, object, NULL) : NULL;
	for (size_t i = 0; elements && i < (size_t)n; i++) {
		uint64_t v = 0;

		memcpy(&v, elements + i * each, each);
		at = put_big(at, v, each);
	}
	if (elements)
		(*env)->ReleasePrimitiveArrayCritical(env, object, (void *)(uintptr_t)elements, JNI_ABORT);
	return elements || !n;
}

static bool dump_one(struct one *o, jobject object, struct object_id *id)
{
	JNIEnv *env = o->layouts.env;
	struct class_layout *c;

	if (id->kind == ID_CLASS) {
		c = layout_add(&o->layouts, object);
		return c && c->is_dumped && class_dump(o, object, c);
	}
	c = layout_add(&o->layouts, (*env)->GetObjectClass(env, object));
	if (!c)
		return false;
	if (!c->element)
		return instance_dump(o, object, id, c);
	return value_is_reference(c->element) ? objects_dump(o, object, id, c) : primitives_dump(o, object, id, c);
}

jint object_dump_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT};
	struct one o = {.layouts = {.primitives = true, .t = t, .env = env}};
	jthrowable pending = bridge_exception_take(env);
	jobject object;
	bool ok = false;

	if (!(*env)->PushLocalFrame(env, 64)) {
		object = id_object(env, id);
		ok = object && dump_one(&o, object, id);
		(*env)->PopLocalFrame(env, NULL);
	}
	bridge_exception_put(env, pending);
	e.u.object_dump.data_len = (jint)o.size;
	e.u.object_dump.data = o.data;
	if (ok)
		ok = event_send(a, t, &e, GC_NOT);
	free(o.data);
	layouts_done(&o.layouts);
	return ok ? JVMPI_SUCCESS : JVMPI_FAIL;
}
