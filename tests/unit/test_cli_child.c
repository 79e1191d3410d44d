#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/cli/targets/child.h"
#include "symbolizer/base/err.h"

static int wait_for_status(const struct child *c)
{
	int status = -1;

	waitid(P_PID, (id_t)c->pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_true(child_ended(c, &status));
	return status;
}

static void runs_when_released(void **state)
{
	char *command[] = {"sh", "-c", "exit 7", NULL};
	struct child c;

	(void)state;
	assert_int_equal(child_start(command, &c, NULL), 0);
	assert_false(child_is_over(&c));
	assert_int_equal(child_release(&c, command[0], NULL), 0);
	assert_int_equal(wait_for_status(&c), 7);
}

static void says_what_cannot_be_executed(void **state)
{
	char *command[] = {"/no/such/program", NULL};
	struct err err = {0};
	struct child c;

	(void)state;
	assert_int_equal(child_start(command, &c, NULL), 0);
	assert_int_equal(child_release(&c, command[0], &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/program"));
	assert_int_equal(wait_for_status(&c), 127);
}

/* A Ctrl-C during the start is no failure of the program that starts it. */
static void killed_before_it_has_its_own_status(void **state)
{
	char *command[] = {"true", NULL};
	struct child c;

	(void)state;
	assert_int_equal(child_start(command, &c, NULL), 0);
	kill(c.pid, SIGTERM);
	waitid(P_PID, (id_t)c.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_int_equal(child_release(&c, command[0], NULL), 0);
	assert_int_equal(wait_for_status(&c), 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_when_released),
		cmocka_unit_test(says_what_cannot_be_executed),
		cmocka_unit_test(killed_before_it_has_its_own_status),
	};

	signal(SIGPIPE, SIG_IGN); /* as in the program */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
