#include "sampler/engine/perf/perf_intake.h"

#include <linux/perf_event.h>
#include <string.h>

#include "sampler/engine/perf/perf_attach.h"
#include "sampler/engine/perf/perf_follow.h"
#include "sampler/engine/perf/perf_msg.h"
#include "sampler/engine/perf/perf_step.h"
#include "sampler/engine/prompt.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/regs_host.h"

enum {
	REST_DOUBTFUL = 256 << 10, /* read, or hidden, where a stack's end is not known */
	REST_HOLE = 64 << 10, /* read behind a page that was not there */
	KERNEL_MAX = 1024, /* kernel.perf_event_max_stack is 127 unless somebody raised it */
};

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Of the thread's process. NULL: it has ended, or was never opened. */
static struct kin *kin_of(const struct perf_intake *in, pid_t pid)
{
	struct perf_follow *f = perf_attach_follow(in->attach);

	return f && pid != proc_pid(in->proc) ? family_find(&f->family, pid) : NULL;
}

static bool is_target(const struct perf_intake *in, pid_t pid)
{
	return pid == proc_pid(in->proc);
}

/* NULL: nothing more of this process's stacks can be read. */
static struct stack_rest *rest_of(struct perf_intake *in, pid_t pid)
{
	struct kin *k = kin_of(in, pid);

	return is_target(in, pid) ? &in->rest : k ? &k->rest : NULL;
}

static void push_event(struct perf_intake *in, enum perf_msg_kind kind, const struct perf_record *r)
{
	struct perf_msg *m = sample_queue_reserve(in->queue, sizeof(*m));

	if (!m) {
		count(&in->lost_queue, 1);
		return;
	}
	memset(m, 0, sizeof(*m));
	m->kind = kind;
	m->pid = r->pid;
	m->tid = r->tid;
	memcpy(m->comm, r->comm, sizeof(m->comm));
	sample_queue_commit(in->queue, sizeof(*m));
	in->pushed = true;
}

static void fill_user(struct perf_msg_sample *m, const struct perf_record *r)
{
	uint64_t values[64];

	m->has_user = r->regs != NULL;
	if (!m->has_user)
		return;
	memcpy(values, r->regs, r->n_regs * sizeof(values[0]));
	regs_host_from_perf(&m->regs, values, r->n_regs);
	m->stack_addr = arch_sp(arch_host(), &m->regs);
}

/* Does this thread of the program occupy the CPU since this sample? Of a sample that did not wake it, others may have
 * come in between. */
static bool is_prompt(const struct perf_intake *in, const struct perf_record *r)
{
	return in->cpu >= 0 && perf_attach_wakes(in->attach, r->id);
}

/*
 * Has the thread not run since its sample? The sample woke the caller, which has kept the CPU since then; another CPU may have
 * pulled the thread over. A caller that has to wait for something (the lock of the target's address space, say) lets the
 * thread go on. The copy alone does not tell: what a deep call left behind stays the same while another outer frame is
 * entered.
 */
static bool has_stayed(const struct perf_intake *in, const struct stack_rest *rest, const struct perf_record *r)
{
	int cpu;

	return r->time > in->waiting_since_ns && proc_thread_cpu(rest->proc, r->tid, &cpu) == 0 && cpu == in->cpu &&
	       prompt_switches() == in->switches;
}

/* The kernel's copy ends early: at a page that is not there, if it does not end with its mapping. */
static bool is_hole(const struct perf_record *r)
{
	return r->stack_dyn < r->stack_size;
}

static struct stack_copy stack_copy_of(const struct perf_msg_sample *m, const struct perf_record *r)
{
	return (struct stack_copy){
		.addr = m->stack_addr,
		.bytes = r->stack,
		.len = r->stack_dyn,
		.time_ns = r->time,
		.in_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
}

/* Appends the part of the stack that was not copied, if it is to be had. Returns its length. */
static size_t append_rest(struct perf_intake *in, struct perf_msg_sample *m,
			  const struct perf_record *r, uint8_t *dst, size_t wanted, uint64_t now)
{
	const struct stack_copy copy = stack_copy_of(m, r);
	struct stack_rest *rest = rest_of(in, r->pid);
	bool prompt = is_prompt(in, r);
	size_t got = prompt && rest ? stack_rest_read(rest, &copy, dst, wanted, now) : 0;

	if (rest && is_hole(r) && !prompt)
		stack_rest_touch(rest, copy.addr + copy.len, wanted, now);
	if (got && !has_stayed(in, rest, r))
		got = 0;
	count(got ? &in->joined : &in->refused, 1);
	return got;
}

/* Appends what belongs to the stack and is not on it, by the same rules. */
static size_t append_aside(struct perf_intake *in, struct perf_msg_sample *m, const struct perf_record *r,
			   uint8_t *dst, uint64_t now)
{
	struct stack_copy copy = stack_copy_of(m, r);
	struct stack_rest *rest = rest_of(in, r->pid);
	size_t got;

	if (!is_prompt(in, r) || !m->has_user || !rest)
		return 0;
	if (copy.len > m->stack_len && m->stack_len)
		copy.len = m->stack_len; /* behind it is no stack of this thread */
	got = in->aside.take(in->aside.ctx, r->tid, dst, ENGINE_ASIDE_MAX);
	return got && stack_rest_same(rest, &copy, now) && has_stayed(in, rest, r) ? got : 0;
}

/* Cuts off what is no stack of this thread. Returns how much of the stack lies beyond the copy, or STACK_REST_UNKNOWN: what is
 * there when the sample is walked is of another moment in either case. */
static uint64_t find_end(struct perf_intake *in, struct perf_msg_sample *m, const struct perf_record *r,
			 uint64_t now)
{
	struct stack_rest *rest = rest_of(in, r->pid);
	size_t len;

	if (!m->has_user || !r->stack_size)
		return 0;
	len = stack_end_find(&in->ends, r->tid, m->stack_addr, r->stack, r->stack_dyn);
	if (len) {
		m->stack_len = len;
		return 0;
	}
	return rest ? stack_rest_beyond(rest, m->stack_addr + r->stack_dyn, now) : 0;
}

/*
 * Adapts to `beyond` bytes of stack behind the copy. Returns how much of that to read. A mapping that
 * goes on for long is most likely that of something else besides, next to a thread's stack and merged
 * with it (seen with the stacks of GC threads): it says nothing of the stack's depth.
 */
static size_t note_depth(struct perf_intake *in, const struct stack_use *u, uint64_t beyond, bool aside, uint64_t now)
{
	bool own = thread_stacks_is_own(u, in->size.now), cut = beyond > 0 && !own;
	uint32_t resize;

	if (beyond > STACK_REST_MAX)
		return REST_DOUBTFUL;
	if (in->may_own && thread_stacks_note(&in->own, u, in->size.now, now))
		in->own_changed = true;
	/* What a thread's own size cut is mended by that size. */
	resize = stack_size_note(&in->size, u->used + (own ? beyond : 0), cut, now);
	if (resize)
		in->resize_to = resize;
	in->wake_to = wake_note(&in->wake, cut || aside, now);
	return beyond;
}

/*
 * The same, where a hole says nothing of how much is to be copied, and most likely will not be there the next time. At the
 * start of a large frame, and as long as the kernel makes the page of the stack pointer present, the stack pointer itself is in
 * one. What was copied then proves nothing: it takes a caller that came before the thread could go on.
 */
static size_t note_hole(struct perf_intake *in, const struct perf_record *r, uint64_t end, const struct stack_use *u,
			uint64_t beyond, bool aside, uint64_t now)
{
	size_t wanted = beyond < REST_HOLE ? beyond : REST_HOLE;

	wake_hole(&in->wake, now);
	note_depth(in, u, 0, aside, now);
	if (r->stack_dyn >= STACK_REST_MIN || (in->cpu >= 0 && prompt_is_ahead()))
		return wanted;
	if (rest_of(in, r->pid))
		stack_rest_touch(rest_of(in, r->pid), end, wanted, now);
	return 0;
}

/* Bytes to reserve behind what is there for certain: the kernel's chain and the stack's copy. */
static size_t extra_room(size_t wanted, bool aside)
{
	return wanted + (aside ? ENGINE_ASIDE_MAX : 0);
}

/* How many samples this one stands for. */
static uint32_t times_of(const struct perf_intake *in, const struct perf_record *r)
{
	return in->clock && r->period && r->period < in->period ? (uint32_t)(in->period / r->period) : 1;
}

static uint64_t weight_of(const struct perf_intake *in, const struct perf_record *r)
{
	uint64_t period = in->weight ? in->weight : r->period * times_of(in, r);

	if (!in->clock || !in->step || !perf_attach_is_cpu_event(in->attach, r->id) ||
	    !perf_attach_wakes(in->attach, r->id))
		return period;
	return perf_step_weight(in->step, r->time, period);
}

static void push_sample(struct perf_intake *in, const struct perf_record *r)
{
	uint64_t kernel[KERNEL_MAX], now = clock_monotonic_ns(), beyond;
	size_t n_kernel = perf_record_kernel_chain(r, kernel, KERNEL_MAX), fixed, wanted, got = 0;
	struct perf_msg_sample m = {
		.head = {.kind = PERF_MSG_SAMPLE, .pid = r->pid, .tid = r->tid},
		.n_kernel = (uint32_t)n_kernel,
		.time_ns = r->time,
		.weight = weight_of(in, r),
		.stack_len = r->stack_dyn,
	};
	bool aside = engine_aside_wants(&in->aside, r->tid);
	struct stack_use use = {.tid = r->tid};
	uint8_t *dst = NULL;
	bool unknown;

	fill_user(&m, r);
	beyond = find_end(in, &m, r, now);
	unknown = beyond == STACK_REST_UNKNOWN;
	if (unknown)
		beyond = 0;
	fixed = sizeof(m) + n_kernel * 8 + m.stack_len;
	use.copy = (uint32_t)r->stack_size;
	use.used = m.stack_len;
	use.cut = beyond > 0 && !is_hole(r);
	wanted = is_hole(r) && beyond ?
			 note_hole(in, r, m.stack_addr + r->stack_dyn, &use, beyond, aside, now) :
			 note_depth(in, &use, beyond, aside, now);
	count(&in->cut, wanted ? 1 : 0);
	in->late += (wanted || aside) && perf_attach_is_cpu_event(in->attach, r->id);
	if (wanted || aside)
		dst = sample_queue_reserve(in->queue, fixed + extra_room(wanted, aside));
	if (dst && wanted)
		got = append_rest(in, &m, r, dst + fixed, wanted, now);
	if (dst && aside && got == wanted)
		m.frozen_len = append_aside(in, &m, r, dst + fixed + got, now);
	if (!dst)
		dst = sample_queue_reserve(in->queue, fixed);
	if (!dst) {
		count(&in->lost_queue, 1);
		return;
	}
	if (m.stack_len)
		memcpy(dst + sizeof(m) + n_kernel * 8, r->stack, m.stack_len);
	m.stack_len += got;
	m.stack_missing = unknown ? REST_DOUBTFUL : beyond - got;
	m.stack_cut = unknown || got < beyond;
	memcpy(dst, &m, sizeof(m));
	memcpy(dst + sizeof(m), kernel, n_kernel * 8);
	sample_queue_commit(in->queue, fixed + got + m.frozen_len);
	in->pushed = true;
}

static void take_sample(struct perf_intake *in, const struct perf_record *r)
{
	uint32_t times = times_of(in, r);

	if (!perf_attach_accepts(in->attach, r)) {
		count(&in->foreign, 1);
		return;
	}
	in->due_ns += r->period;
	perf_tails_sample(&in->tails, r->tid);
	if (times == 1 || perf_thin_keep(&in->thin, r->tid, times))
		push_sample(in, r);
}

static void note_tail(struct perf_intake *in)
{
	uint32_t k = perf_thin_divisor(in->period, in->divisor, in->tail_ns, in->tail_ns + in->due_ns);

	if (in->clock)
		in->divisor = in->divisor_most && k > in->divisor_most ? in->divisor_most : k;
}

/* Samples that are thinned out anyway must not drive others out. */
static void note_lost(struct perf_intake *in, uint64_t n)
{
	count(&in->lost_ring, n);
	count(&in->told_lost, n);
	count(&in->told_weight, n * perf_attach_config(in->attach)->period);
	if (in->divisor > 1)
		in->divisor = in->divisor_most = in->divisor / 2;
}

/* Of the target, or of one that is followed; what is told last may be read when that has ended. */
static bool is_family(const struct perf_intake *in, const struct perf_record *r)
{
	const struct perf_follow *f = perf_attach_follow(in->attach);

	return f ? family_knows(&f->family, r->pid, r->time) : is_target(in, r->pid);
}

static void take_ended(struct perf_intake *in, const struct perf_record *r)
{
	uint64_t tail = r->counted % perf_attach_config(in->attach)->period;
	struct perf_msg_ended *m;

	if (!is_family(in, r) || !r->counted)
		return;
	in->tail_ns += perf_tails_ended(&in->tails, r->tid, tail, clock_monotonic_ns());
	note_tail(in);
	m = sample_queue_reserve(in->queue, sizeof(*m));
	if (!m)
		return; /* the sum of all threads has it */
	*m = (struct perf_msg_ended){
		.head = {.kind = PERF_MSG_ENDED, .pid = r->pid, .tid = r->tid},
		.counted = r->counted,
		.tail = tail,
		.time_ns = r->time,
	};
	sample_queue_commit(in->queue, sizeof(*m));
	in->pushed = true;
}

static void push_child(struct perf_intake *in, const struct perf_record *r)
{
	struct perf_record child = *r;

	child.tid = r->ppid;
	push_event(in, PERF_MSG_CHILD, &child);
}

/* A process has been started, by one of the family as it turns out. */
static void take_child(struct perf_intake *in, const struct perf_record *r)
{
	struct perf_follow *f = perf_attach_follow(in->attach);

	if (!f) {
		if (!is_target(in, r->ppid))
			return;
		left_alone_add(&in->alone, r->pid);
		push_child(in, r);
		return;
	}
	family_forked(&f->family, r->ppid, r->pid, r->time);
	if (!is_family(in, r))
		return;
	in->fork_ns = clock_monotonic_ns();
	push_child(in, r);
}

static void take_task(struct perf_intake *in, const struct perf_record *r)
{
	if (r->kind == PERF_REC_FORK && r->pid != r->ppid) {
		take_child(in, r);
		return;
	}
	if (!is_family(in, r))
		return; /* others on the same CPU, and children that are left alone */
	if (r->kind == PERF_REC_EXIT || r->exec) {
		perf_attach_note(in->attach, r);
		thread_stacks_forget(&in->own, r->tid);
	}
	if (r->kind == PERF_REC_EXIT) {
		push_event(in, PERF_MSG_EXIT, r);
	} else if (r->kind == PERF_REC_FORK) {
		in->fork_ns = clock_monotonic_ns();
		push_event(in, PERF_MSG_FORK, r);
	} else if (r->kind == PERF_REC_MMAP) {
		push_event(in, PERF_MSG_MAPPED, r);
	} else {
		if (r->exec) {
			if (rest_of(in, r->pid))
				stack_rest_exec(rest_of(in, r->pid));
			push_event(in, PERF_MSG_EXEC, r);
		}
		push_event(in, PERF_MSG_THREAD, r);
	}
}

int perf_intake_record(void *ctx, const void *bytes, size_t size)
{
	struct perf_intake *in = ctx;
	struct perf_record r;

	if (perf_record_parse(&in->layout, bytes, size, &r) < 0) {
		count(&in->malformed, 1);
		return 0;
	}
	switch (r.kind) {
	case PERF_REC_SAMPLE:
		take_sample(in, &r);
		break;
	case PERF_REC_LOST:
		note_lost(in, r.lost);
		break;
	case PERF_REC_LOST_SAMPLES:
		count(&in->lost_samples, r.lost);
		break;
	case PERF_REC_THROTTLE:
		count(&in->throttled, 1);
		break;
	case PERF_REC_COMM:
	case PERF_REC_FORK:
	case PERF_REC_EXIT:
	case PERF_REC_MMAP:
		take_task(in, &r);
		break;
	case PERF_REC_READ:
		take_ended(in, &r);
		break;
	case PERF_REC_UNTHROTTLE:
	case PERF_REC_OTHER:
		break;
	}
	return 0;
}


static void push_name(void *ctx, const struct left_alone_child *c)
{
	struct perf_record r = {.pid = c->pid, .tid = c->pid};

	memcpy(r.comm, c->comm, sizeof(r.comm));
	push_event(ctx, PERF_MSG_THREAD, &r);
}

void perf_intake_look(struct perf_intake *in)
{
	left_alone_look(&in->alone, clock_monotonic_ns(), push_name, in);
}

uint64_t perf_intake_lost_weight(const struct perf_intake *in)
{
	uint64_t lost = in->lost_ring, told = in->told_lost;

	return told ? (uint64_t)((double)lost * (double)in->told_weight / (double)told) : lost * in->period;
}

void perf_intake_malformed(struct perf_intake *in)
{
	count(&in->malformed, 1);
}
