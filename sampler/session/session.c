#include "sampler/session/session_private.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/profile/named_builder.h"
#include "sampler/session/by_time.h"
#include "sampler/session/children.h"
#include "sampler/session/compile_watch.h"
#include "sampler/session/heap_frames.h"
#include "sampler/session/held.h"
#include "sampler/session/threads.h"
#include "sampler/session/unsampled.h"
#include "sampler/session/virtual_names.h"
#include "sampler/session/wall.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/native/kallsyms.h"
#include "symbolizer/target/proc.h"

void session_close(struct session *s)
{
	if (!s)
		return;
	if (s->engine && !s->owner)
		s->engine->ops->close(s->engine);
	children_free(s->children);
	heap_frames_free(s->heap_frames);
	held_free(s->held);
	virtual_names_free(s->virtual_names);
	for (size_t i = 0; i < s->epochs.n; i++)
		named_profile_free(s->epochs.v[i]);
	vec_done(&s->epochs);
	profile_free(s->profile);
	compile_watch_free(s->compiles);
	threads_free(s->threads);
	wall_free(s->wall);
	unsampled_free(s->unsampled);
	session_wish_close(s);
	by_time_free(s->by_time);
	bridge_close(s->bridge);
	view_close(s->view);
	if (!s->owner)
		kallsyms_close(s->kallsyms);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	proc_close(s->proc);
	free(s);
}

void session_find_jvm(struct session *s, uint64_t now)
{
	s->looked_for_jvm_ns = now;
	if (!view_find_jvm(s->view))
		return;
	s->was_jvm = true;
	if (!s->compiles)
		s->compiles = compile_watch_new(s->started_ns);
	snprintf(s->jdk, sizeof(s->jdk), "%s", hotspot_version(s->view->hs)->jdk);
	threads_rename_all(s->threads);
}

int session_use_bridge(struct session *s, bool wait, struct err *err)
{
	if (!s->bridge || s->view->jvm != JVM_READY)
		return 0;
	if (!s->by_time)
		s->by_time = by_time_new(s->bridge, s->view->hs);
	if (!s->by_time)
		return err_set(err, -ENOMEM, "out of memory");
	return bridge_connect(s->bridge, s->view->hs, wait, err);
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
	s->before_exec = s->o.launched && !session_traces(s);
	if (s->proc)
		proc_cpu_ns(s->proc, &s->cpu_start_ns);
	if (s->unsampled)
		unsampled_start(s->unsampled);
	if (s->children)
		children_start(s->children);
	else if (s->proc)
		session_begin_alone(s);
	r = s->engine->ops->start(s->engine, err);
	if (r < 0)
		return r;
	/* What no sample stands for is a matter of chance, and not known. */
	if (!s->engine->ops->stats(s->engine).by_thread_time) {
		unsampled_free(s->unsampled);
		s->unsampled = NULL;
	}
	session_find_jvm(s, s->started_ns);
	return session_use_bridge(s, false, err);
}

static void say_heap_frames(struct session *s)
{
	struct heap_frames_stats f = {0};

	if (s->heap_frames)
		f = heap_frames_stats(s->heap_frames);
	if (f.asked)
		log_info("frozen frames: samples %" PRIu64 ", read in time %" PRIu64 ", copied %" PRIu64
			 ", refused %" PRIu64, f.asked, f.tried, f.copied, s->heap_refused);
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

	/* Threads that were left alone have no samples because nobody wanted them. */
	if (s->unsampled && !(s->only_threads && s->engine->ops->wish))
		unsampled_give(s->unsampled, &sums, s->profile, s->pid);
}

void session_end_child(struct session *s)
{
	uint64_t cpu;

	session_give_held(s);
	s->ended_ns = clock_monotonic_ns();
	s->final_stats = s->engine->ops->stats(s->engine);
	/* These are the owner's. */
	s->final_stats.lost = s->final_stats.lost_weight = s->final_stats.throttled = 0;
	if (proc_cpu_ns(s->proc, &cpu) == 0)
		s->cpu_ns = cpu > s->cpu_start_ns ? cpu - s->cpu_start_ns : 0;
	else if (s->unsampled)
		s->cpu_ns = unsampled_counted(s->unsampled);
	if (s->unsampled)
		unsampled_finish(s->unsampled);
	give_unsampled(s);
	view_say_doubts(s->view);
	say_heap_frames(s);
}

int session_run(struct session *s, uint64_t duration_ns, struct err *err)
{
	const struct engine_sink sink = s->children ? children_sink(s->children) : session_sink(s);
	uint64_t deadline = duration_ns ? s->started_ns + duration_ns : 0;
	int r = s->engine->ops->run(s->engine, &sink, deadline, err);

	session_give_held(s);
	s->ended_ns = clock_monotonic_ns();
	s->final_stats = s->engine->ops->stats(s->engine);
	give_unsampled(s);
	if (s->children)
		children_end(s->children);
	view_say_doubts(s->view);
	say_heap_frames(s);
	bridge_finish(s->bridge);
	if (s->by_time)
		log_info("bridge: found by time: %" PRIu64 " compiled frames, %" PRIu64 " interpreted",
			 by_time_stats(s->by_time).gone, by_time_stats(s->by_time).gone_methods);
	else if (s->bridge && s->o.bridge == BRIDGE_ON)
		log_warn("--bridge on: not used, no JVM was found");
	return r;
}

void session_stop(struct session *s)
{
	s->engine->ops->stop(s->engine);
}

uint64_t session_live_samples(const struct session *s)
{
	return atomic_load_explicit(&s->live_samples, memory_order_relaxed);
}

struct session_live session_live(struct session *s)
{
	struct engine_stats e = s->engine->ops->stats(s->engine);
	struct session_live l = {.samples = session_live_samples(s), .lost = e.lost, .children = e.children};
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
	malloc_trim(0); /* another thread's arena: the writers do not get what is free there */
}

struct session_summary session_summary(const struct session *s)
{
	struct session_summary sum = {
		.totals = s->profile ? profile_totals(s->profile) : (struct profile_totals){0},
		.engine = s->ended_ns ? s->final_stats : s->engine->ops->stats(s->engine),
		.engine_name = s->engine->ops->name,
		.cpu_ns = s->cpu_ns,
		.own_cpu_ns = clock_process_cpu_ns(),
		.first_stack_ns = s->first_stack_ns,
		.elapsed_ns = (s->ended_ns ? s->ended_ns : clock_monotonic_ns()) - s->started_ns,
		.is_jvm = s->was_jvm,
		.files = s->files,
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
