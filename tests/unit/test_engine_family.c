#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/perf/events/family.h"
#include "sampler/engine/perf/unfollowed.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/target/proc.h"

#define MS UINT64_C(1000000)

enum { STRANGER = 1, KIDS = FAMILY_MAX + 3 };

/* The test itself is the target. */
static struct family f;
static struct budget memory;
static int joined, left;

static void on_joined(void *ctx, struct family_member *k)
{
	assert_ptr_equal(ctx, &f);
	assert_ptr_equal(family_find(&f, k->pid), k);
	joined++;
}

static void on_left(void *ctx, struct family_member *k)
{
	(void)ctx;
	assert_null(family_find(&f, k->pid));
	left++;
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int setup(void **state)
{
	(void)state;
	budget_init(&memory, 1 << 30, UINT64_MAX);
	f = (struct family){.joined = on_joined, .left = on_left, .ctx = &f, .memory = &memory};
	joined = left = 0;
	return proc_open(getpid(), &f.target, NULL);
}

static int teardown(void **state)
{
	struct proc *p = f.target;

	(void)state;
	family_done(&f);
	proc_close(p);
	return 0;
}

static void test_child(void **state)
{
	pid_t a = start();

	(void)state;
	assert_true(family_has(&f, getpid()));
	assert_true(family_is_empty(&f));
	family_forked(&f, STRANGER, a, 1 * MS);
	assert_false(family_has(&f, a));
	family_forked(&f, getpid(), a, 1 * MS);
	family_forked(&f, getpid(), a, 1 * MS); /* from a second ring */
	assert_true(family_has(&f, a));
	assert_int_equal(joined, 1);
	assert_int_equal(f.followed, 1);
	family_sweep(&f, 2 * MS);
	assert_int_equal(left, 0);
	end(a);
	family_sweep(&f, 3 * MS);
	assert_int_equal(left, 1);
	assert_true(family_is_empty(&f));
	/* Its samples, and its fork, may still lie in a ring. */
	family_forked(&f, getpid(), a, 1 * MS);
	assert_int_equal(f.followed + f.brief, 1);
	assert_false(family_has(&f, a));
	assert_true(family_knows(&f, a, 3 * MS));
	assert_false(family_knows(&f, a, 3000 * MS));
}

/* A child may have as many mappings as the target. */
static void test_memory(void **state)
{
	pid_t a = start();
	struct family_member *k;

	(void)state;
	family_forked(&f, getpid(), a, 1 * MS);
	k = family_find(&f, a);
	assert_non_null(k);
	stack_rest_beyond(&k->rest, (uint64_t)(uintptr_t)&k, 1 * MS);
	assert_non_null(k->rest.maps);
	assert_true(budget_bytes_left(&memory) < 1 << 30);
	end(a);
	family_sweep(&f, 2 * MS);
	assert_int_equal(budget_bytes_left(&memory), 1 << 30);
}

/* Records of one CPU are read before those of another. */
static void test_grandchild_first(void **state)
{
	pid_t a = start(), b = start(), c = start();

	(void)state;
	family_forked(&f, b, c, 3 * MS);
	family_forked(&f, a, b, 2 * MS);
	assert_int_equal(joined, 0);
	family_forked(&f, getpid(), a, 1 * MS);
	assert_int_equal(joined, 3);
	assert_true(family_has(&f, a) && family_has(&f, b) && family_has(&f, c));
	assert_int_equal(family_count(&f), 3);
	end(a);
	end(b);
	end(c);
}

/* What a daemon does: the process between has ended before anybody looked. */
static void test_parent_has_ended(void **state)
{
	pid_t a = start(), b = start(), c = start();

	(void)state;
	end(a);
	family_forked(&f, getpid(), a, 1 * MS);
	family_forked(&f, getpid(), a, 2 * MS); /* from a second ring */
	assert_int_equal(f.brief, 1);
	assert_int_equal(joined, 0);
	family_forked(&f, a, b, 1 * MS);
	assert_true(family_has(&f, b));
	/* The number may be somebody else's after a while. */
	family_forked(&f, a, c, 5000 * MS);
	assert_false(family_has(&f, c));
	end(b);
	end(c);
}

static void test_too_many(void **state)
{
	pid_t pids[KIDS];

	(void)state;
	for (size_t i = 0; i < KIDS; i++) {
		pids[i] = start();
		family_forked(&f, getpid(), pids[i], 1 * MS);
	}
	assert_int_equal(f.followed, FAMILY_MAX);
	family_forked(&f, getpid(), pids[KIDS - 1], 2 * MS); /* from a second ring */
	assert_int_equal(f.refused, KIDS - FAMILY_MAX);
	family_add(&f, pids[KIDS - 1], 1000 * MS); /* by each of its samples */
	assert_int_equal(f.refused, KIDS - FAMILY_MAX);
	/* Those that end make room, though not for each fork of a storm: all members are asked. */
	end(pids[0]);
	family_add(&f, pids[KIDS - 2], 1005 * MS);
	assert_false(family_has(&f, pids[KIDS - 2]));
	family_add(&f, pids[KIDS - 1], 2000 * MS);
	assert_true(family_has(&f, pids[KIDS - 1]));
	for (size_t i = 1; i < KIDS; i++)
		end(pids[i]);
	family_sweep(&f, 2001 * MS);
	assert_true(family_is_empty(&f));
	assert_int_equal(left, joined);
}

static void test_scan(void **state)
{
	pid_t a = start();

	(void)state;
	family_scan(&f, 1 * MS);
	assert_true(family_has(&f, a));
	end(a);
}

static void test_tasks(void **state)
{
	pid_t a = start(), *tids;
	bool own = false, child = false;
	size_t n;

	(void)state;
	family_add(&f, a, 1 * MS);
	assert_int_equal(family_tasks(&f, &tids, &n), 0);
	for (size_t i = 0; i < n; i++) {
		own |= tids[i] == getpid();
		child |= tids[i] == a;
	}
	free(tids);
	assert_true(own && child);
	end(a);
}

static char seen[4][16];
static int n_seen;

static void note_name(void *ctx, const struct unfollowed_child *c)
{
	assert_null(ctx);
	assert_in_range(n_seen, 0, 3);
	memcpy(seen[n_seen++], c->comm, sizeof(seen[0]));
}

/* A process has its parent's name until it calls execve(2). */
static void test_unfollowed(void **state)
{
	struct unfollowed l = {.n = 0};
	int gate[2], ready[2];
	pid_t pid;
	char go;

	(void)state;
	n_seen = 0;
	assert_int_equal(pipe(gate) | pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "before");
		(void)!write(ready[1], "r", 1);
		(void)!read(gate[0], &go, 1);
		prctl(PR_SET_NAME, "after");
		(void)!write(ready[1], "r", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &go, 1), 1);
	unfollowed_add(&l, pid);
	unfollowed_poll(&l, 1000 * MS, note_name, NULL);
	assert_int_equal(write(gate[1], "g", 1), 1);
	assert_int_equal(read(ready[0], &go, 1), 1);
	unfollowed_poll(&l, 1001 * MS, note_name, NULL); /* too soon */
	assert_int_equal(n_seen, 1);
	unfollowed_poll(&l, 2000 * MS, note_name, NULL);
	unfollowed_poll(&l, 3000 * MS, note_name, NULL); /* nothing new */
	assert_int_equal(n_seen, 2);
	assert_string_equal(seen[0], "before");
	assert_string_equal(seen[1], "after");
	end(pid);
	unfollowed_poll(&l, 4000 * MS, note_name, NULL);
	assert_int_equal(n_seen, 2);
	for (int i = 0; i < 2 * UNFOLLOWED_MAX; i++)
		unfollowed_add(&l, 1);
	assert_int_equal(l.n, UNFOLLOWED_MAX);
	close(gate[0]);
	close(gate[1]);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_child, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grandchild_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parent_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test(test_unfollowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
