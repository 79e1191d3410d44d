#include "sampler/session/session_private.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/profile/named_builder.h"
#include "sampler/session/children.h"
#include "sampler/session/parts/compile_watch.h"
#include "sampler/session/parts/held_samples.h"
#include "sampler/session/parts/last_cpu.h"
#include "sampler/session/parts/leftover.h"
#include "sampler/session/parts/threads.h"
#include "sampler/session/parts/unsampled.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/native/names/kallsyms.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc.h"

void session_close(struct session *s)
{
	if (!s)
		return;
	if (s->engine && !s->owner && !s->hosted)
		s->engine->ops->close(s->engine);
	children_free(s->children);
	parts_call(&s->parts, close);
	held_samples_free(s->held);
	for (size_t i = 0; i < s->epochs.n; i++)
		named_profile_free(s->epochs.v[i]);
	vec_done(&s->epochs);
	profile_free(s->profile);
	session_requests_close(s);
	readers_close(s->readers);
	if (!s->hosted)
		kallsyms_close(s->kallsyms);
	proc_close(s->proc);
	free(s);
}

void session_find_jvm(struct session *s, uint64_t now)
{
	s->looked_for_jvm_ns = now;
	if (!readers_find_jvm(s->readers))
		return;
	s->was_jvm = true;
	snprintf(s->jdk, sizeof(s->jdk), "%s", hotspot_version(s->readers->hs)->jdk);
	threads_rename_all(s->threads);
}

struct hotspot *session_hotspot(struct session *s)
{
	return s->readers->jvm == JVM_READY ? s->readers->hs : NULL;
}

bool session_jvm_starts(const struct session *s)
{
	return s->readers->jvm == JVM_STARTING;
}

/*
 * CPU time without samples is known only if the engine accounts for each thread's CPU time.
 * Otherwise it is a matter of chance.
 */
static int start_engine(struct session *s, struct err *err)
{
	bool counted = s->proc && !s->wall && !s->o.snapshot;
	struct unsampled *u = counted ? unsampled_new(s->proc, s->o.engine_options.period) : NULL;
	int r;

	if (counted && !u)
		return err_set(err, -ENOMEM, "out of memory");
	if (u)
		unsampled_start(u);
	r = s->engine->ops->start(s->engine, err);
	if (r == 0 && u && s->engine->ops->stats(s->engine).by_thread_time)
		parts_add(&s->parts, &unsampled_part, s->unsampled = take_ptr(u));
	else if (r == 0 && u)
		parts_add(&s->parts, &leftovers_part, s->drawn = leftovers_new());
	unsampled_free(u);
	return r;
}

static enum compile_reading compile_reading(const struct session *s)
{
	if (!s->proc || s->o.snapshot)
		return COMPILE_READ_NAMED;
	return s->o.turn ? COMPILE_READ_SPARING : COMPILE_READ_POLLED;
}

int session_start(struct session *s, struct err *err)
{
	int r;

	if (s->bridge && s->o.bridge == BRIDGE_ON) {
		session_find_jvm(s, clock_monotonic_ns());
		r = session_use_bridge(s, true, err);
		if (r < 0)
			return r;
	}
	s->started_ns = clock_monotonic_ns();
	s->start_realtime_ns = clock_realtime_ns();
	s->before_exec = s->o.launched && !session_stops_threads(s);
	if (s->proc)
		proc_cpu_ns(s->proc, &s->cpu_start_ns);
	if (s->children)
		children_start(s->children);
	else if (s->proc)
		session_unfollowed_begin(s);
	if (!parts_add(&s->parts, &compile_watch_part, compile_watch_new(s->started_ns, compile_reading(s))))
		return err_set(err, -ENOMEM, "out of memory");
	r = start_engine(s, err);
	if (r < 0)
		return r;
	session_check_exec(s);
	session_find_jvm(s, s->started_ns);
	return session_use_bridge(s, false, err);
}

static void give_unsampled(struct session *s)
{
	const struct engine_stats *e = &s->final_stats;
	struct unsampled_sums sums = {
		.cpu_ns = s->cpu_ns,
		.sampled_ns = profile_totals(s->profile).weight + s->old_totals.weight,
		.lost_ns = e->lost_weight,
		.skips_kernel = e->skips_kernel,
		.only_ended = e->only_ended,
	};

	/* Threads that --include-threads leaves out have no samples on purpose. */
	if (s->unsampled && !(s->only_threads && s->engine->ops->request))
		unsampled_give(s->unsampled, &sums, s->profile, s->pid);
}

static uint64_t child_cpu_ns(const struct session *s)
{
	uint64_t cpu, counted = 0;

	if (proc_cpu_ns(s->proc, &cpu) < 0) { /* another process has waited for it, and the account is gone */
		cpu = s->last_cpu ? last_cpu_ns(s->last_cpu) : 0;
		counted = s->unsampled ? unsampled_counted(s->unsampled) : 0;
	}
	cpu = cpu > s->cpu_start_ns ? cpu - s->cpu_start_ns : 0;
	return cpu > counted ? cpu : counted;
}

void session_end_child(struct session *s)
{

	session_process_held(s);
	s->ended_ns = clock_monotonic_ns();
	s->final_stats = s->engine->ops->stats(s->engine);
	/* The owner's session counts these. */
	s->final_stats.lost = s->final_stats.lost_weight = s->final_stats.throttled = 0;
	s->cpu_ns = child_cpu_ns(s);
	if (s->unsampled)
		unsampled_finish(s->unsampled);
	give_unsampled(s);
	readers_say_doubts(s->readers);
	parts_call(&s->parts, ended);
}

int session_run(struct session *s, uint64_t duration_ns, struct err *err)
{
	const struct engine_sink sink = session_sink(s);
	uint64_t deadline = duration_ns ? s->started_ns + duration_ns : 0;
	int r = s->engine->ops->run(s->engine, &sink, deadline, err);

	budget_hurry(s->files, false); /* the naming that session_stop() cut short is over */
	session_process_held(s);
	s->ended_ns = clock_monotonic_ns();
	s->final_stats = s->engine->ops->stats(s->engine);
	give_unsampled(s);
	if (s->children)
		children_end(s->children);
	readers_say_doubts(s->readers);
	parts_call(&s->parts, ended);
	return r;
}

void session_stop(struct session *s)
{
	atomic_store(&s->stopped, true);
	if (s->children)
		children_hurry(s->children);
	s->engine->ops->stop(s->engine);
}

uint64_t session_live_samples(const struct session *s)
{
	return atomic_load_explicit(&s->live_samples, memory_order_relaxed);
}

struct session_live session_live(struct session *s)
{
	struct engine_stats e = s->engine->ops->stats(s->engine);
	struct session_live l = {.samples = session_live_samples(s),
				 .lost = e.lost,
				 .children = e.children,
				 .helper_cpu_ns = e.helper_cpu_ns};
	struct proc_status status;

	if (s->proc && proc_status(s->proc, &status) == 0)
		l.threads = status.threads;
	return l;
}

void session_forget_stacks(struct session *s)
{
	struct profile_totals t = profile_totals(s->profile);

	profile_totals_add(&s->old_totals, &t);
	profile_free(s->profile);
	s->profile = NULL;
	malloc_trim(0); /* memory in another thread's arena is of no use to the writers */
}

struct session_summary session_summary(const struct session *s)
{
	struct session_summary sum = {
		.totals = s->profile ? profile_totals(s->profile) : (struct profile_totals){0},
		.engine = s->ended_ns ? s->final_stats : s->engine->ops->stats(s->engine),
		.engine_name = s->engine->ops->name,
		.cpu_ns = s->cpu_ns,
		.own_cpu_ns = s->hosted ? 0 : deputy_and_own_cpu_ns() + s->engine->ops->stats(s->engine).helper_cpu_ns,
		.first_stack_ns = s->first_stack_ns,
		.elapsed_ns = (s->ended_ns ? s->ended_ns : clock_monotonic_ns()) - s->started_ns,
		.is_jvm = s->was_jvm,
		.files = s->files,
		.unread = s->unread,
		.target_ended = s->engine->ops->target_ended(s->engine),
	};

	profile_totals_add(&sum.totals, &s->old_totals);
	snprintf(sum.comm, sizeof(sum.comm), "%s", s->comm);
	if (s->children)
		children_summary(s->children, &sum);
	else
		sum.children = s->alone;
	sum.totals.truncated += s->named_cut;
	return sum;
}
