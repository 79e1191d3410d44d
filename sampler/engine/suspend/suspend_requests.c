#include "sampler/engine/suspend/suspend_requests.h"

#include <string.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_tick.h"

#define ASK_NS UINT64_C(2000000000)
#define CHECK_NS UINT64_C(50000000)

enum { AT_ONCE = 4096 }; /* requests per tick */

static void leave(struct suspend_tick *t, struct suspend_thread *th, bool left)
{
	if (th->left == left)
		return;
	if (left)
		suspend_output_again(&t->out, th);
	th->left = left;
	t->threads.n_left += left ? 1 : (size_t)-1;
	th->last_ns = t->tick_ns - t->period_ns;
	/* What it used while it was left alone does not count; a new thread has been left alone since it started. */
	if (!left && th->was_sampled && suspend_thread_account(&t->threads, th, &th->now) == 0)
		th->counted_ns = th->now.cpu_ns;
	th->was_sampled = true;
}

static void apply(struct suspend_tick *t, const struct suspend_request *w)
{
	struct suspend_thread *th = suspend_threads_find(&t->threads, w->tid);

	if (!th)
		return;
	if (w->what == SUSPEND_REQUEST_FROZEN || w->what == SUSPEND_REQUEST_NOT_FROZEN) {
		th->has_frozen = w->what == SUSPEND_REQUEST_FROZEN;
		return;
	}
	if (th->at >= t->threads.n_awake) {
		suspend_output_idle(&t->out, th, t->number - 1, t->before_ns);
		suspend_idle_remove(&t->idle, &t->threads, th);
		th->still = 0;
	}
	if (w->what == ENGINE_REQUEST_REGS)
		th->wants_regs = true;
	else if (w->what == ENGINE_REQUEST_IGNORE || w->what == ENGINE_REQUEST_SAMPLE)
		leave(t, th, w->what == ENGINE_REQUEST_IGNORE);
}

void suspend_requests_apply(struct suspend_tick *t)
{
	struct suspend_request w;
	const void *msg;
	size_t len;

	for (int i = 0; i < AT_ONCE && (msg = sample_queue_peek(t->requests.queue, &len)); i++) {
		if (len == sizeof(w)) {
			memcpy(&w, msg, sizeof(w)); /* the owner may change it at any time */
			apply(t, &w);
		}
		sample_queue_release(t->requests.queue);
	}
}

void suspend_requests_poll_owner(struct suspend_tick *t)
{
	if (!t->requests.ask_first || t->tick_ns - t->requests.asked_ns < CHECK_NS)
		return;
	t->requests.asked_ns = t->tick_ns;
	for (size_t i = 0; i < t->threads.n; i++) {
		struct suspend_thread *th = t->threads.all[i];

		if (t->tick_ns < th->ask_again_ns)
			continue;
		th->ask_again_ns = t->tick_ns + ASK_NS;
		suspend_output_put(&t->out, &(struct suspend_msg){.kind = SUSPEND_MSG_THREAD, .tid = th->tid});
	}
}
