#include "sampler/session/by_time.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/peer/timeline.h"
#include "sampler/model/walk.h"
#include "sampler/session/bridge.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/gone.h"
#include "symbolizer/hotspot/methods/method.h"

/* Code that was sampled so shortly before the JVM told of it is that code, not what stood there before. */
#define FRESH_NS UINT64_C(20000000)
/* Of a burst of compilations, as many are looked at for one sample. */
enum { LOOKS = 256 };
/* Frames of interpreted methods that may be named by time only. */
enum { LOST_MAX = 1 << 18 };

struct lost_method {
	uint64_t method, time_ns;
	uint32_t id;
};

struct by_time {
	struct bridge *bridge;
	struct hotspot *hs;
	VEC(uint64_t) first_seen; /* of code id - 1: time of its first sample; 0: none */
	VEC(const struct timeline_code *) gone; /* of code id - 1; NULL: it was read from memory */
	VEC(struct lost_method) lost;
	size_t finished; /* of them */
	struct by_time_stats stats;
};

static bool keep_gone(struct by_time *t, uint32_t id, const struct timeline_code *c)
{
	if (!vec_reach(&t->gone, id, NULL))
		return false;
	t->gone.v[id - 1] = c;
	return true;
}

/* A hs_gone_fn. */
static uint32_t find_gone(void *ctx, uint64_t pc, uint64_t time_ns, bool there)
{
	struct by_time *t = ctx;
	struct timeline *line = bridge_lock(t->bridge);
	struct timeline_code *c = line ? timeline_find(line, pc, time_ns) : NULL;
	uint32_t id = 0;

	/* What is there is what was sampled, unless that ended well after the sample. */
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

static bool told_method(struct by_time *t, uint64_t method, uint64_t time_ns, struct timeline_method *ret)
{
	struct timeline *line = bridge_lock(t->bridge);
	bool known = line && timeline_method(line, method, time_ns, ret);

	if (line)
		bridge_unlock(t->bridge);
	return known;
}

/* What was read is what was sampled: it tells more than names. */
static bool is_same(const struct hs_method *fresh, const struct timeline_method *m)
{
	return fresh && strcmp(fresh->class_name, m->class_name) == 0 && strcmp(fresh->name, m->name) == 0 &&
	       strcmp(fresh->signature, m->signature) == 0;
}

/* The stream comes a little later than a sample: ids are given now, names at the end. */
static uint32_t lost_add(struct by_time *t, uint64_t method, uint64_t time_ns)
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
	struct by_time *t = ctx;
	struct timeline_method m;

	if (fresh && told_method(t, method, time_ns, &m) && is_same(fresh, &m))
		return fresh->id;
	return lost_add(t, method, time_ns);
}

struct by_time *by_time_new(struct bridge *b, struct hotspot *hs)
{
	struct by_time *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bridge = b;
	t->hs = hs;
	hs_set_gone(hs, find_gone, t);
	hs_set_gone_method(hs, find_gone_method, t);
	return t;
}

void by_time_free(struct by_time *t)
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

void by_time_look(struct by_time *t)
{
	struct timeline *line = bridge_lock(t->bridge);
	struct timeline_code *c;

	if (!line)
		return;
	for (int i = 0; i < LOOKS && (c = timeline_next_new(line)); i++)
		hs_code_shape(t->hs, c->begin, &c->note.frame_size, &c->note.tier);
	bridge_unlock(t->bridge);
}

void by_time_note(struct by_time *t, const struct walk *w, uint64_t time_ns)
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

const struct timeline_code *by_time_code(void *ctx, const struct code *c)
{
	struct by_time *t = ctx;
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

void by_time_finish(struct by_time *t)
{
	struct timeline_method m;

	for (; t->finished < t->lost.n; t->finished++) {
		const struct lost_method *l = &t->lost.v[t->finished];

		if (!told_method(t, l->method, l->time_ns, &m))
			continue;
		hs_gone_method_name(t->hs, l->id, m.class_name, m.name, m.signature, m.source_file);
	}
}

struct by_time_stats by_time_stats(const struct by_time *t)
{
	return t->stats;
}
