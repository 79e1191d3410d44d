#include "sampler/session/parts/wall.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/readers/readers.h"
#include "symbolizer/base/tid_map.h"
#include "symbolizer/hotspot/threads/hs_thread.h"

struct kept {
	enum thread_state found, counted;
	struct walk walk; /* owns its frames */
	uint32_t cap;
};

struct wall {
	struct tid_map by_tid; /* struct kept */
};

struct wall *wall_new(void)
{
	struct wall *w = calloc(1, sizeof(*w));

	if (w)
		w->by_tid.size = sizeof(struct kept);
	return w;
}

static void drop(struct wall *w, struct kept *k)
{
	free(k->walk.frames);
	tid_map_drop(&w->by_tid, k);
}

static void exec(void *part)
{
	struct wall *w = part;
	struct kept *k;

	while ((k = tid_map_next(&w->by_tid, NULL)))
		drop(w, k);
}

static void close_part(void *part)
{
	exec(part);
	free(part);
}

static void thread_ended(void *part, pid_t tid)
{
	struct wall *w = part;
	struct kept *k = tid_map_find(&w->by_tid, tid);

	if (k)
		drop(w, k);
}

static void keep(void *part, struct hotspot *hs)
{
	const struct wall *w = part;

	for (const struct kept *k = NULL; (k = tid_map_next(&w->by_tid, k));)
		for (uint32_t i = 0; i < k->walk.n; i++)
			readers_keep_frame(hs, &k->walk.frames[i]);
}

static bool set_frames(struct kept *k, const struct walk *walk)
{
	struct frame_key *frames = k->walk.frames;

	if (walk->n > k->cap) {
		frames = realloc(frames, walk->n * sizeof(*frames));
		if (!frames)
			return false;
		k->cap = walk->n;
	}
	if (walk->n)
		memcpy(frames, walk->frames, walk->n * sizeof(*frames));
	k->walk = *walk;
	k->walk.frames = frames;
	return true;
}

static enum thread_state state_of(enum thread_state found, struct hotspot *hs, int32_t ns_tid)
{
	const struct hs_thread *t;

	if (!hs || (found != THREAD_NATIVE && found != THREAD_SLEEPING))
		return found;
	t = hs_thread_find(hs, ns_tid);
	switch (t ? hs_thread_wait(hs, t) : HS_WAIT_UNKNOWN) {
	case HS_WAIT_SLEEP: return THREAD_SLEEPING;
	case HS_WAIT_OBJECT: return THREAD_WAITING;
	case HS_WAIT_PARK: return THREAD_PARKED;
	case HS_WAIT_MONITOR: return THREAD_MONITOR;
	default: return found;
	}
}

/* Without memory, the thread is not counted again until it runs. */
static void walked(void *part, struct sampled *s)
{
	struct wall *w = part;
	struct kept *k = tid_map_get(&w->by_tid, s->raw->tid);

	s->state = state_of(s->raw->state, s->readers->hs, s->ns_tid);
	if (!k)
		return;
	k->found = s->raw->state;
	k->counted = s->state;
	if (!set_frames(k, s->walk))
		drop(w, k);
}

const struct part_ops wall_part = {
	.walked = walked,
	.thread_ended = thread_ended,
	.keep = keep,
	.exec = exec,
	.close = close_part,
};

const struct walk *wall_again(struct wall *w, pid_t tid, enum thread_state found, enum thread_state *ret_state)
{
	struct kept *k = w ? tid_map_find(&w->by_tid, tid) : NULL;

	if (!k)
		return NULL;
	*ret_state = found == k->found ? k->counted : found;
	return &k->walk;
}
