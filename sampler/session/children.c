#include "sampler/session/children.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/engine_deliver.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_slices.h"
#include "sampler/session/children_cpu.h"
#include "sampler/session/heap_frames.h"
#include "sampler/session/session_private.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

enum { MERGE_EVERY = 16 }; /* profiles of ended processes become one */

struct children {
	struct session *owner;
	/* The open ones. The lock is for the engine's threads, which look for heap frames while a session opens or closes. */
	pthread_mutex_t lock;
	struct session *open[CHILDREN_OPEN];
	size_t n;
	struct engine_aside target_aside;
	VEC(struct named_profile *) done;
	struct profile_totals totals; /* of those in `done` */
	size_t sampled;
	bool is_jvm; /* one of those in `done` was */
	uint64_t unread, unread_weight;
	uint64_t cpu_before_ns, cpu_ns; /* of all processes but the target */
	pid_t refused_pid; /* the last that could not be opened: not tried for each of its samples */
};

struct children *children_new(struct session *owner)
{
	struct children *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->owner = owner;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void children_free(struct children *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		session_close(c->open[i]);
	for (size_t i = 0; i < c->done.n; i++)
		named_profile_free(c->done.v[i]);
	vec_done(&c->done);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* --- Results */

static int merge_done(struct children *c)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	int r = b ? 0 : -ENOMEM;

	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(c->owner->profile);
	for (size_t i = 0; r == 0 && i < c->done.n; i++) {
		named_slices_widen(c->done.v[i], named_builder_meta(b)->slice_ns);
		named_meta_add_counts(named_builder_meta(b), &c->done.v[i]->meta);
		r = named_builder_add(b, c->done.v[i]);
	}
	if (r < 0)
		named_builder_free(b);
	np = r == 0 ? named_builder_take(b) : NULL;
	if (!np)
		return -ENOMEM;
	for (size_t i = 0; i < c->done.n; i++)
		named_profile_free(c->done.v[i]);
	c->done.v[0] = np;
	c->done.n = 1;
	return 0;
}

static int keep_result(struct children *c, struct session *s, struct err *err)
{
	struct session_summary sum;
	struct named_profile *np;
	int r = session_result(s, &np, err);

	if (r < 0)
		return r;
	sum = session_summary(s);
	if (!c->owner->jdk[0])
		snprintf(c->owner->jdk, sizeof(c->owner->jdk), "%s", s->jdk);
	c->is_jvm |= sum.is_jvm;
	profile_totals_add(&c->totals, &sum.totals);
	if (!vec_push(&c->done, np)) {
		named_profile_free(np);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return c->done.n >= MERGE_EVERY && merge_done(c) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static void forget(struct children *c, size_t i)
{
	pthread_mutex_lock(&c->lock);
	c->open[i] = c->open[--c->n];
	pthread_mutex_unlock(&c->lock);
}

/* Names what was sampled of open[i] and closes it. */
static int retire(struct children *c, size_t i, struct err *err)
{
	struct session *s = c->open[i];
	int r;

	forget(c, i);
	if (!s->ended_ns)
		session_end_child(s);
	r = keep_result(c, s, err);
	session_close(s);
	return r;
}

/* One that has ended; pid 0: whichever. */
static void retire_one(struct children *c, pid_t pid)
{
	struct err e = {0};

	for (size_t i = 0; i < c->n; i++) {
		if ((pid && c->open[i]->pid != pid) || proc_alive(c->open[i]->proc))
			continue;
		if (retire(c, i, &e) < 0)
			log_warn("what was sampled of a child process is lost: %s", e.msg);
		return;
	}
}

size_t children_sampled(const struct children *c)
{
	return c->sampled;
}

int children_add_results(struct children *c, struct named_builder *b, struct err *err)
{
	int r = 0;

	while (r == 0 && c->n)
		r = retire(c, c->n - 1, err);
	for (size_t i = 0; r == 0 && i < c->done.n; i++) {
		named_slices_widen(c->done.v[i], named_builder_meta(b)->slice_ns);
		named_meta_add_counts(named_builder_meta(b), &c->done.v[i]->meta);
		if (named_builder_add(b, c->done.v[i]) < 0)
			r = err_set(err, -ENOMEM, "out of memory while naming the stacks");
		named_profile_free(c->done.v[i]);
		c->done.v[i] = NULL;
	}
	if (r == 0)
		vec_done(&c->done);
	return r;
}

void children_summary(const struct children *c, struct session_summary *sum)
{
	const struct engine_stats *e = &sum->engine;

	profile_totals_add(&sum->totals, &c->totals);
	sum->is_jvm |= c->is_jvm;
	for (size_t i = 0; i < c->n; i++) {
		struct session_summary s = session_summary(c->open[i]);

		profile_totals_add(&sum->totals, &s.totals);
		sum->is_jvm |= s.is_jvm;
	}
	sum->children = (struct session_children){
		.followed = true,
		.processes = e->followed + e->brief + e->refused,
		.sampled = c->sampled,
		.unread = c->unread,
		.unread_weight = c->unread_weight,
		.refused = e->refused,
		.cpu_ns = c->cpu_ns,
	};
	sum->cpu_ns += c->cpu_ns;
}

/* --- Processes */

static struct session *find(struct children *c, pid_t pid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->open[i]->pid == pid)
			return c->open[i];
	return NULL;
}

static void let_in(struct children *c, struct session *s)
{
	pthread_mutex_lock(&c->lock);
	c->open[c->n++] = s;
	pthread_mutex_unlock(&c->lock);
	c->sampled++;
}

/* For its first sample. NULL: it has ended, or there are too many. */
static struct session *open_child(struct children *c, pid_t pid)
{
	struct session *s;
	struct err e = {0};

	if (c->n == CHILDREN_OPEN)
		retire_one(c, 0);
	if (pid == c->refused_pid || c->n == CHILDREN_OPEN || c->sampled == CHILDREN_MAX)
		return NULL;
	if (session_open_child(c->owner, pid, &s, &e) == 0) {
		let_in(c, s);
		return s;
	}
	log_info("process %d: %s", (int)pid, e.msg);
	c->refused_pid = pid;
	return NULL;
}

/* The target, one that has a session, or NULL. */
static struct session *session_of(struct children *c, pid_t pid)
{
	return pid == c->owner->pid ? c->owner : find(c, pid);
}

/* --- What the engine tells */

/* A sample that was taken before its process could be looked at, which has called execve since: its addresses are those of
 * another program. */
static bool is_of_old_program(const struct session *s, const struct raw_sample *sample)
{
	return s->owner && sample->time_ns < s->opened_ns && sample->has_user &&
	       !maps_find(s->view->maps, sample->regs.r[arch_host()->pc]);
}

static void on_sample(void *ctx, const struct raw_sample *sample)
{
	struct children *c = ctx;
	struct session *s = session_of(c, sample->pid);

	if (!s && session_is_apart(c->owner, sample->pid))
		return;
	if (!s)
		s = open_child(c, sample->pid);
	if (!s || is_of_old_program(s, sample)) {
		c->unread++;
		c->unread_weight += sample->weight;
		return;
	}
	session_sink(s).sample(s, sample);
	if (s != c->owner)
		atomic_fetch_add_explicit(&c->owner->live_samples, 1, memory_order_relaxed);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct session *s = session_of(ctx, pid);

	if (s)
		session_sink(s).thread(s, pid, tid, comm);
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct session *s = session_of(ctx, pid);

	if (s)
		session_sink(s).thread_exit(s, pid, tid);
}

static void on_ended(void *ctx, const struct engine_ended *e)
{
	struct session *s = session_of(ctx, e->pid);

	if (s)
		session_sink(s).ended(s, e);
}

static void on_exec(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	if (s)
		session_on_exec(s, pid);
}

/* Its number may have been that of another one. */
static void on_child(void *ctx, pid_t parent, pid_t pid)
{
	struct children *c = ctx;

	(void)parent;
	retire_one(c, pid);
	if (c->refused_pid == pid)
		c->refused_pid = 0;
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	if (s)
		session_sink(s).mapped(s, pid);
}

static void on_sampled(void *ctx)
{
	struct children *c = ctx;

	session_sink(c->owner).sampled(c->owner);
}

static struct proc *process(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	return s ? s->proc : NULL;
}

struct engine_sink children_sink(struct children *c)
{
	return (struct engine_sink){
		.ctx = c,
		.sample = on_sample,
		.thread = on_thread,
		.thread_exit = on_thread_exit,
		.ended = on_ended,
		.exec = on_exec,
		.mapped = on_mapped,
		.child = on_child,
		.process = process,
		.sampled = on_sampled,
	};
}

/* --- Heap frames */

/* Of the engine's threads, which never wait. */
static bool wants(void *ctx, pid_t tid)
{
	struct children *c = ctx;
	bool wanted = engine_aside_wants(&c->target_aside, tid);

	if (wanted || pthread_mutex_trylock(&c->lock))
		return wanted;
	for (size_t i = 0; !wanted && i < c->n; i++) {
		struct engine_aside a = heap_frames_aside(c->open[i]->heap_frames);

		wanted = engine_aside_wants(&a, tid);
	}
	pthread_mutex_unlock(&c->lock);
	return wanted;
}

static size_t take(void *ctx, pid_t tid, uint8_t *dst, size_t max)
{
	struct children *c = ctx;
	size_t n = c->target_aside.take(c->target_aside.ctx, tid, dst, max);

	if (n || pthread_mutex_trylock(&c->lock))
		return n;
	for (size_t i = 0; !n && i < c->n; i++) {
		struct engine_aside a = heap_frames_aside(c->open[i]->heap_frames);

		n = a.take(a.ctx, tid, dst, max);
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

struct engine_aside children_aside(struct children *c, struct engine_aside target)
{
	c->target_aside = target;
	return (struct engine_aside){.ctx = c, .wants = wants, .take = take};
}

/* --- CPU time */

void children_start(struct children *c)
{
	c->cpu_before_ns = children_cpu_ns(c->owner, c->open, c->n);
}

void children_end(struct children *c)
{
	uint64_t cpu = children_cpu_ns(c->owner, c->open, c->n);

	c->cpu_ns = cpu > c->cpu_before_ns ? cpu - c->cpu_before_ns : 0;
	for (size_t i = 0; i < c->n; i++)
		session_end_child(c->open[i]);
}
