#include "sampler/session/by_time.h"

#include <stdlib.h>

#include "jvm-bridge/peer/timeline.h"
#include "sampler/model/walk.h"
#include "sampler/session/bridge.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code.h"

/* Code that was sampled so shortly before the JVM told of it is that code, not what stood there before. */
#define FRESH_NS UINT64_C(20000000)
/* Of a burst of compilations, as many are looked at for one sample. */
enum { LOOKS = 256 };

struct by_time {
	struct bridge *bridge;
	struct hotspot *hs;
	VEC(uint64_t) first_seen; /* of code id - 1: time of its first sample; 0: none */
	VEC(const struct timeline_code *) gone; /* of code id - 1; NULL: it was read from memory */
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

struct by_time *by_time_new(struct bridge *b, struct hotspot *hs)
{
	struct by_time *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bridge = b;
	t->hs = hs;
	hs_set_gone(hs, find_gone, t);
	return t;
}

void by_time_free(struct by_time *t)
{
	if (!t)
		return;
	hs_set_gone(t->hs, NULL, NULL);
	vec_done(&t->first_seen);
	vec_done(&t->gone);
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

struct by_time_stats by_time_stats(const struct by_time *t)
{
	return t->stats;
}
