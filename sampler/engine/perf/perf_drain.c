#include "sampler/engine/perf/perf_drain_priv.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/perf_attach.h"
#include "sampler/engine/perf/perf_follow.h"
#include "sampler/engine/perf/perf_step.h"
#include "sampler/engine/prompt.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	YOUNG_PAUSE_MS = 5, /* while processes start: some end so soon that they can hardly be read */
	PAUSE_MS = 20, /* the longest time between looks at rings that are not a quarter full */
	IDLE_PAUSE_MS = 80, /* the same after IDLE_ROUNDS with nothing in them */
	IDLE_ROUNDS = 16,
	SWEEP_EVERY = 16, /* rounds between looks for followed processes that have ended */
	ALIVE_EVERY = 10, /* rounds between looks at a target without a pidfd */
	SPINS = 2000, /* about 0.1 ms */
};

/* epoll_event.data of what is no ring. */
#define TAG_WAKE UINT64_MAX
#define TAG_END (UINT64_MAX - 1)
#define TAG_FORK (UINT64_MAX - 2)

#define YOUNG_NS UINT64_C(500000000)
#define CALM_NS UINT64_C(10000000000) /* without a new thread, at first */

/* --- The thread */

static void wake_consumer(struct perf_drain *d)
{
	const uint64_t one = 1;

	d->intake.pushed = false;
	d->woke = true;
	(void)!write(d->ready_fd, &one, sizeof(one));
}

/* Spins first: a reader that sleeps here lets the thread go on that it is to read. False: it slept. */
static bool lock(struct perf_drain *d)
{
	for (int i = 0; i < SPINS; i++) {
		if (pthread_mutex_trylock(&d->lock) == 0)
			return true;
		atomic_signal_fence(memory_order_seq_cst);
	}
	pthread_mutex_lock(&d->lock);
	return false;
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
	d->intake.step = &d->steps[i];
	if (perf_ring_drain(perf_attach_ring(d->attach, i), perf_intake_record, &d->intake) == -EBADMSG)
		perf_intake_malformed(&d->intake);
}

/* A ring's reader, if it has one, comes first: what it takes is taken in place of the sampled thread. What does
 * not wake it, a new mapping say, is taken here when it was there in the round before. */
static bool is_due(struct perf_drain *d, size_t i, uint64_t used)
{
	bool due = !d->prompt || d->waited[i];

	d->waited[i] = used > 0;
	return due;
}

static void drain_rings(struct perf_drain *d, bool all)
{
	uint64_t fullest = 0;

	for (size_t i = 0; i < perf_attach_n_rings(d->attach); i++) {
		uint64_t used = perf_ring_used(perf_attach_ring(d->attach, i));

		quiet_cpu_note(&d->quiet, perf_attach_cpus(d->attach)[i], used);
		if (used > fullest)
			fullest = used;
		if (is_due(d, i, used) || all)
			drain_ring(d, i);
	}
	adapt_pause(d, fullest);
	perf_intake_look(&d->intake);
	if (d->intake.pushed)
		wake_consumer(d);
}

static void drain_meanwhile(void *ctx)
{
	drain_rings(ctx, true);
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
	if (e->data.u64 >= TAG_FORK)
		return;
	if (e->events & (EPOLLHUP | EPOLLERR))
		unwatch_ring(d, e->data.u64);
}

static void take_at_once(void *ctx, size_t ring)
{
	struct perf_drain *d = ctx;
	uint64_t switches = prompt_switches();
	int cpu = perf_attach_cpus(d->attach)[ring];

	if (lock(d) && sched_getcpu() == cpu)
		d->intake.cpu = cpu;
	d->intake.switches = switches;
	d->intake.waiting_since_ns = d->waiting_since_ns[ring];
	perf_step_add(&d->steps[ring], atomic_exchange_explicit(&d->used_ns[ring], 0, memory_order_relaxed));
	drain_ring(d, ring);
	d->waited[ring] = false;
	d->intake.cpu = -1;
	d->waiting_since_ns[ring] = clock_monotonic_ns();
	perf_step_end(&d->steps[ring], clock_thread_cpu_ns());
	/* Once the target has started, samples are told of when this program's thread comes round. */
	if (d->intake.pushed && (!d->woke || d->waiting_since_ns[ring] < d->started_ns))
		wake_consumer(d);
	unlock(d);
}

static void start_readers(struct perf_drain *d)
{
	size_t n = perf_attach_n_rings(d->attach);
	int r;

	/* What is in a ring before its reader has waited once may be old. */
	for (size_t i = 0; i < n; i++)
		d->waiting_since_ns[i] = UINT64_MAX;
	r = prompt_start(perf_attach_cpus(d->attach), perf_attach_poll_fds(d->attach), n,
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

static void adapt(struct perf_drain *d)
{
	bool change;

	event_choice_look(&d->choice, d->proc, perf_attach_n_rings(d->attach), clock_monotonic_ns());
	lock(d);
	change = drain_wants_change(d);
	if (change)
		drain_reopen(d);
	unlock(d);
	if (!change)
		return;
	if (d->intake.wake.mode != WAKE_BATCH && !d->prompt)
		start_readers(d);
	else if (d->intake.wake.mode == WAKE_BATCH && d->prompt)
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
	const struct perf_follow *f = perf_attach_follow(d->attach);

	if (f && f->family.last_ns && clock_monotonic_ns() - f->family.last_ns < YOUNG_NS && most > YOUNG_PAUSE_MS)
		most = YOUNG_PAUSE_MS;
	d->random = d->random * 1664525 + 1013904223;
	return most / 2 + (d->random >> 16) % (most / 2 + 1) + 1;
}

/* Returns whether there is nothing but forks, or their parents' ends, to be looked at. */
static bool wait_rings(struct perf_drain *d)
{
	struct epoll_event events[16];
	int n = epoll_wait(d->epoll_fd, events, 16, (int)next_pause_ms(d));
	bool forks = n > 0;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TAG_END) {
			d->ended_seen = true;
			epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, d->pid_fd, NULL);
		}
		forks &= events[i].data.u64 == TAG_FORK;
		forget_fd(d, &events[i]);
	}
	return forks;
}

static void note_family(struct perf_drain *d, const struct family *f)
{
	atomic_store_explicit(&d->alive, family_count(f), memory_order_relaxed);
	atomic_store_explicit(&d->followed, f->followed, memory_order_relaxed);
	atomic_store_explicit(&d->brief, f->brief, memory_order_relaxed);
	atomic_store_explicit(&d->refused, f->refused, memory_order_relaxed);
}

/* The target, and all that it has started. */
static bool target_is_gone(struct perf_drain *d, unsigned round)
{
	struct perf_follow *f = perf_attach_follow(d->attach);
	bool gone;

	if (d->pid_fd < 0 && round % ALIVE_EVERY == 0 && !proc_alive(d->proc))
		d->ended_seen = true;
	if (!f || !(d->ended_seen || round % SWEEP_EVERY == 0))
		return d->ended_seen;
	lock(d);
	perf_follow_take(f);
	family_sweep(&f->family, clock_monotonic_ns());
	gone = d->ended_seen && family_is_empty(&f->family);
	/* Inherited events tell of a fork in the rings of samples, and nobody may have looked there since. */
	if (gone && perf_attach_mode(d->attach) == PERF_ATTACH_THREADS) {
		drain_rings(d, true);
		gone = family_is_empty(&f->family);
	}
	note_family(d, &f->family);
	unlock(d);
	return gone;
}

/* Before the samples of new processes are read, and at once. */
static void take_forks(struct perf_drain *d)
{
	struct perf_follow *f = perf_attach_follow(d->attach);

	if (!f)
		return;
	lock(d);
	perf_follow_take(f);
	note_family(d, &f->family);
	unlock(d);
}

static void finish(struct perf_drain *d)
{
	const struct perf_follow *f = perf_attach_follow(d->attach);
	uint64_t lost;

	perf_attach_disable(d->attach);
	drain_rings(d, true);
	if (f)
		note_family(d, &f->family);
	/* The records of what was lost are right while it happens, not to the sample: 514 of 404 were seen
	 * after a stop of 4 s (6.18). Samples and what each event says it lost are all that it took. */
	if (perf_attach_lost(d->attach, &lost))
		atomic_store_explicit(&d->intake.lost_ring, lost, memory_order_relaxed);
	atomic_store(&d->ended, d->ended_seen);
	atomic_store(&d->done, true);
	wake_consumer(d);
}

static void *drain_main(void *arg)
{
	struct perf_drain *d = arg;
	struct perf_follow *f = perf_attach_follow(d->attach);

	prompt_raise_priority();
	start_readers(d);
	lock(d);
	/* Which events are wanted depends on whether there are children already. */
	if (f)
		perf_follow_start(f);
	if (d->intake.wake.starting)
		d->started_ns = clock_monotonic_ns() + PERF_DRAIN_START_NS;
	d->first_on_threads = drain_begins_on_threads(d);
	if (d->first_on_threads)
		drain_look_for_new_threads(d);
	if (drain_wants_change(d))
		drain_reopen(d);
	perf_attach_enable(d->attach);
	unlock(d);
	sem_post(&d->sampling);
	for (unsigned round = 1; !atomic_load(&d->stop) && !target_is_gone(d, round); round++) {
		bool forks = wait_rings(d);

		take_forks(d);
		if (forks && clock_monotonic_ns() - d->drained_ns < YOUNG_PAUSE_MS * UINT64_C(1000000))
			continue;
		d->drained_ns = clock_monotonic_ns();
		quiet_cpu_begin(&d->quiet);
		lock(d);
		drain_rings(d, false);
		unlock(d);
		quiet_cpu_end(&d->quiet);
		adapt(d);
	}
	prompt_stop(d->prompt);
	d->prompt = NULL;
	finish(d);
	return NULL;
}

/* --- For the owner */

static uint32_t stack_of(const void *ctx, pid_t tid, uint32_t common)
{
	return thread_stacks_size(ctx, tid, common);
}

static int open_fds(struct perf_drain *d)
{
	const struct perf_follow *f = perf_attach_follow(d->attach);
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
	for (size_t i = 0; r == 0 && f && i < f->n; i++)
		r = watch(d, f->fds[i], TAG_FORK);
	return r < 0 ? r : watch_rings(d);
}

int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   const struct engine_options *o, struct perf_drain **ret, struct err *err)
{
	struct perf_drain *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->waited = calloc(perf_attach_n_rings(attach), sizeof(*d->waited));
	d->steps = calloc(perf_attach_n_rings(attach), sizeof(*d->steps));
	d->waiting_since_ns = calloc(perf_attach_n_rings(attach), sizeof(*d->waiting_since_ns));
	d->used_ns = calloc(perf_attach_n_rings(attach), sizeof(*d->used_ns));
	if (!d->waited || !d->steps || !d->waiting_since_ns || !d->used_ns) {
		free(d->used_ns);
		free(d->waited);
		free(d->waiting_since_ns);
		free(d->steps);
		free(d);
		return err_set(err, -ENOMEM, "out of memory");
	}
	d->intake.cpu = -1;
	d->intake.aside = o->aside;
	d->intake.wake.starting = o->starting;
	d->proc = d->intake.proc = proc;
	d->attach = d->intake.attach = attach;
	d->queue = d->intake.queue = q;
	d->intake.layout = perf_attr_layout(perf_attach_config(attach));
	d->intake.clock = perf_attach_config(attach)->event.clock;
	d->intake.period = perf_attach_config(attach)->period;
	d->intake.divisor = 1;
	d->intake.thin.random = (uint32_t)clock_monotonic_ns();
	d->intake.weight = perf_attr_weight(perf_attach_config(attach));
	d->pause_ms = PAUSE_MS;
	d->random = (uint32_t)clock_monotonic_ns();
	d->intake.rest.proc = proc;
	d->intake.rest.memory = o->budget;
	sem_init(&d->sampling, 0, 0);
	pthread_mutex_init(&d->lock, NULL);
	perf_attach_set_breathe(attach, drain_meanwhile, d);
	perf_attach_set_stack_of(attach, stack_of, &d->intake.own);
	d->size_asked_for = o->stack_bytes != 0;
	d->intake.may_own = drain_may_own(d);
	d->epoll_fd = d->wake_fd = d->pid_fd = d->ready_fd = -1;
	stack_size_init(&d->intake.size, o->stack_bytes, (uint32_t)(perf_attach_ring_size(attach) / 8));
	d->intake.size.now = perf_attach_config(attach)->stack_bytes;
	atomic_init(&d->stack_bytes, d->intake.size.now);
	atomic_init(&d->on, PERF_ON_CPUS);
	d->calm_ns = CALM_NS;
	d->choice.refused = !perf_attach_may_choose(attach) ||
			    !perf_attach_config(attach)->event.clock;
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
	int r = engine_thread_start(&d->thread, "jsampler-drain", 0, drain_main, d);

	if (r < 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(-r));
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

void perf_drain_used(struct perf_drain *d, int cpu, uint64_t ns)
{
	const int *cpus = perf_attach_cpus(d->attach);

	for (size_t i = 0; i < perf_attach_n_rings(d->attach); i++)
		if (cpus[i] == cpu)
			atomic_fetch_add_explicit(&d->used_ns[i], ns, memory_order_relaxed);
}

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d)
{
	return (struct perf_drain_stats){
		.lost_ring = d->intake.lost_ring,
		.lost_samples = d->intake.lost_samples,
		.lost_queue = d->intake.lost_queue,
		.throttled = d->intake.throttled,
		.foreign = d->intake.foreign,
		.malformed = d->intake.malformed,
		.cut = d->intake.cut,
		.rest_joined = d->intake.joined,
		.rest_refused = d->intake.refused,
		.lost_weight = perf_intake_lost_weight(&d->intake),
		.stack_bytes = d->stack_bytes,
		.target_ended = d->ended,
		.followed = d->followed,
		.brief = d->brief,
		.refused = d->refused,
		.alive = d->alive,
		.on = d->on,
	};
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void perf_drain_finish(struct perf_drain *d)
{
	if (!d->started)
		return;
	perf_drain_stop(d);
	pthread_join(d->thread, NULL);
	d->started = false;
}

void perf_drain_close(struct perf_drain *d)
{
	if (!d)
		return;
	perf_drain_finish(d);
	close_fd(d->epoll_fd);
	close_fd(d->wake_fd);
	close_fd(d->pid_fd);
	close_fd(d->ready_fd);
	stack_rest_done(&d->intake.rest);
	quiet_cpu_done(&d->quiet);
	free(d->used_ns);
	free(d->waited);
	free(d->waiting_since_ns);
	free(d->steps);
	sem_destroy(&d->sampling);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
