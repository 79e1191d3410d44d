#include "sampler/engine/suspend/suspend_tell.h"

#include <string.h>

#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_tick.h"

/* A thread's repeated samples are told that often. */
#define AGAIN_NS UINT64_C(1000000000)

void suspend_tell(struct suspend_tick *t, const struct suspend_msg *m)
{
	void *at = sample_queue_reserve(t->queue, sizeof(*m));

	if (!at) {
		t->lost += m->count;
		return;
	}
	memcpy(at, m, sizeof(*m));
	sample_queue_commit(t->queue, sizeof(*m));
	t->pushed = true;
}

void suspend_tell_again(struct suspend_tick *t, struct suspend_thread *th)
{
	if (!th->again)
		return;
	suspend_tell(t, &(struct suspend_msg){.kind = SUSPEND_MSG_AGAIN,
					      .tid = th->tid,
					      .state = th->again_state,
					      .count = th->again,
					      .weight = th->again_ns});
	t->samples += th->again;
	th->again = 0;
	th->again_ns = 0;
}

uint64_t suspend_tell_elapsed(struct suspend_thread *th, uint64_t now_ns)
{
	uint64_t ns = now_ns > th->last_ns ? now_ns - th->last_ns : 0;

	if (ns)
		th->last_ns = now_ns;
	return ns;
}

static void add(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state, uint32_t ticks,
		uint64_t ns)
{
	if (th->again && (th->again_state != state || ns - th->again_since_ns >= AGAIN_NS))
		suspend_tell_again(t, th);
	if (!th->again)
		th->again_since_ns = ns;
	th->again_state = state;
	th->again += ticks;
	th->again_ns += suspend_tell_elapsed(th, ns);
	t->stats.again += ticks;
}

void suspend_tell_still(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state)
{
	if (t->wall && th->sampled)
		add(t, th, state, 1, t->tick_ns);
}

void suspend_tell_idle(struct suspend_tick *t, struct suspend_thread *th, uint64_t tick, uint64_t ns)
{
	uint64_t ticks = tick - th->told_tick;

	th->told_tick = tick;
	if (t->wall && th->sampled && ticks && ticks <= UINT32_MAX)
		add(t, th, th->state, (uint32_t)ticks, ns);
}
