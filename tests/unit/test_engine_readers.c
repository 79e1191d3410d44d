#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/perf/ring_readers.h"

enum { RINGS = 3, NO_SUCH_CPU = 4000 };

struct seen {
	int fds[RINGS];
	bool keep; /* what is readable stays so */
	atomic_uint calls[RINGS];
	atomic_int cpu[RINGS];
	sem_t called;
};

static void take(void *ctx, size_t ring)
{
	struct seen *s = ctx;
	uint64_t n;

	if (!s->keep)
		(void)!read(s->fds[ring], &n, sizeof(n));
	atomic_store(&s->cpu[ring], sched_getcpu());
	atomic_fetch_add(&s->calls[ring], 1);
	sem_post(&s->called);
}

static void seen_init(struct seen *s)
{
	memset(s, 0, sizeof(*s));
	sem_init(&s->called, 0, 0);
	for (size_t i = 0; i < RINGS; i++)
		s->fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void seen_done(struct seen *s)
{
	for (size_t i = 0; i < RINGS; i++)
		close(s->fds[i]);
	sem_destroy(&s->called);
}

static void ring_up(const struct seen *s, size_t i)
{
	const uint64_t one = 1;

	assert_int_equal(write(s->fds[i], &one, sizeof(one)), sizeof(one));
}

static void wait_call(struct seen *s)
{
	while (sem_wait(&s->called) < 0)
		;
}

/* A CPU that this process may run on. */
static int some_cpu(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				return i;
	return 0;
}

static void test_each_ring_has_its_thread(void **state)
{
	int mine = some_cpu(), cpus[RINGS] = {mine, mine, NO_SUCH_CPU};
	struct ring_readers *p = NULL;
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(ring_readers_start(cpus, s.fds, RINGS, take, &s, &p), 0);
	for (unsigned round = 1; round <= 50; round++) {
		for (size_t i = 0; i < RINGS; i++)
			ring_up(&s, i);
		for (size_t i = 0; i < RINGS; i++)
			wait_call(&s);
	}
	ring_readers_stop(p);
	/* One call empties a ring; the first may come before its thread is on its CPU. */
	for (size_t i = 0; i < RINGS; i++)
		assert_int_equal(atomic_load(&s.calls[i]), 50);
	assert_int_equal(atomic_load(&s.cpu[0]), mine);
	assert_int_equal(atomic_load(&s.cpu[1]), mine);
	seen_done(&s);
}

static void test_nothing_after_the_stop(void **state)
{
	int cpus[RINGS] = {0};
	struct ring_readers *p = NULL;
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(ring_readers_start(cpus, s.fds, RINGS, take, &s, &p), 0);
	ring_readers_stop(p);
	ring_up(&s, 0);
	assert_int_equal(atomic_load(&s.calls[0]), 0);
	assert_int_equal(ring_readers_start(cpus, s.fds, 0, take, &s, &p), 0);
	ring_readers_stop(p);
	ring_readers_stop(NULL);
	seen_done(&s);
}

/* The thread that owned the event is gone: poll(2) says so for ever, once is enough. */
static void test_a_ring_that_hung_up(void **state)
{
	int cpus[RINGS] = {0}, ends[2];
	struct ring_readers *p = NULL;
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(pipe(ends), 0);
	close(s.fds[0]);
	s.fds[0] = ends[0];
	close(ends[1]);
	s.keep = true;
	assert_int_equal(ring_readers_start(cpus, s.fds, RINGS, take, &s, &p), 0);
	wait_call(&s);
	/* The others go on; each call is one more look of the first at what it would see again. */
	ring_up(&s, 1);
	for (int i = 0; i < 100; i++)
		wait_call(&s);
	ring_readers_stop(p);
	assert_int_equal(atomic_load(&s.calls[0]), 1);
	assert_true(atomic_load(&s.calls[1]) >= 100);
	assert_int_equal(atomic_load(&s.calls[2]), 0);
	seen_done(&s);
}

/* The time slice that the kernel grants the caller once its priority is raised; UINT64_MAX: that put it in the
 * real-time class. */
static uint64_t slice_when_raised(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		uint32_t nice, priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = {.size = sizeof(attr)};

	engine_thread_raise_priority();
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0)
		return 0;
	return attr.policy == SCHED_OTHER ? attr.runtime_ns : UINT64_MAX;
}

enum { AS_ASKED, NO_SLICES, OTHERWISE };

/* In a process of its own, because it gives up its rights. */
static int raise_unprivileged(void)
{
	enum { NOBODY = 65534 };

	if (setrlimit(RLIMIT_RTPRIO, &(struct rlimit){0, 0}) < 0)
		return OTHERWISE;
	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return OTHERWISE;
	switch (slice_when_raised()) {
	case ENGINE_THREAD_SLICE_NS: return AS_ASKED;
	case 0: return NO_SLICES;
	default: return OTHERWISE;
	}
}

static void test_unprivileged_gets_a_short_slice(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(raise_unprivileged());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SLICES)
		skip(); /* Linux before 6.12 */
	assert_int_equal(WEXITSTATUS(status), AS_ASKED);
}

static void test_a_boost_ends(void **state)
{
	int before = getpriority(PRIO_PROCESS, 0), was;

	(void)state;
	was = engine_thread_boost();
	assert_int_equal(was, before);
	assert_true(getpriority(PRIO_PROCESS, 0) <= before);
	if (geteuid() == 0)
		assert_true(getpriority(PRIO_PROCESS, 0) <= -10);
	engine_thread_unboost(was);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

static void test_leaving_the_cpu_is_noticed(void **state)
{
	uint64_t before = engine_thread_switches();

	(void)state;
	usleep(1000);
	assert_true(engine_thread_switches() > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_ring_has_its_thread),
		cmocka_unit_test(test_nothing_after_the_stop),
		cmocka_unit_test(test_a_ring_that_hung_up),
		cmocka_unit_test(test_unprivileged_gets_a_short_slice),
		cmocka_unit_test(test_a_boost_ends),
		cmocka_unit_test(test_leaving_the_cpu_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
