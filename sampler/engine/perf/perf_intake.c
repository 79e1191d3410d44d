#include "sampler/engine/perf/perf_intake.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_follow.h"
#include "sampler/engine/perf/events/shared_events.h"
#include "sampler/engine/perf/perf_policy.h"
#include "sampler/engine/perf/perf_step.h"
#include "sampler/engine/perf/rings/perf_ring.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum {
	REST_DOUBTFUL = 256 << 10, /* bytes to read, or to hide, if the end of the stack is not known */
	REST_HOLE = 64 << 10, /* bytes to read beyond a page that was not present */
	KERNEL_MAX = 1024, /* kernel.perf_event_max_stack is 127 by default */
};

#define DISORDER_NS UINT64_C(1000000) /* of the records of one ring */

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static bool is_target(const struct perf_intake *in, pid_t pid)
{
	return pid == proc_pid(in->proc);
}

/* NULL: nothing more of this process's stacks can be read. */
static struct stack_rest *rest_of(struct perf_intake *in, pid_t pid)
{
	struct perf_follow *f = perf_attach_follow(in->attach);
	struct family_member *k;

	if (is_target(in, pid))
		return &in->rest;
	k = f ? family_find(&f->family, pid) : NULL;
	return k ? &k->rest : NULL;
}

/* `comm`: 16 bytes; NULL: none. */
static void push_event(struct perf_intake *in, enum perf_msg_kind kind, pid_t pid, pid_t tid, const char *comm)
{
	struct perf_msg *m = sample_queue_reserve(in->queue, sizeof(*m));

	if (!m) {
		count(&in->lost_queue, 1);
		return;
	}
	*m = (struct perf_msg){.kind = kind, .pid = pid, .tid = tid};
	if (comm)
		memcpy(m->comm, comm, sizeof(m->comm));
	sample_queue_commit(in->queue, sizeof(*m));
	in->pushed = true;
}

/* A sample on its way into the queue. */
struct arrival {
	const struct perf_record *r;
	struct stack_rest *rest; /* of its process; NULL: nothing more of its stacks can be read */
	uint64_t now_ns;
	bool cpu_event, wakes; /* perf_attach_is_cpu_event(), perf_attach_wakes() */
	bool at_once; /* it woke the reader, which has occupied the thread's CPU since */
	bool hole; /* the kernel's copy ends early, at a page that is not present or at the end of a mapping */
	bool frozen; /* the thread may have frozen frames */
	uint64_t beyond; /* how much of the stack lies beyond the copy */
	bool unknown; /* how much is not known */
	struct perf_msg_sample m;
};

static uint64_t weight_of(const struct perf_intake *in, const struct arrival *a)
{
	const struct perf_record *r = a->r;
	uint64_t period = in->weight ? in->weight : r->period * perf_policy_times(in->policy, r->period);
	uint64_t rest = perf_attach_take_rest(in->attach, r->tid);

	if (!in->policy->clock || !in->reader.steps || !a->cpu_event || !a->wakes)
		return period + rest;
	return perf_step_weight(in->reader.steps, r->time, period) + rest;
}

/*
 * Cuts off what is not this thread's stack, and finds how much of the stack lies beyond the copy: what is there when
 * the sample is walked is from another moment.
 */
static void find_end(struct perf_intake *in, struct arrival *a)
{
	const struct perf_record *r = a->r;
	struct perf_msg_sample *m = &a->m;
	size_t len;

	if (!m->has_user || !r->stack_size)
		return;
	len = stack_end_find(&in->ends, r->tid, m->stack_addr, r->stack, r->stack_dyn);
	if (len)
		m->stack_len = len;
	else if (a->rest)
		a->beyond = stack_rest_beyond(a->rest, m->stack_addr + r->stack_dyn, a->now_ns);
	a->unknown = a->beyond == STACK_REST_UNKNOWN;
	if (a->unknown)
		a->beyond = 0;
}

static void arrive(struct perf_intake *in, const struct perf_record *r, struct arrival *ret)
{
	size_t ring = in->reader.ring;

	*ret = (struct arrival){
		.r = r,
		.rest = rest_of(in, r->pid),
		.now_ns = clock_monotonic_ns(),
		.cpu_event = in->reader.shared || perf_attach_is_cpu_event(in->attach, ring, r->id),
		.wakes = !in->reader.shared && perf_attach_wakes(in->attach, ring, r->id),
		.hole = r->stack_dyn < r->stack_size,
		.frozen = engine_frozen_wanted(&in->frozen, r->tid),
		.m = {.head = {.kind = PERF_MSG_SAMPLE, .pid = r->pid, .tid = r->tid},
		      .time_ns = r->time,
		      .stack_len = r->stack_dyn},
	};
	/* A sample that woke nobody may have been followed by others before the reader came. */
	ret->at_once = in->reader.cpu >= 0 && ret->wakes;
	ret->m.weight = weight_of(in, ret);
	perf_msg_fill_user(&ret->m, r);
	find_end(in, ret);
}

/*
 * Has the thread not run since its sample? The sample woke the reader, which has kept the CPU since, but another CPU
 * may have pulled the thread over. A reader that has to wait for something (the lock of the target's address space,
 * say) lets the thread continue. The copy alone does not show this: what a deep call left behind stays the same while
 * another outer frame is entered.
 */
static bool has_not_run_since(const struct perf_intake *in, const struct arrival *a)
{
	const struct perf_reader *reader = &in->reader;
	int cpu;

	return a->r->time > reader->waiting_since_ns &&
	       thread_stats_cpu(&a->rest->cpus, a->rest->proc, a->r->tid, &cpu) == 0 && cpu == reader->cpu &&
	       engine_thread_switches() == reader->switches;
}

static struct stack_copy stack_copy_of(const struct arrival *a)
{
	return (struct stack_copy){
		.addr = a->m.stack_addr,
		.bytes = a->r->stack,
		.len = a->r->stack_dyn,
		.time_ns = a->r->time,
		.in_kernel = (a->r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
}

/* Appends the part of the stack that was not copied, if it can be read in time. Returns its length. */
static size_t append_rest(struct perf_intake *in, const struct arrival *a, uint8_t *dst, size_t wanted)
{
	const struct stack_copy copy = stack_copy_of(a);
	size_t got = 0;

	if (a->rest && a->at_once)
		got = stack_rest_read(a->rest, &copy, dst, wanted, a->now_ns);
	else if (a->rest && a->hole)
		stack_rest_touch(a->rest, copy.addr + copy.len, wanted, a->now_ns);
	if (got && !has_not_run_since(in, a))
		got = 0;
	count(got ? &in->joined : &in->refused, 1);
	return got;
}

/* Appends the frames that are not on the stack, by the same rules. */
static size_t append_frozen(struct perf_intake *in, const struct arrival *a, uint8_t *dst)
{
	struct stack_copy copy = stack_copy_of(a);
	size_t got;

	if (!a->at_once || !a->m.has_user || !a->rest)
		return 0;
	if (copy.len > a->m.stack_len && a->m.stack_len)
		copy.len = a->m.stack_len; /* beyond it is not this thread's stack */
	got = in->frozen.copy(in->frozen.ctx, a->r->tid, dst, ENGINE_FROZEN_MAX);
	return got && stack_rest_same(a->rest, &copy, a->now_ns) && has_not_run_since(in, a) ? got : 0;
}

/*
 * A hole does not show how much should be copied, and will most likely be gone next time. At the start of a large
 * frame, while the kernel makes the page of the stack pointer present, the stack pointer itself is in a hole. What
 * was copied then proves nothing: it takes a reader that came before the thread could continue. Returns how much to
 * read.
 */
static size_t cross_hole(const struct perf_intake *in, const struct arrival *a)
{
	size_t wanted = a->beyond < REST_HOLE ? a->beyond : REST_HOLE;

	if (a->r->stack_dyn >= STACK_REST_MIN || (in->reader.cpu >= 0 && engine_thread_is_realtime()))
		return wanted;
	if (a->rest)
		stack_rest_touch(a->rest, a->m.stack_addr + a->r->stack_dyn, wanted, a->now_ns);
	return 0;
}

/*
 * Reports the stack's depth to the policy. Returns how much to read beyond the copy. A mapping that goes on for long
 * most likely holds something else as well, next to a thread's stack and merged with it (seen with the stacks of GC
 * threads): it does not show how deep the stack is.
 */
static size_t note_depth(struct perf_intake *in, const struct arrival *a)
{
	const struct stack_use use = {
		.tid = a->r->tid,
		.copy = (uint32_t)a->r->stack_size,
		.used = a->m.stack_len,
		.cut = a->beyond > 0 && !a->hole,
		.hole = a->beyond > 0 && a->hole,
	};

	if (use.hole) {
		perf_policy_note_stack(in->policy, &use, 0, a->frozen, a->now_ns);
		return cross_hole(in, a);
	}
	if (a->beyond > STACK_REST_MAX)
		return REST_DOUBTFUL;
	perf_policy_note_stack(in->policy, &use, a->beyond, a->frozen, a->now_ns);
	return a->beyond;
}

static void push_sample(struct perf_intake *in, const struct perf_record *r)
{
	uint64_t kernel[KERNEL_MAX];
	size_t n_kernel = perf_record_kernel_chain(r, kernel, KERNEL_MAX), fixed, wanted, got = 0;
	uint8_t *dst = NULL;
	struct arrival a;

	arrive(in, r, &a);
	wanted = note_depth(in, &a);
	count(&in->cut, wanted ? 1 : 0);
	if ((wanted || a.frozen) && a.cpu_event)
		perf_policy_note_late(in->policy);
	fixed = sizeof(a.m) + n_kernel * 8 + a.m.stack_len;
	if (wanted || a.frozen)
		dst = sample_queue_reserve(in->queue, fixed + wanted + (a.frozen ? ENGINE_FROZEN_MAX : 0));
	if (dst && wanted)
		got = append_rest(in, &a, dst + fixed, wanted);
	if (dst && a.frozen && got == wanted)
		a.m.frozen_len = append_frozen(in, &a, dst + fixed + got);
	if (!dst)
		dst = sample_queue_reserve(in->queue, fixed);
	if (!dst) {
		count(&in->lost_queue, 1);
		return;
	}
	if (a.m.stack_len)
		memcpy(dst + sizeof(a.m) + n_kernel * 8, r->stack, a.m.stack_len);
	a.m.n_kernel = (uint32_t)n_kernel;
	a.m.stack_len += got;
	a.m.stack_missing = a.unknown ? REST_DOUBTFUL : a.beyond - got;
	a.m.stack_cut = a.unknown || got < a.beyond;
	memcpy(dst, &a.m, sizeof(a.m));
	memcpy(dst + sizeof(a.m), kernel, n_kernel * 8);
	sample_queue_commit(in->queue, fixed + got + a.m.frozen_len);
	in->pushed = true;
	if (a.at_once && a.rest)
		thread_stats_learn(&a.rest->cpus, a.rest->proc, r->tid);
}

static void take_sample(struct perf_intake *in, const struct perf_record *r)
{
	uint32_t times = perf_policy_times(in->policy, r->period);

	if (!perf_attach_accepts(in->attach, r)) {
		count(&in->foreign, 1);
		return;
	}
	perf_policy_note_sample(in->policy, r->tid, r->period);
	if (times == 1 || perf_thin_keep(&in->thin, r->tid, times))
		push_sample(in, r);
}

static void note_lost(struct perf_intake *in, uint64_t n)
{
	count(&in->lost_ring, n);
	count(&in->reported_lost, n);
	count(&in->reported_lost_weight, n * perf_attach_config(in->attach)->period);
	perf_policy_note_lost(in->policy);
}

/* Is the record of the target or a followed process? That may have ended before its last records are read. */
static bool is_family(const struct perf_intake *in, const struct perf_record *r)
{
	const struct perf_follow *f = perf_attach_follow(in->attach);

	return f ? family_knows(&f->family, r->pid, r->time) : is_target(in, r->pid);
}

/* `late`: see struct engine_ended. */
static void push_ended(struct perf_intake *in, const struct perf_record *r, uint64_t counted, bool late)
{
	uint64_t tail = counted % perf_attach_config(in->attach)->period;
	struct perf_msg_ended *m;

	if (!counted)
		return;
	perf_policy_note_tail(in->policy, r->tid, tail);
	m = sample_queue_reserve(in->queue, sizeof(*m));
	if (!m)
		return; /* it is still in the sum of all threads */
	*m = (struct perf_msg_ended){
		.head = {.kind = PERF_MSG_ENDED, .pid = r->pid, .tid = r->tid},
		.counted = counted,
		.tail = tail,
		.time_ns = r->time,
		.late = late,
	};
	sample_queue_commit(in->queue, sizeof(*m));
	in->pushed = true;
}

struct own_count {
	struct perf_intake *in;
	const struct perf_record *r; /* of the thread's end */
};

static void take_own_count(void *ctx, uint64_t counted)
{
	const struct own_count *c = ctx;

	push_ended(c->in, c->r, counted, true);
}

/* A process was started, maybe by a member of the family. */
static void take_child(struct perf_intake *in, const struct perf_record *r)
{
	struct perf_follow *f = perf_attach_follow(in->attach);

	if (!f) {
		if (!is_target(in, r->ppid))
			return;
		unfollowed_add(&in->unfollowed, r->pid);
		push_event(in, PERF_MSG_CHILD, r->pid, r->ppid, NULL);
		return;
	}
	family_forked(&f->family, r->ppid, r->pid, r->time);
	if (!is_family(in, r))
		return;
	perf_policy_note_start(in->policy);
	push_event(in, PERF_MSG_CHILD, r->pid, r->ppid, NULL);
}

static void take_task(struct perf_intake *in, const struct perf_record *r)
{
	if (r->kind == PERF_REC_FORK && r->pid != r->ppid) {
		take_child(in, r);
		return;
	}
	if (!is_family(in, r))
		return; /* other processes on the same CPU, and children that are not followed */
	if (r->exec)
		perf_attach_pull(in->attach);
	perf_intake_shared(in, r->time);
	if (r->kind == PERF_REC_EXIT)
		perf_attach_each_count(in->attach, r->tid, take_own_count, &(struct own_count){in, r});
	if (r->kind == PERF_REC_EXIT || r->exec) {
		perf_attach_note(in->attach, r);
		perf_policy_forget(in->policy, r->tid);
	}
	if (r->kind == PERF_REC_EXIT) {
		push_event(in, PERF_MSG_EXIT, r->pid, r->tid, NULL);
	} else if (r->kind == PERF_REC_FORK) {
		perf_policy_note_start(in->policy);
		perf_attach_forked(in->attach, r->ptid);
		push_event(in, PERF_MSG_FORK, r->pid, r->tid, NULL);
	} else if (r->kind == PERF_REC_MMAP) {
		push_event(in, PERF_MSG_MAPPED, r->pid, r->tid, NULL);
	} else {
		if (r->exec) {
			struct stack_rest *rest = rest_of(in, r->pid);

			if (rest)
				stack_rest_exec(rest);
			push_event(in, PERF_MSG_EXEC, r->pid, r->tid, NULL);
		}
		push_event(in, PERF_MSG_THREAD, r->pid, r->tid, r->comm);
	}
}

static int take_record(void *ctx, const void *bytes, size_t size)
{
	struct perf_intake *in = ctx;
	struct perf_record r;

	if (perf_record_parse(&in->layout, bytes, size, &r) < 0) {
		count(&in->malformed, 1);
		return 0;
	}
	if (in->reader.last_ns && r.time > *in->reader.last_ns)
		*in->reader.last_ns = r.time;
	switch (r.kind) {
	case PERF_REC_SAMPLE: take_sample(in, &r); break;
	case PERF_REC_LOST: note_lost(in, r.lost); break;
	case PERF_REC_LOST_SAMPLES: count(&in->lost_samples, r.lost); break;
	case PERF_REC_THROTTLE: count(&in->throttled, 1); break;
	case PERF_REC_COMM:
	case PERF_REC_FORK:
	case PERF_REC_EXIT:
	case PERF_REC_MMAP: take_task(in, &r); break;
	case PERF_REC_READ:
		if (is_family(in, &r))
			push_ended(in, &r, r.counted, false);
		break;
	case PERF_REC_UNTHROTTLE:
	case PERF_REC_OTHER: break;
	}
	return 0;
}

static void note_shared_lost(struct perf_intake *in)
{
	uint64_t lost = perf_attach_shared_lost(in->attach);

	if (lost > in->shared_lost)
		note_lost(in, lost - in->shared_lost);
	in->shared_lost = lost;
}

void perf_intake_shared(struct perf_intake *in, uint64_t until_ns)
{
	const struct perf_reader reader = in->reader;
	const struct shared_record *r;

	while ((r = perf_attach_peek_shared(in->attach)) && r->time_ns <= until_ns) {
		in->reader = (struct perf_reader){.ring = r->ring, .cpu = -1, .shared = true};
		in->shared_bytes += r->len;
		take_record(in, r + 1, r->len);
		perf_attach_release_shared(in->attach);
	}
	in->reader = reader;
	note_shared_lost(in);
}

/* --- What the kernel has not published */

/*
 * Is this a record written after the ring's last one, and not what an earlier one has left there? Those from other CPUs
 * may be slightly older than the one before.
 */
static bool is_unpublished(const struct perf_intake *in, const void *bytes, size_t size, struct perf_record *r)
{
	return perf_record_parse(&in->layout, bytes, size, r) == 0 && r->kind != PERF_REC_OTHER &&
	       r->time + DISORDER_NS >= *in->reader.last_ns && r->time <= clock_monotonic_ns();
}

/* One record may be being written; two, one after the other, show that it stays like this. */
static int note_unpublished(void *ctx, const void *bytes, size_t size)
{
	struct perf_intake *in = ctx;
	struct perf_record r;

	if (!is_unpublished(in, bytes, size, &r))
		return 1;
	in->unpublished++;
	in->unpublished_ns = in->unpublished == 2 ? r.time : 0;
	return in->unpublished == 2;
}

/* The target can write what looks like a record into its stack, which former samples have left there: samples only. */
static int take_unpublished(void *ctx, const void *bytes, size_t size)
{
	struct perf_intake *in = ctx;
	struct perf_record r;

	if (!is_unpublished(in, bytes, size, &r))
		return 1;
	if (r.kind != PERF_REC_SAMPLE || r.period != perf_attach_config(in->attach)->period)
		return 0;
	return take_record(in, bytes, size);
}

uint64_t perf_intake_unpublished(struct perf_intake *in, const struct perf_reader *r)
{
	in->reader = *r;
	in->unpublished = 0;
	in->unpublished_ns = 0;
	perf_ring_look_beyond(perf_attach_ring(in->attach, r->ring), note_unpublished, in);
	return in->unpublished_ns;
}

void perf_intake_salvage(struct perf_intake *in, const struct perf_reader *r)
{
	in->reader = *r;
	perf_ring_look_beyond(perf_attach_ring(in->attach, r->ring), take_unpublished, in);
}

/* --- For the owner */

void perf_intake_init(struct perf_intake *in, struct perf_attach *attach, struct sample_queue *q,
		      struct perf_policy *policy, const struct engine_options *o)
{
	*in = (struct perf_intake){
		.proc = policy->proc,
		.attach = attach,
		.queue = q,
		.policy = policy,
		.layout = perf_attr_layout(perf_attach_config(attach)),
		.weight = perf_attr_weight(perf_attach_config(attach)),
		.frozen = o->frozen,
		.thin.random = clock_monotonic_ns(),
		.rest = {.proc = policy->proc, .memory = o->budget},
	};
}

void perf_intake_done(struct perf_intake *in)
{
	stack_rest_done(&in->rest);
}

void perf_intake_drain(struct perf_intake *in, const struct perf_reader *r)
{
	in->reader = *r;
	if (perf_ring_drain(perf_attach_ring(in->attach, r->ring), take_record, in) == -EBADMSG)
		count(&in->malformed, 1);
}

void perf_intake_record(struct perf_intake *in, const struct perf_reader *r, const void *bytes, size_t size)
{
	in->reader = *r;
	take_record(in, bytes, size);
}

static void push_name(void *ctx, const struct unfollowed_child *c)
{
	push_event(ctx, PERF_MSG_THREAD, c->pid, c->pid, c->comm);
}

void perf_intake_poll(struct perf_intake *in)
{
	unfollowed_poll(&in->unfollowed, clock_monotonic_ns(), push_name, in);
}

void perf_intake_rest(void *ctx, pid_t tid, uint64_t rest)
{
	struct perf_intake *in = ctx;
	struct perf_msg_rest *m = sample_queue_reserve(in->queue, sizeof(*m));

	if (!m)
		return;
	*m = (struct perf_msg_rest){
		.head = {.kind = PERF_MSG_REST, .pid = proc_pid(in->proc), .tid = tid},
		.rest = rest,
	};
	sample_queue_commit(in->queue, sizeof(*m));
	in->pushed = true;
}

bool perf_intake_take_pushed(struct perf_intake *in)
{
	bool pushed = in->pushed;

	in->pushed = false;
	return pushed;
}

uint64_t perf_intake_take_shared_bytes(struct perf_intake *in)
{
	uint64_t n = in->shared_bytes;

	in->shared_bytes = 0;
	return n;
}

void perf_intake_set_lost(struct perf_intake *in, uint64_t lost)
{
	atomic_store_explicit(&in->lost_ring, lost, memory_order_relaxed);
}

static uint64_t lost_weight(const struct perf_intake *in)
{
	uint64_t lost = in->lost_ring, told = in->reported_lost;

	return told ? (uint64_t)((double)lost * (double)in->reported_lost_weight / (double)told) :
		      lost * in->policy->period;
}

struct perf_intake_stats perf_intake_stats(const struct perf_intake *in)
{
	return (struct perf_intake_stats){
		.lost_ring = in->lost_ring,
		.lost_samples = in->lost_samples,
		.lost_queue = in->lost_queue,
		.throttled = in->throttled,
		.foreign = in->foreign,
		.malformed = in->malformed,
		.cut = in->cut,
		.rest_joined = in->joined,
		.rest_refused = in->refused,
		.lost_weight = lost_weight(in),
	};
}
