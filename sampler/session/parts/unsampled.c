#include "sampler/session/parts/unsampled.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/session/parts/leftover.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/tid_map.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

enum {
	THREADS_MAX = 200000, /* counted separately; all others are one thread without a name */
	LOOK_NS =
		500000000, /* for the threads at the start, and at the end; of the others nothing is known but their samples */
	SHOWN_SHARE = 100, /* less than a hundredth of the CPU time is not shown */
};

struct account {
	bool known; /* looked at when the session started */
	bool live; /* still running at the end */
	uint64_t cpu_ns, system_ns; /* when it was first seen; at the end: used since then */
	uint64_t counted, tail; /* of a thread that has ended, as in engine_ended */
	bool late; /* likewise */
	uint64_t seen; /* weights of its samples */
	uint64_t time_ns; /* when it ended */
};

struct unsampled {
	struct proc *proc;
	struct tid_map by_tid; /* struct account */
	bool cut; /* some that run from the start on are not `known` */
	uint64_t system_ns; /* of the process at the start; at the end: used since then */
	uint64_t period_ns;
	struct leftovers *leftovers;
	uint64_t given_ns, rest_ns; /* weights of leftovers; the part that is not a whole sample yet */
};

/* What is shown under a thread's name. */
struct share {
	const struct account *thread;
	const char *name;
	uint64_t short_ns, kernel_ns;
};

struct shares {
	VEC(struct share) list;
};

struct unsampled *unsampled_new(struct proc *proc, uint64_t period_ns)
{
	struct unsampled *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->proc = proc;
	u->by_tid.size = sizeof(struct account);
	u->period_ns = period_ns ? period_ns : 1;
	u->leftovers = leftovers_new();
	if (u->leftovers)
		return u;
	free(u);
	return NULL;
}

void unsampled_free(struct unsampled *u)
{
	if (!u)
		return;
	tid_map_clear(&u->by_tid);
	leftovers_free(u->leftovers);
	free(u);
}

/* NULL: out of memory. Threads beyond the limit are thread 0. */
static struct account *thread_of(struct unsampled *u, pid_t tid)
{
	struct account *t = tid_map_find(&u->by_tid, tid);

	if (t)
		return t;
	return tid_map_get(&u->by_tid, tid_map_count(&u->by_tid) >= THREADS_MAX ? 0 : tid);
}

void unsampled_start(struct unsampled *u)
{
	uint64_t until_ns = clock_monotonic_ns() + LOOK_NS;
	pid_t *tids;
	size_t n, i;

	proc_system_ns(u->proc, 0, &u->system_ns);
	if (proc_tasks(u->proc, &tids, &n) < 0)
		return;
	for (i = 0; i < n && clock_monotonic_ns() < until_ns; i++) {
		struct account *t = thread_of(u, tids[i]);

		if (!t)
			continue;
		t->known = true;
		if (proc_thread_cpu_ns(u->proc, tids[i], &t->cpu_ns) == 0)
			proc_system_ns(u->proc, tids[i], &t->system_ns);
	}
	u->cut = i < n;
	free(tids);
}

void unsampled_sample(struct unsampled *u, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns)
{
	struct account *t = thread_of(u, tid);

	if (t)
		t->seen += weight;
	leftovers_sample(u->leftovers, tid, weight, stack, time_ns);
}

uint64_t unsampled_counted(const struct unsampled *u)
{
	uint64_t sum = 0;

	for (const struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));)
		sum += t->counted;
	return sum;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void give_leftover(struct unsampled *u, struct account *t, const struct leftover *o, struct profile *p,
			  pid_t pid)
{
	if (t) {
		t->seen += o->sampled_ns;
		t->tail = since(t->tail, o->sampled_ns + o->kernel_ns);
	}
	u->given_ns += o->sampled_ns;
	u->rest_ns += o->sampled_ns;
	profile_time(p, o->time_ns);
	profile_add_weight(p, pid, o->tid, o->stack, u->rest_ns / u->period_ns, o->sampled_ns);
	u->rest_ns %= u->period_ns;
}

/* Handles threads that ended a second ago. */
static void give_leftovers(struct unsampled *u, uint64_t now_ns, struct profile *p, pid_t pid)
{
	struct leftover o;

	while (leftovers_next(u->leftovers, now_ns, &o))
		give_leftover(u, thread_of(u, o.tid), &o, p, pid);
}

void unsampled_ended(struct unsampled *u, const struct engine_ended *e, struct profile *p, pid_t pid)
{
	struct account *t = thread_of(u, e->tid);

	if (t) {
		t->counted += e->counted;
		t->tail += e->tail;
		t->time_ns = e->time_ns;
		t->late |= e->late;
	}
	leftovers_ended(u->leftovers, e);
	give_leftovers(u, e->time_ns, p, pid);
}

/* A thread that still runs: what it has used since the start. */
static void finish_thread(struct unsampled *u, pid_t tid)
{
	struct account *t = u->cut ? tid_map_find(&u->by_tid, tid) : thread_of(u, tid);
	uint64_t cpu, system;

	if (!t || !tid_map_tid(t) || (u->cut && !t->known) || proc_thread_cpu_ns(u->proc, tid, &cpu) < 0 ||
	    proc_system_ns(u->proc, tid, &system) < 0)
		return;
	t->live = true;
	t->cpu_ns = since(cpu, t->cpu_ns);
	t->system_ns = since(system, t->system_ns);
}

void unsampled_finish(struct unsampled *u)
{
	uint64_t until_ns = clock_monotonic_ns() + LOOK_NS, system;
	pid_t *tids;
	size_t n;

	/*
	 * For a process that has ended, the total time in the kernel is not known, only what its
	 * threads lack.
	 */
	u->system_ns = proc_system_ns(u->proc, 0, &system) == 0 ? since(system, u->system_ns) : UINT64_MAX;
	if (proc_tasks(u->proc, &tids, &n) < 0)
		return;
	for (size_t i = 0; i < n && clock_monotonic_ns() < until_ns; i++)
		finish_thread(u, tids[i]);
	free(tids);
}

/* --- Which thread it belongs to */

/*
 * Time in the kernel without samples, as far as it is known. For threads that have ended:
 * everything missing except their tails, if all that they used was counted.
 */
static uint64_t kernel_of(const struct account *t)
{
	uint64_t missing = t->live ? since(t->cpu_ns, t->seen) : since(t->counted, t->tail + t->seen);

	if (t->late)
		return 0;
	return t->live && t->system_ns < missing ? t->system_ns : missing;
}

/* Events that were opened for a thread have counted nothing of what it used before: that is somewhere in the sum. */
static bool is_unreported(const struct account *t)
{
	return !t->live && (!t->counted || t->late);
}

static uint64_t short_of(const struct account *t)
{
	if (t->live)
		return since(t->cpu_ns, t->seen + kernel_of(t));
	return t->counted ? t->tail : 1;
}

/* Scales `part` of `whole` to the same part of `due`. */
static uint64_t scaled(uint64_t part, uint64_t whole, uint64_t due)
{
	return whole ? (uint64_t)((double)part / (double)whole * (double)due) : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * How much of the missing time was spent in the kernel: at most what the process spent there,
 * without the tails of threads that have ended.
 */
static uint64_t kernel_due(const struct unsampled *u, const struct unsampled_sums *sums, uint64_t missing)
{
	uint64_t tails = 0;

	for (const struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));)
		tails += t->live ? 0 : t->tail;
	return sums->skips_kernel ? least(since(missing, tails), u->system_ns) : 0;
}

/* The sum of what is known about threads, and the sum that they are scaled to. */
struct sum {
	uint64_t known, due;
};

struct dues {
	struct sum live, ended, kernel;
	struct sum unreported; /* time in the kernel of unreported threads, by the weights of their samples */
};

static struct dues dues_of(const struct unsampled *u, const struct unsampled_sums *sums, uint64_t short_ns,
			   uint64_t kernel_ns)
{
	struct dues d = {.kernel.due = kernel_ns};

	for (const struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));) {
		d.kernel.known += kernel_of(t);
		d.unreported.known += is_unreported(t) ? t->seen : 0;
		*(t->live ? &d.live.known : &d.ended.known) += short_of(t);
	}
	if (d.unreported.known) {
		d.kernel.due = least(d.kernel.known, kernel_ns);
		d.unreported.due = kernel_ns - d.kernel.due;
	}
	if (!sums->only_ended)
		d.live.due = least(d.live.known, short_ns);
	if (d.ended.known)
		d.ended.due = short_ns - d.live.due;
	else if (d.live.known && !sums->only_ended)
		d.live.due = short_ns;
	return d;
}

static bool share_out(const struct unsampled *u, struct shares *s, const struct dues *d)
{
	for (const struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));) {
		const struct sum *sum = t->live ? &d->live : &d->ended;
		struct share one = {.thread = t,
				    .short_ns = scaled(short_of(t), sum->known, sum->due),
				    .kernel_ns = scaled(kernel_of(t), d->kernel.known, d->kernel.due)};

		if (is_unreported(t))
			one.kernel_ns = scaled(t->seen, d->unreported.known, d->unreported.due);

		if ((one.short_ns || one.kernel_ns) && !vec_push(&s->list, one))
			return false;
	}
	return true;
}

/* --- Into the profile */

static uint64_t rest_of(const struct unsampled *u, const struct account *t, bool skips_kernel, struct leftover *ret)
{
	if (!t->live || !leftovers_drawn(u->leftovers, tid_map_tid(t), ret))
		return 0;
	return skips_kernel ? short_of(t) : since(t->cpu_ns, t->seen);
}

/*
 * The same for threads that still run, for the time since their last sample: at most `missing_ns`
 * in all.
 */
static void give_rests(struct unsampled *u, uint64_t missing_ns, bool skips_kernel, struct profile *p, pid_t pid)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t most =
		u->period_ns * (cpus > 0 ? (uint64_t)cpus : 1); /* at most a whole period on each CPU for a thread */
	struct leftover o;
	uint64_t all = 0;

	for (struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));)
		all += least(rest_of(u, t, skips_kernel, &o), most);
	for (struct account *t = NULL; (t = tid_map_next(&u->by_tid, t));) {
		uint64_t rest = least(rest_of(u, t, skips_kernel, &o), most);

		o.sampled_ns = scaled(rest, all, least(all, missing_ns));
		if (rest && o.sampled_ns)
			give_leftover(u, t, &o, p, pid);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	if (r)
		return r;
	return (x->thread->time_ns > y->thread->time_ns) - (x->thread->time_ns < y->thread->time_ns);
}

struct giving {
	struct profile *p;
	pid_t pid;
	uint64_t period;
	uint64_t slice_ns; /* 0: no slices */
	uint64_t left[2]; /* by mark: weights that are not a whole sample yet */
};

static void give(struct giving *g, pid_t tid, bool kernel, uint64_t weight)
{
	uint64_t *left = &g->left[kernel];

	if (!weight)
		return;
	*left += weight;
	profile_add_unsampled(g->p, g->pid, tid, kernel ? MARK_UNSAMPLED_KERNEL : MARK_UNSAMPLED_SHORT,
			      *left / g->period, weight);
	*left %= g->period;
}

static bool same_place(const struct giving *g, const struct share *a, const struct share *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       (!g->slice_ns || a->thread->time_ns / g->slice_ns == b->thread->time_ns / g->slice_ns);
}

/*
 * Threads of the same name are added up: thousands that each miss a little would each be less than
 * a sample.
 */
static void give_all(struct giving *g, const struct shares *s)
{
	for (size_t i = 0, j; i < s->list.n; i = j) {
		uint64_t short_ns = 0, kernel_ns = 0;
		const struct account *first = s->list.v[i].thread;

		for (j = i; j < s->list.n && same_place(g, &s->list.v[i], &s->list.v[j]); j++) {
			short_ns += s->list.v[j].short_ns;
			kernel_ns += s->list.v[j].kernel_ns;
		}
		if (first->time_ns)
			profile_time(g->p, first->time_ns);
		give(g, tid_map_tid(first), false, short_ns);
		give(g, tid_map_tid(first), true, kernel_ns);
	}
}

void unsampled_give(struct unsampled *u, const struct unsampled_sums *sums, struct profile *p, pid_t pid)
{
	uint64_t given_ns = u->given_ns, missing, kernel_ns, short_ns;
	struct giving g = {.p = p, .pid = pid, .period = u->period_ns, .slice_ns = profile_slice_ns(p)};
	struct shares s = {0};
	struct dues d;

	give_leftovers(u, UINT64_MAX, p, pid);
	missing = since(sums->cpu_ns, sums->sampled_ns + u->given_ns - given_ns + sums->lost_ns);
	given_ns = u->given_ns;
	if (!sums->only_ended)
		give_rests(u, missing, sums->skips_kernel, p, pid);
	missing -= u->given_ns - given_ns;
	kernel_ns = kernel_due(u, sums, missing);
	short_ns = missing - kernel_ns;
	if (short_ns < sums->cpu_ns / SHOWN_SHARE)
		short_ns = 0;
	if (kernel_ns < sums->cpu_ns / SHOWN_SHARE)
		kernel_ns = 0;
	d = dues_of(u, sums, short_ns, kernel_ns);
	if ((short_ns || kernel_ns) && share_out(u, &s, &d)) {
		for (size_t i = 0; i < s.list.n; i++) {
			const char *name = profile_thread_name(p, pid, tid_map_tid(s.list.v[i].thread));

			s.list.v[i].name = name ? name : "";
		}
		if (s.list.n)
			qsort(s.list.v, s.list.n, sizeof(*s.list.v), compare_names);
		give_all(&g, &s);
	}
	vec_done(&s.list);
}

/* --- A part of a session */

static void counted(void *part, const struct sampled *s)
{
	unsampled_sample(part, s->raw->tid, s->raw->weight, s->stack, s->raw->time_ns);
}

/* Another address space, and another profile. */
static void exec(void *part)
{
	struct unsampled *u = part;

	leftovers_forget(u->leftovers);
}

static void renewed(void *part, const struct profile *old, struct profile *fresh)
{
	struct unsampled *u = part;

	(void)old, (void)fresh;
	leftovers_renew(u->leftovers);
}

static void close_part(void *part)
{
	unsampled_free(part);
}

const struct part_ops unsampled_part = {
	.counted = counted,
	.exec = exec,
	.renewed = renewed,
	.close = close_part,
};
