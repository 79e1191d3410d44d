#include "jvm-bridge/host/dumps/layout.h"

#include <stdlib.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/dumps/dump_write.h"

enum { ACC_STATIC = 8 };

static size_t place_of(const struct layouts *l, const struct object_id *id)
{
	size_t i = (size_t)((uint64_t)(uintptr_t)id * 0x9e3779b97f4a7c15u >> 32) & (l->cap - 1);

	while (l->at[i] && l->at[i]->id != id)
		i = (i + 1) & (l->cap - 1);
	return i;
}

struct class_layout *layout_find(const struct layouts *l, const struct object_id *id)
{
	return l->cap && id ? l->at[place_of(l, id)] : NULL;
}

static bool table_grow(struct layouts *l)
{
	struct layouts more = *l;

	more.cap = l->cap ? l->cap * 2 : 256;
	more.at = calloc(more.cap, sizeof(*more.at));
	if (!more.at)
		return false;
	for (size_t i = 0; i < l->cap; i++)
		if (l->at[i])
			more.at[place_of(&more, l->at[i]->id)] = l->at[i];
	free(l->at);
	*l = more;
	return true;
}

static struct class_layout *layout_new(struct layouts *l, struct object_id *id)
{
	struct class_layout *c;

	if (l->n * 2 >= l->cap && !table_grow(l))
		return NULL;
	c = pool_alloc(&l->pool, sizeof(*c));
	if (!c)
		return NULL;
	c->id = id;
	l->at[place_of(l, id)] = c;
	l->n++;
	return c;
}

static char type_of_field(jclass klass, jfieldID field)
{
	char *signature = NULL, type;

	if ((*the_bridge.ti)->GetFieldName(the_bridge.ti, klass, field, NULL, &signature, NULL) || !signature)
		return 'L';
	type = signature[0];
	bridge_free(signature);
	return type;
}

/* Last declared first, as in CLASS_LOAD. */
static bool fields_place(struct layouts *l, struct class_layout *c, jclass klass)
{
	jvmtiEnv *ti = the_bridge.ti;
	jfieldID *ids = NULL;
	jint n = 0;

	if ((*ti)->GetClassFields(ti, klass, &n, &ids))
		return true; /* arrays have none */
	c->fields = pool_alloc(&l->pool, (size_t)n * sizeof(*c->fields) + 1);
	c->n_fields = c->fields ? n : 0;
	for (jint i = c->n_fields; i-- > 0;) {
		struct field_place *f = &c->fields[i];
		jint modifiers = 0;
		uint32_t *bytes;

		(*ti)->GetFieldModifiers(ti, klass, ids[i], &modifiers);
		*f = (struct field_place){ids[i], type_of_field(klass, ids[i]), modifiers & ACC_STATIC, 0, false};
		bytes = f->is_static ? &c->static_bytes : &c->own_bytes;
		f->at = *bytes;
		f->kept = l->primitives || value_is_reference(f->type);
		*bytes += f->kept ? (uint32_t)value_size(f->type) : 0;
	}
	bridge_free(ids);
	return c->fields;
}

/* Deletes the reference. */
static struct class_layout *inherited(struct layouts *l, jclass klass)
{
	struct class_layout *c = layout_add(l, klass);

	(*l->env)->DeleteLocalRef(l->env, klass);
	return c;
}

static bool super_add(struct layouts *l, struct class_layout *c, jclass klass)
{
	jclass super = (*l->env)->GetSuperclass(l->env, klass);

	if (super) {
		c->super = inherited(l, super);
		if (!c->super)
			return false;
		c->first = c->super->first + c->super->n_fields;
	}
	c->bytes = c->own_bytes + (c->super ? c->super->bytes : 0);
	return true;
}

static bool interfaces_add(struct layouts *l, struct class_layout *c, jclass klass)
{
	jclass *list = NULL;
	jint n = 0;
	bool ok;

	if ((*the_bridge.ti)->GetImplementedInterfaces(the_bridge.ti, klass, &n, &list))
		return true;
	c->interfaces = pool_alloc(&l->pool, (size_t)n * sizeof(*c->interfaces) + 1);
	ok = c->interfaces;
	for (jint i = 0; i < n; i++) {
		struct class_layout *of = inherited(l, list[i]);

		ok &= of != NULL;
		if (ok)
			c->interfaces[c->n_interfaces++] = of->id;
	}
	bridge_free(list);
	return ok;
}

/* Each interface counts once, however often it is inherited; `mark` marks those counted. */
static jint interface_fields(const struct layouts *l, struct class_layout *c, jint mark)
{
	jint n = 0;

	for (; c; c = c->super)
		for (jint i = 0; i < c->n_interfaces; i++) {
			struct class_layout *of = layout_find(l, c->interfaces[i]);

			if (!of || of->interfaces_seen == mark)
				continue;
			of->interfaces_seen = mark;
			n += of->n_fields + interface_fields(l, of, mark);
		}
	return n;
}

static bool array_describe(struct layouts *l, struct class_layout *c, jclass klass)
{
	struct class_kind kind;
	char *signature = NULL;
	jint status = 0;

	if ((*the_bridge.ti)->GetClassSignature(the_bridge.ti, klass, &signature, NULL))
		return false;
	if (signature[0] == '[')
		c->element = signature[1];
	bridge_free(signature);
	c->is_dumped = !(*the_bridge.ti)->GetClassStatus(the_bridge.ti, klass, &status) &&
		       (status & JVMTI_CLASS_STATUS_PREPARED) && !c->element;
	if (!value_is_reference(c->element))
		return true;
	if (!class_kind_of_class(l->t, l->env, klass, &kind))
		return false;
	c->element_class = (struct object_id *)kind.class_id;
	return true;
}

struct class_layout *layout_add(struct layouts *l, jclass klass)
{
	struct object_id *id = id_of(l->t, l->env, klass, ID_CLASS);
	struct class_layout *c = id ? layout_find(l, id) : NULL;

	if (!id || c)
		return c;
	c = layout_new(l, id);
	if (!c || !array_describe(l, c, klass) || !fields_place(l, c, klass) || !super_add(l, c, klass) ||
	    !interfaces_add(l, c, klass))
		return NULL;
	c->of_interfaces = interface_fields(l, c, ++l->marks);
	return c;
}

const struct field_place *layout_field(const struct class_layout *c, jint index, uint32_t *at)
{
	*at = 0;
	index -= c->of_interfaces;
	if (index < 0)
		return NULL;
	for (; c && index < c->first; c = c->super)
		*at += c->own_bytes;
	if (!c || index - c->first >= c->n_fields || c->fields[index - c->first].is_static)
		return NULL;
	*at += c->fields[index - c->first].at;
	return &c->fields[index - c->first];
}

const struct field_place *layout_static(const struct class_layout *c, jint index)
{
	index -= c->of_interfaces + c->first;
	return index >= 0 && index < c->n_fields && c->fields[index].is_static ? &c->fields[index] : NULL;
}

void layouts_done(struct layouts *l)
{
	free(l->at);
	pool_done(&l->pool);
	l->at = NULL;
	l->n = l->cap = 0;
}
