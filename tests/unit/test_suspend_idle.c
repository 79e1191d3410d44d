#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/suspend/suspend_idle.h"

/*
 * Threads whose schedstat are files of the test, and a process clock that is the sum of what they say and of
 * threads that ended. What a thread used must be found at the very tick where the clock tells of it, and
 * nobody else is woken.
 */
enum { MAX = 1200 };

struct world {
	struct suspend_idle idle; /* first: the clock finds the world by it */
	struct suspend_threads threads;
	struct suspend_thread th[MAX];
	struct suspend_thread *all[MAX];
	uint64_t cpu_ns[MAX], slices[MAX];
	uint64_t ended_ns;
	uint64_t runs_while_read; /* the clock goes on by this at each reading, one of the awake has run */
	unsigned clock_reads;
	bool woken[MAX];
	size_t n_woken;
};

static bool world_clock(const struct suspend_idle *s, uint64_t *ret)
{
	struct world *w = (struct world *)s;

	w->clock_reads++;
	w->ended_ns += w->runs_while_read;
	*ret = w->ended_ns;
	for (size_t i = 0; i < w->threads.n; i++)
		*ret += w->cpu_ns[i];
	return true;
}

static void write_account(struct world *w, size_t i)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " 0 %" PRIu64 "\n", w->cpu_ns[i], w->slices[i]);

	assert_int_equal(ftruncate(w->th[i].account_fd, 0), 0);
	assert_int_equal(pwrite(w->th[i].account_fd, text, (size_t)len, 0), len);
}

static void runs(struct world *w, size_t i, uint64_t ns)
{
	w->cpu_ns[i] += ns;
	w->slices[i]++;
	write_account(w, i);
}

static void on_woken(void *ctx, struct suspend_thread *th)
{
	struct world *w = ctx;
	size_t i = (size_t)(th - w->th);

	assert_false(w->woken[i]);
	assert_true(th->read);
	assert_int_equal(th->now.cpu_ns, w->cpu_ns[i]);
	assert_true(th->at < w->threads.n_awake);
	w->woken[i] = true;
	w->n_woken++;
}

static void tick(struct world *w)
{
	memset(w->woken, 0, sizeof(w->woken));
	w->n_woken = 0;
	suspend_idle_find(&w->idle, &w->threads, on_woken, w);
}

/* As the tick does with one that is seen asleep. */
static void falls_asleep(struct world *w, size_t i)
{
	assert_true(w->th[i].at < w->threads.n_awake);
	w->th[i].look.account = w->th[i].now;
	suspend_idle_add(&w->idle, &w->threads, &w->th[i]);
}

static struct world *world_new(size_t n)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_true(n <= MAX);
	w->idle.read_clock = world_clock;
	w->threads.all = w->all;
	w->threads.task_fd = -1;
	for (size_t i = 0; i < n; i++) {
		struct suspend_thread *th = &w->th[i];

		*th = (struct suspend_thread){.tid = 1000 + (pid_t)i, .at = i, .position_fd = -1};
		th->account_fd = memfd_create("schedstat", MFD_CLOEXEC);
		assert_true(th->account_fd >= 0);
		w->all[i] = th;
		runs(w, i, 1000 + i);
	}
	w->threads.n = w->threads.n_awake = n;
	w->ended_ns = 777;
	return w;
}

static void world_free(struct world *w)
{
	for (size_t i = 0; i < w->threads.n; i++)
		close(w->th[i].account_fd);
	free(w);
}

/* So many of them asleep, the last ones, and the sum of all that is not awake is known. */
static struct world *world_asleep(size_t n, size_t idle)
{
	struct world *w = world_new(n);

	tick(w);
	assert_int_equal(w->n_woken, 0);
	for (size_t i = n - idle; i < n; i++)
		falls_asleep(w, i);
	for (int i = 0; i < 12; i++)
		tick(w);
	assert_int_equal(w->threads.n_awake, n - idle);
	return w;
}

static void test_awake_are_read(void **state)
{
	struct world *w = world_asleep(4, 0);

	(void)state;
	runs(w, 2, 50000);
	tick(w);
	assert_int_equal(w->n_woken, 0); /* they were awake */
	for (size_t i = 0; i < 4; i++) {
		assert_true(w->th[i].read);
		assert_int_equal(w->th[i].now.cpu_ns, w->cpu_ns[i]);
	}
	/* Nobody looks at these. */
	w->th[1].left = true;
	w->threads.n_left = 1;
	w->th[2].tracing = true;
	tick(w);
	assert_true(w->th[0].read && w->th[3].read);
	assert_false(w->th[1].read || w->th[2].read);
	world_free(w);
}

/* Few idle ones: each is read at each tick, without a clock. */
static void test_few(void **state)
{
	struct world *w = world_asleep(12, 8);

	(void)state;
	assert_int_equal(w->clock_reads, 0);
	runs(w, 7, 1);
	runs(w, 11, 1);
	tick(w);
	assert_int_equal(w->n_woken, 2);
	assert_true(w->woken[7] && w->woken[11]);
	assert_int_equal(w->threads.n_awake, 6);
	tick(w);
	assert_int_equal(w->n_woken, 0);
	world_free(w);
}

/* How many idle ones are read in the next ticks; nobody is woken. */
static size_t reads_in(struct world *w, int ticks)
{
	size_t n = 0;

	for (size_t i = 0; i < w->threads.n; i++)
		w->th[i].read = false;
	while (ticks--) {
		tick(w);
		assert_int_equal(w->n_woken, 0);
	}
	for (size_t i = w->threads.n_awake; i < w->threads.n; i++)
		n += w->all[i]->read;
	return n;
}

/* The clock says that there is nothing to be found: no idle thread is read. */
static void test_nothing_read(void **state)
{
	struct world *w = world_asleep(120, 100);

	(void)state;
	assert_true(w->idle.sure);
	runs(w, 3, 5000000);
	assert_int_equal(reads_in(w, 5), 0);
	world_free(w);
}

/* One of many, wherever it is, after one nanosecond. */
static void test_one_of_many(void **state)
{
	/* They are read from the last to the first, until it is found. */
	static const size_t who[] = {20, 21, 57, 118, 119};

	(void)state;
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		struct world *w = world_asleep(120, 100);
		size_t place = w->th[who[i]].at;

		assert_int_equal(reads_in(w, 8), 0);
		runs(w, who[i], 1);
		tick(w);
		assert_int_equal(w->n_woken, 1);
		assert_true(w->woken[who[i]]);
		assert_int_equal(w->threads.n_awake, 21);
		/* The first idle one has changed places with it. */
		for (size_t k = 21; k <= place; k++)
			assert_false(w->all[k]->read);
		/* All is accounted for, as long as it is awake and when it sleeps again. */
		assert_int_equal(reads_in(w, 8), 0);
		falls_asleep(w, who[i]);
		assert_int_equal(reads_in(w, 8), 0);
		world_free(w);
	}
}

/* What ended threads used is not looked for again and again. */
static void test_ended(void **state)
{
	struct world *w = world_asleep(120, 100);

	(void)state;
	w->ended_ns += 123456;
	assert_int_equal(reads_in(w, 8), 100); /* looked for once */
	assert_int_equal(reads_in(w, 8), 0);
	w->ended_ns += 5;
	runs(w, 100, 10); /* is found while it is looked for what the other used */
	tick(w);
	assert_true(w->woken[100]);
	for (int i = 0; i < 8; i++)
		tick(w);
	assert_int_equal(reads_in(w, 8), 0);
	runs(w, 90, 10);
	tick(w);
	assert_true(w->woken[90] && w->n_woken == 1);
	world_free(w);
}

/* A clock that never stands still (a thread runs all the while) tells nothing: then some are read at each tick. */
static void test_no_answer(void **state)
{
	struct world *w = world_asleep(120, 100);
	int ticks = 0;

	(void)state;
	w->runs_while_read = 5;
	w->clock_reads = 0;
	tick(w);
	assert_int_equal(w->clock_reads, 4); /* it is tried twice */
	runs(w, 60, 1000);
	do
		tick(w);
	while (!w->n_woken && ++ticks < 8);
	assert_in_range(ticks, 0, 5);
	assert_int_equal(w->n_woken, 1);
	assert_true(w->woken[60]);
	world_free(w);
}

/* The same without a clock, and where threads are left out, which the sum would count. */
static void test_no_clock(void **state)
{
	(void)state;
	for (int left = 0; left < 2; left++) {
		struct world *w = world_asleep(120, 100);
		int ticks = 0;

		if (!left)
			w->idle.read_clock = NULL;
		w->th[0].left = left;
		w->threads.n_left = (size_t)left;
		w->clock_reads = 0;
		runs(w, 25, 1000);
		do
			tick(w);
		while (!w->n_woken && ++ticks < 8);
		assert_in_range(ticks, 0, 5);
		assert_true(w->n_woken == 1 && w->woken[25]);
		assert_int_equal(w->clock_reads, 0);
		world_free(w);
	}
}

/* With very many the clock itself is read less often. */
static void test_clock_share(void **state)
{
	struct world *w = world_asleep(MAX, MAX - 10);

	(void)state;
	w->clock_reads = 0;
	for (int i = 0; i < 40; i++)
		tick(w);
	assert_in_range(w->clock_reads, 1, 20); /* two for each time */
	world_free(w);
}

struct ending {
	int fd;
};

static void *end(void *arg)
{
	struct ending *e = arg;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)syscall(SYS_gettid));
	e->fd = open(path, O_RDONLY | O_CLOEXEC);
	return NULL;
}

/* The file of a thread that has ended. */
static int gone_account(void)
{
	struct ending e = {.fd = -1};
	pthread_t t;
	char c;

	assert_int_equal(pthread_create(&t, NULL, end, &e), 0);
	pthread_join(t, NULL);
	assert_true(e.fd >= 0);
	/* Joined, it may be on its way out of the kernel still. */
	while (pread(e.fd, &c, 1, 0) >= 0)
		sched_yield();
	return e.fd;
}

/* One that is gone makes the threads be listed anew, and is not woken for it. */
static void test_gone(void **state)
{
	static const size_t who[] = {5, 60}; /* awake, idle */

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_asleep(120, 100);

		close(w->th[who[i]].account_fd);
		w->th[who[i]].account_fd = gone_account();
		w->ended_ns += 1000; /* it ran before it ended */
		w->threads.links = 99;
		for (int k = 0; k < 8; k++)
			tick(w);
		assert_int_equal(w->threads.links, 0);
		assert_false(w->th[who[i]].read);
		assert_int_equal(w->n_woken, 0);
		world_free(w);
	}
}

/* Random work for a while: all of it is found, nothing else, and nobody waits for it. */
static void test_random(void **state)
{
	struct world *w = world_asleep(200, 180);
	bool ran[MAX];

	(void)state;
	srandom(1);
	for (int round = 0; round < 400; round++) {
		size_t n = (size_t)random() % 4, found = 0;

		memset(ran, 0, sizeof(ran));
		while (n--) {
			size_t i = (size_t)random() % 200;

			ran[i] = true;
			runs(w, i, 1 + (uint64_t)random() % 1000);
		}
		w->ended_ns += random() % 10 == 0 ? 5 : 0;
		for (int i = 0; i < 8; i++) {
			tick(w);
			for (size_t k = 0; k < 200; k++)
				assert_true(!w->woken[k] || ran[k]);
			found += w->n_woken;
		}
		for (size_t i = 0; i < 200; i++)
			if (ran[i])
				assert_true(w->th[i].at < w->threads.n_awake);
		assert_true(found <= 4);
		for (size_t i = 20; i < 200; i++)
			if (w->th[i].at < w->threads.n_awake)
				falls_asleep(w, i);
		assert_int_equal(w->threads.n_awake, 20);
	}
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awake_are_read), cmocka_unit_test(test_few),
		cmocka_unit_test(test_nothing_read),   cmocka_unit_test(test_one_of_many),
		cmocka_unit_test(test_ended),          cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_no_clock),       cmocka_unit_test(test_clock_share),
		cmocka_unit_test(test_gone),           cmocka_unit_test(test_random),
	};

	struct rlimit l;

	/* A descriptor per thread; a login has 1,024 of them at first. */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &l);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
