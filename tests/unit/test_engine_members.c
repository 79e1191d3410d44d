#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/perf/events/perf_members.h"

enum { PLACES = 1 << 16, SLOT = 3 };

static struct perf_members members;

static uint64_t entry(pid_t pid)
{
	return *(volatile uint64_t *)&members.table[(uint32_t)pid % PLACES];
}

static int open_members(void **state)
{
	(void)state;
	(void)perf_members_open(&members);
	return 0;
}

static int close_members(void **state)
{
	(void)state;
	perf_members_close(&members);
	return 0;
}

/* It executes `program` when the other end of the pipe is written to; without one, it only ends. */
static pid_t start(int *ret_go, const char *program)
{
	int go[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		if (read(go[0], &byte, 1) == 1 && program)
			execlp(program, program, "600", NULL);
		_exit(1);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static void end(pid_t pid, int go)
{
	close(go);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Which may have more rights than the one that was admitted. */
static void who_executes_is_no_member(void **state)
{
	pid_t pid, other;
	int go, none;

	(void)state;
	if (!members.table || members.exec_fd < 0)
		skip(); /* not root, or an old kernel */
	pid = start(&go, "sleep");
	other = start(&none, NULL);
	assert_int_equal(perf_members_set(&members, pid, SLOT, 1), 0);
	assert_int_equal(perf_members_set(&members, other, SLOT + 1, 1), 0);
	assert_int_equal(perf_members_change(&members, pid, SLOT, 2), 0);
	assert_int_not_equal(entry(pid), 0);
	assert_int_equal(write(go, "g", 1), 1);
	for (int ms = 0; entry(pid) && ms < 20000; ms++)
		usleep(1000);
	assert_int_equal(entry(pid), 0);
	assert_int_not_equal(entry(other), 0);
	/* What was to change meanwhile does not bring it back. */
	assert_true(perf_members_change(&members, pid, SLOT, 1) < 0);
	assert_int_equal(entry(pid), 0);
	assert_int_equal(perf_members_set(&members, pid, SLOT, 1), 0);
	assert_int_not_equal(entry(pid), 0);
	end(pid, go);
	end(other, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_executes_is_no_member, open_members, close_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
