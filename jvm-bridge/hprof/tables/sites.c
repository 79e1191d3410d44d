#include "jvm-bridge/hprof/tables/sites.h"

static struct {
	struct map sites, objects;
	struct site_totals totals;
	uint64_t lost;
} all;

static uint64_t hash_of(const void *p)
{
	return map_mix(0, (uint64_t)(uintptr_t)p);
}

/*
 * Ids that are near each other, as those of objects made one after the other, have heads near each other: a heap dump looks
 * up millions in about that order. Blocks of 4 KB are scattered, and so are the places within them.
 */
static uint64_t object_hash(jobjectID id)
{
	uint64_t at = (uint64_t)(uintptr_t)id, block = map_mix(0, at >> 12);

	return (block & ~(uint64_t)63) | (((at >> 6) + (block >> 32)) & 63);
}

static struct object *object_find(jobjectID id)
{
	struct link *l = map_first(&all.objects, object_hash(id));

	while (l && ((struct object *)l)->id != id)
		l = map_next(l);
	return (struct object *)l;
}

static struct site *site_of(struct kind kind, struct trace *trace)
{
	uint64_t hash = map_mix(map_mix(hash_of(kind.class), (uint64_t)kind.is_array), trace->serial);
	struct link *l = map_first(&all.sites, hash);
	struct site *s = (struct site *)l;

	for (; l; l = map_next(l)) {
		s = (struct site *)l;
		if (s->kind.class == kind.class && s->kind.is_array == kind.is_array && s->trace == trace)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s || !map_add(&all.sites, &s->link, hash)) {
		free(s);
		return NULL;
	}
	s->kind = kind;
	s->trace = trace;
	class_keep(kind.class);
	return s;
}

static struct object *object_new(jobjectID id)
{
	struct object *o;

	sites_object_freed(id); /* the end of the id's previous object was not reported */
	o = calloc(1, sizeof(*o));
	if (o && map_add(&all.objects, &o->link, object_hash(id))) {
		o->id = id;
		return o;
	}
	free(o);
	return NULL;
}

void sites_object_made(const JVMPI_Event *e, struct trace *trace)
{
	uint32_t size = (uint32_t)e->u.obj_alloc.size;
	struct kind kind = {class_of(e->u.obj_alloc.class_id), e->u.obj_alloc.is_array};
	struct site *s = trace ? site_of(kind, trace) : NULL;
	struct object *o = s ? object_new(e->u.obj_alloc.obj_id) : NULL;

	if (!o) {
		all.lost++;
		return;
	}
	o->site = s;
	o->size = size;
	s->live_bytes += size;
	s->live++;
	s->bytes += size;
	s->objects++;
	all.totals.live_bytes += size;
	all.totals.live++;
	all.totals.bytes += size;
	all.totals.objects++;
}

void sites_object_freed(jobjectID id)
{
	struct object *o = object_find(id);

	if (!o)
		return;
	o->site->live_bytes -= o->size;
	o->site->live--;
	all.totals.live_bytes -= o->size;
	all.totals.live--;
	map_remove(&all.objects, &o->link);
	free(o);
}

const struct object *object_of(jobjectID id)
{
	return object_find(id);
}

static void each(void (*f)(struct site *s, void *arg), void *arg)
{
	for (size_t i = 0; i < all.sites.cap; i++)
		for (struct link *l = all.sites.heads[i]; l; l = l->next)
			f((struct site *)l, arg);
}

static void clear_one(struct site *s, void *arg)
{
	(void)arg;
	s->bytes = s->live_bytes;
	s->objects = s->live;
}

void sites_clear(void)
{
	each(clear_one, NULL);
	all.totals.bytes = all.totals.live_bytes;
	all.totals.objects = all.totals.live;
}

struct site_totals sites_totals(void)
{
	return all.totals;
}

uint64_t sites_lost(void)
{
	return all.lost;
}

static void row_add(struct site *s, void *arg)
{
	struct site_table *t = arg;

	if (s->objects)
		t->rows[t->n++] = s;
}

static int order(uint64_t x, uint64_t y, const struct site *a, const struct site *b)
{
	if (x != y)
		return x < y ? 1 : -1;
	return (a->trace->serial > b->trace->serial) - (a->trace->serial < b->trace->serial);
}

static int by_live(const void *a, const void *b)
{
	const struct site *x = *(struct site *const *)a, *y = *(struct site *const *)b;

	return order(x->live_bytes, y->live_bytes, x, y);
}

static int by_allocated(const void *a, const void *b)
{
	const struct site *x = *(struct site *const *)a, *y = *(struct site *const *)b;

	return order(x->bytes, y->bytes, x, y);
}

static double share(const struct site_table *t, const struct site *s)
{
	uint64_t total = t->by_allocated ? t->totals.bytes : t->totals.live_bytes;

	return total ? (double)(t->by_allocated ? s->bytes : s->live_bytes) / (double)total : 0;
}

struct site_table site_table_make(double cutoff, bool allocated)
{
	struct site_table t = {.by_allocated = allocated, .totals = all.totals};

	t.rows = malloc((all.sites.n + 1) * sizeof(*t.rows));
	t.ok = t.rows;
	if (!t.ok)
		return t;
	each(row_add, &t);
	if (t.n)
		qsort(t.rows, t.n, sizeof(struct site *), allocated ? by_allocated : by_live);
	while (t.n && share(&t, t.rows[t.n - 1]) < cutoff)
		t.n--;
	return t;
}

void site_table_done(struct site_table *t)
{
	free(t->rows);
	*t = (struct site_table){0};
}
