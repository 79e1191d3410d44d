#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/inspect/each_process.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/err.h"
#include "tests/support/unkillable.h"

/* PIDs that no process has: only look() gives them a meaning. */
enum {
	FIRST = 1 << 23,
	N = 20,
	HANGS = FIRST + 7,
	DIES = FIRST + 9,
	GREEDY = FIRST + 11,
	SILENT = FIRST + 13,
	STARVED = FIRST + 15
};

static bool starving;

struct seen {
	int found[N], stuck[N];
};

/* Beside a process that always runs, for longer than anyone has patience. */
static void starve(void)
{
	const struct sched_param none = {0};
	uint64_t start_ns = clock_monotonic_ns();

	sched_setscheduler(0, SCHED_IDLE, &none);
	while (clock_monotonic_ns() - start_ns < (EACH_PATIENCE_MS + 500) * UINT64_C(1000000))
		;
}

static bool look(void *ctx, pid_t pid, void *record, struct err *failed)
{
	(void)ctx, (void)failed;
	if (pid == STARVED && starving)
		starve();
	if (pid == HANGS)
		for (;;)
			pause();
	if (pid == DIES)
		abort();
	if (pid == GREEDY) {
		void *p = mmap(NULL, 2 * (size_t)EACH_BYTES * DATA_LIMIT_FACTOR, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		/* Without so much memory it goes on. Not malloc(), which ASan has abort. */
		if (p != MAP_FAILED)
			abort();
	}
	memcpy(record, &pid, sizeof(pid));
	return pid != SILENT;
}

static void found(void *ctx, pid_t pid, const void *record)
{
	struct seen *s = ctx;

	assert_memory_equal(record, &pid, sizeof(pid));
	s->found[pid - FIRST]++;
}

static void stuck(void *ctx, pid_t pid, int signal)
{
	struct seen *s = ctx;

	assert_int_equal(signal, pid == DIES ? SIGABRT : 0);
	s->stuck[pid - FIRST]++;
}

/* Returns how many were not looked at, and how long it took. */
static size_t look_at_all(pid_t *pids, struct seen *s, uint64_t *ret_ns)
{
	const struct each_process e = {.ctx = s, .record = sizeof(pid_t), .look = look, .found = found, .stuck = stuck};
	uint64_t start = clock_monotonic_ns();
	struct err err = {0};
	size_t left;

	assert_int_equal(each_process(pids, N, &e, &left, &err), 0);
	*ret_ns = clock_monotonic_ns() - start;
	return left;
}

static void test_none_holds_up_the_others(void **state)
{
	struct seen s = {0};
	pid_t pids[N];
	uint64_t ns;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = FIRST + i;
	assert_int_equal(look_at_all(pids, &s, &ns), 0);
	for (int i = 0; i < N; i++) {
		bool bad = FIRST + i == HANGS || FIRST + i == DIES;

		assert_int_equal(s.stuck[i], bad);
		assert_int_equal(s.found[i], !bad && FIRST + i != SILENT);
	}
	assert_in_range(ns, EACH_PATIENCE_MS * UINT64_C(1000000), EACH_ALL_MS * UINT64_C(1000000));
}

/* All of them hang: what there was no time for is counted. */
static void test_time_is_limited(void **state)
{
	struct seen s = {0};
	pid_t pids[N];
	uint64_t ns;
	size_t left;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = HANGS;
	left = look_at_all(pids, &s, &ns);
	assert_true(left >= N / 2);
	assert_int_equal(s.stuck[HANGS - FIRST] + left, N);
	assert_true(ns < (EACH_ALL_MS + EACH_PATIENCE_MS) * UINT64_C(1000000));
}

/* A machine that is busy makes no process silent. */
static void test_starved(void **state)
{
	pid_t pids[1] = {STARVED}, busy = fork();
	const struct each_process e = {
		.ctx = &(struct seen){{0}, {0}}, .record = sizeof(pid_t), .look = look, .found = found, .stuck = stuck};
	const struct seen *s = e.ctx;
	cpu_set_t all, one;
	size_t left;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (busy == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setaffinity(0, sizeof(one), &one);
		setpriority(PRIO_PROCESS, 0, 0); /* whatever the test has: the child gets a three-hundredth beside it */
		for (;;)
			;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	starving = true;
	assert_int_equal(each_process(pids, 1, &e, &left, &(struct err){0}), 0);
	starving = false;
	sched_setaffinity(0, sizeof(all), &all);
	kill(busy, SIGKILL);
	waitpid(busy, NULL, 0);
	assert_int_equal(s->stuck[STARVED - FIRST], 0);
	assert_int_equal(s->found[STARVED - FIRST], 1);
}

/* --- a child for each */

static int begun;

static void begin(void)
{
	begun++;
}

static bool look_first(void *ctx, pid_t pid, void *record, struct err *failed)
{
	static int looks;
	const pid_t child = getpid();

	(void)ctx, (void)pid, (void)failed;
	memcpy(record, &child, sizeof(child));
	return begun == 1 && ++looks == 1;
}

struct children {
	pid_t all[N];
	int n;
};

static void found_child(void *ctx, pid_t pid, const void *record)
{
	struct children *c = ctx;
	pid_t child;

	(void)pid;
	memcpy(&child, record, sizeof(child));
	for (int i = 0; i < c->n; i++)
		assert_int_not_equal(c->all[i], child);
	assert_int_not_equal(child, getpid());
	c->all[c->n++] = child;
}

static void test_each_has_its_child(void **state)
{
	struct children c = {.n = 0};
	const struct each_process e = {.ctx = &c,
				       .record = sizeof(pid_t),
				       .apart = true,
				       .begin = begin,
				       .look = look_first,
				       .found = found_child,
				       .stuck = stuck};
	struct err err = {0};
	pid_t pids[N];
	size_t left;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = FIRST + i;
	assert_int_equal(each_process(pids, N, &e, &left, &err), 0);
	assert_int_equal(left, 0);
	assert_int_equal(c.n, N);
}

/* --- a child that was taken over, and stays */

static struct unkillable tracer;

static bool look_and_stay(void *ctx, pid_t pid, void *record, struct err *failed)
{
	(void)ctx, (void)failed;
	if (pid == FIRST + N - 1 && !be_unkillable(&tracer))
		abort();
	memcpy(record, &pid, sizeof(pid));
	return true;
}

/* It has answered for all, and never ends. */
static void test_answered_but_stays(void **state)
{
	struct seen s = {0};
	const struct each_process e = {
		.ctx = &s, .record = sizeof(pid_t), .look = look_and_stay, .found = found, .stuck = stuck};
	struct err err = {0};
	pid_t pids[N];
	uint64_t start;
	size_t left;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = FIRST + i;
	unkillable_begin(&tracer);
	start = clock_monotonic_ns();
	assert_int_equal(each_process(pids, N, &e, &left, &err), 0);
	assert_true(clock_monotonic_ns() - start < EACH_ALL_MS * UINT64_C(1000000));
	unkillable_end(&tracer);
	assert_int_equal(left, 0);
	for (int i = 0; i < N - 1; i++)
		assert_int_equal(s.found[i], 1);
}

/* --- one that cannot be examined */

static bool look_or_fail(void *ctx, pid_t pid, void *record, struct err *failed)
{
	(void)ctx;
	memcpy(record, &pid, sizeof(pid));
	if (pid == FIRST + 1)
		err_set(failed, -EPERM, "no\nway");
	return true;
}

/* The others are found, and why it is not: a warning; only if there are none, the result. */
static void test_failure(void **state)
{
	struct seen s = {0};
	struct err failed = {0}, err = {0};
	const struct each_process e = {.ctx = &s,
				       .record = sizeof(pid_t),
				       .look = look_or_fail,
				       .found = found,
				       .stuck = stuck,
				       .failed = &failed};
	pid_t pids[] = {FIRST, FIRST + 1, FIRST + 2};
	size_t left;

	(void)state;
	assert_int_equal(each_process(pids, 3, &e, &left, &err), 0);
	assert_true(s.found[0] == 1 && s.found[1] == 0 && s.found[2] == 1);
	assert_non_null(strstr(failed.msg, "way"));
	assert_null(strchr(failed.msg, '\n'));
	assert_int_equal(each_process_take_failed(&failed, true, &err), 0);
	assert_int_equal(each_process_take_failed(&failed, false, &err), -EPERM);
	assert_string_equal(err.msg, failed.msg);
	failed.msg[0] = '\0';
	assert_int_equal(each_process_take_failed(&failed, false, &err), 0);
}

/* --- whose processes come last */

enum { STUCK = 8, OTHERS = 8, STRANGER = 64000, SLOW_MS = 2000 };
/* Slow together, though none is by itself: all of them would take longer than SLOW_ALL_MS. */
enum { SLOWISH_MS = EACH_SLOW_MS - 50, SLOW_ALL_MS = 4500 };

/* What an ordinary user can make of a process of his, to look like another's. */
enum disguise { SET_USER_ID, NAMESPACES, SLOW, SLOWISH };

/* In namespaces a user may have many ids: newuidmap(1). */
static pid_t start_stranger(enum disguise how, int i)
{
	uid_t uid = how == NAMESPACES ? (uid_t)(STRANGER + i) : STRANGER;
	int ready[2];
	pid_t pid;
	char ok = 1;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(STRANGER) < 0 ||
		    setresuid(uid, how == SET_USER_ID ? 0 : uid, how == SET_USER_ID ? 0 : uid) < 0)
			ok = 0;
		if (how == NAMESPACES && unshare(CLONE_NEWUSER) < 0)
			ok = 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user would clear it */
		(void)!write(ready[1], &ok, 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &ok, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (ok)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static pid_t start_own(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

struct two_kinds {
	pid_t pids[STUCK + OTHERS]; /* alternating: the first of two is stuck, or slow */
	int slow_ms; /* 0: stuck */
	int found, found_slow, stuck;
};

static bool look_at_two(void *ctx, pid_t pid, void *record, struct err *failed)
{
	const struct two_kinds *k = ctx;

	(void)record, (void)failed;
	for (int i = 0; i < STUCK + OTHERS; i += 2) {
		if (k->slow_ms && k->pids[i] == pid)
			poll(NULL, 0, k->slow_ms);
		while (!k->slow_ms && k->pids[i] == pid)
			pause();
	}
	return true;
}

static void found_one(void *ctx, pid_t pid, const void *record)
{
	struct two_kinds *k = ctx;

	(void)record;
	for (int i = 0; i < STUCK + OTHERS; i++)
		if (k->pids[i] == pid && i % 2)
			k->found++;
		else if (k->pids[i] == pid)
			k->found_slow++;
}

static void stuck_one(void *ctx, pid_t pid, int signal)
{
	struct two_kinds *k = ctx;

	(void)pid, (void)signal;
	k->stuck++;
}

/* Whatever a user's processes that hang look like: those of others are looked at. */
static void none_is_left_out(enum disguise how)
{
	struct two_kinds k = {.slow_ms = how == SLOW ? SLOW_MS : how == SLOWISH ? SLOWISH_MS : 0};
	struct each_process e = {.ctx = &k, .look = look_at_two, .found = found_one, .stuck = stuck_one};
	struct err err = {0};
	size_t left = 0;
	int r = 0;

	if (geteuid() != 0)
		skip();
	for (int i = 0; i < STUCK + OTHERS; i++) {
		k.pids[i] = i % 2 ? start_own() : start_stranger(how, i);
		if (!k.pids[i]) {
			print_message("no user namespace can be made here\n");
			break;
		}
	}
	if (k.slow_ms)
		e.deadline_ns = clock_monotonic_ns() + SLOW_ALL_MS * UINT64_C(1000000);
	if (k.pids[0])
		r = each_process(k.pids, STUCK + OTHERS, &e, &left, &err);
	for (int i = 0; i < STUCK + OTHERS && k.pids[i]; i++) {
		kill(k.pids[i], SIGKILL);
		waitpid(k.pids[i], NULL, 0);
	}
	if (!k.pids[0])
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(k.found, OTHERS);
	assert_in_range(k.stuck + k.found_slow, 1, STUCK);
	assert_int_equal(k.stuck + k.found_slow + left, STUCK);
}

static void test_set_user_id(void **state)
{
	(void)state;
	none_is_left_out(SET_USER_ID);
}

/* They answer, but take their time. */
static void test_slow(void **state)
{
	(void)state;
	none_is_left_out(SLOW);
}

/* None of them takes long, but all of them do. */
static void test_slow_together(void **state)
{
	(void)state;
	none_is_left_out(SLOWISH);
}

static void test_namespaces(void **state)
{
	(void)state;
	none_is_left_out(NAMESPACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_holds_up_the_others),
		cmocka_unit_test(test_time_is_limited),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_each_has_its_child),
		cmocka_unit_test(test_answered_but_stays),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_set_user_id),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_slow_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
