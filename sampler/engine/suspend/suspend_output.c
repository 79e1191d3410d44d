#include "sampler/engine/suspend/suspend_output.h"

#include <string.h>

#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_threads.h"

#define AGAIN_NS UINT64_C(1000000000)

void suspend_output_put(struct suspend_output *o, const struct suspend_msg *m)
{
	void *at = sample_queue_reserve(o->queue, sizeof(*m));

	if (!at) {
		o->lost += m->count;
		return;
	}
	memcpy(at, m, sizeof(*m));
	sample_queue_commit(o->queue, sizeof(*m));
	o->pushed = true;
}

struct suspend_msg_sample *suspend_output_reserve(struct suspend_output *o, size_t len)
{
	struct suspend_msg_sample *m = sample_queue_reserve(o->queue, len);

	o->lost += m == NULL;
	return m;
}

void suspend_output_commit(struct suspend_output *o, const struct suspend_msg_sample *m)
{
	sample_queue_commit(o->queue, sizeof(*m) + m->stack_len + m->frozen_len);
	o->samples++;
	o->pushed = true;
}

void suspend_output_again(struct suspend_output *o, struct suspend_thread *th)
{
	if (!th->again)
		return;
	suspend_output_put(o, &(struct suspend_msg){.kind = SUSPEND_MSG_AGAIN,
						    .tid = th->tid,
						    .state = th->again_state,
						    .count = th->again,
						    .weight = th->again_ns});
	o->samples += th->again;
	th->again = 0;
	th->again_ns = 0;
}

uint64_t suspend_output_elapsed(struct suspend_thread *th, uint64_t now_ns)
{
	uint64_t ns = now_ns > th->last_ns ? now_ns - th->last_ns : 0;

	if (ns)
		th->last_ns = now_ns;
	return ns;
}

static void add(struct suspend_output *o, struct suspend_thread *th, enum thread_state state, uint32_t ticks,
		uint64_t ns)
{
	if (th->again && (th->again_state != state || ns - th->again_since_ns >= AGAIN_NS))
		suspend_output_again(o, th);
	if (!th->again)
		th->again_since_ns = ns;
	th->again_state = state;
	th->again += ticks;
	th->again_ns += suspend_output_elapsed(th, ns);
	o->again += ticks;
}

void suspend_output_still(struct suspend_output *o, struct suspend_thread *th, enum thread_state state, uint64_t ns)
{
	if (o->wall && th->sampled)
		add(o, th, state, 1, ns);
}

void suspend_output_idle(struct suspend_output *o, struct suspend_thread *th, uint64_t tick, uint64_t ns)
{
	uint64_t ticks = tick - th->reported_tick;

	th->reported_tick = tick;
	if (o->wall && th->sampled && ticks && ticks <= UINT32_MAX)
		add(o, th, th->state, (uint32_t)ticks, ns);
}
