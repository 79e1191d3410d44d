#include "sampler/session/wall.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/map.h"
#include "symbolizer/hotspot/hs_thread.h"

struct kept {
	pid_t tid;
	enum thread_state found, told;
	struct walk walk; /* frames are its own */
	uint32_t cap;
	UT_hash_handle hh;
};

struct wall {
	struct kept *by_tid;
};

struct wall *wall_new(void)
{
	return calloc(1, sizeof(struct wall));
}

static void drop(struct wall *w, struct kept *k)
{
	HASH_DEL(w->by_tid, k);
	free(k->walk.frames);
	free(k);
}

void wall_reset(struct wall *w)
{
	struct kept *k, *next;

	HASH_ITER(hh, w->by_tid, k, next)
		drop(w, k);
}

void wall_free(struct wall *w)
{
	if (w)
		wall_reset(w);
	free(w);
}

static struct kept *find(struct wall *w, pid_t tid)
{
	struct kept *k;

	HASH_FIND_INT(w->by_tid, &tid, k);
	return k;
}

void wall_forget(struct wall *w, pid_t tid)
{
	struct kept *k = find(w, tid);

	if (k)
		drop(w, k);
}

void wall_frames(const struct wall *w, void (*fn)(void *ctx, const struct frame_key *k), void *ctx)
{
	const struct kept *k, *next;

	HASH_ITER(hh, w->by_tid, k, next)
		for (uint32_t i = 0; i < k->walk.n; i++)
			fn(ctx, &k->walk.frames[i]);
}

static struct kept *add(struct wall *w, pid_t tid)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->tid = tid;
	HASH_ADD_INT(w->by_tid, tid, k);
	if (!k->hh.tbl) {
		free(k);
		return NULL;
	}
	return k;
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
	struct kept *k = find(w, tid);

	if (!k)
		k = add(w, tid);
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
	struct kept *k = find(w, tid);

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
