#include "sampler/session/bridge/gone_code.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/peer/timeline.h"
#include "sampler/model/walk.h"
#include "sampler/session/bridge/bridge.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/gone.h"
#include "symbolizer/hotspot/methods/method.h"

/*
 * Code that was sampled at most this long before the JVM announced it is that code, not an earlier one at that
 * address.
 */
#define FRESH_NS UINT64_C(20000000)
/* Limit for one sample, in a burst of compilations. */
enum { LOOKS = 256 };
/* Limit of interpreted frames whose methods are named by time. */
enum { LOST_MAX = 1 << 18 };

struct lost_method {
	uint64_t method, time_ns;
	uint32_t id;
};

struct gone_code {
	struct bridge *bridge;
	struct hotspot *hs;
	VEC(uint64_t) first_seen; /* by code ID - 1: time of its first sample; 0: none */
	VEC(const struct timeline_code *) gone; /* by code ID - 1; NULL: it was read from memory */
	VEC(struct lost_method) lost;
	size_t finished; /* how many of `lost` have names */
	struct gone_code_stats stats;
};

static bool keep_gone(struct gone_code *t, uint32_t id, const struct timeline_code *c)
{
	if (!vec_reach(&t->gone, id, NULL))
		return false;
	t->gone.v[id - 1] = c;
	return true;
}

/* A hs_gone_fn. */
static uint32_t find_gone(void *ctx, uint64_t pc, uint64_t time_ns, bool there)
{
	struct gone_code *t = ctx;
	struct timeline *line = bridge_lock(t->bridge);
	struct timeline_code *c = line ? timeline_find(line, pc, time_ns) : NULL;
	uint32_t id = 0;

	/*
	 * The code that is at `pc` now is what was sampled, unless the sampled code ended well
	 * after the sample.
	 */
	if (c && there && (c->to == TIMELINE_ALIVE || c->to < time_ns + FRESH_NS || c->from > time_ns))
		c = NULL;
	if (c && !c->note.code_id) {
		id = hs_gone_add(t->hs, c->begin, c->size, c->note.frame_size, c->note.tier);
		if (id && keep_gone(t, id, c))
			c->note.code_id = id;
	}
	if (c)
		id = c->note.code_id;
	if (line)
		bridge_unlock(t->bridge);
	t->stats.gone += id != 0;
	return id;
}

static bool bridge_method(struct gone_code *t, uint64_t method, uint64_t time_ns, struct timeline_method *ret)
{
	struct timeline *line = bridge_lock(t->bridge);
	bool known = line && timeline_method(line, method, time_ns, ret);

	if (line)
		bridge_unlock(t->bridge);
	return known;
}

/* The method that was read from memory is the sampled one: prefer it, as it has more than names. */
static bool is_same(const struct hs_method *fresh, const struct timeline_method *m)
{
	return fresh && strcmp(fresh->class_name, m->class_name) == 0 && strcmp(fresh->name, m->name) == 0 &&
	       strcmp(fresh->signature, m->signature) == 0;
}

/* The stream lags a little behind samples: IDs are given out now, names at the end. */
static uint32_t lost_add(struct gone_code *t, uint64_t method, uint64_t time_ns)
{
	struct lost_method lost = {method, time_ns, 0};

	for (size_t i = t->lost.n; i > 0 && t->lost.v[i - 1].time_ns == time_ns; i--)
		if (t->lost.v[i - 1].method == method)
			return t->lost.v[i - 1].id;
	if (t->lost.n >= LOST_MAX)
		return 0;
	lost.id = hs_gone_method_add(t->hs);
	if (!lost.id || !vec_push(&t->lost, lost))
		return 0;
	t->stats.gone_methods++;
	return lost.id;
}

/* A hs_gone_method_fn. */
static uint32_t find_gone_method(void *ctx, uint64_t method, uint64_t time_ns, const struct hs_method *fresh)
{
	struct gone_code *t = ctx;
	struct timeline_method m;

	if (fresh && bridge_method(t, method, time_ns, &m) && is_same(fresh, &m))
		return fresh->id;
	return lost_add(t, method, time_ns);
}

struct gone_code *gone_code_new(struct bridge *b, struct hotspot *hs)
{
	struct gone_code *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bridge = b;
	t->hs = hs;
	hs_set_gone(hs, find_gone, t);
	hs_set_gone_method(hs, find_gone_method, t);
	return t;
}

void gone_code_free(struct gone_code *t)
{
	if (!t)
		return;
	hs_set_gone(t->hs, NULL, NULL);
	hs_set_gone_method(t->hs, NULL, NULL);
	vec_done(&t->first_seen);
	vec_done(&t->gone);
	vec_done(&t->lost);
	free(t);
}

void gone_code_prepare(struct gone_code *t)
{
	struct timeline *line = bridge_lock(t->bridge);
	struct timeline_code *c;

	if (!line)
		return;
	for (int i = 0; i < LOOKS && (c = timeline_next_new(line)); i++)
		hs_code_shape(t->hs, c->begin, &c->note.frame_size, &c->note.tier);
	bridge_unlock(t->bridge);
}

void gone_code_note(struct gone_code *t, const struct walk *w, uint64_t time_ns)
{
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t id = w->frames[i].id;

		if (w->frames[i].kind != FRAME_COMPILED || !id)
			continue;
		if (!vec_reach(&t->first_seen, id, 0))
			return;
		if (!t->first_seen.v[id - 1])
			t->first_seen.v[id - 1] = time_ns;
	}
}

const struct timeline_code *gone_code_code(void *ctx, const struct code *c)
{
	struct gone_code *t = ctx;
	const struct timeline_code *told;
	struct timeline *line;

	if (c->gone)
		return c->id <= t->gone.n ? t->gone.v[c->id - 1] : NULL;
	line = c->id <= t->first_seen.n && t->first_seen.v[c->id - 1] ? bridge_lock(t->bridge) : NULL;
	if (!line)
		return NULL;
	told = timeline_find(line, c->begin, t->first_seen.v[c->id - 1]);
	bridge_unlock(t->bridge);
	return told && told->begin == c->begin ? told : NULL;
}

void gone_code_finish(struct gone_code *t)
{
	struct timeline_method m;

	for (; t->finished < t->lost.n; t->finished++) {
		const struct lost_method *l = &t->lost.v[t->finished];

		if (!bridge_method(t, l->method, l->time_ns, &m))
			continue;
		hs_gone_method_name(t->hs, l->id, m.class_name, m.name, m.signature, m.source_file);
	}
}

struct gone_code_stats gone_code_stats(const struct gone_code *t)
{
	return t->stats;
}
