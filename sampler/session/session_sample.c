#include "sampler/session/session_private.h"

#include <inttypes.h>

#include "sampler/profile/named_builder.h"
#include "sampler/recording/writer.h"
#include "sampler/session/by_time.h"
#include "sampler/session/compile_watch.h"
#include "sampler/session/heap_frames.h"
#include "sampler/session/held.h"
#include "sampler/session/threads.h"
#include "sampler/session/unsampled.h"
#include "sampler/session/virtual_names.h"
#include "sampler/session/wall.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* From the start on; a recording's samples have times of their own. */
static void begin_slices(struct session *s, uint64_t sample_ns)
{
	if (s->sliced_from_ns || !s->o.slice_ns)
		return;
	s->sliced_from_ns = s->o.replay ? sample_ns : s->started_ns;
	profile_slices(s->profile, s->o.slice_ns, s->sliced_from_ns);
}

static void note_first_stack(struct session *s, const struct walk *w)
{
	struct named_builder *b;

	if (s->first_stack_ns || (s->view->jvm == JVM_READY && !w->java))
		return;
	b = named_builder_new();
	if (b && log_get_level() >= LOG_LEVEL_INFO)
		session_name_view(s, b);
	named_builder_free(b);
	s->first_stack_ns = clock_monotonic_ns() - s->opened_ns;
}

static void note_snapshot(struct session *s, const struct raw_sample *sample, int32_t ns_tid)
{
	recording_writer_sample(s->o.snapshot, sample, ns_tid);
	if (s->o.snapshot_samples && session_live_samples(s) + 1 >= s->o.snapshot_samples)
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
	uint32_t stack;

	if (s->wall) {
		state = wall_state(sample->state, s->view->hs, ns_tid);
		wall_keep(s->wall, sample->tid, sample->state, state, w);
	}
	stack = profile_add(s->profile, sample->pid, sample->tid, state, w, sample->weight);
	if (s->unsampled)
		unsampled_sample(s->unsampled, sample->tid, sample->weight, stack, sample->time_ns);
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

/* While no JVM was found: look again this often (a launcher maps libjvm.so after a while). */
#define FIND_JVM_NS UINT64_C(20000000)

/* An execve follows within a millisecond; its record may be lost. */
#define LAUNCH_NS UINT64_C(1000000000)

static bool is_own_code(struct session *s, const struct raw_sample *sample)
{
	if (s->before_exec && sample->time_ns > s->started_ns + LAUNCH_NS)
		s->before_exec = false;
	return s->before_exec;
}

static bool has_enough(const struct session *s)
{
	return s->o.snapshot_samples && session_live_samples(s) >= s->o.snapshot_samples;
}

/* The JVM's code is there, its tables are not: what was walked through it is wrong, or ends in it. */
static bool is_too_early(const struct session *s, const struct walk *w)
{
	if (s->view->jvm != JVM_STARTING || w->end == WALK_NO_USER)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->frames[i].kind == FRAME_ANON)
			return true;
	return w->end != WALK_ROOT;
}

/* Not new: it was held. */
static void take_sample(struct session *s, const struct raw_sample *sample, bool is_new)
{
	struct walk w;
	int32_t ns_tid;

	mem_new_sample(s->view->mem);
	ns_tid = threads_seen(s->threads, sample->tid, sample->time_ns, s->view->hs, s->profile);
	if (s->by_time)
		by_time_look(s->by_time);
	unwinder_walk(s->view->unwinder, sample, ns_tid, &w);
	if (is_new && w.end != WALK_ROOT && session_missed_exec(s, sample)) {
		session_on_exec(s, s->pid);
		mem_new_sample(s->view->mem);
		unwinder_walk(s->view->unwinder, sample, ns_tid, &w);
	}
	if (is_new && s->held && is_too_early(s, &w) && held_keep(s->held, sample))
		return;
	if (w.end != WALK_ROOT && w.end != WALK_NO_USER)
		say_incomplete(sample, &w);
	session_wish_regs(s, sample, &w);
	note_heap_frames(s, sample, &w, ns_tid);
	if (s->virtual_names)
		virtual_names_add(s->virtual_names, s->view->hs, s->view->unwinder, &w);
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
	session_forget(s);
}

void session_give_held(struct session *s)
{
	const struct raw_sample *sample;

	while (s->held && !has_enough(s) && (sample = held_take(s->held)))
		take_sample(s, sample, false);
}

static void on_sample(void *ctx, const struct raw_sample *sample)
{
	struct session *s = ctx;

	if (is_own_code(s, sample) || has_enough(s))
		return;
	if (sample->again) {
		profile_time(s->profile, sample->time_ns);
		count_again(s, sample);
		return;
	}
	mem_new_sample(s->view->mem);
	if (s->view->jvm != JVM_READY && sample->time_ns - s->looked_for_jvm_ns > FIND_JVM_NS) {
		session_find_jvm(s, sample->time_ns);
		session_use_bridge(s, false, NULL);
	}
	if (s->view->jvm != JVM_STARTING)
		session_give_held(s);
	take_sample(s, sample, true);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct session *s = ctx;

	if (pid != s->pid) {
		session_note_alone(s, pid, comm);
		return;
	}
	threads_comm(s->threads, tid, comm, s->view->hs, s->profile);
	session_wish_thread(s, tid, comm);
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

static void on_ended(void *ctx, const struct engine_ended *e)
{
	struct session *s = ctx;

	if (s->unsampled)
		unsampled_ended(s->unsampled, e, s->profile, s->pid);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct session *s = ctx;

	(void)pid;
	if (s->view->jvm == JVM_ABSENT)
		session_find_jvm(s, clock_monotonic_ns());
}

/* Here, and not when all is delivered: samples x period is compared with it. */
static void on_sampled(void *ctx)
{
	struct session *s = ctx;
	uint64_t cpu;

	if (s->proc && proc_cpu_ns(s->proc, &cpu) == 0 && cpu > s->cpu_start_ns)
		s->cpu_ns = cpu - s->cpu_start_ns;
	if (s->unsampled)
		unsampled_finish(s->unsampled);
	if (s->proc && !s->children)
		session_end_alone(s);
}

struct engine_sink session_sink(struct session *s)
{
	return (struct engine_sink){
		.ctx = s,
		.sample = on_sample,
		.thread = on_thread,
		.thread_exit = on_thread_exit,
		.ended = on_ended,
		.exec = session_on_exec,
		.mapped = on_mapped,
		.child = session_on_child,
		.sampled = on_sampled,
	};
}
