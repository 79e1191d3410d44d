#include "sampler/session/heap_frames.h"

#include <pthread.h>
#include <stdlib.h>

#include "symbolizer/hotspot/objects/hs_frozen.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"

enum { CARRIERS_MAX = 512 }; /* there is about one a CPU; beyond it the first ones are dropped */

struct carrier {
	pid_t tid; /* 0: none */
	int32_t ns_tid;
	uint64_t java_thread;
};

struct heap_frames {
	struct proc *proc;
	pthread_mutex_t lock; /* of all below */
	struct mem *mem;
	struct hs_frozen *frozen;
	struct carrier carriers[CARRIERS_MAX];
	size_t next;
	struct heap_frames_stats stats;
};

struct heap_frames *heap_frames_new(struct proc *proc)
{
	struct heap_frames *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->proc = proc;
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

static void drop_reader(struct heap_frames *h)
{
	hs_frozen_free(h->frozen);
	mem_free(h->mem);
	h->frozen = NULL;
	h->mem = NULL;
}

void heap_frames_free(struct heap_frames *h)
{
	if (!h)
		return;
	drop_reader(h);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static struct carrier *find(struct heap_frames *h, pid_t tid)
{
	for (size_t i = 0; i < CARRIERS_MAX && h->carriers[i].tid; i++)
		if (h->carriers[i].tid == tid)
			return &h->carriers[i];
	return NULL;
}

/* The engine never waits: what is not taken is marked as it would be without this. */
static bool wants(void *ctx, pid_t tid)
{
	struct heap_frames *h = ctx;
	bool found;

	if (pthread_mutex_trylock(&h->lock))
		return false;
	found = h->frozen && !hs_frozen_hopeless(h->frozen) && find(h, tid);
	h->stats.asked += found;
	pthread_mutex_unlock(&h->lock);
	return found;
}

static size_t take(void *ctx, pid_t tid, uint8_t *dst, size_t max)
{
	struct heap_frames *h = ctx;
	const struct carrier *c;
	size_t n = 0;

	if (pthread_mutex_trylock(&h->lock))
		return 0;
	c = h->frozen ? find(h, tid) : NULL;
	if (c)
		n = hs_frozen_copy(h->frozen, c->java_thread, c->ns_tid, dst, max);
	h->stats.tried++;
	h->stats.copied += n > 0;
	pthread_mutex_unlock(&h->lock);
	return n;
}

struct engine_aside heap_frames_aside(struct heap_frames *h)
{
	return (struct engine_aside){.ctx = h, .wants = wants, .take = take};
}

static void open_reader(struct heap_frames *h, struct hotspot *hs)
{
	if (h->frozen)
		return;
	if (!h->mem && mem_live_open(h->proc, &h->mem, NULL) < 0)
		return;
	mem_live_limit(h->mem, MEM_LIVE_COST_REALTIME);
	h->frozen = hs_frozen_new(hs, h->mem);
}

void heap_frames_note(struct heap_frames *h, struct hotspot *hs, pid_t tid, const struct hs_thread *t)
{
	struct carrier *c;

	pthread_mutex_lock(&h->lock);
	open_reader(h, hs);
	c = find(h, tid);
	if (!c)
		c = &h->carriers[h->next++ % CARRIERS_MAX];
	*c = (struct carrier){tid, t->ns_tid, t->addr};
	pthread_mutex_unlock(&h->lock);
}

struct heap_frames_stats heap_frames_stats(struct heap_frames *h)
{
	struct heap_frames_stats s;

	pthread_mutex_lock(&h->lock);
	s = h->stats;
	pthread_mutex_unlock(&h->lock);
	return s;
}

void heap_frames_forget(struct heap_frames *h, pid_t tid)
{
	struct carrier *c;

	pthread_mutex_lock(&h->lock);
	if (!tid) {
		drop_reader(h);
		for (size_t i = 0; i < CARRIERS_MAX; i++)
			h->carriers[i] = (struct carrier){0};
		h->next = 0;
	}
	c = tid ? find(h, tid) : NULL;
	if (c)
		c->tid = -1;
	pthread_mutex_unlock(&h->lock);
}
