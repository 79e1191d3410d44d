#include "sampler/session/session_private.h"

#include <inttypes.h>

#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording_writer.h"
#include "sampler/session/children.h"
#include "sampler/session/parts/heap_frames.h"
#include "sampler/session/parts/held_samples.h"
#include "sampler/session/parts/leftover.h"
#include "sampler/session/parts/threads.h"
#include "sampler/session/parts/unsampled.h"
#include "sampler/session/parts/virtual_names.h"
#include "sampler/session/parts/wall.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* Slices begin when sampling does, or earlier where samples may come late. Samples of a recording have their own times. */
static void begin_slices(struct session *s, uint64_t sample_ns)
{
	if (s->sliced_from_ns || !s->o.slice_ns)
		return;
	s->sliced_from_ns = s->o.replay ? sample_ns : (s->taken.ns ? s->taken.ns : s->started_ns) - s->o.slice_lead_ns;
	profile_slices(s->profile, s->o.slice_ns, s->sliced_from_ns);
}

/* Naming takes 0.1 s; a program that has just started may have ended by then, with what its next samples need. */
static void note_first_stack(struct session *s, const struct walk *w)
{
	struct named_builder *b;

	if (s->first_stack_ns || s->o.engine_options.starting || (s->readers->jvm == JVM_READY && !w->java))
		return;
	b = named_builder_new();
	if (b && log_get_level() >= LOG_LEVEL_INFO)
		session_name_view(s, b, s->o.show.process_root);
	named_builder_free(b);
	s->first_stack_ns = clock_monotonic_ns() - s->opened_ns;
}

/* The first thing to look at in a bug report about a broken stack (-vv). */
static void say_incomplete(const struct raw_sample *sample, const struct walk *w)
{
	log_debug("incomplete stack: tid %d, %s at pc %#" PRIx64 " sp %#" PRIx64 " after %u frames; "
		  "sampled pc %#" PRIx64 ", copied [%#" PRIx64 ", +%zu)%s",
		  (int)sample->tid, walk_end_name(w->end), w->fail_pc, w->fail_sp, w->n,
		  sample->regs.r[arch_host()->pc], sample->stack_addr, sample->stack_len,
		  sample->stack_cut ? " cut" : "");
}

/* --- Parts of a session that know it */

static void note_in_snapshot(void *session, struct sampled *x)
{
	struct session *s = session;

	recording_writer_sample(s->o.snapshot, x->raw, x->ns_tid);
	if (s->o.snapshot_samples && session_live_samples(s) + 1 >= s->o.snapshot_samples)
		session_stop(s);
}

/*
 * Prepares names of the compiled code that was sampled, or that made the sampled call, by its
 * control flow.
 */
static void prepare_names(void *session, struct sampled *x)
{
	struct readers *v = x->readers;
	const struct walk *w = x->walk;
	const struct frame_key *key;
	const struct code *code;
	uint32_t i = 0;
	bool returns;

	(void)session;
	while (i < w->n && w->frames[i].kind != FRAME_COMPILED)
		i++;
	if (i == w->n || !v->attribution)
		return;
	key = &w->frames[i];
	returns = !(key->flags & FRAME_PC_EXACT);
	code = hs_code(v->hs, key->id);
	if (!code || !attribution_needs_rest(code, key->off, returns))
		return;
	hs_code_read_rest(v->hs, key->id);
	attribution_prepare(v->attribution, hs_code(v->hs, key->id), key->off, returns);
}

static void keep_prepared(void *session, struct hotspot *hs)
{
	struct session *s = session;

	attribution_keep(s->readers->attribution, hs);
}

static const struct part_ops snapshot_part = {.walked = note_in_snapshot};
static const struct part_ops prepare_part = {.walked = prepare_names, .keep = keep_prepared};

bool session_add_sample_parts(struct session *s)
{
	struct parts *p = &s->parts;

	parts_add(p, &session_requests_part, s);
	if (!parts_add(p, &threads_part, s->threads = threads_new(s->proc, s->pid)))
		return false;
	if (s->proc && !parts_add(p, &heap_frames_part, s->heap_frames = heap_frames_new(s->proc)))
		return false;
	if (s->o.show.thread_root && !parts_add(p, &virtual_names_part, virtual_names_new()))
		return false;
	if (s->proc && !s->o.snapshot)
		parts_add(p, &prepare_part, s);
	if (s->o.snapshot)
		parts_add(p, &snapshot_part, s);
	if (s->o.observer)
		parts_add(p, s->o.observer, s->o.observer_ctx);
	return true;
}

/* --- Samples */

/* As long as no JVM was found, look again this often: a launcher maps libjvm.so after a while. */
#define FIND_JVM_NS UINT64_C(20000000)

/* A JVM that is starting, more often: a short program ends soon after. Not for long, in case it never gets any further. */
#define STARTING_NS UINT64_C(4000000)
enum { STARTING_MAX = 100 };

/* The execve follows within a millisecond, but its record may be lost. */
#define LAUNCH_NS UINT64_C(1000000000)

static bool has_to_look_for_jvm(struct session *s, uint64_t now_ns)
{
	bool starting = s->readers->jvm == JVM_STARTING && s->looks_at_start < STARTING_MAX;

	if (s->readers->jvm == JVM_READY || now_ns <= s->looked_for_jvm_ns + (starting ? STARTING_NS : FIND_JVM_NS))
		return false;
	s->looks_at_start += starting;
	return true;
}

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

/*
 * The JVM runs code, but its tables are not filled in yet: a walk through that code is wrong, or
 * ends there.
 */
static bool is_too_early(const struct session *s, const struct walk *w)
{
	if (s->readers->jvm != JVM_STARTING || w->end == WALK_NO_USER)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->frames[i].kind == FRAME_ANON)
			return true;
	return w->end != WALK_ROOT;
}

static void walk(struct session *s, const struct sampled *x)
{
	parts_call(&s->parts, before_walk);
	unwinder_walk(s->readers->unwinder, x->raw, x->ns_tid, x->walk);
}

static void count(struct session *s, struct sampled *x)
{
	const struct raw_sample *raw = x->raw;

	begin_slices(s, raw->time_ns);
	profile_time(s->profile, raw->time_ns);
	x->stack = profile_add(s->profile, raw->pid, raw->tid, x->state, x->walk, raw->weight);
	atomic_fetch_add_explicit(&s->live_samples, 1, memory_order_relaxed);
}

/* `is_new`: the sample was not held. */
static void take_sample(struct session *s, const struct raw_sample *raw, bool is_new)
{
	struct walk w;
	struct sampled x = {.raw = raw, .walk = &w, .state = raw->state};

	mem_new_sample(s->readers->mem);
	x.ns_tid = threads_seen(s->threads, raw->tid, raw->time_ns, s->readers->hs, s->profile);
	s->unread += s->unreadable;
	walk(s, &x);
	if (is_new && w.end != WALK_ROOT && session_missed_exec(s, raw)) {
		session_on_exec(s);
		if (s->executed)
			return;
		mem_new_sample(s->readers->mem);
		walk(s, &x);
	}
	if (is_new && s->held && is_too_early(s, &w) && held_samples_add(s->held, raw))
		return;
	if (w.end != WALK_ROOT && w.end != WALK_NO_USER)
		say_incomplete(raw, &w);
	x.readers = s->readers;
	x.profile = s->profile;
	parts_call(&s->parts, walked, &x);
	count(s, &x);
	parts_call(&s->parts, counted, &x);
	note_first_stack(s, &w);
	session_forget(s);
}

/* The thread has not run since its last sample. */
static void count_again(struct session *s, const struct raw_sample *raw)
{
	enum thread_state state;
	const struct walk *w = wall_again(s->wall, raw->tid, raw->state, &state);

	profile_time(s->profile, raw->time_ns);
	if (!w)
		return;
	profile_add_times(s->profile, raw->pid, raw->tid, state, w, raw->again, raw->weight);
	atomic_fetch_add_explicit(&s->live_samples, raw->again, memory_order_relaxed);
}

void session_process_held(struct session *s)
{
	const struct raw_sample *sample;

	while (s->held && !has_enough(s) && (sample = held_samples_next(s->held)))
		take_sample(s, sample, false);
}

/* The session of the target, or of a process that it started; NULL: that has none. */
static struct session *session_of(struct session *s, pid_t pid)
{
	return s->children && pid != s->pid ? children_find(s->children, pid) : s;
}

static void look_for_jvm(struct session *s, uint64_t now_ns)
{
	session_find_jvm(s, now_ns);
	session_use_bridge(s, false, NULL);
}

struct hotspot *session_look_for_hotspot(struct session *s)
{
	uint64_t now = clock_monotonic_ns();

	if (s->readers->jvm != JVM_READY && now > s->looked_for_jvm_ns + FIND_JVM_NS)
		look_for_jvm(s, now);
	return session_hotspot(s);
}

static void on_sample(void *ctx, const struct raw_sample *sample)
{
	struct session *s = ctx;

	if (s->children && sample->pid != s->pid)
		s = children_of_sample(s->children, sample);
	if (!s || s->executed || is_own_code(s, sample) || has_enough(s))
		return;
	if (sample->again) {
		count_again(s, sample);
		return;
	}
	if (has_to_look_for_jvm(s, sample->time_ns))
		look_for_jvm(s, sample->time_ns);
	if (s->readers->jvm != JVM_STARTING)
		session_process_held(s);
	take_sample(s, sample, true);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct session *s = session_of(ctx, pid);

	if (s && pid != s->pid) {
		session_unfollowed_note(s, pid, comm);
	} else if (s) {
		threads_comm(s->threads, tid, comm, s->readers->hs, s->profile);
		session_request_thread(s, tid, comm);
	}
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct session *s = session_of(ctx, pid);

	if (s)
		parts_call(&s->parts, thread_ended, tid);
}

static void on_ended(void *ctx, const struct engine_ended *e)
{
	struct session *s = session_of(ctx, e->pid);

	if (s && s->unsampled)
		unsampled_ended(s->unsampled, e, s->profile, s->pid);
}

static void on_exec(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	if (s && pid == s->pid)
		session_on_exec(s);
}

static void on_child(void *ctx, pid_t parent, pid_t pid)
{
	struct session *s = ctx;

	if (s->children)
		children_started(s->children, pid);
	else if (parent == s->pid)
		s->alone.processes++;
}

/* One of the thread's samples, drawn at random, gets it as well: it weighs more, and remains one sample. */
static void on_rest(void *ctx, pid_t pid, pid_t tid, uint64_t weight)
{
	struct session *s = session_of(ctx, pid);
	struct leftover o;

	if (!s || !s->drawn || !leftovers_drawn(s->drawn, tid, &o))
		return;
	profile_time(s->profile, o.time_ns);
	profile_add_weight(s->profile, pid, tid, o.stack, 0, weight);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	if (s && s->readers->jvm == JVM_ABSENT)
		session_find_jvm(s, clock_monotonic_ns());
}

static struct proc *process_of(void *ctx, pid_t pid)
{
	struct session *s = session_of(ctx, pid);

	return s ? s->proc : NULL;
}

/* CPU time is read now, not after all samples are delivered, because samples x period is compared with it. */
static void on_sampled(void *ctx)
{
	struct session *s = ctx;
	struct engine_stats e = s->engine->ops->stats(s->engine);
	uint64_t cpu = e.cpu_end_ns;

	if (e.cpu_begin_ns)
		s->cpu_start_ns = e.cpu_begin_ns;
	if ((cpu || (s->proc && proc_cpu_ns(s->proc, &cpu) == 0)) && cpu > s->cpu_start_ns)
		s->cpu_ns = cpu - s->cpu_start_ns;
	if (s->unsampled)
		unsampled_finish(s->unsampled);
	if (s->proc && !s->children)
		session_unfollowed_end(s);
}

static uint64_t on_turn(void *ctx)
{
	struct session *s = ctx;

	return s->o.turn(s->o.turn_ctx, s);
}

struct engine_sink session_sink(struct session *s)
{
	return (struct engine_sink){
		.ctx = s,
		.sample = on_sample,
		.thread = on_thread,
		.thread_exit = on_thread_exit,
		.ended = on_ended,
		.rest = on_rest,
		.exec = on_exec,
		.mapped = on_mapped,
		.child = on_child,
		.process = s->children ? process_of : NULL,
		.turn = s->o.turn ? on_turn : NULL,
		.sampled = on_sampled,
	};
}
