#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/bounded_child.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/data_limit.h"
#include "tests/support/unkillable.h"

#define SECOND UINT64_C(1000000000)

static const struct bounded_limits NONE = {UINT64_MAX, UINT64_MAX};

/* Runs it to its end; what it sent, and its status. */
static bool run(const struct bounded_limits *l, bounded_main *body, void *ctx, void *ret, size_t len, int *status,
		uint64_t *ret_end_ns)
{
	struct bounded_child c;
	uint64_t start;
	bool ended;

	assert_int_equal(bounded_child_start(&c, l, body, ctx), 0);
	assert_true(c.pid > 0);
	if (len)
		assert_int_equal(recv(c.fd, ret, len, MSG_WAITALL), len);
	start = clock_monotonic_ns();
	ended = bounded_child_end(&c, status);
	*ret_end_ns = clock_monotonic_ns() - start;
	assert_int_equal(c.pid, 0);
	assert_int_equal(c.fd, -1);
	return ended;
}

struct surroundings {
	bool null[3];
	struct rlimit core, cpu;
	pid_t parent;
};

static void tell_surroundings(void *ctx, int fd)
{
	struct surroundings s = {.parent = getppid()};
	struct stat null, st;

	(void)ctx;
	stat("/dev/null", &null);
	for (int i = 0; i < 3; i++)
		s.null[i] = fstat(i, &st) == 0 && st.st_rdev == null.st_rdev && S_ISCHR(st.st_mode);
	getrlimit(RLIMIT_CORE, &s.core);
	getrlimit(RLIMIT_CPU, &s.cpu);
	(void)!write(fd, &s, sizeof(s));
}

static void test_surroundings(void **state)
{
	const struct bounded_limits l = {UINT64_MAX, 5 * SECOND};
	struct surroundings s = {0};
	uint64_t ns;

	(void)state;
	assert_true(run(&l, tell_surroundings, NULL, &s, sizeof(s), NULL, &ns));
	assert_true(s.null[0] && s.null[1] && s.null[2]);
	assert_int_equal(s.core.rlim_max, 0);
	assert_in_range(s.cpu.rlim_cur, 5, 7);
	assert_int_equal(s.parent, getpid());
}

static void use_memory(void *ctx, int fd)
{
	size_t *len = ctx;
	void *p = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool got = p != MAP_FAILED;

	(void)!write(fd, &got, sizeof(got));
}

static void test_memory(void **state)
{
	const struct bounded_limits l = {64 << 20, UINT64_MAX};
	size_t some = 32 << 20, much = (size_t)128 * DATA_LIMIT_FACTOR << 20;
	uint64_t ns;
	bool got;

	(void)state;
	assert_true(run(&l, use_memory, &some, &got, sizeof(got), NULL, &ns));
	assert_true(got);
	assert_true(run(&l, use_memory, &much, &got, sizeof(got), NULL, &ns));
	assert_false(got);
	assert_true(run(&NONE, use_memory, &much, &got, sizeof(got), NULL, &ns));
	assert_true(got);
}

static void spin(void *ctx, int fd)
{
	char ready = 1;

	(void)ctx;
	(void)!write(fd, &ready, 1);
	for (volatile unsigned i = 0;; i++)
		;
}

static void test_one_that_loops_is_ended(void **state)
{
	uint64_t ns;
	int status;
	char ready;

	(void)state;
	assert_true(run(&NONE, spin, NULL, &ready, 1, &status, &ns));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(ns < SECOND);
}

static void crash(void *ctx, int fd)
{
	(void)ctx;
	close(fd);
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
}

/* How it ended by itself is what counts, even if it was on its way when it was to be ended. */
static void test_its_own_end_counts(void **state)
{
	struct bounded_child c;
	struct pollfd p = {.events = POLLIN};
	int status;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(bounded_child_start(&c, &NONE, crash, NULL), 0);
		p.fd = c.fd;
		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_true(bounded_child_end(&c, &status));
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

/* SIGKILL does not help: whoever waits for it without limit waits as long as it pleases. */
static void stay(void *ctx, int fd)
{
	char ok = be_unkillable(ctx);

	(void)!write(fd, &ok, 1);
	for (;;)
		pause();
}

static void test_one_that_cannot_be_ended_is_left(void **state)
{
	struct unkillable u;
	uint64_t ns;
	int status;
	char ok;
	bool ended;

	(void)state;
	unkillable_begin(&u);
	ended = run(&NONE, stay, &u, &ok, 1, &status, &ns);
	unkillable_end(&u);
	if (!ok) {
		print_message("no process may be traced here\n");
		skip();
	}
	assert_false(ended);
	assert_int_equal(status, 0);
	assert_true(ns < 3 * SECOND);
}

/* Its copy of the socket is not the only one: the parent sees the end all the same. */
static void leave_a_copy(void *ctx, int fd)
{
	(void)ctx, (void)fd;
	if (fork() == 0) {
		for (int i = 0; i < 50 && getppid() != 1; i++)
			poll(NULL, 0, 100);
		_exit(0);
	}
}

static void test_copies_of_the_socket(void **state)
{
	struct bounded_child c;
	char byte;
	int status;
	uint64_t start = clock_monotonic_ns();

	(void)state;
	assert_int_equal(bounded_child_start(&c, &NONE, leave_a_copy, NULL), 0);
	assert_int_equal(recv(c.fd, &byte, 1, 0), 0);
	assert_true(clock_monotonic_ns() - start < 2 * SECOND);
	assert_true(bounded_child_end(&c, &status));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_none(void **state)
{
	struct bounded_child c = {.fd = -1};
	int status = 1;

	(void)state;
	assert_true(bounded_child_end(&c, &status));
	assert_int_equal(status, 0);
	assert_true(bounded_child_end(&c, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_surroundings),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_one_that_loops_is_ended),
		cmocka_unit_test(test_its_own_end_counts),
		cmocka_unit_test(test_one_that_cannot_be_ended_is_left),
		cmocka_unit_test(test_copies_of_the_socket),
		cmocka_unit_test(test_none),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
