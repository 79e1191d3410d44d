#include "sampler/engine/perf/perf_drain.h"

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
#include <time.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_follow.h"
#include "sampler/engine/perf/perf_pause.h"
#include "sampler/engine/perf/perf_policy.h"
#include "sampler/engine/perf/perf_step.h"
#include "sampler/engine/perf/quiet_cpu.h"
#include "sampler/engine/perf/ring_readers.h"
#include "sampler/engine/perf/rings/ring_watch.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	YOUNG_PAUSE_MS = 5, /* while processes start, some of which end before they are read */
	PAUSE_MS = 20, /* longest time between two looks at rings that are not a quarter full, */
	IDLE_PAUSE_MS = 80, /* and after IDLE_ROUNDS rounds that found nothing */
	IDLE_ROUNDS = 16,
	SWEEP_EVERY = 16, /* rounds between looks for followed processes that have ended */
	ALIVE_EVERY = 10, /* rounds between looks at a target without a pidfd */
	MS_NS = 1000000,
	SPINS = 2000, /* about 0.1 ms */
};

/* epoll_event.data of descriptors that are not rings. */
#define TAG_WAKE UINT64_MAX
#define TAG_END (UINT64_MAX - 1)
#define TAG_FORK (UINT64_MAX - 2)
#define TAG_SHARED (UINT64_MAX - 3) /* a ring of shared events */

#define YOUNG_NS UINT64_C(500000000)
#define UNPUBLISHED_NS UINT64_C(10000000) /* writing a record takes microseconds, unless the CPU itself has to wait */

/* State of one ring, apart from its content. */
struct ring_state {
	struct perf_steps steps;
	_Atomic uint64_t used_ns; /* CPU time of the consumer on the ring's CPU, not yet in `steps` */
	uint64_t waiting_since_ns; /* since when its reader waits; UINT64_MAX: it has not waited yet */
	struct ring_watch watch;
	uint64_t last_ns; /* time of its last record */
	bool waited; /* it held something in the last round, and its reader has not come */
};

struct perf_drain {
	struct proc *proc;
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_policy policy;
	struct perf_intake intake;
	struct ring_state *rings;
	struct quiet_cpu quiet;
	bool woke; /* the consumer has been woken at least once */
	bool starting; /* the target has yet to start, */
	uint64_t started_ns; /* and is still starting until then; 0: it had started before */
	uint32_t pause_ms; /* at most; adapted to how fast the rings fill */
	uint32_t empty_rounds;
	uint64_t drained_ns; /* when the rings of samples were last looked at */
	uint64_t random;
	bool ended_seen;

	int epoll_fd, wake_fd, pid_fd;
	pthread_t thread;
	sem_t sampling; /* posted when the events are enabled */
	bool started;
	/* While each sample wakes its reader, these are the readers, and this thread does the rest. NULL: it watches
	 * the rings itself. The lock protects everything above. */
	struct ring_readers *readers;
	pthread_mutex_t lock;

	int ready_fd; /* drain -> consumer */
	atomic_bool stop, done, ended;
	_Atomic uint64_t cpu_begin_ns,
		cpu_end_ns; /* the target's CPU clock when its events began and ended; 0: not known */
	_Atomic uint64_t followed, brief, refused, alive; /* of the family, for others to read */
};

/* --- The thread */

static void wake_consumer(struct perf_drain *d)
{
	const uint64_t one = 1;

	d->woke = true;
	(void)!write(d->ready_fd, &one, sizeof(one));
}

/* Spins first, because a reader that sleeps lets the thread whose stack it is to read continue. False: it has slept. */
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
	/* Well before a quarter, at which the kernel would wake this thread in step with a sample. */
	if (used > size / 8 && d->pause_ms > 1)
		d->pause_ms = d->pause_ms * 2 / 3;
	else if (used < size / 16 && d->pause_ms < PAUSE_MS)
		d->pause_ms++;
}

static struct perf_reader reader_of(struct perf_drain *d, size_t i)
{
	return (struct perf_reader){.ring = i, .steps = &d->rings[i].steps, .last_ns = &d->rings[i].last_ns, .cpu = -1};
}

static void drain_ring(struct perf_drain *d, size_t i)
{
	const struct perf_reader r = reader_of(d, i);

	perf_intake_drain(&d->intake, &r);
}

/* A ring's reader, if it has one, comes first, because it runs in place of the sampled thread. Records that do not
 * wake the reader, such as a new mapping, are taken here in the next round. */
static bool is_due(struct perf_drain *d, size_t i, uint64_t used)
{
	bool due = !d->readers || d->rings[i].waited;

	d->rings[i].waited = used > 0;
	return due;
}

static void drain_rings(struct perf_drain *d, bool all)
{
	uint64_t fullest = 0, shared;

	perf_attach_pull(d->attach);
	for (size_t i = 0; i < perf_attach_ring_count(d->attach); i++) {
		uint64_t used = perf_ring_used(perf_attach_ring(d->attach, i));

		quiet_cpu_note(&d->quiet, perf_attach_cpus(d->attach)[i], used);
		if (used > fullest)
			fullest = used;
		if (is_due(d, i, used) || all)
			drain_ring(d, i);
	}
	perf_intake_shared(&d->intake, UINT64_MAX);
	shared = perf_intake_take_shared_bytes(&d->intake);
	adapt_pause(d, shared > fullest ? shared : fullest);
	perf_intake_poll(&d->intake);
	if (perf_intake_take_pushed(&d->intake))
		wake_consumer(d);
}

static void salvage(struct perf_drain *d, size_t i)
{
	const struct perf_reader r = reader_of(d, i);

	perf_intake_salvage(&d->intake, &r);
}

static bool is_stuck(struct perf_drain *d, size_t i)
{
	const struct perf_reader reader = reader_of(d, i);
	struct ring_watch *w = &d->rings[i].watch;
	uint64_t written = perf_intake_unpublished(&d->intake, &reader), now = clock_monotonic_ns();

	if (written && now - written >= UNPUBLISHED_NS)
		return true;
	return ring_watch_due(w, perf_ring_head(perf_attach_ring(d->attach, i)), now) &&
	       ring_watch_note(w, perf_attach_ring_lost(d->attach, i), now);
}

/* Call after all rings have been drained. */
static void renew_stuck_rings(struct perf_drain *d)
{
	for (size_t i = 0; perf_attach_rings_may_stick(d->attach) && i < perf_attach_ring_count(d->attach); i++) {
		int r;

		if (!is_stuck(d, i))
			continue;
		drain_ring(d, i);
		salvage(d, i);
		r = perf_attach_renew_ring(d->attach, i);
		if (r < 0)
			log_warn("the kernel no longer writes samples of CPU %d: %s", perf_attach_cpus(d->attach)[i],
				 strerror(-r));
		else
			log_info("the ring of CPU %d was stuck and has been replaced", perf_attach_cpus(d->attach)[i]);
	}
}

/* What a round of its own learns of the rings does not apply: this may be called every millisecond. */
static void drain_meanwhile(void *ctx)
{
	struct perf_drain *d = ctx;

	for (size_t i = 0; i < perf_attach_ring_count(d->attach); i++)
		drain_ring(d, i);
	perf_attach_pull(d->attach);
	perf_intake_shared(&d->intake, UINT64_MAX);
	if (perf_intake_take_pushed(&d->intake))
		wake_consumer(d);
}

static int watch(struct perf_drain *d, int fd, uint64_t tag)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = tag};

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int watch_rings(struct perf_drain *d)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < perf_attach_ring_count(d->attach); i++)
		r = watch(d, perf_attach_poll_fds(d->attach)[i], i);
	return r == -EEXIST ? 0 : r;
}

static void unwatch_ring(struct perf_drain *d, size_t i)
{
	epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, perf_attach_poll_fds(d->attach)[i], NULL);
}

/* A descriptor that keeps reporting an error must not keep the thread awake. */
static void forget_fd(struct perf_drain *d, const struct epoll_event *e)
{
	if (e->data.u64 >= TAG_SHARED)
		return;
	if (e->events & (EPOLLHUP | EPOLLERR))
		unwatch_ring(d, e->data.u64);
}

static void drain_one_ring(void *ctx, size_t i)
{
	struct perf_drain *d = ctx;
	struct ring_state *ring = &d->rings[i];
	struct perf_reader reader = reader_of(d, i);
	int cpu = perf_attach_cpus(d->attach)[i];

	reader.switches = engine_thread_switches();
	if (lock(d) && sched_getcpu() == cpu)
		reader.cpu = cpu;
	reader.waiting_since_ns = ring->waiting_since_ns;
	perf_step_add(&ring->steps, atomic_exchange_explicit(&ring->used_ns, 0, memory_order_relaxed));
	perf_intake_drain(&d->intake, &reader);
	ring->waited = false;
	ring->waiting_since_ns = clock_monotonic_ns();
	perf_step_end(&ring->steps, clock_thread_cpu_ns());
	/* Once the target has started, it is enough if the drain thread wakes the consumer in its next round. */
	if ((!d->woke || ring->waiting_since_ns < d->started_ns) && perf_intake_take_pushed(&d->intake))
		wake_consumer(d);
	unlock(d);
}

static void start_readers(struct perf_drain *d)
{
	size_t n = perf_attach_ring_count(d->attach);
	int r;

	/* A sample from before the reader has waited once may be old. */
	for (size_t i = 0; i < n; i++)
		d->rings[i].waiting_since_ns = UINT64_MAX;
	r = ring_readers_start(perf_attach_cpus(d->attach), perf_attach_poll_fds(d->attach), n, drain_one_ring, d,
			       &d->readers);
	if (r < 0) {
		log_debug("cannot start threads that read single samples: %s", strerror(-r));
		return;
	}
	for (size_t i = 0; i < n; i++)
		unwatch_ring(d, i);
}

/* Call without the lock, which the readers take. */
static void stop_readers(struct perf_drain *d)
{
	ring_readers_stop(d->readers);
	d->readers = NULL;
	if (watch_rings(d) < 0)
		log_debug("rings are read only now and then");
}

static void adapt(struct perf_drain *d)
{
	bool change, each;

	perf_policy_poll(&d->policy);
	lock(d);
	change = perf_policy_adapt(&d->policy, d->ended_seen);
	unlock(d);
	each = perf_policy_wakes_each(&d->policy);
	if (change && each && !d->readers)
		start_readers(d);
	else if (change && !each && d->readers)
		stop_readers(d);
}

static struct timespec next_pause(struct perf_drain *d)
{
	uint32_t most = d->empty_rounds < IDLE_ROUNDS ? d->pause_ms : IDLE_PAUSE_MS;
	const struct perf_follow *f = perf_attach_follow(d->attach);

	if (f && f->family.last_ns && clock_monotonic_ns() - f->family.last_ns < YOUNG_NS && most > YOUNG_PAUSE_MS)
		most = YOUNG_PAUSE_MS;
	return perf_pause(&d->random, most);
}

/* Returns whether only forks and exits have woken it. */
static bool wait_rings(struct perf_drain *d)
{
	struct epoll_event events[16];
	struct pollfd p = {.fd = d->epoll_fd, .events = POLLIN};
	struct timespec pause = next_pause(d);
	int n = ppoll(&p, 1, &pause, NULL) > 0 ? epoll_wait(d->epoll_fd, events, 16, 0) : 0;
	bool forks = n > 0, rings = n > 0;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TAG_END) {
			d->ended_seen = true;
			epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, d->pid_fd, NULL);
		}
		forks &= events[i].data.u64 == TAG_FORK;
		rings &= events[i].data.u64 < TAG_FORK;
		forget_fd(d, &events[i]);
	}
	if (rings && d->policy.clock)
		perf_pause_leave_step(&d->random, d->policy.period);
	return forks;
}

static void note_family(struct perf_drain *d, const struct family *f)
{
	atomic_store_explicit(&d->alive, family_count(f), memory_order_relaxed);
	atomic_store_explicit(&d->followed, f->followed, memory_order_relaxed);
	atomic_store_explicit(&d->brief, f->brief, memory_order_relaxed);
	atomic_store_explicit(&d->refused, f->refused, memory_order_relaxed);
}

/* Have the target and all followed processes ended? */
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
	/* Inherited events record forks in the rings of samples, which may not have been read since then. */
	if (gone && perf_attach_mode(d->attach) == PERF_ATTACH_THREADS) {
		drain_rings(d, true);
		gone = family_is_empty(&f->family);
	}
	note_family(d, &f->family);
	unlock(d);
	return gone;
}

/* Call before samples of new processes are read. */
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

/* The target's CPU clock while events are switched one by one: half of what it uses meanwhile is sampled. */
static uint64_t cpu_while(struct perf_drain *d, void (*switch_events)(struct perf_attach *a))
{
	uint64_t before, after;
	int r = proc_cpu_ns(d->proc, &before);

	switch_events(d->attach);
	return r == 0 && proc_cpu_ns(d->proc, &after) == 0 ? before + (after - before) / 2 : 0;
}

static void finish(struct perf_drain *d)
{
	const struct perf_follow *f = perf_attach_follow(d->attach);
	uint64_t lost;

	atomic_store_explicit(&d->cpu_end_ns, cpu_while(d, perf_attach_disable), memory_order_relaxed);
	drain_rings(d, true);
	for (size_t i = 0; perf_attach_rings_may_stick(d->attach) && i < perf_attach_ring_count(d->attach); i++)
		salvage(d, i);
	perf_attach_each_rest(d->attach, perf_intake_rest, &d->intake);
	if (f)
		note_family(d, &f->family);
	/* Records of lost samples may be wrong: 514 where 404 were lost, after a stop of 4 s (Linux 6.18). The counts
	 * of the events are exact. */
	if (perf_attach_lost(d->attach, &lost))
		perf_intake_set_lost(&d->intake, lost);
	atomic_store(&d->ended, d->ended_seen);
	atomic_store(&d->done, true);
	wake_consumer(d);
}

static void *drain_main(void *arg)
{
	struct perf_drain *d = arg;
	struct perf_follow *f = perf_attach_follow(d->attach);

	engine_thread_raise_priority();
	start_readers(d);
	lock(d);
	/* Which events are wanted depends on whether there are children already. */
	if (f)
		perf_follow_start(f);
	if (d->starting)
		d->started_ns = clock_monotonic_ns() + PERF_DRAIN_START_NS;
	perf_policy_begin(&d->policy);
	atomic_store_explicit(&d->cpu_begin_ns, cpu_while(d, perf_attach_enable), memory_order_relaxed);
	unlock(d);
	sem_post(&d->sampling);
	for (unsigned round = 1; !atomic_load(&d->stop) && !target_is_gone(d, round); round++) {
		bool forks = wait_rings(d);

		take_forks(d);
		if (forks && clock_monotonic_ns() - d->drained_ns < YOUNG_PAUSE_MS * MS_NS)
			continue;
		d->drained_ns = clock_monotonic_ns();
		quiet_cpu_begin(&d->quiet);
		lock(d);
		drain_rings(d, false);
		renew_stuck_rings(d);
		unlock(d);
		quiet_cpu_end(&d->quiet);
		adapt(d);
	}
	ring_readers_stop(d->readers);
	d->readers = NULL;
	finish(d);
	return NULL;
}

/* --- For the owner */

static int open_fds(struct perf_drain *d)
{
	const struct perf_follow *f = perf_attach_follow(d->attach);
	const int *shared = perf_attach_shared_fds(d->attach);
	int r;

	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->epoll_fd < 0 || d->wake_fd < 0 || d->ready_fd < 0)
		return -errno;
	/* Since Linux 5.3; before that, /proc is looked at from time to time. */
	d->pid_fd = (int)syscall(SYS_pidfd_open, proc_pid(d->proc), 0);
	r = watch(d, d->wake_fd, TAG_WAKE);
	if (r == 0 && d->pid_fd >= 0)
		r = watch(d, d->pid_fd, TAG_END);
	for (size_t i = 0; r == 0 && f && i < f->n; i++)
		r = watch(d, f->fds[i], TAG_FORK);
	for (size_t i = 0; r == 0 && shared && i < perf_attach_ring_count(d->attach); i++)
		r = watch(d, shared[i], TAG_SHARED);
	return r < 0 ? r : watch_rings(d);
}

int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   const struct engine_options *o, struct perf_drain **ret, struct err *err)
{
	struct perf_drain *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->epoll_fd = d->wake_fd = d->pid_fd = d->ready_fd = -1;
	sem_init(&d->sampling, 0, 0);
	pthread_mutex_init(&d->lock, NULL);
	d->proc = proc;
	d->attach = attach;
	d->queue = q;
	d->starting = o->starting;
	d->pause_ms = PAUSE_MS;
	d->random = clock_monotonic_ns();
	perf_attach_set_drain(attach, drain_meanwhile, d);
	perf_policy_init(&d->policy, proc, attach, o);
	perf_intake_init(&d->intake, attach, q, &d->policy, o);
	d->rings = calloc(perf_attach_ring_count(attach), sizeof(*d->rings));
	if (!d->rings) {
		perf_drain_close(d);
		return err_set(err, -ENOMEM, "out of memory");
	}
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

	/* The eventfd stays readable from a push until it is read here, so no push goes unnoticed. */
	if (sample_queue_empty(d->queue) && !perf_drain_done(d))
		poll(&p, 1, ms_until(until_ns));
	(void)!read(d->ready_fd, &n, sizeof(n));
}

void perf_drain_used(struct perf_drain *d, int cpu, uint64_t ns)
{
	const int *cpus = perf_attach_cpus(d->attach);

	for (size_t i = 0; i < perf_attach_ring_count(d->attach); i++)
		if (cpus[i] == cpu)
			atomic_fetch_add_explicit(&d->rings[i].used_ns, ns, memory_order_relaxed);
}

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d)
{
	return (struct perf_drain_stats){
		.in = perf_intake_stats(&d->intake),
		.stack_bytes = d->policy.stack_bytes,
		.target_ended = d->ended,
		.followed = d->followed,
		.brief = d->brief,
		.refused = d->refused,
		.alive = d->alive,
		.on = d->policy.on,
		.shares = d->policy.shares,
		.cpu_begin_ns = d->cpu_begin_ns,
		.cpu_end_ns = d->cpu_end_ns,
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
	perf_intake_done(&d->intake);
	free(d->rings);
	sem_destroy(&d->sampling);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
