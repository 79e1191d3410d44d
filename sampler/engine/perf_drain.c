#include "sampler/engine/perf_drain.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/perf_attach.h"
#include "sampler/engine/perf_msg.h"
#include "sampler/engine/prompt.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/stack_rest.h"
#include "sampler/engine/stack_size.h"
#include "sampler/engine/wake_mode.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/regs_host.h"

enum {
	PAUSE_MS = 20, /* the longest time between looks at rings that are not a quarter full */
	IDLE_PAUSE_MS = 80, /* the same after IDLE_ROUNDS with nothing in them */
	IDLE_ROUNDS = 16,
	ALIVE_EVERY = 10, /* rounds between looks at a target without a pidfd */
	SPINS = 2000, /* about 0.1 ms */
	REST_DOUBTFUL = 256 << 10, /* read where a stack's end is not known */
	KERNEL_MAX = 1024, /* kernel.perf_event_max_stack is 127 unless somebody raised it */
};

/* epoll_event.data of what is no ring. */
#define TAG_WAKE UINT64_MAX
#define TAG_END (UINT64_MAX - 1)

struct perf_drain {
	struct proc *proc;
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_layout layout;
	struct stack_rest rest;
	struct stack_size size;
	struct wake wake;
	uint32_t resize_to; /* asked for by the samples of this round; 0: nothing */
	enum wake_mode wake_to; /* the same; the present mode: nothing */
	bool pushed; /* since the consumer was woken */
	bool woke; /* ever */
	uint32_t pause_ms; /* at most; adapted to how fast the rings fill */
	uint32_t empty_rounds;
	uint32_t random;
	bool ended_seen;

	int epoll_fd, wake_fd, pid_fd;
	pthread_t thread;
	sem_t sampling; /* posted when the events are enabled */
	bool started;
	/* While each sample wakes its reader, those are the readers; this thread looks after the rest.
	 * NULL: it watches the rings itself. The lock is for all that is above. */
	struct prompt *prompt;
	pthread_mutex_t lock;

	int ready_fd; /* drain -> consumer */
	atomic_bool stop, done, ended;
	_Atomic uint64_t lost_ring, lost_samples, lost_queue, throttled, foreign, malformed;
	_Atomic uint64_t cut, joined, refused;
	_Atomic uint32_t stack_bytes;
};

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* --- Records into messages */

static void push_event(struct perf_drain *d, enum perf_msg_kind kind, const struct perf_record *r)
{
	struct perf_msg *m = sample_queue_reserve(d->queue, sizeof(*m));

	if (!m) {
		count(&d->lost_queue, 1);
		return;
	}
	memset(m, 0, sizeof(*m));
	m->kind = kind;
	m->pid = r->pid;
	m->tid = r->tid;
	memcpy(m->comm, r->comm, sizeof(m->comm));
	sample_queue_commit(d->queue, sizeof(*m));
	d->pushed = true;
}

static void fill_user(struct perf_msg_sample *m, const struct perf_record *r)
{
	uint64_t values[64];

	m->has_user = r->regs != NULL;
	if (!m->has_user)
		return;
	memcpy(values, r->regs, r->n_regs * sizeof(values[0]));
	regs_host_from_perf(&m->regs, values, r->n_regs);
	m->stack_addr = arch_sp(arch_host(), &m->regs);
}

/* Appends the part of the stack that was not copied, if it is to be had. Returns its length. */
static size_t append_rest(struct perf_drain *d, struct perf_msg_sample *m,
			  const struct perf_record *r, uint8_t *dst, size_t wanted, uint64_t now)
{
	const struct stack_copy copy = {
		.addr = m->stack_addr,
		.bytes = r->stack,
		.len = r->stack_dyn,
		.time_ns = r->time,
		.in_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	size_t got = stack_rest_read(&d->rest, &copy, dst, wanted, now);

	atomic_store_explicit(&d->joined, d->rest.joined, memory_order_relaxed);
	atomic_store_explicit(&d->refused, d->rest.refused, memory_order_relaxed);
	return got;
}

/*
 * Does the copy reach the thread's control block? glibc keeps it at the upper end of the stack, aligned
 * to 64 bytes, with its own address in words 0 and 2 (tcbhead_t in sysdeps/x86_64/nptl/tls.h). What lies
 * behind it in the same mapping is something else, merged with the stack.
 */
static bool has_thread_end(uint64_t addr, const uint8_t *bytes, size_t len)
{
	for (size_t i = -addr & 63; i + 24 <= len; i += 64) {
		uint64_t words[3];

		memcpy(words, bytes + i, sizeof(words));
		if (words[0] == addr + i && words[2] == addr + i)
			return true;
	}
	return false;
}

/* How much of the stack lies beyond the copy. */
static uint64_t rest_beyond(struct perf_drain *d, const struct perf_msg_sample *m,
			  const struct perf_record *r, uint64_t now)
{
	if (!r->stack_dyn || r->stack_dyn < r->stack_size || r->stack_dyn < STACK_REST_MIN)
		return 0;
	if (has_thread_end(m->stack_addr, r->stack, r->stack_dyn))
		return 0;
	return stack_rest_beyond(&d->rest, m->stack_addr + r->stack_dyn, now);
}

/*
 * Adapts to `beyond` bytes of stack behind the copy. Returns how much of that to read. A mapping that
 * goes on for long is most likely that of something else besides, next to a thread's stack and merged
 * with it (seen with the stacks of GC threads): it says nothing of the stack's depth.
 */
static size_t note_depth(struct perf_drain *d, const struct perf_record *r, uint64_t beyond,
			 uint64_t now)
{
	uint32_t resize;

	if (beyond > STACK_REST_MAX)
		return REST_DOUBTFUL;
	resize = stack_size_note(&d->size, r->stack_dyn, beyond > 0, now);
	if (resize)
		d->resize_to = resize;
	d->wake_to = wake_note(&d->wake, beyond > 0, now);
	return beyond;
}

static void push_sample(struct perf_drain *d, const struct perf_record *r)
{
	uint64_t kernel[KERNEL_MAX], now = clock_monotonic_ns();
	size_t n_kernel = perf_record_kernel_chain(r, kernel, KERNEL_MAX);
	struct perf_msg_sample m = {
		.head = {.kind = PERF_MSG_SAMPLE, .pid = r->pid, .tid = r->tid},
		.n_kernel = (uint32_t)n_kernel,
		.time_ns = r->time,
		.weight = r->period,
		.stack_len = r->stack_dyn,
	};
	size_t fixed = sizeof(m) + n_kernel * 8 + r->stack_dyn, wanted, got = 0;
	uint64_t beyond;
	uint8_t *dst = NULL;

	fill_user(&m, r);
	beyond = m.has_user ? rest_beyond(d, &m, r, now) : 0;
	wanted = note_depth(d, r, beyond, now);
	if (wanted) {
		count(&d->cut, 1);
		dst = sample_queue_reserve(d->queue, fixed + wanted);
		if (dst)
			got = append_rest(d, &m, r, dst + fixed, wanted, now);
	}
	if (!dst)
		dst = sample_queue_reserve(d->queue, fixed);
	if (!dst) {
		count(&d->lost_queue, 1);
		return;
	}
	m.stack_len += got;
	m.stack_missing = beyond - got;
	m.stack_cut = got < beyond;
	memcpy(dst, &m, sizeof(m));
	memcpy(dst + sizeof(m), kernel, n_kernel * 8);
	if (r->stack_dyn)
		memcpy(dst + sizeof(m) + n_kernel * 8, r->stack, r->stack_dyn);
	sample_queue_commit(d->queue, fixed + got);
	d->pushed = true;
}

static void take_sample(struct perf_drain *d, const struct perf_record *r)
{
	if (perf_attach_accepts(d->attach, r))
		push_sample(d, r);
	else
		count(&d->foreign, 1);
}

static void take_task(struct perf_drain *d, const struct perf_record *r)
{
	if (r->pid != proc_pid(d->proc))
		return; /* others on the same CPU, and children */
	if (r->kind == PERF_REC_EXIT || r->exec)
		perf_attach_note(d->attach, r);
	if (r->kind == PERF_REC_EXIT) {
		push_event(d, PERF_MSG_EXIT, r);
	} else if (r->kind == PERF_REC_FORK) {
		push_event(d, PERF_MSG_FORK, r);
	} else if (r->kind == PERF_REC_MMAP) {
		push_event(d, PERF_MSG_MAPPED, r);
	} else {
		if (r->exec)
			push_event(d, PERF_MSG_EXEC, r);
		push_event(d, PERF_MSG_THREAD, r);
	}
}

static int take_record(void *ctx, const void *bytes, size_t size)
{
	struct perf_drain *d = ctx;
	struct perf_record r;

	if (perf_record_parse(&d->layout, bytes, size, &r) < 0) {
		count(&d->malformed, 1);
		return 0;
	}
	switch (r.kind) {
	case PERF_REC_SAMPLE:
		take_sample(d, &r);
		break;
	case PERF_REC_LOST:
		count(&d->lost_ring, r.lost);
		break;
	case PERF_REC_LOST_SAMPLES:
		count(&d->lost_samples, r.lost);
		break;
	case PERF_REC_THROTTLE:
		count(&d->throttled, 1);
		break;
	case PERF_REC_COMM:
	case PERF_REC_FORK:
	case PERF_REC_EXIT:
	case PERF_REC_MMAP:
		take_task(d, &r);
		break;
	case PERF_REC_UNTHROTTLE:
	case PERF_REC_OTHER:
		break;
	}
	return 0;
}

/* --- The thread */

static void wake_consumer(struct perf_drain *d)
{
	const uint64_t one = 1;

	d->pushed = false;
	d->woke = true;
	(void)!write(d->ready_fd, &one, sizeof(one));
}

/* Spins first: a reader that slept here would let the thread go on that it is to read. */
static void lock(struct perf_drain *d)
{
	for (int i = 0; i < SPINS; i++) {
		if (pthread_mutex_trylock(&d->lock) == 0)
			return;
		atomic_signal_fence(memory_order_seq_cst);
	}
	pthread_mutex_lock(&d->lock);
}

static void unlock(struct perf_drain *d)
{
	pthread_mutex_unlock(&d->lock);
}

static void adapt_pause(struct perf_drain *d, uint64_t used)
{
	size_t size = perf_attach_ring_size(d->attach);

	d->empty_rounds = used ? 0 : d->empty_rounds + 1;
	/* Well before a quarter, where the kernel would wake this thread in step with a sample. */
	if (used > size / 8 && d->pause_ms > 1)
		d->pause_ms = d->pause_ms * 2 / 3;
	else if (used < size / 16 && d->pause_ms < PAUSE_MS)
		d->pause_ms++;
}

static void drain_ring(struct perf_drain *d, size_t i)
{
	if (perf_ring_drain(perf_attach_ring(d->attach, i), take_record, d) == -EBADMSG)
		count(&d->malformed, 1);
}

static void drain_rings(struct perf_drain *d)
{
	uint64_t fullest = 0;

	for (size_t i = 0; i < perf_attach_n_rings(d->attach); i++) {
		uint64_t used = perf_ring_used(perf_attach_ring(d->attach, i));

		if (used > fullest)
			fullest = used;
		drain_ring(d, i);
	}
	adapt_pause(d, fullest);
	if (d->pushed)
		wake_consumer(d);
}

static void drain_meanwhile(void *ctx)
{
	drain_rings(ctx);
}

static int watch(struct perf_drain *d, int fd, uint64_t tag)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = tag};

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int watch_rings(struct perf_drain *d)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < perf_attach_n_rings(d->attach); i++)
		r = watch(d, perf_attach_poll_fds(d->attach)[i], i);
	return r == -EEXIST ? 0 : r;
}

static void unwatch_ring(struct perf_drain *d, size_t i)
{
	epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, perf_attach_poll_fds(d->attach)[i], NULL);
}

/* A descriptor that reports an error for ever must not keep the thread awake. */
static void forget_fd(struct perf_drain *d, const struct epoll_event *e)
{
	if (e->data.u64 == TAG_WAKE || e->data.u64 == TAG_END)
		return;
	if (e->events & (EPOLLHUP | EPOLLERR))
		unwatch_ring(d, e->data.u64);
}

static void take_at_once(void *ctx, size_t ring)
{
	struct perf_drain *d = ctx;

	lock(d);
	drain_ring(d, ring);
	/* Later ones are told of when this program's thread comes round. */
	if (d->pushed && !d->woke)
		wake_consumer(d);
	unlock(d);
}

static void start_readers(struct perf_drain *d)
{
	size_t n = perf_attach_n_rings(d->attach);
	int r = prompt_start(perf_attach_cpus(d->attach), perf_attach_poll_fds(d->attach), n,
			     take_at_once, d, &d->prompt);

	if (r < 0) {
		log_debug("no threads for single samples: %s", strerror(-r));
		return;
	}
	for (size_t i = 0; i < n; i++)
		unwatch_ring(d, i);
}

/* Without the lock: the readers want it. */
static void stop_readers(struct perf_drain *d)
{
	prompt_stop(d->prompt);
	d->prompt = NULL;
	if (watch_rings(d) < 0)
		log_debug("rings are looked at now and then only");
}

static void reopen(struct perf_drain *d)
{
	uint32_t size = d->resize_to ? d->resize_to : d->size.now;
	const struct perf_attach_change change = {
		.stack_bytes = size,
		.wake_each = d->wake_to != WAKE_BATCH,
		.by_thread = d->wake_to == WAKE_DEEP,
	};
	int r = perf_attach_reopen(d->attach, &change);
	uint64_t now = clock_monotonic_ns();

	if (d->resize_to)
		stack_size_changed(&d->size, size, r == 0, now);
	if (d->wake_to != d->wake.mode)
		wake_changed(&d->wake, r == 0 ? d->wake_to : d->wake.mode, now);
	d->resize_to = 0;
	d->wake_to = d->wake.mode;
	atomic_store_explicit(&d->stack_bytes, d->size.now, memory_order_relaxed);
	if (r < 0)
		log_info("sampling events stay as they are: %s", strerror(-r));
	else
		log_info("stack copy of %u bytes, %s", size,
			 change.wake_each ? "each sample read at once" : "samples read in batches");
}

static void adapt(struct perf_drain *d)
{
	bool change;

	lock(d);
	change = d->resize_to || d->wake_to != d->wake.mode;
	if (change)
		reopen(d);
	unlock(d);
	if (!change)
		return;
	if (d->wake.mode != WAKE_BATCH && !d->prompt)
		start_readers(d);
	else if (d->wake.mode == WAKE_BATCH && d->prompt)
		stop_readers(d);
}

/*
 * Irregular on purpose, and the rule rather than the wake-up by a full ring: work of this program
 * that always followed a sampling interrupt would never be sampled itself, or, in step with the
 * timer, always, and the target's share of the CPU would come out wrong (measured: 6 % at 99 Hz).
 */
static uint32_t next_pause_ms(struct perf_drain *d)
{
	uint32_t most = d->empty_rounds < IDLE_ROUNDS ? d->pause_ms : IDLE_PAUSE_MS;

	d->random = d->random * 1664525 + 1013904223;
	return most / 2 + (d->random >> 16) % (most / 2 + 1) + 1;
}

static void wait_rings(struct perf_drain *d)
{
	struct epoll_event events[16];
	int n = epoll_wait(d->epoll_fd, events, 16, (int)next_pause_ms(d));

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TAG_END)
			d->ended_seen = true;
		forget_fd(d, &events[i]);
	}
}

static bool target_is_gone(struct perf_drain *d, unsigned round)
{
	if (d->pid_fd < 0 && round % ALIVE_EVERY == 0 && !proc_alive(d->proc))
		d->ended_seen = true;
	return d->ended_seen;
}

static void finish(struct perf_drain *d)
{
	uint64_t lost;

	perf_attach_disable(d->attach);
	drain_rings(d);
	/* The kernel's own count has what no later record could tell any more. The two count the same
	 * losses; where there is only one, it is that. */
	lost = perf_attach_lost(d->attach);
	if (lost > atomic_load_explicit(&d->lost_ring, memory_order_relaxed))
		atomic_store_explicit(&d->lost_ring, lost, memory_order_relaxed);
	atomic_store(&d->ended, d->ended_seen);
	atomic_store(&d->done, true);
	wake_consumer(d);
}

static void *drain_main(void *arg)
{
	struct perf_drain *d = arg;

	prompt_raise_priority();
	start_readers(d);
	lock(d);
	perf_attach_enable(d->attach);
	unlock(d);
	sem_post(&d->sampling);
	for (unsigned round = 1; !atomic_load(&d->stop) && !target_is_gone(d, round); round++) {
		wait_rings(d);
		lock(d);
		drain_rings(d);
		unlock(d);
		adapt(d);
	}
	prompt_stop(d->prompt);
	d->prompt = NULL;
	finish(d);
	return NULL;
}

/* --- For the owner */

static int open_fds(struct perf_drain *d)
{
	int r;

	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->epoll_fd < 0 || d->wake_fd < 0 || d->ready_fd < 0)
		return -errno;
	/* Linux 5.3; before it, the process is looked for. */
	d->pid_fd = (int)syscall(SYS_pidfd_open, proc_pid(d->proc), 0);
	r = watch(d, d->wake_fd, TAG_WAKE);
	if (r == 0 && d->pid_fd >= 0)
		r = watch(d, d->pid_fd, TAG_END);
	return r < 0 ? r : watch_rings(d);
}

int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   uint32_t first_stack_bytes, struct perf_drain **ret, struct err *err)
{
	struct perf_drain *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->proc = proc;
	d->attach = attach;
	d->queue = q;
	d->layout = perf_attr_layout();
	d->pause_ms = PAUSE_MS;
	d->random = (uint32_t)clock_monotonic_ns();
	d->rest.proc = proc;
	sem_init(&d->sampling, 0, 0);
	pthread_mutex_init(&d->lock, NULL);
	perf_attach_set_breathe(attach, drain_meanwhile, d);
	d->epoll_fd = d->wake_fd = d->pid_fd = d->ready_fd = -1;
	stack_size_init(&d->size, first_stack_bytes, (uint32_t)(perf_attach_ring_size(attach) / 8));
	d->size.now = perf_attach_config(attach)->stack_bytes;
	atomic_init(&d->stack_bytes, d->size.now);
	r = open_fds(d);
	if (r < 0) {
		perf_drain_close(d);
		return err_set(err, r, "cannot watch the perf rings: %s", strerror(-r));
	}
	*ret = d;
	return 0;
}

int perf_drain_start(struct perf_drain *d, struct err *err)
{
	sigset_t all, before;
	int r;

	/* Signals are for the threads of others. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&d->thread, NULL, drain_main, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return err_set(err, -r, "cannot start a thread: %s", strerror(r));
	pthread_setname_np(d->thread, "jsampler-drain");
	d->started = true;
	while (sem_wait(&d->sampling) < 0 && errno == EINTR)
		;
	return 0;
}

void perf_drain_stop(struct perf_drain *d)
{
	const uint64_t one = 1;
	int saved = errno;

	atomic_store(&d->stop, true);
	(void)!write(d->wake_fd, &one, sizeof(one));
	errno = saved;
}

bool perf_drain_done(const struct perf_drain *d)
{
	return atomic_load(&d->done);
}

static int ms_until(uint64_t until_ns)
{
	uint64_t now = clock_monotonic_ns();

	if (!until_ns)
		return -1;
	if (until_ns <= now)
		return 0;
	return until_ns - now > 3600000000000 ? 3600000 : (int)((until_ns - now) / 1000000) + 1;
}

void perf_drain_wait(struct perf_drain *d, uint64_t until_ns)
{
	struct pollfd p = {.fd = d->ready_fd, .events = POLLIN};
	uint64_t n;

	/* The counter stays up from a push to the read here, so none goes unnoticed. */
	if (sample_queue_empty(d->queue) && !perf_drain_done(d))
		poll(&p, 1, ms_until(until_ns));
	(void)!read(d->ready_fd, &n, sizeof(n));
}

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d)
{
	return (struct perf_drain_stats){
		.lost_ring = d->lost_ring,
		.lost_samples = d->lost_samples,
		.lost_queue = d->lost_queue,
		.throttled = d->throttled,
		.foreign = d->foreign,
		.malformed = d->malformed,
		.cut = d->cut,
		.rest_joined = d->joined,
		.rest_refused = d->refused,
		.stack_bytes = d->stack_bytes,
		.target_ended = d->ended,
	};
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void perf_drain_close(struct perf_drain *d)
{
	if (!d)
		return;
	if (d->started) {
		perf_drain_stop(d);
		pthread_join(d->thread, NULL);
	}
	close_fd(d->epoll_fd);
	close_fd(d->wake_fd);
	close_fd(d->pid_fd);
	close_fd(d->ready_fd);
	stack_rest_done(&d->rest);
	sem_destroy(&d->sampling);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
