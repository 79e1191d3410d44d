#include "sampler/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/engine/engine_replay.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_slices.h"
#include "sampler/recording/writer.h"
#include "sampler/resolve/resolver.h"
#include "sampler/session/compile_watch.h"
#include "sampler/session/by_time.h"
#include "sampler/session/descriptors.h"
#include "sampler/session/heap_frames.h"
#include "sampler/session/meta.h"
#include "sampler/session/threads.h"
#include "sampler/session/view.h"
#include "sampler/session/wall.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/hs_thread.h"
#include "symbolizer/native/kallsyms.h"
#include "symbolizer/native/perfmap.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* While no JVM was found: look again this often (a launcher maps libjvm.so after a while). */
#define FIND_JVM_NS UINT64_C(20000000)
/* When an address space is gone, the record of the execve that ended it comes within this time. */
#define EXEC_RECORD_NS UINT64_C(200000000)

struct session {
	struct session_options o;
	struct proc *proc; /* NULL: replay */
	pid_t pid;
	struct view *view;
	struct threads *threads;
	struct profile *profile;
	struct compile_watch *compiles; /* of the view's JVM; NULL: none yet */
	struct engine *engine;
	struct wall *wall; /* wall-clock profiles only */
	struct heap_frames *heap_frames; /* NULL: replay */
	uint64_t heap_refused; /* copies of frozen frames that made no sense */
	int kallsyms_fd; /* opened while it may be; -1: read, or not wanted */
	struct kallsyms *kallsyms; /* NULL: not permitted, or kernel frames not wanted */
	VEC(struct named_profile *) epochs; /* what was sampled before an execve(), named */
	struct profile_totals old_totals; /* of those */
	struct bridge *bridge; /* NULL: not used */
	struct by_time *by_time; /* of the view's JVM and the bridge */
	char comm[64];
	char command[4096];
	char jdk[128];

	uint64_t opened_ns, started_ns, ended_ns;
	struct engine_stats final_stats; /* when ended_ns is set: every output says the same */
	uint64_t start_realtime_ns, cpu_start_ns, cpu_ns;
	uint64_t first_stack_ns, looked_for_jvm_ns;
	uint64_t sliced_from_ns; /* begin of the first time slice; 0: not yet known */
	uint64_t gone_since_ns; /* time of the first sample whose address space was gone; 0: none */
	bool was_jvm;
	_Atomic uint64_t live_samples; /* for the live line of another thread */
};

static struct unwinder_options unwinder_options(const struct session *s)
{
	return (struct unwinder_options){.kernel = s->o.kernel, .live = !s->o.replay};
}

void session_close(struct session *s)
{
	if (!s)
		return;
	if (s->engine)
		s->engine->ops->close(s->engine);
	heap_frames_free(s->heap_frames);
	for (size_t i = 0; i < s->epochs.n; i++)
		named_profile_free(s->epochs.v[i]);
	vec_done(&s->epochs);
	profile_free(s->profile);
	compile_watch_free(s->compiles);
	threads_free(s->threads);
	wall_free(s->wall);
	by_time_free(s->by_time);
	bridge_close(s->bridge);
	view_close(s->view);
	kallsyms_close(s->kallsyms);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	proc_close(s->proc);
	free(s);
}

static void session_close_at_exit(struct session **s)
{
	session_close(*s);
}

/* Parsed when something is named for the first time: it takes tens of milliseconds. */
static void read_kallsyms(struct session *s)
{
	struct err e = {0};

	if (s->kallsyms_fd < 0)
		return;
	if (kallsyms_read(s->kallsyms_fd, &s->kallsyms, &e) < 0 &&
	    !s->engine->ops->stats(s->engine).no_kernel)
		log_warn("kernel frames are [kernel], without names: %s", e.msg);
	close(s->kallsyms_fd);
	s->kallsyms_fd = -1;
}

/* Sampling by stopping threads costs them more than perf does, so that the rate is bounded. */
#define FALLBACK_PERIOD_NS UINT64_C(10101010) /* 99 Hz */

static bool is_refusal(int r)
{
	return r == -EPERM || r == -EACCES || r == -ENOSYS || r == -EOPNOTSUPP;
}

static int fall_back(struct session *s, int r, struct err *err)
{
	struct engine_options *o = &s->o.engine_options;
	struct err why = err ? *err : (struct err){0}, other = {0};

	if ((o->event && strcmp(o->event, "cpu") != 0) || !is_refusal(r))
		return r;
	if (o->period < FALLBACK_PERIOD_NS)
		o->period = FALLBACK_PERIOD_NS;
	s->o.engine = &engine_suspend_ops;
	if (s->o.engine->open(s->proc, o, &s->engine, &other) < 0)
		return err_set(err, r, "%s", why.msg);
	log_warn("%s", why.msg);
	log_warn("threads are stopped instead, %.0f times a second (--engine suspend)", 1e9 / (double)o->period);
	return 0;
}

static bool is_wall(const struct session *s)
{
	return s->o.engine_options.event && strcmp(s->o.engine_options.event, "wall") == 0;
}

static int open_engine(struct session *s, struct err *err)
{
	bool chosen = s->o.engine != NULL;
	int r;

	if (!chosen)
		s->o.engine = is_wall(s) ? &engine_suspend_ops : &engine_perf_ops;
	if ((is_wall(s) && !(s->wall = wall_new())) || !(s->heap_frames = heap_frames_new(s->proc)))
		return err_set(err, -ENOMEM, "out of memory");
	s->o.engine_options.aside = heap_frames_aside(s->heap_frames);
	r = s->o.engine->open(s->proc, &s->o.engine_options, &s->engine, err);
	return r < 0 && !chosen ? fall_back(s, r, err) : r;
}

bool session_traces(const struct session *s)
{
	return s->o.engine == &engine_suspend_ops;
}

static int open_process(struct session *s, struct err *err)
{
	int r;

	if (s->o.snapshot)
		r = view_open_noting(s->proc, unwinder_options(s), s->o.snapshot, &s->view, err);
	else
		r = view_open(s->proc, unwinder_options(s), &s->view, err);
	if (r < 0)
		return r;
	return open_engine(s, err);
}

static int open_replay(struct session *s, struct err *err)
{
	const struct recording *rec = s->o.replay;
	const struct recording_facts *f = recording_facts(rec);
	int r = view_open_recording(rec, unwinder_options(s), s->o.snapshot, &s->view, err);

	if (r < 0)
		return r;
	s->engine = engine_replay_new(rec, s->view->live ? s->view->live : s->view->mem);
	if (!s->engine)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < recording_thread_count(rec); i++) {
		const struct recording_thread *t = recording_thread(rec, i);

		threads_add_recorded(s->threads, t->tid, t->ns_tid, t->name, s->profile);
	}
	snprintf(s->comm, sizeof(s->comm), "%s", f->comm);
	snprintf(s->command, sizeof(s->command), "%s", f->command);
	s->o.engine_options.period = f->period;
	return 0;
}

static void note_identity(struct session *s)
{
	if (proc_comm(s->proc, s->pid, s->comm, sizeof(s->comm)) < 0)
		s->comm[0] = '\0';
	meta_command(s->proc, s->command, sizeof(s->command));
}

static int open_parts(struct session *s, struct err *err)
{
	int r;

	s->threads = threads_new(s->proc, s->pid);
	s->profile = profile_new(s->o.profile);
	if (!s->threads || !s->profile)
		return err_set(err, -ENOMEM, "out of memory");
	r = s->proc ? open_process(s, err) : open_replay(s, err);
	if (r == 0 && s->proc)
		note_identity(s);
	return r;
}

/* Before the privileges are dropped: where the bridge is wanted, or there. */
static int open_bridge(struct session *s, struct err *err)
{
	int r;

	if (!s->proc || s->o.snapshot)
		return 0;
	r = bridge_open(s->proc, s->view->maps, s->o.bridge, &s->bridge, err);
	if (r == 0 && s->o.bridge_symbols && !s->bridge)
		return err_set(err, -ENOENT, "--symbols bridge: the bridge is not loaded in process %d: add "
			       "--bridge on", (int)s->pid);
	return r;
}

int session_open(pid_t pid, const struct session_options *o, struct session **ret, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->o = *o;
	s->kallsyms_fd = -1;
	s->opened_ns = clock_monotonic_ns();
	descriptors_raise();
	s->o.engine_options.kernel = o->kernel;
	s->pid = o->replay ? recording_facts(o->replay)->pid : pid;
	if (!o->replay)
		r = proc_open(pid, &s->proc, err);
	if (!o->replay && o->kernel)
		s->kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (r == 0)
		r = open_parts(s, err);
	if (r == 0)
		r = open_bridge(s, err);
	if (r == 0)
		r = descriptors_check(err);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

static void find_jvm(struct session *s, uint64_t now)
{
	s->looked_for_jvm_ns = now;
	if (!view_find_jvm(s->view))
		return;
	s->was_jvm = true;
	if (!s->compiles)
		s->compiles = compile_watch_new(s->started_ns);
	snprintf(s->jdk, sizeof(s->jdk), "%s", hotspot_version(s->view->hs)->release);
	threads_rename_all(s->threads);
}

/* `wait`: before sampling begins, so that what goes wrong is told in time. */
static int use_bridge(struct session *s, bool wait, struct err *err)
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
		find_jvm(s, clock_monotonic_ns());
		r = use_bridge(s, true, err);
		if (r < 0)
			return r;
	}
	s->started_ns = clock_monotonic_ns();
	s->start_realtime_ns = clock_realtime_ns();
	if (s->proc)
		proc_cpu_ns(s->proc, &s->cpu_start_ns);
	r = s->engine->ops->start(s->engine, err);
	if (r < 0)
		return r;
	find_jvm(s, s->started_ns);
	return use_bridge(s, false, err);
}

/* From the start on; a recording's samples have times of their own. */
static void begin_slices(struct session *s, uint64_t sample_ns)
{
	if (s->sliced_from_ns || !s->o.slice_ns)
		return;
	s->sliced_from_ns = s->o.replay ? sample_ns : s->started_ns;
	profile_slices(s->profile, s->o.slice_ns, s->sliced_from_ns);
}

static void perfmap_close_at_exit(struct perfmap **p)
{
	perfmap_close(*p);
}

/* Whoever reads the stream has ended, or its process has called execve: it stays as it is. */
static void name_by_bridge(struct session *s, struct resolver_sources *sources)
{
	if (!s->by_time || !(sources->timeline = bridge_lock(s->bridge)))
		return;
	bridge_unlock(s->bridge);
	sources->timeline_code = by_time_code;
	sources->timeline_ctx = s->by_time;
}

/* Names what was counted in the present view. Kernel symbols are parsed only for the result. */
static int name_view(struct session *s, struct named_builder *b)
{
	CLEANUP(perfmap_close_at_exit) struct perfmap *perfmap = NULL;
	struct compile_watch_notes notes;
	struct resolver_sources sources = {
		.maps = s->view->modmap,
		.hs = s->view->hs,
		.attribution = s->view->attribution,
	};
	struct resolver_options o = {
		.raw_names = s->o.raw_names,
		.lines = s->o.lines,
		.thread_root = s->o.thread_root,
		.process_root = s->o.process_root,
		.state_root = s->o.state_root,
		.bridge_symbols = s->o.bridge_symbols,
		.process_name = s->comm,
	};
	struct err e = {0};
	int r;

	sources.kernel = s->kallsyms;
	name_by_bridge(s, &sources);
	if (s->view->hs && s->compiles) {
		compile_watch_read(s->compiles, s->view->hs, s->profile, clock_monotonic_ns(), true);
		notes = (struct compile_watch_notes){s->compiles, s->view->hs};
		sources.compile = compile_watch_note;
		sources.compile_ctx = &notes;
	}
	r = s->proc ? perfmap_open(s->proc, &perfmap, &e) : -ENOENT;
	if (r == 0)
		sources.perfmap = perfmap;
	else if (r != -ENOENT && r != -ESRCH)
		log_info("%s", e.msg);
	return resolver_name(s->profile, &sources, &o, b);
}

/* The address space is about to be another one: keep what was seen in the old one, by name. */
static int close_epoch(struct session *s)
{
	struct named_builder *b = named_builder_new();
	struct profile *fresh = profile_new(s->o.profile);
	struct profile_totals t = profile_totals(s->profile);
	struct named_profile *np;

	read_kallsyms(s);
	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	if (fresh)
		profile_slices(fresh, profile_slice_ns(s->profile), s->sliced_from_ns);
	if (!b || !fresh || name_view(s, b) < 0 || !(np = named_builder_take(b))) {
		profile_free(fresh);
		named_builder_free(b);
		return -ENOMEM;
	}
	if (!vec_push(&s->epochs, np)) {
		named_profile_free(np);
		profile_free(fresh);
		return -ENOMEM;
	}
	profile_totals_add(&s->old_totals, &t);
	profile_free(s->profile);
	s->profile = fresh;
	compile_watch_free(s->compiles);
	s->compiles = NULL;
	return 0;
}

static void on_exec(void *ctx, pid_t pid)
{
	struct session *s = ctx;
	struct view *fresh = NULL;
	struct err e = {0};

	if (!s->proc || pid != s->pid)
		return;
	s->gone_since_ns = 0;
	if (s->o.snapshot) { /* a recording is of one address space */
		session_stop(s);
		return;
	}
	if (s->by_time)
		bridge_finish(s->bridge);
	if (close_epoch(s) < 0 || view_open(s->proc, unwinder_options(s), &fresh, &e) < 0) {
		log_warn("the target called execve and cannot be read any more: %s", e.msg);
		return;
	}
	/* One that was not used yet is for the JVM that may come now. */
	if (s->by_time)
		bridge_close(take_ptr(s->bridge));
	by_time_free(take_ptr(s->by_time));
	heap_frames_forget(s->heap_frames, 0);
	view_close(s->view);
	s->view = fresh;
	if (s->wall)
		wall_reset(s->wall);
	note_identity(s);
	threads_rename_all(s->threads);
	find_jvm(s, clock_monotonic_ns());
}

/*
 * Has the target called execve without our hearing of it? It may have done so before the events were
 * there, or the record was lost. All of the old address space reads as gone then, even the stack.
 */
static bool missed_exec(struct session *s, const struct raw_sample *sample)
{
	uint64_t word;

	if (!s->proc || !sample->has_user ||
	    mem_read_u64(s->view->mem, arch_sp(arch_host(), &sample->regs), &word))
		return false;
	if (!s->gone_since_ns)
		s->gone_since_ns = sample->time_ns;
	if (sample->time_ns < s->gone_since_ns + EXEC_RECORD_NS)
		return false;
	s->gone_since_ns = 0;
	return maps_refresh(s->view->maps) == -ESRCH && proc_alive(s->proc);
}

static void note_first_stack(struct session *s, const struct walk *w)
{
	struct named_builder *b;

	if (s->first_stack_ns || (s->view->jvm == JVM_READY && !w->java))
		return;
	b = named_builder_new();
	if (b && log_get_level() >= LOG_LEVEL_INFO)
		name_view(s, b);
	named_builder_free(b);
	s->first_stack_ns = clock_monotonic_ns() - s->opened_ns;
}

static uint64_t live_samples(const struct session *s)
{
	return atomic_load_explicit(&s->live_samples, memory_order_relaxed);
}

static void note_snapshot(struct session *s, const struct raw_sample *sample, int32_t ns_tid)
{
	recording_writer_sample(s->o.snapshot, sample, ns_tid);
	if (s->o.snapshot_samples && live_samples(s) + 1 >= s->o.snapshot_samples)
		session_stop(s);
}

/* What a bug report about a broken stack starts with (-vv). */
static void say_incomplete(const struct raw_sample *sample, const struct walk *w)
{
	log_debug("incomplete stack: tid %d, %s at pc %#" PRIx64 " sp %#" PRIx64 " after %u frames; "
		  "sampled pc %#" PRIx64 ", copied [%#" PRIx64 ", +%zu)%s", (int)sample->tid,
		  walk_end_name(w->end), w->fail_pc, w->fail_sp, w->n,
		  sample->regs.r[arch_host()->pc], sample->stack_addr, sample->stack_len,
		  sample->stack_cut ? " cut" : "");
}

/* A recording is of one moment's memory: read at the end only. */
static void watch_compiles(struct session *s, uint64_t now_ns)
{
	if (!s->compiles || !s->view->hs)
		return;
	compile_watch_codes(s->compiles, s->view->hs, now_ns);
	if (s->proc && !s->o.snapshot && compile_watch_due(s->compiles, now_ns))
		compile_watch_read(s->compiles, s->view->hs, s->profile, now_ns, false);
}

static void count_sample(struct session *s, const struct raw_sample *sample, const struct walk *w,
			 int32_t ns_tid)
{
	enum thread_state state = sample->state;

	if (s->wall) {
		state = wall_state(sample->state, s->view->hs, ns_tid);
		wall_keep(s->wall, sample->tid, sample->state, state, w);
	}
	profile_add(s->profile, sample->pid, sample->tid, state, w, sample->weight);
}

static void count_again(struct session *s, const struct raw_sample *sample)
{
	enum thread_state state;
	const struct walk *w = s->wall ? wall_again(s->wall, sample->tid, sample->state, &state) : NULL;

	if (!w)
		return;
	profile_add_times(s->profile, sample->pid, sample->tid, state, w, sample->again, sample->weight);
	atomic_fetch_add_explicit(&s->live_samples, sample->again, memory_order_relaxed);
}

/* The code that the sample is in, or what it called is, gets its names by the flow in it. */
static void prepare_names(struct session *s, const struct walk *w)
{
	uint32_t i = 0;

	if (!s->proc || s->o.snapshot || !s->view->attribution)
		return;
	while (i < w->n && w->frames[i].kind != FRAME_COMPILED)
		i++;
	if (i < w->n && hs_code(s->view->hs, w->frames[i].id))
		attribution_prepare(s->view->attribution, hs_code(s->view->hs, w->frames[i].id));
}

static void note_heap_frames(struct session *s, const struct raw_sample *sample, const struct walk *w,
			     int32_t ns_tid)
{
	const struct hs_thread *t;

	s->heap_refused += w->frozen && sample->frozen_len;
	if (!w->frozen || sample->frozen_len || !s->heap_frames || !s->view->hs)
		return;
	t = hs_thread_find(s->view->hs, ns_tid);
	if (t)
		heap_frames_note(s->heap_frames, s->view->hs, sample->tid, t);
}

static void on_sample(void *ctx, const struct raw_sample *sample)
{
	struct session *s = ctx;
	struct walk w;
	int32_t ns_tid;

	if (s->o.snapshot_samples && live_samples(s) >= s->o.snapshot_samples)
		return;
	if (sample->again) {
		profile_time(s->profile, sample->time_ns);
		count_again(s, sample);
		return;
	}
	mem_new_sample(s->view->mem);
	if (s->view->jvm != JVM_READY && sample->time_ns - s->looked_for_jvm_ns > FIND_JVM_NS) {
		find_jvm(s, sample->time_ns);
		use_bridge(s, false, NULL);
	}
	ns_tid = threads_seen(s->threads, sample->tid, sample->time_ns, s->view->hs, s->profile);
	if (s->by_time)
		by_time_look(s->by_time);
	unwinder_walk(s->view->unwinder, sample, ns_tid, &w);
	if (w.end != WALK_ROOT && missed_exec(s, sample)) {
		on_exec(s, s->pid);
		mem_new_sample(s->view->mem);
		unwinder_walk(s->view->unwinder, sample, ns_tid, &w);
	}
	if (w.end != WALK_ROOT && sample->has_user)
		say_incomplete(sample, &w);
	note_heap_frames(s, sample, &w, ns_tid);
	prepare_names(s, &w);
	if (s->by_time)
		by_time_note(s->by_time, &w, sample->time_ns);
	if (s->o.snapshot)
		note_snapshot(s, sample, ns_tid);
	if (s->o.walked)
		s->o.walked(s->o.walked_ctx, sample, &w, s->view->hs);
	begin_slices(s, sample->time_ns);
	profile_time(s->profile, sample->time_ns);
	count_sample(s, sample, &w, ns_tid);
	watch_compiles(s, sample->time_ns);
	atomic_fetch_add_explicit(&s->live_samples, 1, memory_order_relaxed);
	note_first_stack(s, &w);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct session *s = ctx;

	(void)pid;
	threads_comm(s->threads, tid, comm, s->profile);
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct session *s = ctx;

	(void)pid;
	threads_exited(s->threads, tid);
	if (s->heap_frames)
		heap_frames_forget(s->heap_frames, tid);
	if (s->wall)
		wall_forget(s->wall, tid);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct session *s = ctx;

	(void)pid;
	if (s->view->jvm == JVM_ABSENT)
		find_jvm(s, clock_monotonic_ns());
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

int session_run(struct session *s, uint64_t duration_ns, struct err *err)
{
	const struct engine_sink sink = {
		.ctx = s,
		.sample = on_sample,
		.thread = on_thread,
		.thread_exit = on_thread_exit,
		.exec = on_exec,
		.mapped = on_mapped,
	};
	uint64_t deadline = duration_ns ? s->started_ns + duration_ns : 0;
	int r = s->engine->ops->run(s->engine, &sink, deadline, err);
	uint64_t cpu;

	s->ended_ns = clock_monotonic_ns();
	s->final_stats = s->engine->ops->stats(s->engine);
	view_say_doubts(s->view);
	say_heap_frames(s);
	bridge_finish(s->bridge);
	if (s->by_time)
		log_info("bridge: %" PRIu64 " frames found by time", by_time_stats(s->by_time).gone);
	else if (s->bridge && s->o.bridge == BRIDGE_ON)
		log_warn("--bridge on: not used, no JVM was found");
	if (s->proc && proc_cpu_ns(s->proc, &cpu) == 0 && cpu > s->cpu_start_ns)
		s->cpu_ns = cpu - s->cpu_start_ns;
	return r;
}

void session_stop(struct session *s)
{
	s->engine->ops->stop(s->engine);
}

struct session_live session_live(struct session *s)
{
	struct session_live l = {.samples = live_samples(s), .lost = s->engine->ops->stats(s->engine).lost};
	struct proc_status status;

	if (s->proc && proc_status(s->proc, &status) == 0)
		l.threads = status.threads;
	return l;
}

static int add_epoch(struct named_builder *b, struct named_profile *np)
{
	struct named_meta *m = named_builder_meta(b);

	named_slices_widen(np, m->slice_ns); /* they may have become wider since */
	named_meta_add_counts(m, &np->meta);
	return named_builder_add(b, np);
}

static void say_slices(const struct session *s)
{
	uint64_t ns = profile_slice_ns(s->profile);

	if (s->o.slice_ns && ns > s->o.slice_ns)
		log_warn("time slices are %g s wide: narrower ones would take too much memory",
			 (double)ns / 1e9);
}

int session_result(struct session *s, struct named_profile **ret, struct err *err)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np = NULL;
	int r;

	read_kallsyms(s);
	say_slices(s);
	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	r = b ? name_view(s, b) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->epochs.n; i++)
		r = add_epoch(b, s->epochs.v[i]);
	if (r == 0) {
		struct session_summary sum = session_summary(s);

		meta_fill(b, &s->o, &sum, s->command, s->jdk);
		named_builder_meta(b)->start_realtime_ns = s->start_realtime_ns;
		np = named_builder_take(b);
		b = NULL;
	}
	named_builder_free(b);
	if (!np)
		return err_set(err, -ENOMEM, "out of memory while naming the stacks");
	*ret = np;
	return 0;
}

/* Ended threads too: their samples are there. */
static void note_threads(struct session *s)
{
	const struct recording_tid *t;
	size_t n = recording_writer_tids(s->o.snapshot, &t);

	for (size_t i = 0; i < n; i++) {
		const char *name = profile_thread_name(s->profile, s->pid, t[i].tid);

		recording_writer_thread(s->o.snapshot, t[i].tid, t[i].ns_tid, name ? name : "");
	}
}

int session_write_snapshot(struct session *s, FILE *out, struct err *err)
{
	struct recording_facts f = {.pid = s->pid, .period = s->o.engine_options.period};
	size_t len;
	const char *maps = maps_text(s->view->maps, &len);

	snprintf(f.event, sizeof(f.event), "%s", "cpu");
	snprintf(f.comm, sizeof(f.comm), "%s", s->comm);
	snprintf(f.command, sizeof(f.command), "%.1000s", s->command);
	note_threads(s);
	return recording_writer_finish(s->o.snapshot, &f, maps, len, out, err);
}

struct session_summary session_summary(const struct session *s)
{
	struct session_summary sum = {
		.totals = profile_totals(s->profile),
		.engine = s->ended_ns ? s->final_stats : s->engine->ops->stats(s->engine),
		.engine_name = s->engine->ops->name,
		.cpu_ns = s->cpu_ns,
		.own_cpu_ns = clock_process_cpu_ns(),
		.first_stack_ns = s->first_stack_ns,
		.elapsed_ns = (s->ended_ns ? s->ended_ns : clock_monotonic_ns()) - s->started_ns,
		.is_jvm = s->was_jvm,
		.target_ended = s->engine->ops->target_ended(s->engine),
	};

	profile_totals_add(&sum.totals, &s->old_totals);
	return sum;
}
