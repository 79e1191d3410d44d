#include "jvm-bridge/host/saved_class.h"

struct saved_class *saved_class_new(const JVMPI_Event *e)
{
	const JVMPI_Method *m = e->u.class_load.methods;
	struct saved_class *s = calloc(1, sizeof(*s));
	JVMPI_Event *copy;

	if (!s)
		return NULL;
	copy = &s->event;
	copy->u.class_load.class_id = e->u.class_load.class_id;
	copy->u.class_load.num_interfaces = e->u.class_load.num_interfaces;
	copy->u.class_load.class_name = pool_string(&s->pool, e->u.class_load.class_name);
	if (e->u.class_load.source_name)
		copy->u.class_load.source_name = pool_string(&s->pool, e->u.class_load.source_name);
	copy->u.class_load.methods = pool_alloc(&s->pool, (size_t)e->u.class_load.num_methods * sizeof(*m));
	if (!copy->u.class_load.methods)
		return s;
	copy->u.class_load.num_methods = e->u.class_load.num_methods;
	for (jint i = 0; i < copy->u.class_load.num_methods; i++)
		copy->u.class_load.methods[i] = (JVMPI_Method){pool_string(&s->pool, m[i].method_name),
							       pool_string(&s->pool, m[i].method_signature),
							       m[i].start_lineno, m[i].end_lineno, NULL};
	return s;
}

void saved_class_free(struct saved_class *s)
{
	if (!s)
		return;
	pool_done(&s->pool);
	free(s);
}
