#include "sampler/store/compaction_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_dictionary.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/u64map.h"

void compaction_plan_done(struct compaction_plan *p)
{
	vec_done(&p->buckets);
	vec_done(&p->segments);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int query(struct day *d, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(d->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : day_failed(d, err);
}

/* --- buckets --- */

/* Numbers of services by target. */
static int read_services(struct day *d, struct u64map *ret, struct err *err)
{
	struct strtab *texts = strtab_new();
	sqlite3_stmt *s = NULL;
	int r = texts ? query(d, "select target, value from label where key = 'service'", &s, err) : no_memory(err);

	while (r >= 0 && (r = day_step(d, s, err)) > 0) {
		uint64_t target = (uint64_t)sqlite3_column_int64(s, 0);
		const char *text = (const char *)sqlite3_column_text(s, 1);
		uint32_t service = text ? strtab_add_z(texts, text) : 0;

		if (service == UINT32_MAX || (target && service && !u64map_put(ret, target, service)))
			r = no_memory(err);
	}
	sqlite3_finalize(s);
	strtab_free(texts);
	return r;
}

static int by_order(const void *va, const void *vb)
{
	const struct compaction_place *a = va, *b = vb;

	return ascending(a->service, b->service) ?: ascending(a->target, b->target) ?: ascending(a->row, b->row);
}

static int read_places(struct day *d, const struct u64map *services, struct compaction_plan *p, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r = query(d, "select id, target, at, event from bucket where target not in (select target from total)", &s,
		      err);

	while (r >= 0 && (r = day_step(d, s, err)) > 0) {
		struct compaction_place b = {.row = sqlite3_column_int64(s, 0),
					     .target = sqlite3_column_int64(s, 1),
					     .at = sqlite3_column_int64(s, 2),
					     .event = sqlite3_column_int64(s, 3)};

		b.service = u64map_get(services, (uint64_t)b.target);
		r = vec_push(&p->buckets, b) ? 0 : no_memory(err);
	}
	sqlite3_finalize(s);
	if (p->buckets.n)
		qsort(p->buckets.v, p->buckets.n, sizeof(*p->buckets.v), by_order);
	return r;
}

static int order_buckets(struct day *d, struct compaction_plan *p, struct err *err)
{
	struct u64map services = {0};
	int r = read_services(d, &services, err);

	if (r == 0)
		r = read_places(d, &services, p, err);
	u64map_done(&services);
	return r;
}

/* --- all --- */

/* Without it, pages that are free cannot be given back. */
static int can_shrink(struct day *d, struct err *err)
{
	enum { INCREMENTAL = 2 };
	int64_t mode;
	int r = day_ask(d, "pragma auto_vacuum", &mode, err);

	return r < 0 ? r : mode == INCREMENTAL;
}

/* Are all nodes those of targets that have totals, and all targets done? */
static int is_compact(struct day *d, struct compaction_plan *p, struct err *err)
{
	int64_t below, first, left;
	int r = day_ask(d, "select max(below) from total", &below, err);

	p->below = below > 0 && below <= UINT32_MAX ? (uint32_t)below : 0;
	if (r >= 0)
		r = day_ask(d, "select min(first) from segment where tab = 4", &first, err); /* DICT_NODES */
	if (r >= 0)
		r = day_ask(d, "select 1 from bucket where target not in (select target from total) limit 1", &left,
			    err);
	return r < 0 ? r : !left && first >= below;
}

int compaction_plan_make(struct day *d, struct compaction_plan *ret, struct err *err)
{
	int64_t waiting;
	int r = can_shrink(d, err);

	if (r <= 0 || (r = day_ask(d, "select 1 from waiting limit 1", &waiting, err)) != 0)
		return r < 0 ? r : 0;
	r = is_compact(d, ret, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = day_list_nodes(d, DAY_NODE_SEGMENT_MAX, &ret->segments, &ret->count, err);
	if (r == 0)
		r = order_buckets(d, ret, err);
	if (!ret->below)
		ret->below = ret->count;
	return r < 0 ? r : 1;
}
