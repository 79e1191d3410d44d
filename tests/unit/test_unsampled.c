#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/engine.h"
#include "sampler/profile/profile.h"
#include "sampler/session/parts/unsampled.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc.h"

#define MS UINT64_C(1000000)

/* Threads that nobody has: of this process, which has one of its own. */
enum { GONE = 0x3ffff0 };

struct case_of {
	struct proc *proc;
	struct unsampled *u;
	struct profile *p;
};

static struct case_of begin_of(pid_t pid)
{
	struct case_of c = {.p = profile_new((struct profile_options){.threads = true})};

	assert_int_equal(proc_open(pid, &c.proc, NULL), 0);
	c.u = unsampled_new(c.proc, 10 * MS);
	assert_non_null(c.u);
	unsampled_start(c.u);
	return c;
}

static struct case_of begin(void)
{
	return begin_of(getpid());
}

/* Of a process that has ended. */
static struct case_of begin_gone(void)
{
	struct case_of c;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	c = begin_of(pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return c;
}

static void end(struct case_of *c)
{
	unsampled_free(c->u);
	profile_free(c->p);
	proc_close(c->proc);
}

static void ended_as(struct case_of *c, const char *name, const struct engine_ended *e)
{
	profile_set_thread_name(c->p, 1, e->tid, name);
	unsampled_ended(c->u, e, c->p, 1);
}

static void ended(struct case_of *c, pid_t tid, const char *name, uint64_t counted, uint64_t tail)
{
	ended_as(c, name, &(struct engine_ended){.tid = tid, .counted = counted, .tail = tail});
}

static void give(struct case_of *c, uint64_t cpu_ns, uint64_t sampled_ns)
{
	const struct unsampled_sums sums = {.cpu_ns = cpu_ns, .sampled_ns = sampled_ns};

	unsampled_finish(c->u);
	unsampled_give(c->u, &sums, c->p, 1);
}

/* A thousand threads of 3 ms, of two names: one entry each, and the sum is what was missing. */
static void test_threads_of_a_name(void **state)
{
	struct case_of c = begin();
	uint64_t all = 0, more = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		ended(&c, GONE + i, i % 4 ? "many" : "few", 3 * MS, 3 * MS);
	give(&c, 5000 * MS, 2000 * MS);
	assert_in_range(profile_sample_count(c.p), 2, 3); /* and this program's own thread */
	for (size_t i = 0; i < profile_sample_count(c.p); i++) {
		struct profile_sample s = profile_sample(c.p, i);
		const char *name = profile_thread_name(c.p, 1, s.tid);

		all += s.weight;
		more += name && !strcmp(name, "many") ? s.weight : 0;
		assert_in_range(s.count, s.weight / (10 * MS), s.weight / (10 * MS) + 1);
	}
	assert_in_range(all, 2990 * MS, 3000 * MS);
	assert_in_range(more, 2230 * MS, 2250 * MS);
	assert_int_equal(profile_totals(c.p).unsampled_short, all);
	assert_int_equal(profile_totals(c.p).samples, 0);
	end(&c);
}

static void test_nothing_is_missing(void **state)
{
	struct case_of c = begin();

	(void)state;
	ended(&c, GONE, "one", 30 * MS, 5 * MS);
	give(&c, 1000 * MS, 995 * MS); /* 0.5 % */
	assert_int_equal(profile_sample_count(c.p), 0);
	give(&c, 1000 * MS, 1020 * MS);
	assert_int_equal(profile_sample_count(c.p), 0);
	end(&c);
}

/* Threads that ended after the events, so that nothing was told of them, lack what the sum lacks. */
static void test_ended_unseen(void **state)
{
	struct case_of c = begin();
	uint64_t all = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		profile_set_thread_name(c.p, 1, GONE + i, "late");
		unsampled_sample(c.u, GONE + i, 10 * MS, 0, 0);
	}
	give(&c, 1000 * MS, 200 * MS);
	for (size_t i = 0; i < profile_sample_count(c.p); i++)
		all += profile_sample(c.p, i).weight;
	assert_in_range(all, 795 * MS, 800 * MS);
	end(&c);
}

/* The same of time in the kernel: it belongs to them as far as no other thread is known to lack it. */
static void test_kernel_time_unreported(void **state)
{
	struct case_of c = begin_gone();
	const struct unsampled_sums sums = {.cpu_ns = 1000 * MS, .sampled_ns = 300 * MS, .skips_kernel = true};
	uint64_t of[3] = {0};

	(void)state;
	unsampled_sample(c.u, GONE, 100 * MS, 0, 0);
	unsampled_sample(c.u, GONE + 1, 200 * MS, 0, 0);
	profile_set_thread_name(c.p, 1, GONE, "0");
	profile_set_thread_name(c.p, 1, GONE + 1, "1");
	ended(&c, GONE + 2, "2", 100 * MS, 0);
	unsampled_finish(c.u);
	unsampled_give(c.u, &sums, c.p, 1);
	for (size_t i = 0; i < profile_sample_count(c.p); i++) {
		const char *name = profile_thread_name(c.p, 1, profile_sample(c.p, i).tid);

		assert_non_null(name);
		of[name[0] - '0'] += profile_sample(c.p, i).weight;
	}
	assert_in_range(of[0], 199 * MS, 200 * MS);
	assert_in_range(of[1], 399 * MS, 400 * MS);
	assert_in_range(of[2], 99 * MS, 100 * MS);
	end(&c);
}

/* And of threads for which events were opened while they ran: only what they used since then was counted. */
static void test_kernel_time_counted_late(void **state)
{
	struct case_of c = begin_gone();
	const struct unsampled_sums sums = {.cpu_ns = 500 * MS, .sampled_ns = 300 * MS, .skips_kernel = true};

	(void)state;
	unsampled_sample(c.u, GONE, 300 * MS, 0, 0);
	ended_as(&c, "late", &(struct engine_ended){.tid = GONE, .counted = 200 * MS, .tail = 1, .late = true});
	unsampled_finish(c.u);
	unsampled_give(c.u, &sums, c.p, 1);
	assert_in_range(profile_totals(c.p).unsampled_kernel, 199 * MS, 200 * MS);
	end(&c);
}

/* What threads used that were sampled is not theirs once more. */
static void test_lost_samples_are_counted_elsewhere(void **state)
{
	struct case_of c = begin();
	const struct unsampled_sums sums = {.cpu_ns = 1000 * MS, .sampled_ns = 900 * MS, .lost_ns = 95 * MS};

	(void)state;
	ended(&c, GONE, "one", 300 * MS, 5 * MS);
	unsampled_finish(c.u);
	unsampled_give(c.u, &sums, c.p, 1);
	assert_int_equal(profile_sample_count(c.p), 0);
	end(&c);
}

/* Its samples have what it left over, in the profile and in the sum; nothing is missing then. */
static void test_leftover_of_a_sampled_thread(void **state)
{
	struct case_of c = begin();
	struct frame_key frame = {.kind = FRAME_NATIVE, .id = 1, .off = 0x10};
	const struct walk w = {.end = WALK_ROOT, .n = 1, .frames = &frame};
	uint32_t stack = profile_add(c.p, 1, GONE, THREAD_RUNNING, &w, 10 * MS);

	(void)state;
	unsampled_sample(c.u, GONE, 10 * MS, stack, 1);
	ended(&c, GONE, "one", 10 * MS, 0);
	ended(&c, GONE, "one", 14 * MS, 14 * MS); /* on another CPU */
	give(&c, 24 * MS, 10 * MS);
	assert_int_equal(profile_sample_count(c.p), 1);
	assert_int_equal(profile_sample(c.p, 0).weight, 24 * MS);
	assert_int_equal(profile_sample(c.p, 0).count, 2);
	assert_int_equal(profile_totals(c.p).weight, 24 * MS);
	assert_int_equal(profile_totals(c.p).samples, 1);
	assert_int_equal(profile_totals(c.p).unsampled_short, 0);
	end(&c);
}

/* It is still there when sampling ends, in the middle of a period; a whole period on each CPU is the most. */
static void test_rest_of_a_live_thread(void **state)
{
	struct case_of c = begin();
	struct frame_key frame = {.kind = FRAME_NATIVE, .id = 1, .off = 0x10};
	const struct walk w = {.end = WALK_ROOT, .n = 1, .frames = &frame};
	uint32_t stack = profile_add(c.p, 1, getpid(), THREAD_RUNNING, &w, 10 * MS);
	uint64_t begin_ns, now_ns, weight;

	(void)state;
	unsampled_sample(c.u, getpid(), 10 * MS, stack, 1);
	for (begin_ns = clock_thread_cpu_ns(); (now_ns = clock_thread_cpu_ns()) < begin_ns + 15 * MS;)
		;
	give(&c, 1000 * MS, 10 * MS);
	weight = profile_totals(c.p).weight;
	assert_true(weight > 10 * MS);
	assert_true(weight <= 10 * MS * (1 + (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)));
	assert_int_equal(profile_totals(c.p).samples, 1);
	/* No more than is missing. */
	give(&c, weight + MS, weight);
	assert_true(profile_totals(c.p).weight <= weight + MS);
	end(&c);
}

/* --- A target with many threads, each of which takes 2 ms to look at */

enum { MANY = 1000, SLOW_US = 2000 };

static int find_slow(void *ctx, pid_t pid, uint32_t *ret, int *ret_pidfd)
{
	(void)ctx, (void)pid;
	*ret = 1;
	*ret_pidfd = -1;
	return 0;
}

static void release_slow(void *ctx, uint32_t target)
{
	(void)ctx, (void)target;
}

static int open_slowly(void *ctx, uint32_t target, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	(void)ctx, (void)target;
	if (tid)
		usleep(SLOW_US);
	snprintf(path, sizeof(path), tid ? "/proc/%d/task/%d/%s" : "/proc/%d/%.0d%s", (int)getpid(), (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void *sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* The exit status: what took too long. */
static int look_at_many(void)
{
	const struct deputy slow = {.find = find_slow, .release = release_slow, .file = open_slowly};
	uint64_t start;
	pthread_attr_t attr;
	pthread_t t;
	struct case_of c;

	deputy_appoint(&slow);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&t, &attr, sleep_on, NULL))
			return 3;
	start = clock_monotonic_ns();
	c = begin();
	if (clock_monotonic_ns() - start > 2000 * MS)
		return 1;
	start = clock_monotonic_ns();
	unsampled_finish(c.u);
	if (clock_monotonic_ns() - start > 2000 * MS)
		return 2;
	return 0;
}

static void test_many_threads_are_looked_at_in_a_limited_time(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(look_at_many());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_of_a_name),
		cmocka_unit_test(test_nothing_is_missing),
		cmocka_unit_test(test_ended_unseen),
		cmocka_unit_test(test_kernel_time_unreported),
		cmocka_unit_test(test_kernel_time_counted_late),
		cmocka_unit_test(test_lost_samples_are_counted_elsewhere),
		cmocka_unit_test(test_leftover_of_a_sampled_thread),
		cmocka_unit_test(test_rest_of_a_live_thread),
		cmocka_unit_test(test_many_threads_are_looked_at_in_a_limited_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
