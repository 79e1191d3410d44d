#include "sampler/session/children.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/children_cpu.h"
#include "sampler/session/parts/heap_frames.h"
#include "sampler/session/session_private.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

enum { MERGE_EVERY = 16 }; /* merge the profiles of ended processes when there are this many */

struct children {
	struct session *owner;
	/*
	 * Open sessions. The lock protects them from the engine's threads, which look for heap
	 * frames meanwhile.
	 */
	pthread_mutex_t lock;
	struct session *open[CHILDREN_OPEN];
	size_t n;
	struct engine_frozen target_frozen;
	named_profiles done;
	struct profile_totals totals; /* of the profiles in `done` */
	struct profile_memory memory;
	size_t sampled;
	bool is_jvm; /* at least one in `done` was a JVM */
	uint64_t unread, unread_weight;
	uint64_t cpu_before_ns, cpu_ns; /* of all processes except the target */
	/* What is known of single processes: orphans that have ended are in no other account. */
	uint64_t of_sessions_ns;
	atomic_bool naming; /* a process that has ended is being named, while others are sampled */
	pid_t refused_pid; /* the last process that could not be opened: it is not tried again for each sample */
};

struct children *children_new(struct session *owner)
{
	struct children *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->owner = owner;
	c->memory.max_bytes = owner->o.profile.max_bytes ? owner->o.profile.max_bytes : PROFILE_MAX_BYTES;
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

struct profile_memory *children_memory(struct children *c)
{
	return &c->memory;
}

/* --- Results */

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
	c->memory.bytes += sum.totals.bytes; /* with its names it takes about as much as before */
	if (!vec_push(&c->done, np)) {
		named_profile_free(np);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (c->done.n >= MERGE_EVERY && session_merge_named(&c->done, profile_slice_ns(c->owner->profile)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void forget(struct children *c, size_t i)
{
	pthread_mutex_lock(&c->lock);
	c->open[i] = c->open[--c->n];
	pthread_mutex_unlock(&c->lock);
}

static void end_session(struct children *c, struct session *s)
{
	session_end_child(s);
	c->of_sessions_ns += s->cpu_ns;
}

/* Names what was sampled of open[i] and closes it. */
static int retire(struct children *c, size_t i, struct err *err)
{
	struct session *s = c->open[i];
	int r;

	forget(c, i);
	if (!s->ended_ns)
		end_session(c, s);
	r = keep_result(c, s, err);
	session_close(s);
	return r;
}

/* Retires one process that has ended: `pid`, or any if it is 0. */
static void retire_one(struct children *c, pid_t pid)
{
	struct err e = {0};

	for (size_t i = 0; i < c->n; i++) {
		if ((pid && c->open[i]->pid != pid) || proc_alive(c->open[i]->proc))
			continue;
		c->naming = true;
		if (retire(c, i, &e) < 0)
			log_warn("the samples of a child process are lost: %s", e.msg);
		c->naming = false;
		return;
	}
}

void children_hurry(struct children *c)
{
	if (c->naming)
		budget_hurry(c->owner->files, true);
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
		if (session_add_named(b, c->done.v[i]) < 0)
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

struct session *children_find(struct children *c, pid_t pid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->open[i]->pid == pid)
			return c->open[i];
	return NULL;
}

static void add_open_child(struct children *c, struct session *s)
{
	pthread_mutex_lock(&c->lock);
	c->open[c->n++] = s;
	pthread_mutex_unlock(&c->lock);
	c->sampled++;
}

/* Called for the first sample of a process. NULL: it has ended, or there are too many. */
static struct session *open_child(struct children *c, pid_t pid)
{
	struct session *s;
	struct err e = {0};

	if (c->n == CHILDREN_OPEN)
		retire_one(c, 0);
	if (pid == c->refused_pid || c->n == CHILDREN_OPEN || c->sampled == CHILDREN_MAX)
		return NULL;
	if (session_open_child(c->owner, pid, &s, &e) == 0) {
		add_open_child(c, s);
		return s;
	}
	log_info("process %d: %s", (int)pid, e.msg);
	c->refused_pid = pid;
	return NULL;
}

/*
 * Was the sample taken before its process was opened, and has the process called execve since? Then its addresses
 * belong to another program.
 */
static bool is_of_old_program(const struct session *s, const struct raw_sample *sample)
{
	return sample->time_ns < s->opened_ns && sample->has_user &&
	       !maps_find(s->readers->maps, sample->regs.r[arch_host()->pc]);
}

struct session *children_of_sample(struct children *c, const struct raw_sample *sample)
{
	struct session *s = children_find(c, sample->pid);

	if (!s && session_is_separate(c->owner, sample->pid))
		return NULL;
	if (!s)
		s = open_child(c, sample->pid);
	if (!s || is_of_old_program(s, sample)) {
		c->unread++;
		c->unread_weight += sample->weight;
		return NULL;
	}
	atomic_fetch_add_explicit(&c->owner->live_samples, 1, memory_order_relaxed);
	return s;
}

/* The PID may have belonged to a process that has ended. */
void children_started(struct children *c, pid_t pid)
{
	retire_one(c, pid);
	if (c->refused_pid == pid)
		c->refused_pid = 0;
}

/* --- Heap frames */

/* Called by the engine's threads, which must not wait. */
static bool wants(void *ctx, pid_t tid)
{
	struct children *c = ctx;
	bool wanted = engine_frozen_wanted(&c->target_frozen, tid);

	if (wanted || pthread_mutex_trylock(&c->lock))
		return wanted;
	for (size_t i = 0; !wanted && i < c->n; i++) {
		struct engine_frozen a = heap_frames_options(c->open[i]->heap_frames);

		wanted = engine_frozen_wanted(&a, tid);
	}
	pthread_mutex_unlock(&c->lock);
	return wanted;
}

static size_t take(void *ctx, pid_t tid, uint8_t *dst, size_t max)
{
	struct children *c = ctx;
	size_t n = c->target_frozen.copy(c->target_frozen.ctx, tid, dst, max);

	if (n || pthread_mutex_trylock(&c->lock))
		return n;
	for (size_t i = 0; !n && i < c->n; i++) {
		struct engine_frozen a = heap_frames_options(c->open[i]->heap_frames);

		n = a.copy(a.ctx, tid, dst, max);
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

struct engine_frozen children_frozen_options(struct children *c, struct engine_frozen target)
{
	c->target_frozen = target;
	return (struct engine_frozen){.ctx = c, .wants = wants, .copy = take};
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
		end_session(c, c->open[i]);
	if (c->cpu_ns < c->of_sessions_ns)
		c->cpu_ns = c->of_sessions_ns;
}
