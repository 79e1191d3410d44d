#include "sampler/engine/perf/events/perf_attach.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/engine/cpu_list.h"
#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "sampler/engine/perf/events/perf_explain.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	FDS_SPARE = 64, /* for everything else that the program opens */
	STAGGER_NS = 10000000, /* at most, over all CPUs */
	DRAIN_EVERY = 16, /* events that are switched */
};

/* Spreads the CPUs' events evenly over a period. */
static uint64_t stagger_ns(const struct perf_attach *a, const struct perf_config *c)
{
	uint64_t all = c->period < STAGGER_NS ? c->period : STAGGER_NS;

	return a->mode == PERF_ATTACH_CPUS && c->event.clock ? all / a->n_cpus : 0;
}

static struct event_target attach_target(const struct perf_attach *a, const struct perf_config *config)
{
	return (struct event_target){
		.proc = a->proc,
		.family = a->config.follow && a->mode == PERF_ATTACH_THREADS ? &a->follow.family : NULL,
		.config = config,
		.cpus = a->cpus,
		.ring_fds = a->ring_fds,
		.n_cpus = a->n_cpus,
		.filter_fd = a->filter.fd,
		.drain = a->drain,
		.drain_ctx = a->drain_ctx,
		.stagger_ns = stagger_ns(a, config),
		.stacks = a->stacks,
	};
}

/* --- Descriptors */

static uint64_t raise_fd_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 1024;
	if (l.rlim_cur < l.rlim_max) {
		struct rlimit want = {l.rlim_max, l.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &want) == 0)
			l = want;
	}
	return l.rlim_cur;
}

static int check_budget(struct perf_attach *a, struct err *err)
{
	uint64_t limit = raise_fd_limit();
	pid_t *tids;
	size_t n;
	int r = proc_tasks(a->proc, &tids, &n);

	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	free(tids);
	if (n * a->n_cpus + a->n_cpus + FDS_SPARE > limit)
		return perf_explain_budget(n, a->n_cpus, limit, err);
	return 0;
}

/* --- Opening */

static int open_cpus_mode(struct perf_attach *a, struct err *err)
{
	struct event_target t;
	int r;

	a->mode = PERF_ATTACH_CPUS;
	/* A program on a tracepoint runs for everyone who traces it. */
	if (a->config.event.tracepoint)
		return err_set(err, -EOPNOTSUPP, "no filter for tracepoints");
	r = perf_attr_probe(&a->config, -1, a->cpus[0]);
	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	r = perf_filter_open(a->proc, a->config.follow, &a->filter);
	if (r < 0)
		return err_set(err, r, "no eBPF filter here");
	r = attach_rings_open(a, err);
	if (r < 0)
		return r;
	if (a->config.follow)
		r = perf_follow_open(&a->follow, a->proc, &a->config, &a->filter, a->cpus, a->n_cpus);
	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	t = attach_target(a, &a->config);
	r = event_set_open_cpus(&a->set, &t);
	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	attach_share_open(a);
	return 0;
}

/* What is possible for the first thread that can be attached to is possible for all. */
static int probe_threads(struct perf_attach *a, struct perf_config *c)
{
	pid_t *tids;
	size_t n;
	int r = proc_tasks(a->proc, &tids, &n);

	if (r < 0)
		return r;
	r = -ESRCH;
	for (size_t i = 0; i < n && r == -ESRCH; i++)
		r = perf_attr_probe(c, tids[i], a->cpus[0]);
	free(tids);
	return r;
}

static int open_threads_mode(struct perf_attach *a, struct err *err)
{
	struct event_target t;
	int r;

	a->mode = PERF_ATTACH_THREADS;
	a->config.stay = a->config.event.clock;
	r = check_budget(a, err);
	if (r < 0)
		return r;
	r = probe_threads(a, &a->config);
	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	r = attach_rings_open(a, err);
	if (r < 0)
		return r;
	if (a->config.follow)
		r = perf_follow_open(&a->follow, a->proc, &a->config, NULL, NULL, 0);
	if (r < 0)
		return perf_explain_open(r, a->proc, &a->config, err);
	if (a->config.follow)
		perf_follow_start(&a->follow);
	t = attach_target(a, &a->config);
	r = event_set_open_threads(&a->set, &t, false);
	if (r == -EMFILE)
		return perf_explain_budget(a->set.n_known, a->n_cpus, raise_fd_limit(), err);
	return r < 0 ? perf_explain_open(r, a->proc, &a->config, err) : 0;
}

/* Back to the state at the start of perf_attach_open(). */
static void abandon(struct perf_attach *a, const struct perf_config *c)
{
	event_set_done(&a->set);
	attach_rings_close(a);
	perf_follow_close(&a->follow);
	perf_filter_close(&a->filter);
	a->config = *c;
}

static int alloc_rings(struct perf_attach *a)
{
	a->rings = calloc(a->n_cpus, sizeof(*a->rings));
	a->ring_fds = malloc(a->n_cpus * sizeof(*a->ring_fds));
	if (!a->rings || !a->ring_fds)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_cpus; i++)
		a->ring_fds[i] = -1;
	return 0;
}

static int open_any_mode(struct perf_attach *a, const struct perf_config *c, enum perf_attach_mode mode,
			 struct err *err)
{
	struct err why = {0};
	int r;

	if (mode != PERF_ATTACH_THREADS) {
		r = open_cpus_mode(a, &why);
		if (r == 0)
			return 0;
		if (mode == PERF_ATTACH_CPUS)
			return err_set(err, r, "%s", why.msg);
		log_debug("no events on whole CPUs: %s", why.msg);
		abandon(a, c);
	}
	return open_threads_mode(a, err);
}

int perf_attach_open(struct proc *proc, const struct perf_config *c, enum perf_attach_mode mode,
		     struct perf_attach **ret, struct err *err)
{
	struct perf_attach *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->proc = proc;
	a->config = *c;
	a->filter.fd = -1;
	a->automatic = mode == PERF_ATTACH_AUTO;
	r = cpu_list_online(&a->cpus, &a->n_cpus);
	if (r == 0)
		r = alloc_rings(a);
	if (r < 0)
		err_set(err, r, "cannot list the CPUs (/sys/devices/system/cpu/online)");
	else
		r = open_any_mode(a, c, mode, err);
	if (r < 0) {
		perf_attach_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

void perf_attach_close(struct perf_attach *a)
{
	if (!a)
		return;
	attach_share_unskip(a);
	shared_member_free(a->member);
	event_set_done(&a->set);
	attach_rings_close(a);
	perf_follow_close(&a->follow);
	perf_filter_close(&a->filter);
	free(a->rings);
	free(a->ring_fds);
	free(a->cpus);
	free(a);
}

/* --- Use */

static void enable_leaders(const struct perf_attach *a, bool on)
{
	for (size_t i = 0; i < a->n_cpus; i++)
		ioctl(a->ring_fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void perf_attach_set_drain(struct perf_attach *a, void (*drain)(void *ctx), void *ctx)
{
	a->drain = drain;
	a->drain_ctx = ctx;
}

void perf_attach_set_stacks(struct perf_attach *a, const struct thread_stacks *stacks)
{
	a->stacks = stacks;
}

void perf_attach_enable(struct perf_attach *a)
{
	struct event_target t = attach_target(a, &a->config);

	if (a->on != PERF_ON_CPUS)
		t.stagger_ns = 0;
	enable_leaders(a, true);
	event_set_enable(&a->set, &t);
	if (a->shares)
		shared_member_join(a->member, a->config.stack_bytes);
	a->enabled = true;
	if (perf_attach_by_thread(a))
		event_set_open_threads(&a->set, &t, true);
}

void perf_attach_disable(struct perf_attach *a)
{
	if (a->member)
		shared_member_leave(a->member);
	event_set_disable(&a->set);
	enable_leaders(a, false);
	a->enabled = false;
}

static pid_t filter_id(const struct perf_attach *a, const struct event_fixed *f)
{
	return a->filter.global ? f->tid : f->ns_tid;
}

/* If the kernel is not sampled: the samples taken, as a part of those that were due. */
static double sampled_part(const struct perf_attach *a)
{
	uint64_t due = 0;

	if (!a->config.exclude_kernel)
		return 1;
	for (size_t i = 0; i < a->set.events.n; i++)
		due += event_counted(&a->set.events.v[i]) / a->config.period * a->config.period;
	return !due ? 0 : a->sampled < due ? (double)a->sampled / (double)due : 1;
}

/* For disabled events on threads. Those of a thread that started another one also count what that one used. */
static void note_rests(struct perf_attach *a)
{
	double part = a->config.event.clock ? sampled_part(a) : 0;

	for (size_t i = 0; i < a->set.events.n && part > 0; i++) {
		const struct event_fd *e = &a->set.events.v[i];

		if (e->tid > 0 && !perf_rests_forked(&a->rests, e->tid))
			perf_rests_add(&a->rests, e->tid,
				       (uint64_t)(part * (double)(event_counted(e) % a->config.period)));
	}
}

/*
 * One by one, so that no thread is without events, or has two sets of them, for long. In both sets those of the CPUs are
 * the last ones; each replaces the other on the same CPU.
 */
static void switch_events(struct perf_attach *a, const struct event_set *fresh, bool wide)
{
	const struct event_target t = attach_target(a, &a->config);
	const size_t n = fresh->events.n > a->set.events.n ? fresh->events.n : a->set.events.n;
	const size_t fresh_from = n - fresh->events.n, old_from = n - a->set.events.n;

	for (size_t i = 0; i < n; i++) {
		if (i >= fresh_from && a->enabled)
			ioctl(fresh->events.v[i - fresh_from].fd, PERF_EVENT_IOC_ENABLE, 0);
		if (i >= old_from)
			ioctl(a->set.events.v[i - old_from].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (wide && i >= fresh_from && a->enabled)
			event_stagger(&t);
		if (a->drain && i % DRAIN_EVERY == DRAIN_EVERY - 1)
			a->drain(a->drain_ctx);
	}
}

static void skip_in_filters(struct perf_attach *a, const struct event_set *fresh)
{
	if (a->on == PERF_ON_BOTH) {
		perf_filter_skip_none(&a->filter);
		attach_share_unskip(a);
	}
	for (size_t i = 0; i < fresh->fixed.n; i++) {
		perf_filter_skip(&a->filter, filter_id(a, &fresh->fixed.v[i]));
		if (a->member)
			shared_member_skip(a->member, fresh->fixed.v[i].tid, true);
	}
}

/* Events on CPUs come last, and replace events on CPUs before these are disabled. */
static void switch_all(struct perf_attach *a, const struct event_set *fresh, const struct perf_config *c, bool share,
		       bool wide)
{
	bool early = a->shares || a->set.cpu_ids.n;

	if (share && a->enabled && early)
		shared_member_join(a->member, c->stack_bytes);
	switch_events(a, fresh, wide && !a->shares);
	if (share && a->enabled && !early)
		shared_member_join(a->member, c->stack_bytes);
	if (!share && a->shares)
		shared_member_leave(a->member);
	a->shares = share;
}

static void replace_set(struct perf_attach *a, struct event_set *fresh, const struct perf_config *c, bool share,
			bool wide)
{
	skip_in_filters(a, fresh);
	switch_all(a, fresh, c, share, wide);
	if (a->config.features & PERF_CAN_COUNT_LOST)
		event_set_read_lost(&a->set, &a->lost_before);
	note_rests(a);
	perf_rests_replaced(&a->rests);
	a->sampled = 0;
	event_set_done(&a->set);
	a->set = *fresh;
}

size_t perf_attach_events(const struct perf_attach *a)
{
	return a->set.events.n;
}

bool perf_attach_by_thread(const struct perf_attach *a)
{
	return a->mode == PERF_ATTACH_THREADS || a->on == PERF_ON_THREADS;
}

bool perf_attach_can_use_both(const struct perf_attach *a)
{
	return a->filter.skip != NULL;
}

bool perf_attach_is_cpu_event(const struct perf_attach *a, size_t ring, uint64_t id)
{
	return ring < a->set.cpu_ids.n && a->set.cpu_ids.v[ring] == id;
}

bool perf_attach_wakes(const struct perf_attach *a, size_t ring, uint64_t id)
{
	return a->config.wake_each && !(a->config.cpus_in_batches && perf_attach_is_cpu_event(a, ring, id));
}

static int open_fresh(struct perf_attach *a, struct perf_config *c, enum perf_attach_on on, bool share,
		      struct event_set *fresh)
{
	struct event_target t;
	int r = 0;

	/* Probing a whole CPU did not show whether inheritance works. */
	if (on != PERF_ON_CPUS && a->mode == PERF_ATTACH_CPUS)
		r = check_budget(a, NULL);
	if (r == 0 && on != PERF_ON_CPUS && a->mode == PERF_ATTACH_CPUS)
		r = probe_threads(a, c);
	if (r < 0)
		return r;
	t = attach_target(a, c);
	if (on == PERF_ON_THREADS)
		return event_set_open_threads(fresh, &t, false);
	if (on == PERF_ON_BOTH)
		r = event_set_open_fixed(fresh, &t);
	return r < 0 || share ? r : event_set_open_cpus(fresh, &t);
}

int perf_attach_reopen(struct perf_attach *a, const struct perf_attach_change *change)
{
	struct perf_config c = a->config;
	struct event_target t;
	struct event_set fresh = {0};
	enum perf_attach_on on = a->mode == PERF_ATTACH_THREADS ? PERF_ON_THREADS : change->on;
	bool share = attach_share_may(a, change, on);
	int r;

	/* A ring must hold several samples. */
	if (change->stack_bytes > a->ring_size / 8)
		return -ENOSPC;
	c.stack_bytes = change->stack_bytes;
	c.period = change->period;
	c.wake_each = change->wake_each;
	c.cpus_in_batches = on == PERF_ON_BOTH;
	c.sideband_apart = a->mode == PERF_ATTACH_CPUS;
	perf_rests_replacing(&a->rests);
	r = open_fresh(a, &c, on, share, &fresh);
	if (r < 0) {
		event_set_done(&fresh);
		return r;
	}
	replace_set(a, &fresh, &c, share, on == PERF_ON_CPUS);
	a->config = c;
	a->on = on;
	if (on == PERF_ON_THREADS && a->enabled) {
		t = attach_target(a, &a->config);
		event_set_open_threads(&a->set, &t, true);
	}
	return 0;
}

/* Inherited events are on members of the family only, and the filter passes only members, unless a PID was reused
 * just now. */
static bool takes_process(struct perf_attach *a, const struct perf_record *r)
{
	struct family *f = &a->follow.family;

	if (a->mode == PERF_ATTACH_THREADS)
		family_add(f, r->pid, r->time);
	else
		perf_follow_take(&a->follow);
	return a->mode == PERF_ATTACH_THREADS || family_knows(f, r->pid, r->time);
}

struct perf_follow *perf_attach_follow(struct perf_attach *a)
{
	return a->config.follow ? &a->follow : NULL;
}

static bool is_of_one_set(const struct perf_attach *a, const struct perf_record *r)
{
	bool suspect = false;

	for (size_t i = 0; i < a->set.suspects.n; i++) {
		if (a->set.suspects.v[i].tid != r->tid)
			continue;
		if (a->set.suspects.v[i].id == r->id)
			return true;
		suspect = true;
	}
	return !suspect;
}

bool perf_attach_accepts(struct perf_attach *a, const struct perf_record *r)
{
	if (r->pid != proc_pid(a->proc) && !(a->config.follow && takes_process(a, r)))
		return false;
	if (!is_of_one_set(a, r))
		return false;
	a->sampled += r->period;
	return true;
}

/* After execve() one thread is left, which may have the events of one thread and the ID of another. */
static void leave_to_cpus(struct perf_attach *a)
{
	for (size_t i = 0; i + a->set.cpu_ids.n < a->set.events.n; i++)
		ioctl(a->set.events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_filter_skip_none(&a->filter);
	attach_share_unskip(a);
	a->set.fixed.n = 0;
}

/* The tid is free for another thread. */
static void forget_fixed(struct perf_attach *a, pid_t tid)
{
	for (size_t i = 0; i < a->set.fixed.n; i++) {
		if (a->set.fixed.v[i].tid != tid)
			continue;
		perf_filter_unskip(&a->filter, filter_id(a, &a->set.fixed.v[i]));
		if (a->member)
			shared_member_skip(a->member, tid, false);
		a->set.fixed.v[i] = a->set.fixed.v[--a->set.fixed.n];
		break;
	}
}

uint64_t perf_attach_take_rest(struct perf_attach *a, pid_t tid)
{
	return perf_rests_take(&a->rests, tid);
}

void perf_attach_each_rest(struct perf_attach *a, void (*tell)(void *ctx, pid_t tid, uint64_t rest), void *ctx)
{
	if (a->mode != PERF_ATTACH_CPUS)
		return;
	note_rests(a);
	for (size_t i = 0; i < RESTS; i++)
		if (a->rests.threads[i].rest)
			tell(ctx, a->rests.threads[i].tid, a->rests.threads[i].rest);
}

static bool is_suspect(const struct perf_attach *a, pid_t tid)
{
	for (size_t i = 0; i < a->set.suspects.n; i++)
		if (a->set.suspects.v[i].tid == tid)
			return true;
	return false;
}

void perf_attach_each_count(struct perf_attach *a, pid_t tid, void (*tell)(void *ctx, uint64_t counted), void *ctx)
{
	if (a->mode != PERF_ATTACH_THREADS || !event_set_knows(&a->set, tid) || is_suspect(a, tid) ||
	    perf_rests_forked(&a->rests, tid))
		return;
	for (size_t i = 0; i < a->set.events.n; i++) {
		struct event_fd *e = &a->set.events.v[i];

		if (e->tid != tid)
			continue;
		tell(ctx, event_counted(e));
		e->tid = 0;
	}
}

void perf_attach_forked(struct perf_attach *a, pid_t tid)
{
	perf_rests_fork(&a->rests, tid);
}

void perf_attach_note(struct perf_attach *a, const struct perf_record *r)
{
	bool target = r->pid == proc_pid(a->proc);
	size_t kept = 0;

	if (!target && !a->config.follow)
		return;
	perf_rests_take(&a->rests, r->tid);
	/* After exec, the one thread left has the leader's ID, whichever thread it was. */
	for (size_t i = 0; i < a->set.suspects.n; i++)
		if (!(r->exec && target) && a->set.suspects.v[i].tid != r->tid)
			a->set.suspects.v[kept++] = a->set.suspects.v[i];
	a->set.suspects.n = kept;
	if (!r->exec)
		forget_fixed(a, r->tid);
	else if (a->on == PERF_ON_BOTH && target)
		leave_to_cpus(a);
}

size_t perf_attach_ring_count(const struct perf_attach *a)
{
	return a->n_cpus;
}

struct perf_ring *perf_attach_ring(struct perf_attach *a, size_t i)
{
	return &a->rings[i];
}

const int *perf_attach_poll_fds(const struct perf_attach *a)
{
	return a->ring_fds;
}

const int *perf_attach_cpus(const struct perf_attach *a)
{
	return a->cpus;
}

const struct perf_config *perf_attach_config(const struct perf_attach *a)
{
	return &a->config;
}

enum perf_attach_mode perf_attach_mode(const struct perf_attach *a)
{
	return a->mode;
}

bool perf_attach_can_choose(const struct perf_attach *a)
{
	return a->automatic && a->mode == PERF_ATTACH_CPUS;
}

size_t perf_attach_threads(const struct perf_attach *a)
{
	size_t n = a->set.n_known;
	pid_t *tids;

	if (a->mode == PERF_ATTACH_CPUS && proc_tasks(a->proc, &tids, &n) == 0)
		free(tids);
	return n;
}

size_t perf_attach_ring_size(const struct perf_attach *a)
{
	return a->ring_size;
}

bool perf_attach_lost(const struct perf_attach *a, uint64_t *ret)
{
	if (!(a->config.features & PERF_CAN_COUNT_LOST))
		return false;
	*ret = a->lost_before;
	event_set_read_lost(&a->set, ret);
	*ret += perf_attach_shared_lost(a);
	return true;
}
