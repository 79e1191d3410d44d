#include "sampler/session/session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/replay/engine_replay.h"
#include "sampler/recording/recording.h"
#include "sampler/rights/descriptors.h"
#include "sampler/session/children.h"
#include "sampler/session/meta.h"
#include "sampler/session/parts/compile_watch.h"
#include "sampler/session/parts/heap_frames.h"
#include "sampler/session/parts/held_samples.h"
#include "sampler/session/parts/last_cpu.h"
#include "sampler/session/parts/threads.h"
#include "sampler/session/parts/unsampled.h"
#include "sampler/session/parts/wall.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/native/names/kallsyms.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

struct unwinder_options session_unwinder_options(const struct session *s)
{
	return (struct unwinder_options){.kernel = s->o.engine_options.kernel, .live = !s->o.replay};
}

/* Stopping threads costs them more than perf events do, so the rate is limited. */
#define FALLBACK_PERIOD_NS UINT64_C(10101010) /* 99 Hz */

static bool is_refusal(int r)
{
	return r == -EPERM || r == -EACCES || r == -ENOSYS || r == -EOPNOTSUPP;
}

/* Only the perf engine follows child processes. */
static void follow_none(struct session *s)
{
	children_free(take_ptr(s->children));
	s->o.engine_options.follow = false;
	s->o.engine_options.frozen = heap_frames_options(s->heap_frames);
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
	follow_none(s);
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
	int r = session_requests_open(s, err);

	if (r < 0)
		return r;
	if (!chosen)
		s->o.engine = is_wall(s) ? &engine_suspend_ops : &engine_perf_ops;
	if (is_wall(s) ? !parts_add(&s->parts, &wall_part, s->wall = wall_new()) :
			 !(s->held = held_samples_new(s->files)))
		return err_set(err, -ENOMEM, "out of memory");
	s->o.engine_options.frozen = heap_frames_options(s->heap_frames);
	s->o.engine_options.budget = s->files;
	if (s->o.follow && s->o.engine == &engine_perf_ops) {
		s->children = children_new(s);
		if (!s->children)
			return err_set(err, -ENOMEM, "out of memory");
		s->o.engine_options.frozen = children_frozen_options(s->children, s->o.engine_options.frozen);
		s->o.engine_options.follow = true;
	}
	r = s->o.engine->open(s->proc, &s->o.engine_options, &s->engine, err);
	return r < 0 && !chosen ? fall_back(s, r, err) : r;
}

bool session_stops_threads(const struct session *s)
{
	return s->o.engine == &engine_suspend_ops;
}

enum { EXEC_MS = 2000, EXEC_LOOK_MS = 5 };

/* While a thread other than the first is in execve(2), there is no memory to read. */
static int open_readers(struct session *s, struct err *err)
{
	uint64_t end_ns = clock_monotonic_ns() + EXEC_MS * UINT64_C(1000000);
	int r;
	bool again = true; /* once more after it was last seen in that state, which may have ended meanwhile */

	for (;; poll(NULL, 0, EXEC_LOOK_MS)) {
		bool ended;

		r = readers_open(s->proc, session_unwinder_options(s), s->files, s->o.snapshot, &s->readers, err);
		if (r == 0 || clock_monotonic_ns() >= end_ns)
			return r;
		ended = proc_first_ended(s->proc);
		if (!ended && !again)
			return r;
		again = ended;
	}
}

/* Of the address space that is sampled: whoever asked looked earlier, when the process may have run another program. */
static int check_jvm(struct session *s, struct err *err)
{
	if (!s->o.only_jvm || maps_has_file(s->readers->maps, "libjvm.so"))
		return 0;
	return err_set(err, -ENOEXEC, "--only-jvm: process %d is no JVM: no libjvm.so is mapped", (int)s->pid);
}

static int open_process(struct session *s, struct err *err)
{
	int r = open_readers(s, err);

	if (r == 0)
		r = check_jvm(s, err);
	return r < 0 ? r : open_engine(s, err);
}

static int open_replay(struct session *s, struct err *err)
{
	const struct recording *rec = s->o.replay;
	const struct recording_facts *f = recording_facts(rec);
	int r = readers_open_recording(rec, session_unwinder_options(s), s->o.snapshot, &s->readers, err);

	if (r < 0)
		return r;
	s->engine = engine_replay_new(rec, s->readers->live ? s->readers->live : s->readers->mem);
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

void session_note_name(struct session *s)
{
	if (proc_comm(s->proc, s->pid, s->comm, sizeof(s->comm)) < 0)
		s->comm[0] = '\0';
}

void session_note_identity(struct session *s)
{
	session_note_name(s);
	if (proc_exe(s->proc, s->program, sizeof(s->program)) < 0)
		s->program[0] = '\0';
	meta_command(s->proc, s->o.command_line, s->command, sizeof(s->command));
}

void session_files_pool(struct budget_pool *ret, size_t sessions)
{
	budget_pool_init(ret, READERS_BYTES, sessions);
}

static int open_parts(struct session *s, struct err *err)
{
	int r;

	readers_budget(&s->own_files);
	if (s->o.files)
		budget_join(&s->own_files, s->o.files);
	s->files = &s->own_files;
	s->profile = profile_new(s->o.profile);
	if (!s->profile || !session_add_sample_parts(s))
		return err_set(err, -ENOMEM, "out of memory");
	r = s->proc ? open_process(s, err) : open_replay(s, err);
	if (r == 0 && s->proc)
		session_note_identity(s);
	return r;
}

static bool has_kernel_frames(const struct session *s)
{
	return s->proc && s->o.engine_options.kernel && !session_stops_threads(s) &&
	       !s->engine->ops->stats(s->engine).no_kernel;
}

/* Opens the kernel's symbols, which are read only if there is a kernel frame. */
static int open_kallsyms(struct session *s, struct err *err)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	s->kallsyms = kallsyms_open(fd);
	return s->kallsyms ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void session_close_at_exit(struct session **s)
{
	session_close(*s);
}

int session_open(pid_t pid, const struct session_options *o, struct session **ret, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->o = *o;
	s->opened_ns = clock_monotonic_ns();
	if (!o->replay)
		descriptors_raise();
	s->pid = o->replay ? recording_facts(o->replay)->pid : pid;
	if (!o->replay)
		r = proc_open(pid, &s->proc, err);
	if (r == 0)
		r = open_parts(s, err);
	if (r == 0 && has_kernel_frames(s))
		r = open_kallsyms(s, err);
	if (r == 0)
		r = session_open_bridge(s, err);
	if (r == 0 && !o->replay)
		r = descriptors_check(err);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

enum { CHILD_MEMORY = 4 }; /* each child may use this part of what all of them may use */

/* CPU time counts from the start of sampling, or of the process if it started later. */
static void begin_child_account(struct session *s)
{
	uint64_t age;

	if (proc_thread_age_ns(s->proc, s->pid, &age) < 0 || age < s->opened_ns - s->started_ns)
		return;
	if (proc_cpu_ns(s->proc, &s->cpu_start_ns) < 0)
		s->cpu_start_ns = 0;
	if (s->unsampled)
		unsampled_start(s->unsampled);
}

static bool add_child_accounts(struct session *s, uint64_t period_ns)
{
	return parts_add(&s->parts, &unsampled_part, s->unsampled = unsampled_new(s->proc, period_ns)) &&
	       parts_add(&s->parts, &last_cpu_part, s->last_cpu = last_cpu_new(s->proc));
}

static int open_child_parts(struct session *s, const struct session *owner, struct err *err)
{
	int r = proc_open(s->pid, &s->proc, err);

	if (r < 0)
		return r;
	s->profile = profile_new(s->o.profile);
	s->held = held_samples_new(s->files);
	if (!s->profile || !s->held || !session_add_sample_parts(s) ||
	    (owner->unsampled && !add_child_accounts(s, owner->o.engine_options.period)) ||
	    !parts_add(&s->parts, &compile_watch_part, compile_watch_new(s->started_ns, COMPILE_READ_POLLED)))
		return err_set(err, -ENOMEM, "out of memory");
	return readers_open(s->proc, session_unwinder_options(s), s->files, NULL, &s->readers, err);
}

int session_open_child(struct session *owner, pid_t pid, struct session **ret, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->o = owner->o;
	s->o.show.process_root = true;
	s->o.launched = false;
	s->o.include_threads = NULL;
	s->o.bridge = BRIDGE_OFF;
	s->o.profile.shared = children_memory(owner->children);
	s->o.profile.max_bytes = s->o.profile.shared->max_bytes / CHILD_MEMORY;
	s->owner = owner;
	s->engine = owner->engine;
	s->files = owner->files;
	s->pid = pid;
	s->opened_ns = clock_monotonic_ns();
	s->started_ns = owner->started_ns;
	s->start_realtime_ns = owner->start_realtime_ns;
	r = open_child_parts(s, owner, err);
	if (r < 0)
		return r;
	begin_child_account(s);
	session_note_identity(s);
	s->readers->young = true;
	session_find_jvm(s, s->opened_ns);
	*ret = take_ptr(s);
	return 0;
}
