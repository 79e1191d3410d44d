#include "jvm-bridge/hprof/tables/classes.h"

#include <stdio.h>
#include <string.h>

#include "jvm-bridge/hprof/base/addresses.h"
#include "jvm-bridge/hprof/base/hprof.h"

/* The JVM's own heap dump, which may be in the same file, numbers its classes from 1. */
enum { SERIAL_NONE = 100000 };

static struct {
	struct map by_id, methods;
	uint32_t serial;
	size_t gone_bytes; /* of unloaded classes that are kept */
} classes = {.serial = SERIAL_NONE};

static uint64_t hash_of(const void *id)
{
	return map_mix(0, (uint64_t)(uintptr_t)id);
}

static struct class *class_find(jobjectID id)
{
	struct link *l = map_first(&classes.by_id, hash_of(id));

	while (l && ((struct class *)l)->id != id)
		l = map_next(l);
	return (struct class *)l;
}

static struct method *method_find(jmethodID id)
{
	struct link *l = map_first(&classes.methods, hash_of(id));

	while (l && ((struct method *)l)->id != id)
		l = map_next(l);
	return (struct method *)l;
}

static void fields_free(struct field *f, size_t n)
{
	for (size_t i = 0; f && i < n; i++) {
		free(f[i].name);
		free(f[i].signature);
	}
	free(f);
}

static void class_free(struct class *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_methods; i++) {
		free(c->methods[i].name);
		free(c->methods[i].signature);
	}
	free(c->methods);
	fields_free(c->statics, c->n_statics);
	fields_free(c->fields, c->n_fields);
	free(c->name);
	free(c->source);
	free(c);
}

/* Text output has one record per line: names must not contain a newline. */
static char *name_copy(const char *name)
{
	char *copy = strdup(name ? name : "");

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	return copy;
}

static size_t count_of(jint n)
{
	return n > 0 ? (size_t)n : 0;
}

/* NULL: out of memory. */
static struct field *fields_copy(const JVMPI_Field *from, size_t n)
{
	struct field *to = calloc(n + 1, sizeof(*to));
	bool ok = to;

	for (size_t i = 0; ok && i < n; i++) {
		to[i] = (struct field){name_copy(from[i].field_name), name_copy(from[i].field_signature)};
		ok = to[i].name && to[i].signature;
	}
	if (ok)
		return to;
	fields_free(to, n);
	return NULL;
}

static bool methods_copy(struct class *c, const JVMPI_Method *from, size_t n)
{
	bool ok = true;

	c->methods = calloc(n + 1, sizeof(*c->methods));
	for (size_t i = 0; c->methods && ok && i < n; i++) {
		struct method *m = &c->methods[c->n_methods++];

		m->id = from[i].method_id;
		m->class = c;
		m->name = name_copy(from[i].method_name);
		m->signature = name_copy(from[i].method_signature);
		ok = m->name && m->signature;
	}
	return c->methods && ok;
}

static struct class *class_new(const JVMPI_Event *e)
{
	struct class *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->id = e->u.class_load.class_id;
	c->name = name_copy(e->u.class_load.class_name);
	c->source = e->u.class_load.source_name ? name_copy(e->u.class_load.source_name) : NULL;
	c->n_interfaces = count_of(e->u.class_load.num_interfaces);
	c->n_statics = count_of(e->u.class_load.num_static_fields);
	c->n_fields = count_of(e->u.class_load.num_instance_fields);
	c->statics = fields_copy(e->u.class_load.statics, c->n_statics);
	c->fields = fields_copy(e->u.class_load.instances, c->n_fields);
	if (c->name && c->statics && c->fields &&
	    methods_copy(c, e->u.class_load.methods, count_of(e->u.class_load.num_methods)))
		return c;
	class_free(c);
	return NULL;
}

/* A requested CLASS_LOAD of a class being unloaded has no method ids. */
static void methods_add(struct class *c)
{
	for (size_t i = 0; i < c->n_methods; i++)
		if (c->methods[i].id)
			map_add(&classes.methods, &c->methods[i].link, hash_of(c->methods[i].id));
}

static bool is_same(const struct class *c, const JVMPI_Event *e)
{
	return c && c->n_methods == count_of(e->u.class_load.num_methods) &&
	       c->n_interfaces == count_of(e->u.class_load.num_interfaces) &&
	       c->n_statics == count_of(e->u.class_load.num_static_fields) &&
	       c->n_fields == count_of(e->u.class_load.num_instance_fields) &&
	       !strcmp(c->name, e->u.class_load.class_name);
}

void class_loaded(const JVMPI_Event *e)
{
	struct class *old = class_find(e->u.class_load.class_id), *c;

	if (is_same(old, e))
		return;
	/* Reported again with its methods, or a new class whose predecessor's unloading was not reported. */
	if (old)
		class_unloaded(old->id);
	c = class_new(e);
	if (!c || !map_add(&classes.by_id, &c->link, hash_of(c->id))) {
		class_free(c);
		return;
	}
	c->serial = ++classes.serial;
	methods_add(c);
}

/* About. */
static size_t bytes_of(const struct class *c)
{
	enum { TWO_NAMES = 64 };

	return sizeof(*c) + TWO_NAMES + c->n_methods * (sizeof(*c->methods) + TWO_NAMES) +
	       (c->n_statics + c->n_fields) * (sizeof(*c->fields) + TWO_NAMES);
}

uint32_t class_unloaded(jobjectID id)
{
	struct class *c = class_find(id);
	uint32_t serial = c && c->written_to == hprof.file ? c->serial : 0;

	if (!c)
		return 0;
	map_remove(&classes.by_id, &c->link);
	for (size_t i = 0; i < c->n_methods; i++)
		map_remove(&classes.methods, &c->methods[i].link);
	if (c->kept)
		classes.gone_bytes += bytes_of(c);
	else
		class_free(c);
	return serial;
}

struct class *class_of(jobjectID id)
{
	struct class *c = id ? class_find(id) : NULL;

	if (!c && id && hprof.jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, id) == JVMPI_SUCCESS)
		c = class_find(id);
	return c;
}

struct method *method_of(jmethodID id)
{
	struct method *m = id ? method_find(id) : NULL;
	jobjectID class;

	if (m || !id)
		return m;
	class = hprof.jvmpi->GetMethodClass(id);
	if (class && hprof.jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, class) == JVMPI_SUCCESS)
		m = method_find(id);
	return m;
}

size_t classes_gone_bytes(void)
{
	return classes.gone_bytes;
}

void class_keep(struct class *c)
{
	if (c)
		c->kept = true;
}

static const char primitive_letters[] = "ZCFDBSIJ"; /* from JVMPI_BOOLEAN on */
static const char *const primitive_names[] = {"boolean", "char", "float", "double", "byte", "short", "int", "long"};

static bool is_of_primitives(struct kind k)
{
	return k.is_array >= JVMPI_BOOLEAN && k.is_array <= JVMPI_LONG;
}

const char *class_source_name(const struct class *c, char ret[NAME_MAX_])
{
	const char *name = c ? c->name : "<Unknown>";
	size_t dimensions = strspn(name, "["), n;
	const char *element = name + dimensions;
	const char *letter = dimensions && *element ? strchr(primitive_letters, *element) : NULL;

	if (letter)
		element = primitive_names[letter - primitive_letters];
	else if (dimensions && *element == 'L')
		element++;
	n = strlen(element);
	if (dimensions && n && element[n - 1] == ';')
		n--;
	n = (size_t)snprintf(ret, NAME_MAX_, "%.*s", (int)(n < 3000 ? n : 3000), element);
	for (; dimensions && n + 3 <= NAME_MAX_ - 2; dimensions--, n += 2)
		memcpy(ret + n, "[]", 3);
	return ret;
}

const char *kind_source_name(struct kind k, char ret[NAME_MAX_])
{
	size_t n;

	if (is_of_primitives(k))
		snprintf(ret, NAME_MAX_, "%s", primitive_names[k.is_array - JVMPI_BOOLEAN]);
	else
		class_source_name(k.class, ret);
	n = strlen(ret);
	if (k.is_array)
		memcpy(ret + n, "[]", 3);
	return ret;
}

const char *kind_signature(struct kind k, char ret[NAME_MAX_])
{
	const char *name = k.class ? k.class->name : "<Unknown>";
	bool is_class = *name != '[' && *name != '<';

	if (is_of_primitives(k))
		snprintf(ret, NAME_MAX_, "[%c", primitive_letters[k.is_array - JVMPI_BOOLEAN]);
	else
		snprintf(ret, NAME_MAX_, "%s%s%.3000s%s", k.is_array ? "[" : "", is_class ? "L" : "", name,
			 is_class ? ";" : "");
	for (char *at = ret; *at; at++)
		if (*at == '.')
			*at = '/';
	return ret;
}

uint64_t class_address(struct class *c)
{
	if (!c->address)
		c->address = address_lasting();
	return c->address;
}
