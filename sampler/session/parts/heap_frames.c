#include "sampler/session/parts/heap_frames.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/readers/readers.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/objects/hs_frozen.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"

enum { CARRIERS_MAX = 512 }; /* about one per CPU; beyond it the oldest entries are replaced */

struct carrier {
	pid_t tid; /* 0: none */
	int32_t ns_tid;
	uint64_t java_thread;
};

struct heap_frames {
	struct proc *proc;
	pthread_mutex_t lock; /* protects everything below */
	struct mem *mem;
	struct hs_frozen *frozen;
	struct carrier carriers[CARRIERS_MAX];
	size_t next;
	/*
	 * For -v: samples of carriers; of these, those whose frames were read in time; those that
	 * were copied.
	 */
	uint64_t asked, tried, copied;
	uint64_t refused; /* copies that the walk refused; used by the session's thread only */
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

static struct carrier *find(struct heap_frames *h, pid_t tid)
{
	for (size_t i = 0; i < CARRIERS_MAX && h->carriers[i].tid; i++)
		if (h->carriers[i].tid == tid)
			return &h->carriers[i];
	return NULL;
}

/* The engine must not wait: without the lock, frames are not copied and the stack is [frozen]. */
static bool wants(void *ctx, pid_t tid)
{
	struct heap_frames *h = ctx;
	bool found;

	if (pthread_mutex_trylock(&h->lock))
		return false;
	found = h->frozen && !hs_frozen_hopeless(h->frozen) && find(h, tid);
	h->asked += found;
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
	h->tried++;
	h->copied += n > 0;
	pthread_mutex_unlock(&h->lock);
	return n;
}

struct engine_frozen heap_frames_options(struct heap_frames *h)
{
	return (struct engine_frozen){.ctx = h, .wants = wants, .copy = take};
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

static void note_carrier(struct heap_frames *h, struct hotspot *hs, pid_t tid, const struct hs_thread *t)
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

static void walked(void *part, struct sampled *s)
{
	struct heap_frames *h = part;
	struct hotspot *hs = s->readers->hs;
	const struct hs_thread *t;

	h->refused += s->walk->frozen && s->raw->frozen_len;
	if (!s->walk->frozen || s->raw->frozen_len || !hs)
		return;
	t = hs_thread_find(hs, s->ns_tid);
	if (t)
		note_carrier(h, hs, s->raw->tid, t);
}

static void thread_ended(void *part, pid_t tid)
{
	struct heap_frames *h = part;
	struct carrier *c;

	pthread_mutex_lock(&h->lock);
	c = find(h, tid);
	if (c)
		c->tid = -1;
	pthread_mutex_unlock(&h->lock);
}

/* The JVM after an execve() is another one. */
static void exec(void *part)
{
	struct heap_frames *h = part;

	pthread_mutex_lock(&h->lock);
	drop_reader(h);
	memset(h->carriers, 0, sizeof(h->carriers));
	h->next = 0;
	pthread_mutex_unlock(&h->lock);
}

static void ended(void *part)
{
	struct heap_frames *h = part;

	pthread_mutex_lock(&h->lock);
	if (h->asked)
		log_info("frozen frames: samples %" PRIu64 ", read in time %" PRIu64 ", copied %" PRIu64
			 ", refused %" PRIu64,
			 h->asked, h->tried, h->copied, h->refused);
	pthread_mutex_unlock(&h->lock);
}

static void close_part(void *part)
{
	struct heap_frames *h = part;

	drop_reader(h);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

const struct part_ops heap_frames_part = {
	.walked = walked,
	.thread_ended = thread_ended,
	.exec = exec,
	.ended = ended,
	.close = close_part,
};
