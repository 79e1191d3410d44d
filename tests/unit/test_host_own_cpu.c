#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/own_cpu.h"
#include "symbolizer/base/clock.h"

#define BURN_NS UINT64_C(200000000)
#define SLACK_NS UINT64_C(40000000) /* ticks, and what a process uses besides */

static void burn(void)
{
	while (clock_process_cpu_ns() < BURN_NS)
		;
}

static void wait_for(int said)
{
	char byte;

	assert_int_equal(read(said, &byte, 1), 1);
}

/* A child that has used that much, and ends when it is killed. */
static pid_t child_that_burned(void)
{
	pid_t child;
	int p[2];

	assert_int_equal(pipe(p), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn();
		if (write(p[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_true(child > 0);
	wait_for(p[0]);
	close(p[0]);
	close(p[1]);
	return child;
}

static void end(pid_t child, struct rusage *ret)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(wait4(child, NULL, 0, ret), child);
}

static void who_has_ended_counts(void **state)
{
	struct own_cpu o = {0};
	uint64_t before = own_cpu_ns(&o, NULL, 0), alive;
	struct rusage usage;
	pid_t child;

	(void)state;
	child = child_that_burned();
	alive = own_cpu_ns(&o, NULL, 0);
	assert_in_range(alive - before, BURN_NS, BURN_NS + SLACK_NS);
	end(child, &usage);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - alive, 0, SLACK_NS);
}

/* The processes that look at new programs begin and end between two calls. */
static void who_was_never_seen_counts(void **state)
{
	struct own_cpu o = {0};
	uint64_t before = own_cpu_ns(&o, NULL, 0);
	struct rusage usage;
	pid_t child;

	(void)state;
	child = child_that_burned();
	end(child, &usage);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, BURN_NS, BURN_NS + SLACK_NS);
}

static void an_answer_that_is_not_new_says_so(void **state)
{
	struct own_cpu o = {0};
	uint64_t last = own_cpu_ns(&o, NULL, 0);
	struct rlimit files, none;

	(void)state;
	assert_false(o.stale);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){0, files.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(own_cpu_ns(&o, NULL, 0), last);
	assert_true(o.stale);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(own_cpu_ns(&o, NULL, 0) > last);
	assert_false(o.stale);
}

/* What a child has waited for: the child still runs. */
static void grandchildren_count(void **state)
{
	struct own_cpu o = {0};
	uint64_t before = own_cpu_ns(&o, NULL, 0);
	struct rusage usage;
	int p[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(p), 0);
	child = fork();
	if (child == 0) {
		end(child_that_burned(), &usage);
		if (write(p[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	wait_for(p[0]);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, BURN_NS - SLACK_NS, BURN_NS + SLACK_NS);
	end(child, &usage);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, BURN_NS, BURN_NS + SLACK_NS);
}

/* Neither while it runs, nor afterwards. */
static void a_capture_does_not_count(void **state)
{
	struct own_cpu o = {0};
	uint64_t before = own_cpu_ns(&o, NULL, 0);
	struct rusage usage;
	pid_t child;

	(void)state;
	child = child_that_burned();
	assert_in_range(own_cpu_ns(&o, &child, 1) - before, 0, SLACK_NS);
	end(child, &usage);
	own_cpu_left_out(&o, &usage);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, 0, SLACK_NS);
}

/* Nobody here has waited for it: what it had used when it was last seen stays, and it hides nothing that follows. */
static void who_vanishes_keeps_its_place(void **state)
{
	struct own_cpu o = {0};
	uint64_t before;
	pid_t child;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	child = child_that_burned();
	before = own_cpu_ns(&o, NULL, 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	while (kill(child, 0) == 0)
		usleep(1000);
	signal(SIGCHLD, SIG_DFL);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, 0, SLACK_NS);
	child = child_that_burned();
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, BURN_NS, BURN_NS + SLACK_NS);
	end(child, NULL);
}

/* What cannot be read has not vanished. */
static void what_cannot_be_read_counts_once(void **state)
{
	struct own_cpu o = {0};
	struct rlimit before, none;
	uint64_t alive;
	pid_t child;

	(void)state;
	child = child_that_burned();
	alive = own_cpu_ns(&o, NULL, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(own_cpu_ns(&o, NULL, 0), alive);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_in_range(own_cpu_ns(&o, NULL, 0) - alive, 0, SLACK_NS);
	end(child, NULL);
}

/* Children of a child end while it is looked at, which is done all the time here. */
static void who_ends_meanwhile_counts_once(void **state)
{
	enum { CHILDREN = 8 };
	struct own_cpu o = {0};
	uint64_t before = own_cpu_ns(&o, NULL, 0), own = clock_process_cpu_ns(), used;
	struct rusage usage;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		for (int i = 0; i < CHILDREN; i++) {
			pid_t one = fork();

			if (one == 0) {
				burn();
				_exit(0);
			}
			waitpid(one, NULL, 0);
		}
		_exit(0);
	}
	while (wait4(child, NULL, WNOHANG, &usage) == 0)
		own_cpu_ns(&o, NULL, 0);
	used = CHILDREN * BURN_NS;
	own = clock_process_cpu_ns() - own;
	assert_in_range(own_cpu_ns(&o, NULL, 0) - before, used, used + own + 2 * SLACK_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_ended_counts),
		cmocka_unit_test(an_answer_that_is_not_new_says_so),
		cmocka_unit_test(who_was_never_seen_counts),
		cmocka_unit_test(grandchildren_count),
		cmocka_unit_test(a_capture_does_not_count),
		cmocka_unit_test(who_vanishes_keeps_its_place),
		cmocka_unit_test(what_cannot_be_read_counts_once),
		cmocka_unit_test(who_ends_meanwhile_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
