#include "sampler/engine/perf/perf_host.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/copies/stack_rest.h"
#include "sampler/engine/perf/copies/stack_size.h"
#include "sampler/engine/perf/events/host_events.h"
#include "sampler/engine/perf/perf_hold.h"
#include "sampler/engine/perf/perf_msg.h"
#include "sampler/engine/perf/perf_pause.h"
#include "sampler/engine/perf/rings/perf_record.h"
#include "sampler/engine/perf/rings/record_order.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/random.h"

enum {
	QUEUE_BYTES = 64 << 20, /* pages take memory only once they are used */
	QUEUE_REUSED = 1 << 20, /* for each CPU: samples of more than a second, of stacks of 20 KB */
	BATCH_BYTES = 16 << 20, /* of records that wait to be put in order */
	VARIED_NS = 20000000, /* how much longer others are, by chance */
	PIDS = 1 << 22, /* PID_MAX_LIMIT in linux/threads.h */
	KERNEL_MAX = 1024,
	DOUBTFUL = 256 << 10, /* bytes of a stack beyond its copy that are not to be read, if its end is not known */
};
#define RESIZE_NS UINT64_C(2000000000) /* between two changes of the size of copies */
#define TOLD_NS UINT64_C(300000000) /* between two looks because of records that are no samples, */
#define MORE_NS UINT64_C(50000000) /* and after the first of these: more follow, as when a process starts */

struct perf_host {
	struct host_events events;
	struct perf_layout layout;
	struct sample_queue *queue;
	struct stack_ends ends;
	struct stack_size size;
	uint32_t resize_to; /* 0: nothing */
	uint64_t resized_ns;
	uint64_t random;
	struct record_order records; /* messages that are not in the queue yet */
	struct perf_hold hold;
	bool from_samples; /* the ring that is being read */
	uint64_t drained_ns; /* the last look at the rings */
	_Atomic uint64_t *watched; /* one bit for each PID */
	pthread_t thread;
	bool started;
	int wake_fd, ready_fd; /* for the thread; for the consumer */
	atomic_bool stop, done;
	_Atomic uint64_t n_samples, n_foreign, n_ended, lost_ring, lost_queue, lost_records, malformed;
	_Atomic uint32_t stack_bytes;
};

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static bool is_watched(const struct perf_host *h, pid_t pid)
{
	return pid > 0 && pid < PIDS &&
	       atomic_load_explicit(&h->watched[pid / 64], memory_order_relaxed) >> pid % 64 & 1;
}

/* --- from records to messages --- */

/* What is not this thread's stack is cut off. Without the thread's control block in the copy, its end is not known. */
static void find_end(struct perf_host *h, struct perf_msg_sample *m, const struct perf_record *r)
{
	size_t len = m->has_user && r->stack_size ?
			     stack_end_find(&h->ends, r->tid, m->stack_addr, r->stack, r->stack_dyn) :
			     0;
	bool full = r->stack_size && r->stack_dyn == r->stack_size;
	uint64_t now = clock_monotonic_ns();
	uint32_t to;

	m->stack_len = len ? len : r->stack_dyn;
	if (m->has_user && !len) {
		m->stack_cut = full;
		m->stack_missing = full ? DOUBTFUL : UINT64_MAX;
	}
	to = stack_size_note(&h->size, m->stack_len, full && !len, now);
	if (to && now - h->resized_ns >= RESIZE_NS)
		h->resize_to = to;
}

/* The used part of a stack copy is much smaller than the record, so only that is copied. */
static bool keep_sample(struct perf_host *h, const struct perf_record *r)
{
	uint64_t kernel[KERNEL_MAX];
	size_t n_kernel = perf_record_kernel_chain(r, kernel, KERNEL_MAX);
	struct perf_msg_sample m = {
		.head = {.kind = PERF_MSG_SAMPLE, .pid = r->pid, .tid = r->tid},
		.time_ns = r->time,
		.weight = h->events.config.period,
		.n_kernel = (uint32_t)n_kernel,
	};
	uint8_t *dst;

	perf_msg_fill_user(&m, r);
	find_end(h, &m, r);
	dst = record_order_add(&h->records, r->pid, r->time, sizeof(m) + n_kernel * 8 + m.stack_len);
	if (!dst)
		return false;
	memcpy(dst, &m, sizeof(m));
	memcpy(dst + sizeof(m), kernel, n_kernel * 8);
	if (m.stack_len)
		memcpy(dst + sizeof(m) + n_kernel * 8, r->stack, m.stack_len);
	return true;
}

static bool keep_event(struct perf_host *h, enum perf_msg_kind kind, const struct perf_record *r)
{
	struct perf_msg *m = record_order_add(&h->records, r->pid, r->time, sizeof(*m));

	if (!m)
		return false;
	*m = (struct perf_msg){.kind = kind, .pid = r->pid, .tid = r->tid};
	memcpy(m->comm, r->comm, sizeof(m->comm));
	if (kind != PERF_MSG_EXIT)
		perf_hold_urgent(&h->hold, r->time);
	return true;
}

/* A process that becomes a JVM. */
static bool is_libjvm(const struct perf_record *r)
{
	static const char name[] = "/libjvm.so";
	size_t len = r->kind == PERF_REC_MMAP && r->path ? strnlen(r->path, r->path_len) : 0, n = sizeof(name) - 1;

	return len >= n && memcmp(r->path + len - n, name, n) == 0;
}

/* A message that finds no room is as good as a record that was lost. */
static void push(void *ctx, const void *message, size_t len)
{
	const struct perf_msg *m = message;
	struct perf_host *h = ctx;
	void *dst = sample_queue_reserve(h->queue, len);

	if (!dst) {
		count(m->kind == PERF_MSG_SAMPLE ? &h->lost_queue : &h->lost_records, 1);
		return;
	}
	memcpy(dst, message, len);
	sample_queue_commit(h->queue, len);
	if (m->kind == PERF_MSG_SAMPLE)
		count(&h->n_samples, 1);
}

/* --- the rings --- */

/* Of samples the kernel keeps a count that is right; records of losses may tell too much. */
static void note_lost(struct perf_host *h, uint64_t n)
{
	uint64_t lost;

	if (!h->from_samples)
		count(&h->lost_records, n);
	else if (host_events_lost(&h->events, &lost))
		atomic_store_explicit(&h->lost_ring, lost, memory_order_relaxed);
	else
		count(&h->lost_ring, n);
}

/* false: out of memory. */
static bool keep(struct perf_host *h, const struct perf_record *r)
{
	bool watched = is_watched(h, r->pid);

	if (r->kind == PERF_REC_SAMPLE) {
		count(r->pid < 0 ? &h->n_ended : &h->n_foreign, !watched);
		return !watched || keep_sample(h, r);
	}
	if (r->kind == PERF_REC_MMAP)
		return !(watched || is_libjvm(r)) || keep_event(h, PERF_MSG_MAPPED, r);
	if (!watched)
		return true;
	if (r->kind == PERF_REC_EXIT)
		return keep_event(h, PERF_MSG_EXIT, r);
	if (r->kind == PERF_REC_COMM)
		return keep_event(h, r->exec ? PERF_MSG_EXEC : PERF_MSG_THREAD, r);
	return true;
}

static int keep_record(void *ctx, const void *bytes, size_t size)
{
	struct perf_host *h = ctx;
	struct perf_record r;

	if (perf_record_parse(&h->layout, bytes, size, &r) < 0) {
		count(&h->malformed, 1);
		return 0;
	}
	if (r.kind == PERF_REC_LOST)
		note_lost(h, r.lost);
	if (!keep(h, &r))
		count(h->from_samples ? &h->lost_queue : &h->lost_records, 1);
	return 0;
}

static void wake(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static bool may_wait(const struct perf_host *h, uint64_t now_ns)
{
	const struct buf *bytes = &h->records.bytes;

	return !bytes->failed && perf_hold_may_wait(&h->hold, bytes->len, now_ns);
}

/* `all`: nothing follows. Until then, what comes later may still be preceded by records of other rings. */
static void drain(struct perf_host *h, bool all)
{
	uint64_t now = clock_monotonic_ns(), until;

	h->drained_ns = now;
	for (size_t i = 0; i < host_events_rings(&h->events); i++) {
		h->from_samples = i < h->events.n_cpus;
		if (perf_ring_drain(&h->events.rings[i], keep_record, h) == -EBADMSG)
			count(&h->malformed, 1);
	}
	if (!all && may_wait(h, now))
		return;
	until = all || h->records.bytes.len > BATCH_BYTES ? UINT64_MAX : now;
	sample_queue_expect(h->queue, h->records.bytes.len, h->records.records.n);
	record_order_take(&h->records, until, push, h);
	perf_hold_taken(&h->hold, until, now);
	if (!sample_queue_empty(h->queue))
		wake(h->ready_fd);
}

static void resize(struct perf_host *h)
{
	uint32_t to = h->resize_to;
	int r = host_events_resize(&h->events, to);

	h->resize_to = 0;
	h->resized_ns = clock_monotonic_ns();
	stack_size_changed(&h->size, to, r == 0, h->resized_ns);
	atomic_store_explicit(&h->stack_bytes, h->events.config.stack_bytes, memory_order_relaxed);
	if (r < 0)
		log_info("stack copies stay at %u bytes: %s", (unsigned)h->events.config.stack_bytes, strerror(-r));
	else
		log_debug("stack copies have %u bytes", (unsigned)to);
}

enum waited { FOR_TIME, FOR_SAMPLES, FOR_OTHERS };

/* Waits for the first n rings: those of samples, then the others. A ring of samples is ready when a quarter is full. */
static enum waited wait_for(const struct perf_host *h, struct pollfd *fds, size_t n, struct timespec pause)
{
	uint64_t woken;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = h->events.fds[i], .events = POLLIN};
	fds[n] = (struct pollfd){.fd = h->wake_fd, .events = POLLIN};
	if (ppoll(fds, n + 1, &pause, NULL) <= 0)
		return FOR_TIME;
	if (fds[n].revents) {
		(void)!read(h->wake_fd, &woken, sizeof(woken));
		return FOR_TIME;
	}
	for (size_t i = 0; i < h->events.n_cpus; i++)
		if (fds[i].revents)
			return FOR_SAMPLES;
	return FOR_OTHERS;
}

/* What others make the kernel tell ends the pause, but not as often as they like. */
static enum waited wait_calmly(struct perf_host *h, struct pollfd *fds)
{
	uint64_t ns = perf_hold_left_ns(&h->hold, h->drained_ns) + random_below(&h->random, VARIED_NS), past;
	enum waited w = wait_for(h, fds, host_events_rings(&h->events), clock_timespec(ns));

	if (w != FOR_OTHERS)
		return w;
	past = clock_monotonic_ns() - h->drained_ns;
	ns = past + MORE_NS < TOLD_NS ? TOLD_NS - past : MORE_NS;
	return wait_for(h, fds, h->events.n_cpus, clock_timespec(ns + random_below(&h->random, VARIED_NS)));
}

static void wait_rings(struct perf_host *h, struct pollfd *fds)
{
	uint64_t now = clock_monotonic_ns();
	enum waited w =
		perf_hold_calm(&h->hold, now) ?
			wait_calmly(h, fds) :
			wait_for(h, fds, h->events.n_cpus, perf_pause(&h->random, perf_hold_pause_ms(&h->hold, now)));

	if (w == FOR_SAMPLES)
		perf_pause_leave_step(&h->random, h->events.config.period);
}

static void *drain_main(void *arg)
{
	struct perf_host *h = arg;
	struct pollfd *fds = calloc(host_events_rings(&h->events) + 1, sizeof(*fds));

	engine_thread_raise_priority();
	while (fds && !atomic_load(&h->stop)) {
		wait_rings(h, fds);
		drain(h, false);
		if (h->resize_to)
			resize(h);
	}
	free(fds);
	host_events_disable(&h->events);
	drain(h, true);
	atomic_store(&h->done, true);
	wake(h->ready_fd);
	return NULL;
}

/* --- the owner's thread --- */

static int open_parts(struct perf_host *h, const struct perf_host_options *o, struct err *err)
{
	struct perf_config c = {.period = o->period_ns, .kernel = o->kernel};
	int r = perf_event_find("cpu", &c.event, err);

	if (r < 0)
		return r;
	if (c.period < PERF_CLOCK_MIN_PERIOD_NS)
		return err_set(err, -EINVAL, "a period of %llu ns is too short", (unsigned long long)c.period);
	stack_size_init(&h->size, o->stack_bytes, PERF_STACK_MAX);
	c.stack_bytes = h->size.now;
	h->stack_bytes = h->size.now;
	h->queue = sample_queue_new(QUEUE_BYTES);
	h->watched = calloc(PIDS / 64, sizeof(*h->watched));
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!h->queue || !h->watched || h->wake_fd < 0 || h->ready_fd < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = host_events_open(&h->events, &c, err);
	sample_queue_reuse(h->queue, h->events.n_cpus * QUEUE_REUSED);
	h->layout = perf_attr_layout(&h->events.config);
	return r;
}

int perf_host_open(const struct perf_host_options *o, struct perf_host **ret, struct err *err)
{
	struct perf_host *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->wake_fd = h->ready_fd = -1;
	h->events.members.fd = -1;
	h->random = clock_monotonic_ns();
	r = open_parts(h, o, err);
	if (r < 0)
		perf_host_close(h);
	else
		*ret = h;
	return r;
}

void perf_host_close(struct perf_host *h)
{
	if (!h)
		return;
	perf_host_stop(h);
	if (h->started)
		pthread_join(h->thread, NULL);
	host_events_close(&h->events);
	if (h->queue)
		sample_queue_free(h->queue);
	record_order_done(&h->records);
	free(h->watched);
	close_at_exit(&h->wake_fd);
	close_at_exit(&h->ready_fd);
	free(h);
}

struct perf_members *perf_host_members(struct perf_host *h)
{
	return &h->events.members;
}

void perf_host_watch(struct perf_host *h, pid_t pid, bool on)
{
	uint64_t bit = UINT64_C(1) << pid % 64;

	if (pid <= 0 || pid >= PIDS)
		return;
	if (on) {
		atomic_fetch_or_explicit(&h->watched[pid / 64], bit, memory_order_relaxed);
		if (perf_hold_new(&h->hold, clock_monotonic_ns()))
			wake(h->wake_fd);
	} else {
		atomic_fetch_and_explicit(&h->watched[pid / 64], ~bit, memory_order_relaxed);
	}
}

int perf_host_start(struct perf_host *h, struct err *err)
{
	int r;

	host_events_enable(&h->events);
	r = engine_thread_start(&h->thread, "jsampler-drain", 0, drain_main, h);
	if (r < 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(-r));
	h->started = true;
	return 0;
}

static void deliver(const struct perf_host_sink *sink, const struct perf_msg *m)
{
	if (m->kind == PERF_MSG_SAMPLE) {
		const struct raw_sample s = perf_msg_raw((const struct perf_msg_sample *)m);

		sink->sample(sink->ctx, &s);
	} else if (m->kind == PERF_MSG_THREAD) {
		sink->thread(sink->ctx, m->pid, m->tid, m->comm);
	} else if (m->kind == PERF_MSG_EXIT) {
		sink->thread_exit(sink->ctx, m->pid, m->tid);
	} else if (m->kind == PERF_MSG_EXEC) {
		sink->exec(sink->ctx, m->pid);
	} else if (m->kind == PERF_MSG_MAPPED) {
		sink->mapped(sink->ctx, m->pid);
	}
}

/* Until it is time for another turn, so that many samples do not delay it. */
static void deliver_queued(struct perf_host *h, const struct perf_host_sink *sink, uint64_t until_ns)
{
	const void *m;
	size_t len;

	while ((m = sample_queue_peek(h->queue, &len))) {
		deliver(sink, m);
		sample_queue_release(h->queue);
		if (clock_monotonic_ns() >= until_ns)
			break;
	}
}

static void wait_queue(struct perf_host *h, int fd, uint64_t until_ns)
{
	struct pollfd p[] = {{.fd = h->ready_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	uint64_t now = clock_monotonic_ns(), n;

	if (sample_queue_empty(h->queue) && !atomic_load(&h->done) && until_ns > now)
		poll(p, 2, (int)((until_ns - now) / 1000000) + 1);
	(void)!read(h->ready_fd, &n, sizeof(n));
}

void perf_host_run(struct perf_host *h, const struct perf_host_sink *sink)
{
	for (;;) {
		bool done = atomic_load(&h->done); /* nothing is queued after it */
		uint64_t until_ns = sink->turn(sink->ctx);

		deliver_queued(h, sink, done ? UINT64_MAX : until_ns);
		if (done)
			break;
		if (sample_queue_empty(h->queue))
			sink->idle(sink->ctx);
		wait_queue(h, sink->fd, until_ns);
	}
}

void perf_host_stop(struct perf_host *h)
{
	int saved = errno;

	atomic_store(&h->stop, true);
	wake(h->wake_fd);
	errno = saved;
}

struct perf_host_stats perf_host_stats(const struct perf_host *h)
{
	return (struct perf_host_stats){
		.samples = h->n_samples,
		.foreign = h->n_foreign,
		.ended = h->n_ended,
		.lost_ring = h->lost_ring,
		.lost_queue = h->lost_queue,
		.lost_records = h->lost_records,
		.malformed = h->malformed,
		.stack_bytes = h->stack_bytes,
	};
}
