#include "sampler/session/session_hosted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "sampler/session/parts/compile_watch.h"
#include "sampler/session/parts/held_samples.h"
#include "sampler/session/parts/threads.h"
#include "sampler/session/session_private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/native/names/kallsyms.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

enum { TOUCH_PAGES = 16, PAGE = 4096 };

/* A profile, which is taken as often, has one name for each thread. */
#define RENAME_NS UINT64_C(10000000000)

void session_hosting_pool(struct budget_pool *ret, size_t sessions)
{
	budget_pool_init(ret, READERS_BYTES - READERS_SHARED_BYTES, sessions);
}

/* What a session asks its engine, of which it has a part only. */
static struct engine_stats no_stats(const struct engine *e)
{
	(void)e;
	return (struct engine_stats){.unit = "ns", .attachment = "one set of events for the host"};
}

static bool never_ended(const struct engine *e)
{
	(void)e;
	return false;
}

static void stop_nothing(struct engine *e)
{
	(void)e;
}

static const struct engine_ops hosted_ops = {
	.name = "perf",
	.stop = stop_nothing,
	.stats = no_stats,
	.target_ended = never_ended,
};

struct session_hosting {
	struct session_options o;
	struct engine engine;
	struct kallsyms *kallsyms; /* NULL: not permitted, or not wanted */
	struct readers_shared *shared;
};

int session_hosting_open(const struct session_options *o, struct session_hosting **ret, struct err *err)
{
	struct session_hosting *h = calloc(1, sizeof(*h));
	int fd;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->shared = readers_shared_new();
	if (!h->shared) {
		free(h);
		return err_set(err, -ENOMEM, "out of memory");
	}
	h->o = *o;
	h->o.engine = &hosted_ops;
	h->engine.ops = &hosted_ops;
	fd = o->engine_options.kernel ? open("/proc/kallsyms", O_RDONLY | O_CLOEXEC) : -1;
	h->kallsyms = fd >= 0 ? kallsyms_open(fd) : NULL;
	*ret = h;
	return 0;
}

void session_hosting_close(struct session_hosting *h)
{
	if (!h)
		return;
	kallsyms_close(h->kallsyms);
	readers_shared_free(h->shared);
	free(h);
}

static int open_parts(struct session *s, struct readers_shared *shared, struct err *err)
{
	int r;

	readers_budget(&s->own_files);
	budget_join(&s->own_files, s->o.files);
	s->files = &s->own_files;
	r = proc_open(s->pid, &s->proc, err);
	if (r < 0)
		return r;
	s->profile = profile_new(s->o.profile);
	s->held = held_samples_new(s->files);
	if (!s->profile || !s->held || !session_add_sample_parts(s) ||
	    !parts_add(&s->parts, &compile_watch_part, compile_watch_new(s->started_ns, COMPILE_READ_SPARING)))
		return err_set(err, -ENOMEM, "out of memory");
	threads_rename_every(s->threads, RENAME_NS);
	threads_told(s->threads);
	r = readers_open(s->proc, session_unwinder_options(s), s->files, NULL, &s->readers, err);
	if (r < 0)
		return r;
	readers_share(s->readers, shared);
	s->readers->young = true;
	return 0;
}

int session_open_hosted(struct session_hosting *h, pid_t pid, struct session **ret, struct err *err)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->o = h->o;
	s->engine = &h->engine;
	s->kallsyms = h->kallsyms;
	s->hosted = true;
	s->pid = pid;
	s->opened_ns = s->started_ns = clock_monotonic_ns();
	s->start_realtime_ns = clock_realtime_ns();
	r = open_parts(s, h->shared, err);
	if (r < 0) {
		session_close(s);
		return r;
	}
	session_note_identity(s);
	session_find_jvm(s, s->opened_ns);
	*ret = s;
	return 0;
}

/* The descriptor of its memory is of one address space for good. */
static bool is_same_program(struct session *s)
{
	const struct mapping *m = maps_count(s->readers->maps) ? maps_at(s->readers->maps, 0) : NULL;
	uint64_t word;
	struct mem_span span = {.addr = m ? m->start : 0, .dst = &word, .len = sizeof(word)};

	if (!proc_alive(s->proc))
		return false;
	if (m) /* a whole page would be read otherwise */
		mem_read_batch(s->readers->mem, &span, 1);
	return span.ok || maps_refresh(s->readers->maps) != -ESRCH;
}

/* Was it still the same program when the sample was taken? Samples are read together, so one look serves many. */
static bool is_of_program(struct session *s, const struct raw_sample *raw)
{
	uint64_t now;

	if (raw->time_ns < s->same_ns)
		return true;
	now = clock_monotonic_ns();
	mem_new_sample(s->readers->mem);
	if (!is_same_program(s))
		return false;
	s->same_ns = now;
	return true;
}

/*
 * How much of the stack is beyond the copy, which has ended early: at the end of the mapping, or at a page that was never touched. Reading makes such a page
 * present, so that later copies have it.
 */
static void find_end(struct session *s, struct raw_sample *raw)
{
	uint64_t end = raw->stack_addr + raw->stack_len, word;
	const struct mapping *m = raw->stack_len ? maps_find(s->readers->maps, end - 1) : NULL;

	raw->stack_missing = m && m->end > end ? m->end - end : 0;
	raw->stack_cut = raw->stack_missing > 0;
	for (uint64_t at = end; m && at < m->end && at < end + TOUCH_PAGES * PAGE; at += PAGE)
		(void)mem_read_u64(s->readers->mem, at & ~UINT64_C(7), &word);
}

static uint64_t incomplete(const struct session *s)
{
	const struct profile_totals t = profile_totals(s->profile);

	return t.samples - t.complete - t.resynchronised - t.frozen;
}

bool session_hosted_sample(struct session *s, const struct raw_sample *raw)
{
	const struct engine_sink sink = session_sink(s);
	struct raw_sample own = *raw;
	uint64_t before;

	if (!is_of_program(s, raw))
		return false;
	if (own.stack_missing == UINT64_MAX)
		find_end(s, &own);
	before = own.stack_cut ? incomplete(s) : 0;
	sink.sample(sink.ctx, &own);
	s->cut += own.stack_cut ? incomplete(s) - before : 0;
	return true;
}

uint64_t session_hosted_cut(struct session *s)
{
	uint64_t cut = s->cut;

	s->cut = 0;
	return cut;
}

void session_hosted_thread(struct session *s, pid_t tid, const char *comm)
{
	const struct engine_sink sink = session_sink(s);

	sink.thread(sink.ctx, s->pid, tid, comm);
}

void session_hosted_thread_exit(struct session *s, pid_t tid)
{
	const struct engine_sink sink = session_sink(s);

	sink.thread_exit(sink.ctx, s->pid, tid);
}

void session_hosted_mapped(struct session *s)
{
	const struct engine_sink sink = session_sink(s);

	sink.mapped(sink.ctx, s->pid);
}

bool session_hosted_check(struct session *s)
{
	threads_forget(s->threads);
	if (s->readers->jvm == JVM_ABSENT)
		session_find_jvm(s, clock_monotonic_ns());
	mem_new_sample(s->readers->mem);
	return is_same_program(s) || proc_exiting(s->proc);
}

const char *session_hosted_jdk(const struct session *s)
{
	return s->jdk;
}

void session_hosted_end(struct session *s)
{
	session_process_held(s);
	readers_say_doubts(s->readers);
	parts_call(&s->parts, ended);
}
