#include "jvm-bridge/hprof/tables/monitors.h"

#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/sites.h"
#include "jvm-bridge/hprof/tables/threads.h"

struct raw_name {
	struct link link;
	char text[];
};

static struct {
	struct map contentions, names;
	jobjectID class_id; /* class of the object last asked about */
	jint is_array;
} monitors;

void monitors_object(const JVMPI_Event *e)
{
	monitors.class_id = e->u.obj_alloc.class_id;
	monitors.is_array = e->u.obj_alloc.is_array;
}

struct kind monitor_kind(jobjectID id)
{
	struct kind kind = {0};

	if (!id || hprof.jvmpi->RequestEvent(JVMPI_EVENT_OBJECT_ALLOC, id))
		return kind;
	kind.is_array = monitors.is_array;
	kind.class = class_of(monitors.class_id);
	return kind;
}

/* The monitor may be destroyed; the name is never freed. NULL: out of memory. */
static const char *raw_name_of(const char *text)
{
	size_t size = strlen(text) + 1;
	uint64_t hash = 0;
	struct raw_name *n;
	struct link *l;

	for (const char *c = text; *c; c++)
		hash = map_mix(hash, (unsigned char)*c);
	l = map_first(&monitors.names, hash);
	while (l && strcmp(((struct raw_name *)l)->text, text))
		l = map_next(l);
	if (l)
		return ((struct raw_name *)l)->text;
	n = calloc(1, sizeof(*n) + size);
	if (!n || !map_add(&monitors.names, &n->link, hash)) {
		free(n);
		return NULL;
	}
	for (size_t i = 0; text[i]; i++)
		n->text[i] = (unsigned char)text[i] < ' ' || text[i] == '"' ? '?' : text[i];
	return n->text;
}

static struct contention *contention_of(struct kind kind, const char *raw, struct trace *trace)
{
	uint64_t hash = map_mix(map_mix((uint64_t)(uintptr_t)kind.class, (uint64_t)(uintptr_t)raw), trace->serial);
	struct link *l = map_first(&monitors.contentions, hash);
	struct contention *c;

	for (; l; l = map_next(l)) {
		c = (struct contention *)l;
		if (c->kind.class == kind.class && c->kind.is_array == kind.is_array && c->raw == raw &&
		    c->trace == trace)
			return c;
	}
	c = calloc(1, sizeof(*c));
	if (!c || !map_add(&monitors.contentions, &c->link, hash)) {
		free(c);
		return NULL;
	}
	c->kind = kind;
	c->raw = raw;
	c->trace = trace;
	return c;
}

void contention_enter(const JVMPI_Event *e, bool raw, uint64_t at)
{
	struct java_thread *t = thread_of(e->env_id);

	if (!t)
		return;
	t->entering.kind = monitor_kind(raw ? NULL : e->u.monitor.object);
	t->entering.raw = raw ? raw_name_of(e->u.raw_monitor.name ? e->u.raw_monitor.name : "") : NULL;
	t->entering.trace = trace_here(e->env_id);
	t->entering.since = at;
	/* The class may be unloaded before the thread enters. */
	class_keep(t->entering.kind.class);
}

void contention_entered(const JVMPI_Event *e, uint64_t at)
{
	struct java_thread *t = thread_of(e->env_id);
	struct contention *c;

	if (!t || !t->entering.since || !t->entering.trace)
		return;
	c = contention_of(t->entering.kind, t->entering.raw, t->entering.trace);
	if (c) {
		c->count++;
		c->ns += at - t->entering.since;
	}
	t->entering.since = 0;
}

static int by_time(const void *a, const void *b)
{
	const struct contention *x = *(struct contention *const *)a, *y = *(struct contention *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->trace->serial > y->trace->serial) - (x->trace->serial < y->trace->serial);
}

static void each(void (*f)(struct contention *c, void *arg), void *arg)
{
	for (size_t i = 0; i < monitors.contentions.cap; i++)
		for (struct link *l = monitors.contentions.heads[i]; l; l = l->next)
			f((struct contention *)l, arg);
}

static void row_add(struct contention *c, void *arg)
{
	struct contention_table *t = arg;

	if (!c->count)
		return;
	t->rows[t->n++] = c;
	t->total += c->ns;
}

struct contention_table contention_table_make(double cutoff)
{
	struct contention_table t = {0};

	t.rows = malloc((monitors.contentions.n + 1) * sizeof(*t.rows));
	t.ok = t.rows;
	if (!t.ok)
		return t;
	each(row_add, &t);
	if (t.n)
		qsort(t.rows, t.n, sizeof(struct contention *), by_time);
	while (t.n && (double)t.rows[t.n - 1]->ns < cutoff * (double)t.total)
		t.n--;
	return t;
}

void contention_table_done(struct contention_table *t)
{
	free(t->rows);
	*t = (struct contention_table){0};
}

static void clear_one(struct contention *c, void *arg)
{
	(void)arg;
	c->count = c->ns = 0;
}

void contention_clear(void)
{
	each(clear_one, NULL);
}
