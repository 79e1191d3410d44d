#include "sampler/engine/perf/engine_perf.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/engine_deliver.h"
#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/copies/stack_size.h"
#include "sampler/engine/perf/events/perf_explain.h"
#include "sampler/engine/perf/events/shared_events.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/proc.h"

enum {
	/* For the time that opening a JVM takes, with deep stacks: 400 samples of 160 KiB. Pages take memory only
	 * once they are used. */
	QUEUE_BYTES = 64 << 20,
	REPORT_NS = 500000000, /* for the names of threads that run from the start on */
	LAST_NS = 200000000, /* to deliver queued samples when sampling has ended */
};

struct engine_perf {
	struct engine base;
	struct proc *proc; /* borrowed */
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_drain *drain;
	/* As of opening, because the attachment belongs to the drain thread later. */
	bool no_kernel, skips_kernel, clock, by_thread, starting;
	const char *attachment;
	char unit[64];
	atomic_bool stop;
	uint64_t period; /* as requested */
	bool started, reported_existing; /* reported_existing: the sink knows the threads that existed before */
	uint64_t boosted_ns; /* until then the thread of perf_run() has a higher priority; 0: it does not */
	uint64_t used_ns; /* CPU time of that thread that perf_drain_used() has been told of */
	int unboosted; /* for engine_thread_unboost() */
	/* Also read by the thread of the live line. `left`: samples not taken from the queue in time. */
	_Atomic uint64_t samples, left;
	uint32_t threads;
};

static struct engine_perf *self(struct engine *e)
{
	return (struct engine_perf *)e;
}

static const struct engine_perf *self_const(const struct engine *e)
{
	return (const struct engine_perf *)e;
}

/* --- Opening */

static void perf_close(struct engine *e)
{
	struct engine_perf *p = self(e);

	if (!p)
		return;
	perf_drain_close(p->drain);
	perf_attach_close(p->attach);
	sample_queue_free(p->queue);
	free(p);
}

static bool is_missing(const struct perf_event_spec *event)
{
	int r = event->hardware ? perf_event_try(event) : 0;

	return r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP || r == -EINVAL;
}

static int check_period(const struct perf_config *c, uint64_t period, struct proc *proc, struct err *err)
{
	const struct perf_event_spec *event = &c->event;

	/* Checked first, so that nobody adds -c only to learn that there is no such event. */
	if (is_missing(event))
		return perf_explain_open(-ENOENT, proc, c, err);
	if (!period)
		return err_set(err, -EINVAL, "event '%s' needs -c N: a sample is taken after every N of them",
			       event->name);
	if (event->clock && period < PERF_CLOCK_MIN_PERIOD_NS)
		return err_set(err, -EINVAL,
			       "a period of %llu ns is too short: the kernel's timer allows no less than %d "
			       "ns (-F %d)",
			       (unsigned long long)period, PERF_CLOCK_MIN_PERIOD_NS,
			       1000000000 / PERF_CLOCK_MIN_PERIOD_NS);
	return 0;
}

static int open_parts(struct engine_perf *p, const struct engine_options *o, enum perf_attach_mode mode,
		      struct err *err)
{
	struct stack_size first;
	struct perf_config c = {
		.period = o->period,
		.kernel = o->kernel,
		.follow = o->follow,
		.memory = o->budget,
		.shared = o->shared,
		.wake_each = true,
	};
	int r = perf_event_find(o->event ? o->event : "cpu", &c.event, err);

	if (r < 0)
		return r;
	memcpy(p->unit, c.event.unit, sizeof(p->unit));
	c.exclude_kernel = c.event.user_only;
	r = check_period(&c, o->period, p->proc, err);
	if (r < 0)
		return r;
	stack_size_init(&first, o->stack_bytes, PERF_STACK_MAX);
	c.stack_bytes = first.now;
	r = perf_attach_open(p->proc, &c, mode, &p->attach, err);
	if (r < 0)
		return r;
	p->threads = (uint32_t)perf_attach_threads(p->attach);
	p->clock = c.event.clock;
	p->period = o->period;
	p->by_thread = perf_attach_mode(p->attach) == PERF_ATTACH_THREADS;
	p->skips_kernel = perf_attach_config(p->attach)->exclude_kernel;
	p->no_kernel = o->kernel && !c.event.user_only && p->skips_kernel;
	p->attachment =
		perf_attach_mode(p->attach) == PERF_ATTACH_CPUS ? "cpu events with filter" : "thread x cpu events";
	p->queue = sample_queue_new(QUEUE_BYTES);
	if (!p->queue)
		return err_set(err, -ENOMEM, "out of memory");
	p->starting = o->starting;
	return perf_drain_new(p->proc, p->attach, p->queue, o, &p->drain, err);
}

int engine_perf_open(struct proc *proc, const struct engine_options *o, enum perf_attach_mode mode, struct engine **ret,
		     struct err *err)
{
	struct engine_perf *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->base.ops = &engine_perf_ops;
	p->proc = proc;
	r = open_parts(p, o, mode, err);
	if (r < 0) {
		perf_close(&p->base);
		return r;
	}
	*ret = &p->base;
	return 0;
}

static int perf_open_auto(struct proc *proc, const struct engine_options *o, struct engine **ret, struct err *err)
{
	return engine_perf_open(proc, o, PERF_ATTACH_AUTO, ret, err);
}

static int perf_start(struct engine *e, struct err *err)
{
	struct engine_perf *p = self(e);
	int r;

	if (p->started)
		return err_set(err, -EALREADY, "sampling has been started before");
	r = perf_drain_start(p->drain, err);
	p->started = r == 0;
	return r;
}

/* --- Delivery */

/* In a limited time, since those that are sampled get their names anyway. */
static void report_existing_threads(struct engine_perf *p, const struct engine_sink *sink)
{
	uint64_t until_ns = clock_monotonic_ns() + REPORT_NS;
	pid_t *tids;
	size_t n;

	if (p->reported_existing)
		return;
	p->reported_existing = true;
	if (proc_tasks(p->proc, &tids, &n) < 0)
		return;
	for (size_t i = 0; i < n && clock_monotonic_ns() < until_ns; i++)
		engine_report_thread(p->proc, sink, tids[i]);
	free(tids);
}

/* A program that ends soon leaves its samples, but not the memory they are named from: it has to be read at once. */
static void boost(struct engine_perf *p)
{
	p->boosted_ns = clock_monotonic_ns() + PERF_DRAIN_START_NS;
	p->unboosted = engine_thread_boost();
	p->used_ns = clock_thread_cpu_ns();
}

/* Work that always follows a sample is never sampled itself (perf_step.h). */
static void note_used(struct engine_perf *p)
{
	uint64_t now = clock_thread_cpu_ns();

	perf_drain_used(p->drain, sched_getcpu(), now - p->used_ns);
	p->used_ns = now;
}

static void unboost(struct engine_perf *p)
{
	if (p->boosted_ns)
		engine_thread_unboost(p->unboosted);
	p->boosted_ns = 0;
}

static void deliver_sample(struct engine_perf *p, const struct engine_sink *sink, const struct perf_msg_sample *m)
{
	const struct raw_sample s = perf_msg_raw(m);

	p->samples++;
	if (p->boosted_ns && m->time_ns > p->boosted_ns)
		unboost(p);
	sink->sample(sink->ctx, &s);
	if (p->boosted_ns)
		note_used(p);
}

static void deliver_ended(const struct engine_sink *sink, const struct perf_msg_ended *m)
{
	const struct engine_ended e = {.pid = m->head.pid,
				       .tid = m->head.tid,
				       .counted = m->counted,
				       .tail = m->tail,
				       .time_ns = m->time_ns,
				       .late = m->late};

	if (sink->ended)
		sink->ended(sink->ctx, &e);
}

/* A thread of the target, or of a followed process. */
static void deliver_fork(struct engine_perf *p, const struct engine_sink *sink, const struct perf_msg *m)
{
	struct proc *proc = p->proc;

	if (m->pid != proc_pid(proc))
		proc = sink->process ? sink->process(sink->ctx, m->pid) : NULL;
	if (proc)
		engine_report_thread(proc, sink, m->tid);
}

/* Messages come from this process's own drain thread, so their lengths are right. */
static void deliver(struct engine *e, const struct engine_sink *sink, const void *msg, size_t len)
{
	struct engine_perf *p = self(e);
	const struct perf_msg *m = msg;

	(void)len;
	switch ((enum perf_msg_kind)m->kind) {
	case PERF_MSG_SAMPLE: deliver_sample(p, sink, (const struct perf_msg_sample *)m); break;
	case PERF_MSG_THREAD:
		if (sink->thread)
			sink->thread(sink->ctx, m->pid, m->tid, m->comm);
		break;
	case PERF_MSG_FORK: deliver_fork(p, sink, m); break;
	case PERF_MSG_CHILD:
		if (sink->child)
			sink->child(sink->ctx, m->tid, m->pid);
		break;
	case PERF_MSG_EXIT:
		if (sink->thread_exit)
			sink->thread_exit(sink->ctx, m->pid, m->tid);
		break;
	case PERF_MSG_ENDED: deliver_ended(sink, (const struct perf_msg_ended *)m); break;
	case PERF_MSG_REST:
		if (sink->rest)
			sink->rest(sink->ctx, m->pid, m->tid, ((const struct perf_msg_rest *)m)->rest);
		break;
	case PERF_MSG_EXEC:
		if (sink->exec)
			sink->exec(sink->ctx, m->pid);
		break;
	case PERF_MSG_MAPPED:
		if (sink->mapped)
			sink->mapped(sink->ctx, m->pid);
		break;
	}
}

/* What was sampled is delivered or counted, even if this process had no CPU for long while the kernel kept sampling. */
static void end_sampling(struct engine *e, const struct engine_sink *sink)
{
	struct engine_perf *p = self(e);
	const struct perf_msg *m;
	size_t len;

	perf_drain_finish(p->drain);
	if (sink->sampled)
		sink->sampled(sink->ctx);
	engine_deliver_queued(e, p->queue, deliver, sink, clock_monotonic_ns() + LAST_NS, NULL);
	for (; (m = sample_queue_peek(p->queue, &len)); sample_queue_release(p->queue))
		p->left += m->kind == PERF_MSG_SAMPLE;
	sample_queue_drop(p->queue);
}

static int perf_run(struct engine *e, const struct engine_sink *sink, uint64_t deadline_ns, struct err *err)
{
	struct engine_perf *p = self(e);

	if (!p->started)
		return err_set(err, -EINVAL, "sampling has not been started");
	if (p->starting)
		boost(p);
	report_existing_threads(p, sink);
	for (;;) {
		/* Asked before the queue is looked at: nothing is queued after it. */
		bool done = perf_drain_done(p->drain);

		if (engine_deliver_queued(e, p->queue, deliver, sink, deadline_ns, &p->stop) || done)
			break;
		perf_drain_wait(p->drain, engine_deliver_turn(sink, deadline_ns));
	}
	end_sampling(e, sink);
	unboost(p);
	return 0;
}

static void perf_stop(struct engine *e)
{
	self(e)->stop = true;
	perf_drain_stop(self(e)->drain);
}

/* --- Facts */

static const char *attachment_name(const struct engine_perf *p, enum perf_attach_on on, bool shares)
{
	if (on == PERF_ON_THREADS)
		return "thread x cpu events";
	if (shares)
		return on == PERF_ON_BOTH ? "thread x cpu events and one set of cpu events for all targets" :
					    "one set of cpu events for all targets";
	return on == PERF_ON_BOTH ? "thread x cpu events and cpu events with filter" : p->attachment;
}

static struct engine_stats perf_stats(const struct engine *e)
{
	const struct engine_perf *p = self_const(e);
	struct perf_drain_stats d = perf_drain_stats(p->drain);
	uint64_t ring_weight = d.in.lost_weight + d.in.lost_samples * p->period;
	struct engine_stats s = {
		.samples = p->samples,
		.lost_ring = (ring_weight + p->period - 1) / p->period,
		.lost_queue = d.in.lost_queue + p->left,
		.throttled = d.in.throttled,
		.stack_bytes = d.stack_bytes,
		.followed = d.followed,
		.brief = d.brief,
		.refused = d.refused,
		.children = d.alive,
		.no_kernel = p->no_kernel,
		.by_thread_time = p->clock && p->by_thread,
		.skips_kernel = p->skips_kernel,
		.threads = p->threads,
		.attachment = attachment_name(p, d.on, d.shares),
		.lost_weight = ring_weight + (d.in.lost_queue + p->left) * p->period,
		.shares = d.shares,
		.unit = p->unit,
		.cpu_begin_ns = d.cpu_begin_ns,
		.cpu_end_ns = d.cpu_end_ns,
	};

	s.lost = s.lost_ring + s.lost_queue;
	if (d.in.throttled)
		s.max_sample_rate = (uint64_t)kernel_setting("perf_event_max_sample_rate", 100000);
	return s;
}

struct perf_drain_stats engine_perf_drain_stats(const struct engine *e)
{
	return perf_drain_stats(self_const(e)->drain);
}

static bool perf_target_ended(const struct engine *e)
{
	return perf_drain_stats(self_const(e)->drain).target_ended;
}

static int perf_share(const struct engine_options *o, struct shared_events **ret, struct err *err)
{
	struct perf_config c = {.period = o->period, .kernel = o->kernel};
	struct stack_size first;
	const uint32_t *sizes;
	size_t n;
	int r = perf_event_find(o->event ? o->event : "cpu", &c.event, err);

	if (r < 0)
		return r;
	if (!c.event.clock)
		return err_set(err, -EOPNOTSUPP, "the event counts no CPU time");
	if (o->follow)
		return err_set(err, -EOPNOTSUPP, "processes that the targets start are sampled, too");
	stack_size_init(&first, o->stack_bytes, PERF_STACK_MAX);
	c.stack_bytes = first.now;
	if (o->stack_bytes)
		return shared_events_open(&c, &first.now, 1, ret, err);
	sizes = stack_size_all(&n);
	return shared_events_open(&c, sizes, n, ret, err);
}

const struct engine_ops engine_perf_ops = {
	.name = "perf",
	.open = perf_open_auto,
	.start = perf_start,
	.run = perf_run,
	.stop = perf_stop,
	.stats = perf_stats,
	.target_ended = perf_target_ended,
	.close = perf_close,
	.share = perf_share,
	.unshare = shared_events_close,
};
