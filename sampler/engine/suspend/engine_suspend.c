#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/engine_deliver.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/suspend_frozen.h"
#include "sampler/engine/suspend/suspend_link.h"
#include "sampler/engine/suspend/suspend_output.h"
#include "sampler/engine/suspend/suspend_requests.h"
#include "sampler/engine/suspend/suspend_threads.h"
#include "sampler/engine/suspend/suspend_tracer.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

enum {
	LAST_NS = 100000000, /* to deliver queued samples when sampling has ended */
	MAX_THREADS_CHECKED = 4096,
};
/* Stopping and resuming a thread takes tens of microseconds: a shorter period would leave time for little else. */
#define MIN_PERIOD_NS UINT64_C(500000)

struct engine_suspend {
	struct engine base;
	struct proc *proc; /* borrowed */
	struct suspend_link link;
	struct suspend_tracer *tracer;
	struct engine_frozen frozen;
	struct suspend_answers answers;
	bool started;
	atomic_bool stop;
	_Atomic uint64_t left, left_weight; /* of samples that were not taken from the queue in time */
};

static struct engine_suspend *self(struct engine *e)
{
	return (struct engine_suspend *)e;
}

/* --- Opening */

static void suspend_close(struct engine *e)
{
	struct engine_suspend *s = self(e);

	if (!s)
		return;
	suspend_tracer_free(s->tracer);
	suspend_answers_end(&s->answers);
	suspend_link_close(&s->link);
	free(s);
}

static int check_event(const struct engine_options *o, struct err *err)
{
	if (o->event && strcmp(o->event, "cpu") != 0 && strcmp(o->event, "wall") != 0)
		return err_set(err, -EINVAL,
			       "event '%s' needs the perf engine: --engine suspend knows only cpu and wall", o->event);
	if (o->period < MIN_PERIOD_NS)
		return err_set(err, -EINVAL,
			       "a period of %" PRIu64
			       " ns is too short: the suspend engine allows no less than %" PRIu64 " us (-F %" PRIu64
			       ")",
			       o->period, MIN_PERIOD_NS / 1000, 1000000000 / MIN_PERIOD_NS);
	return 0;
}

/* A thread has one tracer at most. */
static int check_tracer(struct proc *proc, struct err *err)
{
	char comm[64] = "?";
	struct proc *other;
	pid_t *tids, tracer = 0;
	size_t n;
	int r = proc_tasks(proc, &tids, &n);

	if (r < 0)
		return err_set(err, r, "cannot list the threads of PID %d", (int)proc_pid(proc));
	for (size_t i = 0; i < n && i < MAX_THREADS_CHECKED && !tracer; i++)
		tracer = suspend_thread_tracer(proc, tids[i]);
	free(tids);
	if (!tracer)
		return 0;
	if (proc_open(tracer, &other, NULL) == 0) {
		proc_comm(other, tracer, comm, sizeof(comm));
		proc_close(other);
	}
	return err_set(err, -EBUSY,
		       "PID %d is traced by %s (PID %d), and a thread can have only one tracer: "
		       "stop that one, or use --engine perf",
		       (int)proc_pid(proc), comm, (int)tracer);
}

/* No thread has PID 0: ptrace(2) returns ESRCH if permitted, and EPERM if a container's seccomp profile forbids it. */
static int check_permission(struct err *err)
{
	if (ptrace(PTRACE_INTERRUPT, 0, NULL, NULL) == 0 || errno == ESRCH || errno == EIO)
		return 0;
	return err_set(err, -errno,
		       "ptrace(2) is refused: a seccomp profile (container?) blocks it; allow it "
		       "there, or run jsampler on the host");
}

static int open_parts(struct engine_suspend *s, const struct engine_options *o, struct err *err)
{
	int r = check_event(o, err);

	if (r == 0)
		r = check_permission(err);
	if (r == 0)
		r = check_tracer(s->proc, err);
	if (r < 0)
		return r;
	r = suspend_link_open(&s->link, err);
	if (r == 0)
		r = suspend_tracer_new(s->proc, &s->link, o, &s->tracer, err);
	s->frozen = o->frozen;
	if (o->frozen.copy)
		s->answers = (struct suspend_answers){.box = &s->link.shared->frozen, .frozen = o->frozen};
	return r;
}

static int suspend_open(struct proc *proc, const struct engine_options *o, struct engine **ret, struct err *err)
{
	struct engine_suspend *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->base.ops = &engine_suspend_ops;
	s->proc = proc;
	s->link.push_fd = -1;
	r = open_parts(s, o, err);
	if (r < 0) {
		suspend_close(&s->base);
		return r;
	}
	*ret = &s->base;
	return 0;
}

static int suspend_start(struct engine *e, struct err *err)
{
	struct engine_suspend *s = self(e);
	int r;

	if (s->started)
		return err_set(err, -EALREADY, "sampling has been started before");
	r = s->answers.box ? suspend_answers_start(&s->answers, err) : 0;
	if (r == 0)
		r = suspend_tracer_start(s->tracer, err);
	s->started = r == 0;
	return r;
}

/* --- Delivery */

static void send_request(struct engine_suspend *s, pid_t tid, uint32_t what)
{
	struct suspend_request *at = sample_queue_reserve(s->link.requests, sizeof(*at));

	if (!at)
		return;
	*at = (struct suspend_request){tid, what};
	sample_queue_commit(s->link.requests, sizeof(*at));
}

/* The walk of this sample may have shown that the thread has frames in the heap. */
static void note_frozen(struct engine_suspend *s, const struct suspend_msg_sample *m)
{
	bool wanted = engine_frozen_wanted(&s->frozen, m->head.tid);

	if (wanted && !m->frozen_asked)
		send_request(s, m->head.tid, SUSPEND_REQUEST_FROZEN);
	else if (!wanted && m->frozen_asked && !m->frozen_len)
		send_request(s, m->head.tid, SUSPEND_REQUEST_NOT_FROZEN);
}

/* The head is copied before it is checked: the thread that queued it may be in a process that can still write to it. */
static void deliver_sample(struct engine_suspend *s, const struct engine_sink *sink, const void *msg, size_t len)
{
	struct suspend_msg_sample m;
	const uint8_t *bytes = (const uint8_t *)msg + sizeof(m);

	if (len < sizeof(m))
		return;
	memcpy(&m, msg, sizeof(m));
	len -= sizeof(m);
	if (m.stack_len > len || m.frozen_len > len - m.stack_len)
		return;
	sink->sample(sink->ctx, &(struct raw_sample){
					.pid = proc_pid(s->proc),
					.tid = m.head.tid,
					.time_ns = m.time_ns,
					.weight = m.head.weight,
					.state = (enum thread_state)(m.head.state % THREAD_STATES),
					.has_user = true,
					.regs = m.regs,
					.stack_addr = m.stack_addr,
					.stack = bytes,
					.stack_len = m.stack_len,
					.stack_cut = m.stack_cut,
					.frozen = bytes + m.stack_len,
					.frozen_len = m.frozen_len,
				});
	note_frozen(s, &m);
}

static void deliver_again(struct engine_suspend *s, const struct engine_sink *sink, const struct suspend_msg *m)
{
	const struct raw_sample sample = {
		.pid = proc_pid(s->proc),
		.tid = m->tid,
		.time_ns = clock_monotonic_ns(),
		.weight = m->weight,
		.state = (enum thread_state)(m->state % THREAD_STATES),
		.again = m->count,
	};

	sink->sample(sink->ctx, &sample);
}

static void deliver(struct engine *e, const struct engine_sink *sink, const void *msg, size_t len)
{
	struct engine_suspend *s = self(e);
	pid_t pid = proc_pid(s->proc);
	struct suspend_msg head, *m = &head;

	if (len < sizeof(head))
		return;
	memcpy(m, msg, sizeof(*m));
	switch ((enum suspend_msg_kind)m->kind) {
	case SUSPEND_MSG_SAMPLE: deliver_sample(s, sink, msg, len); break;
	case SUSPEND_MSG_AGAIN: deliver_again(s, sink, m); break;
	case SUSPEND_MSG_THREAD: engine_report_thread(s->proc, sink, m->tid); break;
	case SUSPEND_MSG_EXIT:
		/* What it used since its last tick is no longer known. */
		if (sink->ended)
			sink->ended(sink->ctx,
				    &(struct engine_ended){
					    .pid = pid, .tid = m->tid, .tail = 1, .time_ns = clock_monotonic_ns()});
		if (sink->thread_exit)
			sink->thread_exit(sink->ctx, pid, m->tid);
		break;
	case SUSPEND_MSG_EXEC:
		if (sink->exec)
			sink->exec(sink->ctx, pid);
		break;
	}
}

/* Samples that were not taken in time, and the memory of the queue. */
static void count_left(struct engine_suspend *s)
{
	const void *msg;
	struct suspend_msg m;
	size_t len;

	for (; (msg = sample_queue_peek(s->link.samples, &len)); sample_queue_release(s->link.samples)) {
		if (len < sizeof(m))
			continue;
		memcpy(&m, msg, sizeof(m));
		if (m.kind != SUSPEND_MSG_SAMPLE && m.kind != SUSPEND_MSG_AGAIN)
			continue;
		s->left += m.kind == SUSPEND_MSG_SAMPLE ? 1 : m.count;
		s->left_weight += m.weight;
	}
	sample_queue_drop(s->link.samples);
}

static int suspend_run(struct engine *e, const struct engine_sink *sink, uint64_t deadline_ns, struct err *err)
{
	struct engine_suspend *s = self(e);

	if (!s->started)
		return err_set(err, -EINVAL, "sampling has not been started");
	for (;;) {
		/* Asked before the queue is looked at: nothing is queued after it. */
		bool done = suspend_tracer_done(s->tracer);

		if (engine_deliver_queued(e, s->link.samples, deliver, sink, deadline_ns, &s->stop) || done)
			break;
		suspend_tracer_wait(s->tracer, engine_deliver_turn(sink, deadline_ns));
	}
	/* What threads did since their last message is queued at the end. */
	suspend_tracer_stop(s->tracer);
	while (!suspend_tracer_done(s->tracer))
		suspend_tracer_wait(s->tracer, clock_monotonic_ns() + LAST_NS);
	if (sink->sampled)
		sink->sampled(sink->ctx);
	engine_deliver_queued(e, s->link.samples, deliver, sink, clock_monotonic_ns() + LAST_NS, NULL);
	count_left(s);
	return suspend_tracer_result(s->tracer, err);
}

/* A wish for which there is no room is made again, with the next sample or when the owner is asked again. */
static void suspend_request(struct engine *e, pid_t tid, enum engine_request w)
{
	send_request(self(e), tid, w);
}

static void suspend_stop(struct engine *e)
{
	self(e)->stop = true;
	suspend_tracer_stop(self(e)->tracer);
}

/* --- Facts */

static struct engine_stats suspend_stats_of(const struct engine *e)
{
	const struct engine_suspend *s = (const struct engine_suspend *)e;
	struct suspend_loop_stats l = suspend_link_stats(&s->link);

	return (struct engine_stats){
		.samples = l.samples,
		.lost = l.lost + s->left,
		.lost_queue = l.lost + s->left,
		.lost_weight = s->left_weight,
		.threads = (uint32_t)l.threads,
		.attachment = "threads stopped one by one",
		.unit = "ns",
		.by_thread_time = true,
		.only_ended = true,
		.suspend = l.suspend,
		.helper_cpu_ns = l.cpu_ns,
	};
}

static bool suspend_target_ended(const struct engine *e)
{
	return suspend_link_stats(&((const struct engine_suspend *)e)->link).target_ended;
}

const struct engine_ops engine_suspend_ops = {
	.name = "suspend",
	.open = suspend_open,
	.start = suspend_start,
	.run = suspend_run,
	.request = suspend_request,
	.stop = suspend_stop,
	.stats = suspend_stats_of,
	.target_ended = suspend_target_ended,
	.close = suspend_close,
};
