#include "jvm-bridge/hprof/classes.h"

#include <string.h>

#include "jvm-bridge/hprof/hprof.h"

static struct {
	struct map by_id, methods;
	uint32_t serial;
} classes;

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

static void class_free(struct class *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_methods; i++) {
		free(c->methods[i].name);
		free(c->methods[i].signature);
	}
	free(c->methods);
	free(c->name);
	free(c->source);
	free(c);
}

/* A line of the text output is a record: no name has a line end. */
static char *name_copy(const char *name)
{
	char *copy = strdup(name ? name : "");

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	return copy;
}

static struct class *class_new(const JVMPI_Event *e)
{
	const JVMPI_Method *methods = e->u.class_load.methods;
	size_t n = e->u.class_load.num_methods > 0 ? (size_t)e->u.class_load.num_methods : 0;
	struct class *c = calloc(1, sizeof(*c));
	bool ok;

	if (!c)
		return NULL;
	c->id = e->u.class_load.class_id;
	c->name = name_copy(e->u.class_load.class_name);
	c->source = e->u.class_load.source_name ? name_copy(e->u.class_load.source_name) : NULL;
	c->methods = calloc(n + 1, sizeof(*c->methods));
	ok = c->name && c->methods;
	for (size_t i = 0; ok && i < n; i++) {
		struct method *m = &c->methods[c->n_methods++];

		m->id = methods[i].method_id;
		m->class = c;
		m->name = name_copy(methods[i].method_name);
		m->signature = name_copy(methods[i].method_signature);
		ok = m->name && m->signature;
	}
	if (ok)
		return c;
	class_free(c);
	return NULL;
}

/* A requested CLASS_LOAD of a class that is on its way out has no ids of methods. */
static void methods_add(struct class *c)
{
	for (size_t i = 0; i < c->n_methods; i++)
		if (c->methods[i].id)
			map_add(&classes.methods, &c->methods[i].link, hash_of(c->methods[i].id));
}

static bool is_same(const struct class *c, const JVMPI_Event *e)
{
	return c && c->n_methods == (size_t)e->u.class_load.num_methods && !strcmp(c->name, e->u.class_load.class_name);
}

void class_loaded(const JVMPI_Event *e)
{
	struct class *old = class_find(e->u.class_load.class_id), *c;

	if (is_same(old, e))
		return;
	/* Told again with its methods, or another one whose predecessor's end was not told. */
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

void class_unloaded(jobjectID id)
{
	struct class *c = class_find(id);
	bool kept = false;

	if (!c)
		return;
	map_remove(&classes.by_id, &c->link);
	for (size_t i = 0; i < c->n_methods; i++) {
		map_remove(&classes.methods, &c->methods[i].link);
		kept |= c->methods[i].kept;
	}
	if (!kept)
		class_free(c);
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

void method_keep(struct method *m)
{
	if (m)
		m->kept = true;
}
