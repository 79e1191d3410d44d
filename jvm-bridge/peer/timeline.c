#include "jvm-bridge/peer/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/peer/code_map.h"
#include "jvm-bridge/peer/method_times.h"
#include "jvm-bridge/peer/wire_read.h"
#include "jvm-bridge/stream/wire.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/map.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/base/vec.h"

#define MAX_BYTES (UINT64_C(256) << 20)
/*
 * Limit on the steps that records cause, about a second's worth. Long replays get more, by their bytes, and a stream that
 * lasts for hours gets all of them back in STEPS_BACK_S seconds.
 */
#define STEPS (UINT64_C(1) << 23)
#define STEPS_PER_BYTE 4
#define STEPS_BACK_S 8
#define PAGE_BITS 12

enum { MAX_CHAIN = 1024, METHOD_BYTES = 8 + 4 + 4 + 2 + 2, SCOPE_BYTES = 16, RANGE_BYTES = 8 };

/* What a method id means at present. */
struct method_id {
	uint64_t id;
	uint32_t number;
	UT_hash_handle hh;
};

struct timeline {
	struct strtab *names;
	struct arena arena; /* compiled code with its tables, method ids */
	VEC(struct timeline_method) methods; /* indexed by number - 1 */
	struct method_id *ids;
	struct code_map *map;
	struct method_times *method_times;
	VEC(struct timeline_code *) codes; /* all */
	size_t next_new; /* into codes */
	int64_t offset;
	uint32_t replay;
	uint64_t replay_begin, last_time;
	uint64_t fed, steps; /* bytes; steps, see STEPS */
	uint64_t back_ns; /* until when steps were given back */
	uint64_t sure; /* everything that happened before this time has been reported */
	uint64_t full_from; /* from then on methods were not kept; 0: all were kept */
	struct timeline_stats stats;
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes taken from it */
};

struct timeline *timeline_new(void)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->names = strtab_new();
	t->map = code_map_new();
	t->method_times = method_times_new();
	if (!t->names || !t->map || !t->method_times) {
		timeline_free(t);
		return NULL;
	}
	return t;
}

void timeline_set_budget(struct timeline *t, struct budget *b)
{
	t->budget = b;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	budget_give(t->budget, t->taken);
	HASH_CLEAR(hh, t->ids);
	vec_done(&t->methods);
	vec_done(&t->codes);
	code_map_free(t->map);
	method_times_free(t->method_times);
	strtab_free(t->names);
	arena_done(&t->arena);
	free(t);
}

void timeline_set_offset(struct timeline *t, int64_t ns)
{
	t->offset = ns;
}

static bool is_full(struct timeline *t)
{
	t->stats.bytes = t->arena.bytes + strtab_bytes(t->names) + t->methods.cap * sizeof(*t->methods.v) +
			 t->codes.cap * sizeof(*t->codes.v) + code_map_bytes(t->map) +
			 method_times_bytes(t->method_times);
	if (t->stats.bytes < MAX_BYTES && budget_hold(t->budget, &t->taken, t->stats.bytes))
		return false;
	t->stats.dropped++;
	return true;
}

static void steps_give_back(struct timeline *t)
{
	const uint64_t ns_per_step = UINT64_C(1000000000) * STEPS_BACK_S / STEPS;
	uint64_t now = clock_monotonic_ns(), steps = (now - t->back_ns) / ns_per_step;

	t->steps -= steps < t->steps ? steps : t->steps;
	t->back_ns += steps * ns_per_step;
}

/* A few bytes of input can cause a walk through a map, or through everything reported, while others wait. */
static bool may_go(struct timeline *t, uint64_t steps)
{
	steps_give_back(t);
	if (steps > STEPS + t->fed * STEPS_PER_BYTE - t->steps)
		return false;
	t->steps += steps;
	return true;
}

/* --- methods --- */

static const char *keep(struct timeline *t, struct wire_str s)
{
	uint32_t id = s.p ? strtab_add(t->names, s.p, s.len) : UINT32_MAX;

	return id == UINT32_MAX ? NULL : strtab_get(t->names, id);
}

static uint32_t method_number(const struct timeline *t, uint64_t id)
{
	struct method_id *m;

	HASH_FIND(hh, t->ids, &id, sizeof(id), m);
	return m ? m->number : 0;
}

static int method_set(struct timeline *t, uint64_t id, struct timeline_method method)
{
	struct method_id *m;

	if (!method.class_name || !method.name || !method.signature)
		return 0;
	HASH_FIND(hh, t->ids, &id, sizeof(id), m);
	/* A replay repeats most methods. */
	if (m && memcmp(&t->methods.v[m->number - 1], &method, sizeof(method)) == 0)
		return 0;
	if (!vec_push(&t->methods, method))
		return -ENOMEM;
	t->stats.methods++;
	if (!m) {
		m = arena_alloc(&t->arena, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->id = id;
		HASH_ADD(hh, t->ids, id, sizeof(m->id), m);
		if (!m->hh.tbl)
			return -ENOMEM;
	}
	m->number = (uint32_t)t->methods.n;
	return 0;
}

/* What a replay newly reports began before it, but not before the last record that preceded it. */
static uint64_t reported_since(const struct timeline *t, const struct wire_record *rec, uint64_t time)
{
	return rec->flags & WIRE_REPLAYED ? t->last_time : time;
}

/* `ids`: the methods again, each u64 id, i32 first line, i32 last line, str name, str signature. */
static int read_addresses(struct timeline *t, struct cursor c, struct cursor ids, uint32_t n, uint64_t from)
{
	uint32_t told = cursor_left(&c) >= 4 ? cursor_u32(&c) : 0; /* none in version 1.0 */

	if (told == 0)
		return 0;
	if (told != n || told > cursor_left(&c) / 8)
		return -EPROTO;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = method_number(t, cursor_u64(&ids));
		uint64_t addr = cursor_u64(&c);

		cursor_u64(&ids);
		wire_str(&ids);
		wire_str(&ids);
		if (addr && number && method_times_add(t->method_times, addr, number, from, t->replay) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int on_class(struct timeline *t, struct cursor c, uint64_t from)
{
	const char *class_name, *source;
	struct cursor ids;
	uint32_t n;

	cursor_u64(&c);
	cursor_u64(&c);
	class_name = keep(t, wire_str(&c));
	source = keep(t, wire_str(&c));
	n = cursor_u32(&c);
	if (c.bad || n > cursor_left(&c) / METHOD_BYTES)
		return -EPROTO;
	t->stats.classes++;
	ids = c;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = cursor_u64(&c);
		struct timeline_method m = {.class_name = class_name, .source_file = source};
		int r;

		cursor_u64(&c); /* first and last line */
		m.name = keep(t, wire_str(&c));
		m.signature = keep(t, wire_str(&c));
		if (c.bad)
			return -EPROTO;
		r = method_set(t, id, m);
		if (r < 0)
			return r;
	}
	return read_addresses(t, c, ids, n, from);
}

static int on_method(struct timeline *t, struct cursor c, uint64_t from)
{
	struct timeline_method m = {0};
	uint64_t id = cursor_u64(&c), addr;
	int r;

	cursor_u64(&c);
	cursor_u64(&c);
	m.class_name = keep(t, wire_str(&c));
	m.source_file = keep(t, wire_str(&c));
	m.name = keep(t, wire_str(&c));
	m.signature = keep(t, wire_str(&c));
	if (c.bad)
		return -EPROTO;
	addr = cursor_left(&c) >= 8 ? cursor_u64(&c) : 0; /* none in version 1.0 */
	r = method_set(t, id, m);
	if (r < 0 || !addr || !method_number(t, id))
		return r;
	return method_times_add(t->method_times, addr, method_number(t, id), from, t->replay);
}

/* --- code --- */

struct code_counts {
	uint32_t methods, scopes, ranges;
};

static int read_scopes(struct timeline *t, struct cursor *c, const struct code_counts *n, struct timeline_code *code)
{
	CLEANUP(free_at_exit) uint32_t *numbers = calloc((size_t)n->methods + 1, sizeof(*numbers));
	struct timeline_scope *scopes = arena_alloc(&t->arena, ((size_t)n->scopes + 1) * sizeof(*scopes));

	if (!numbers || !scopes)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->methods; i++)
		numbers[i] = method_number(t, cursor_u64(c));
	for (uint32_t i = 0; i < n->scopes; i++) {
		uint32_t parent = cursor_u32(c), method = cursor_u32(c);

		if ((parent != WIRE_NONE && parent >= i) || method >= n->methods)
			return -EPROTO;
		scopes[i].parent = parent;
		scopes[i].method = numbers[method];
		scopes[i].bci = cursor_i32(c);
		scopes[i].line = cursor_i32(c);
	}
	code->scopes = scopes;
	code->n_scopes = n->scopes;
	return 0;
}

static int read_ranges(struct timeline *t, struct cursor *c, const struct code_counts *n, struct timeline_code *code)
{
	struct timeline_range *ranges = arena_alloc(&t->arena, ((size_t)n->ranges + 1) * sizeof(*ranges));
	uint32_t end = 0;

	if (!ranges)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->ranges; i++) {
		ranges[i].end = cursor_u32(c);
		ranges[i].scope = cursor_u32(c);
		if (ranges[i].end <= end || ranges[i].end > code->size || ranges[i].scope >= n->scopes)
			return -EPROTO;
		end = ranges[i].end;
	}
	code->ranges = ranges;
	code->n_ranges = n->ranges;
	return 0;
}

/* A replay repeats what has not changed: it is not read or kept again. */
static bool is_known(struct timeline *t, const struct timeline_code *c, const struct code_counts *n)
{
	struct timeline_code *old = code_map_live(t->map, c->begin);

	if (!old || old->begin != c->begin || old->size != c->size || old->method != c->method ||
	    old->n_ranges != n->ranges || old->n_scopes != n->scopes)
		return false;
	old->replay = t->replay;
	return true;
}

static int code_keep(struct timeline *t, struct timeline_code *code, bool replayed)
{
	int r;

	if (!vec_push(&t->codes, code))
		return -ENOMEM;
	code->added = !replayed;
	code->replay = t->replay;
	r = code_map_add(t->map, code);
	t->stats.codes++;
	return r == -E2BIG ? -EPROTO : r;
}

static int on_code(struct timeline *t, const struct wire_record *rec, uint64_t time)
{
	struct timeline_code told = {0}, *code;
	bool replayed = rec->flags & WIRE_REPLAYED;
	struct cursor c = rec->body;
	struct code_counts n;
	int r;

	told.begin = cursor_u64(&c);
	told.method = method_number(t, cursor_u64(&c));
	told.size = cursor_u32(&c);
	n.methods = cursor_u32(&c);
	n.scopes = cursor_u32(&c);
	n.ranges = cursor_u32(&c);
	told.from = reported_since(t, rec, time);
	told.to = TIMELINE_ALIVE;
	if (c.bad || (uint64_t)n.methods * 8 + (uint64_t)n.scopes * SCOPE_BYTES + (uint64_t)n.ranges * RANGE_BYTES >
			     cursor_left(&c))
		return -EPROTO;
	if (!may_go(t, told.size >> PAGE_BITS))
		return -EPROTO;
	if (replayed && is_known(t, &told, &n))
		return 0;
	code = arena_copy(&t->arena, &told, sizeof(told));
	if (!code)
		return -ENOMEM;
	r = read_scopes(t, &c, &n, code);
	if (r == 0)
		r = read_ranges(t, &c, &n, code);
	return r < 0 ? r : code_keep(t, code, replayed);
}

static int on_unload(struct timeline *t, struct cursor c, uint64_t time)
{
	uint64_t addr = cursor_u64(&c), id = cursor_u64(&c);
	struct timeline_code *code = c.bad ? NULL : code_map_live(t->map, addr);

	if (c.bad)
		return -EPROTO;
	t->stats.unloads++;
	/* The JVM reports unloading late: the address may have a new owner by now. */
	if (code && code->begin == addr && code->method == method_number(t, id))
		code_map_end(t->map, code, time);
	return 0;
}

static int on_dynamic(struct timeline *t, struct cursor c, uint64_t time)
{
	uint64_t begin = cursor_u64(&c);
	uint32_t size = cursor_u32(&c);

	if (c.bad || !may_go(t, size >> PAGE_BITS))
		return -EPROTO;
	t->stats.dynamic++;
	code_map_end_range(t->map, begin, size, time);
	return 0;
}

/* --- replays --- */

static void on_replay_begin(struct timeline *t, uint64_t time)
{
	t->replay++;
	t->replay_begin = time;
	t->stats.replays++;
}

/* Whatever the replay did not repeat had ended before it began. */
static int on_replay_end(struct timeline *t, struct cursor c)
{
	uint32_t status;

	cursor_u32(&c);
	status = cursor_u32(&c);
	if (c.bad)
		return -EPROTO;
	if (!may_go(t, t->codes.n + method_times_count(t->method_times)))
		return -EPROTO;
	for (size_t i = 0; status == 0 && i < t->codes.n; i++)
		if (t->codes.v[i]->to == TIMELINE_ALIVE && t->codes.v[i]->replay != t->replay)
			code_map_end(t->map, t->codes.v[i], t->replay_begin);
	if (status == 0) {
		method_times_end_others(t->method_times, t->replay, t->sure);
		t->sure = t->replay_begin;
	}
	return 0;
}

static int on_lost(struct timeline *t, struct cursor c)
{
	t->stats.lost += cursor_u64(&c);
	return c.bad ? -EPROTO : 0;
}

/* false: not kept. From then on, an address could show the name of an earlier method. */
static bool keeps_methods(struct timeline *t, uint64_t time)
{
	if (!is_full(t))
		return true;
	if (!t->full_from)
		t->full_from = time;
	return false;
}

static int feed(struct timeline *t, const struct wire_record *r, uint64_t time)
{
	switch (r->type) {
	case WIRE_CLASS_LOAD: return keeps_methods(t, time) ? on_class(t, r->body, reported_since(t, r, time)) : 0;
	case WIRE_METHOD: return keeps_methods(t, time) ? on_method(t, r->body, reported_since(t, r, time)) : 0;
	case WIRE_CODE_LOAD: return is_full(t) ? 0 : on_code(t, r, time);
	case WIRE_CODE_UNLOAD: return on_unload(t, r->body, time);
	case WIRE_DYNAMIC_CODE: return on_dynamic(t, r->body, time);
	case WIRE_REPLAY_BEGIN: on_replay_begin(t, time); return 0;
	case WIRE_REPLAY_END: return on_replay_end(t, r->body);
	case WIRE_LOST: return on_lost(t, r->body);
	case WIRE_THREAD_START: t->stats.threads++; return 0;
	case WIRE_GC_PAUSE: t->stats.pauses++; return 0;
	default: return 0;
	}
}

int timeline_feed(struct timeline *t, const struct wire_record *r)
{
	uint64_t time = r->time + (uint64_t)t->offset;
	int e;

	t->fed += r->size;
	e = feed(t, r, time);
	t->stats.records++;
	if (!(r->flags & WIRE_REPLAYED) && r->type != WIRE_LOST && r->type != WIRE_REPLAY_BEGIN &&
	    r->type != WIRE_HELLO && time > t->last_time && t->replay)
		t->last_time = time;
	return e;
}

struct timeline_code *timeline_find(const struct timeline *t, uint64_t pc, uint64_t time)
{
	return code_map_find(t->map, pc, time);
}

static const struct timeline_method *method_of(const struct timeline *t, uint32_t number)
{
	return number ? &t->methods.v[number - 1] : NULL;
}

bool timeline_method(const struct timeline *t, uint64_t addr, uint64_t time, struct timeline_method *ret)
{
	bool kept = !t->full_from || time < t->full_from;
	uint32_t number = kept ? method_times_find(t->method_times, addr, time) : 0;

	if (number)
		*ret = t->methods.v[number - 1];
	return number;
}

/* The first range that ends after the offset. */
static const struct timeline_range *range_at(const struct timeline_code *c, uint32_t offset)
{
	uint32_t lo = 0, hi = c->n_ranges;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->ranges[mid].end > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < c->n_ranges ? &c->ranges[lo] : NULL;
}

size_t timeline_chain(const struct timeline *t, const struct timeline_code *c, uint32_t offset,
		      struct timeline_frame *ret, size_t max)
{
	const struct timeline_range *r = range_at(c, offset);
	size_t n = 0;

	/* Parents have lower numbers, so chains end. */
	for (uint32_t s = r ? r->scope : WIRE_NONE; s != WIRE_NONE && n < max && n < MAX_CHAIN;
	     s = c->scopes[s].parent) {
		int32_t line = c->scopes[s].line;

		ret[n++] = (struct timeline_frame){method_of(t, c->scopes[s].method), c->scopes[s].bci,
						   line > 0 ? line : 0};
	}
	if (!n && max)
		ret[n++] = (struct timeline_frame){method_of(t, c->method), -1, 0};
	return n;
}

struct timeline_code *timeline_next_new(struct timeline *t)
{
	while (t->next_new < t->codes.n) {
		struct timeline_code *c = t->codes.v[t->next_new++];

		if (c->added && c->to == TIMELINE_ALIVE)
			return c;
	}
	return NULL;
}

struct timeline_stats timeline_stats(const struct timeline *t)
{
	return t->stats;
}
