#include "sampler/session/wall.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/tid_map.h"
#include "symbolizer/hotspot/threads/hs_thread.h"

struct kept {
	enum thread_state found, told;
	struct walk walk; /* frames are its own */
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

void wall_reset(struct wall *w)
{
	struct kept *k;

	while ((k = tid_map_next(&w->by_tid, NULL)))
		drop(w, k);
}

void wall_free(struct wall *w)
{
	if (w)
		wall_reset(w);
	free(w);
}

void wall_forget(struct wall *w, pid_t tid)
{
	struct kept *k = tid_map_find(&w->by_tid, tid);

	if (k)
		drop(w, k);
}

void wall_frames(const struct wall *w, void (*fn)(void *ctx, const struct frame_key *k), void *ctx)
{
	for (const struct kept *k = NULL; (k = tid_map_next(&w->by_tid, k));)
		for (uint32_t i = 0; i < k->walk.n; i++)
			fn(ctx, &k->walk.frames[i]);
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

/* Without memory the thread is not told of again until it runs. */
void wall_keep(struct wall *w, pid_t tid, enum thread_state found, enum thread_state told,
	       const struct walk *walk)
{
	struct kept *k = tid_map_get(&w->by_tid, tid);

	if (!k)
		return;
	k->found = found;
	k->told = told;
	if (!set_frames(k, walk))
		drop(w, k);
}

const struct walk *wall_again(struct wall *w, pid_t tid, enum thread_state found,
			      enum thread_state *ret_told)
{
	struct kept *k = tid_map_find(&w->by_tid, tid);

	if (!k)
		return NULL;
	*ret_told = found == k->found ? k->told : found;
	return &k->walk;
}

enum thread_state wall_state(enum thread_state found, struct hotspot *hs, int32_t ns_tid)
{
	const struct hs_thread *t;

	if (!hs || (found != THREAD_NATIVE && found != THREAD_SLEEPING))
		return found;
	t = hs_thread_find(hs, ns_tid);
	switch (t ? hs_thread_wait(hs, t) : HS_WAIT_UNKNOWN) {
	case HS_WAIT_SLEEP:
		return THREAD_SLEEPING;
	case HS_WAIT_OBJECT:
		return THREAD_WAITING;
	case HS_WAIT_PARK:
		return THREAD_PARKED;
	case HS_WAIT_MONITOR:
		return THREAD_MONITOR;
	default:
		return found;
	}
}
