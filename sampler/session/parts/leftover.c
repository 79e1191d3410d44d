#include "sampler/session/parts/leftover.h"

#include <stdlib.h>

#include <utlist.h>

#include "sampler/engine/engine.h"
#include "symbolizer/base/random.h"
#include "symbolizer/base/tid_map.h"

enum { THREADS_MAX = 200000 };
#define WAIT_NS UINT64_C(1000000000)

struct left {
	uint32_t samples, stack;
	uint64_t time_ns; /* of the sample drawn */
	uint64_t seen; /* weights of the samples */
	uint64_t counted, tail; /* engine_ended */
	uint64_t ended_ns; /* 0: it has not ended */
	bool late; /* engine_ended */
	struct left *prev, *next; /* threads that have ended, in that order */
};

struct leftovers {
	struct tid_map by_tid; /* struct left */
	struct left *ended;
	uint64_t over; /* by how much weights of samples exceeded the CPU time of their threads */
	uint64_t random;
};

struct leftovers *leftovers_new(void)
{
	struct leftovers *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->by_tid.size = sizeof(struct left);
	l->random = (uintptr_t)l;
	return l;
}

void leftovers_forget(struct leftovers *l)
{
	tid_map_clear(&l->by_tid);
	l->ended = NULL;
}

void leftovers_renew(struct leftovers *l)
{
	for (struct left *t = NULL; (t = tid_map_next(&l->by_tid, t));)
		t->samples = 0;
}

void leftovers_free(struct leftovers *l)
{
	if (l)
		leftovers_forget(l);
	free(l);
}

/* NULL: there are too many, or out of memory. */
static struct left *left_of(struct leftovers *l, pid_t tid)
{
	if (tid_map_count(&l->by_tid) >= THREADS_MAX)
		return tid_map_find(&l->by_tid, tid);
	return tid_map_get(&l->by_tid, tid);
}

/* Each sample of the thread is kept with the same chance (reservoir sampling). */
static bool draw(struct leftovers *l, uint32_t n)
{
	return random_below(&l->random, n) == 0;
}

void leftovers_sample(struct leftovers *l, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns)
{
	struct left *t = left_of(l, tid);

	if (!t)
		return;
	t->seen += weight;
	t->samples += t->samples < UINT32_MAX;
	if (!draw(l, t->samples))
		return;
	t->stack = stack;
	t->time_ns = time_ns;
}

void leftovers_ended(struct leftovers *l, const struct engine_ended *e)
{
	struct left *t = left_of(l, e->tid);

	if (!t)
		return;
	if (!t->ended_ns) {
		t->ended_ns = e->time_ns ? e->time_ns : 1;
		DL_APPEND(l->ended, t);
	}
	t->counted += e->counted;
	t->tail += e->tail;
	t->late |= e->late;
}

bool leftovers_drawn(const struct leftovers *l, pid_t tid, struct leftover *ret)
{
	const struct left *t = tid_map_find(&l->by_tid, tid);

	if (!t || !t->samples)
		return false;
	*ret = (struct leftover){.tid = tid, .stack = t->stack, .time_ns = t->time_ns};
	return true;
}

/* The share of its time outside the kernel: samples taken, of the samples that were due there. */
static double sampled_part(const struct left *t)
{
	uint64_t due = t->counted > t->tail ? t->counted - t->tail : 0;

	return !due ? 0 : t->seen < due ? (double)t->seen / (double)due : 1;
}

/*
 * Weights of samples may exceed the CPU time of their thread: if samples are thinned out, and because the kernel
 * exchanges the events of two threads of one parent, with the rest of their periods, when it switches between them
 * (before Linux 6.13). Other threads then have less.
 */
static struct leftover share_of(struct leftovers *l, const struct left *t)
{
	double part = sampled_part(t);
	uint64_t used = (uint64_t)((double)t->counted * part), over;
	struct leftover ret = {.tid = tid_map_tid(t), .stack = t->stack, .time_ns = t->time_ns};

	if (!t->samples)
		return ret;
	ret.kernel_ns = (uint64_t)((double)t->tail * (1 - part));
	if (t->late) {
		ret.sampled_ns = t->tail - ret.kernel_ns;
		return ret;
	}
	if (used <= t->seen) {
		l->over += t->seen - used;
		return ret;
	}
	over = used - t->seen < l->over ? used - t->seen : l->over;
	l->over -= over;
	ret.sampled_ns = used - t->seen - over;
	return ret;
}

void leftovers_drop(struct leftovers *l, pid_t tid)
{
	struct left *t = tid_map_find(&l->by_tid, tid);

	if (t && !t->ended_ns)
		tid_map_drop(&l->by_tid, t);
}

bool leftovers_next(struct leftovers *l, uint64_t now_ns, struct leftover *ret)
{
	struct left *t;

	while ((t = l->ended) && (t->ended_ns < now_ns && now_ns - t->ended_ns >= WAIT_NS)) {
		*ret = share_of(l, t);
		DL_DELETE(l->ended, t);
		tid_map_drop(&l->by_tid, t);
		if (ret->sampled_ns)
			return true;
	}
	return false;
}

/* --- As a part of a session */

static void counted(void *part, const struct sampled *x)
{
	leftovers_sample(part, x->raw->tid, x->raw->weight, x->stack, x->raw->time_ns);
}

static void thread_ended(void *part, pid_t tid)
{
	leftovers_drop(part, tid);
}

static void exec(void *part)
{
	leftovers_forget(part);
}

static void renewed(void *part, const struct profile *old, struct profile *fresh)
{
	(void)old, (void)fresh;
	leftovers_renew(part);
}

static void close_part(void *part)
{
	leftovers_free(part);
}

const struct part_ops leftovers_part = {
	.counted = counted,
	.thread_ended = thread_ended,
	.exec = exec,
	.renewed = renewed,
	.close = close_part,
};
