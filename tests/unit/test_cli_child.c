#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
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

/* --- a command of another process */

struct below {
	struct child child;
	struct child_parent parent;
	pid_t process;
	int stay; /* it ends when this is closed */
};

static void be_parent(struct below *b, int stay)
{
	char byte;
	pid_t pid;

	close(b->stay);
	if (child_parent_start(&b->parent, &pid) < 0 || child_parent_watch(&b->parent) < 0)
		_exit(1);
	if (read(stay, &byte, 1) == 0)
		child_parent_end(&b->parent);
	_exit(0);
}

static void start_below(struct below *b, char **command)
{
	int stay[2];

	assert_int_equal(pipe(stay), 0);
	assert_int_equal(child_prepare(command, &b->child, &b->parent, NULL), 0);
	b->stay = stay[1];
	b->process = fork();
	if (b->process == 0)
		be_parent(b, stay[0]);
	close(stay[0]);
	assert_int_equal(child_know(&b->child, &b->parent, NULL), 0);
	assert_int_equal(kill(b->child.pid, 0), 0);
}

static int status_below(const struct below *b)
{
	int status = -1;

	while (!child_ended(&b->child, &status)) {
		struct pollfd p = {.fd = child_end_fd(&b->child), .events = POLLIN};

		poll(&p, 1, -1);
	}
	return status;
}

static void end_below(const struct below *b)
{
	close(b->stay);
	waitpid(b->process, NULL, 0);
	assert_int_equal(kill(b->child.pid, 0), -1); /* nobody else would wait for it */
}

static void another_process_says_the_status(void **state)
{
	char self[16], *command[] = {"sh", "-c", "[ $PPID != $0 ] && exit 7", self, NULL};
	struct below b;

	(void)state;
	snprintf(self, sizeof(self), "%d", (int)getpid());
	start_below(&b, command);
	assert_false(child_is_over(&b.child));
	assert_int_equal(child_release(&b.child, "sh", NULL), 0);
	assert_int_equal(status_below(&b), 7);
	end_below(&b);
}

static void another_process_says_the_signal(void **state)
{
	char *command[] = {"sh", "-c", "kill -TERM $$", NULL};
	struct below b;

	(void)state;
	start_below(&b, command);
	assert_int_equal(child_release(&b.child, "sh", NULL), 0);
	assert_int_equal(status_below(&b), 128 + SIGTERM);
	end_below(&b);
}

static void below_another_it_cannot_be_executed(void **state)
{
	char *command[] = {"/no/such/program", NULL};
	struct err err = {0};
	struct below b;

	(void)state;
	start_below(&b, command);
	assert_int_equal(child_release(&b.child, command[0], &err), -ENOENT);
	assert_int_equal(status_below(&b), 127);
	end_below(&b);
}

static void below_another_it_is_abandoned(void **state)
{
	char *command[] = {"true", NULL};
	struct below b;

	(void)state;
	start_below(&b, command);
	child_abandon(&b.child);
	assert_int_equal(status_below(&b), 127);
	end_below(&b);
}

/* It goes on, and its end is still seen. */
static void another_process_is_killed(void **state)
{
	char *command[] = {"sleep", "600", NULL};
	struct below b;

	(void)state;
	start_below(&b, command);
	assert_int_equal(child_release(&b.child, "sleep", NULL), 0);
	kill(b.process, SIGKILL);
	waitpid(b.process, NULL, 0);
	if (b.child.pidfd < 0) {
		kill(b.child.pid, SIGKILL);
		skip();
	}
	assert_int_equal(child_end_fd(&b.child), b.child.pidfd);
	assert_false(child_is_over(&b.child));
	kill(b.child.pid, SIGTERM);
	assert_int_equal(status_below(&b), CHILD_STATUS_UNKNOWN);
}

/* Without the first process nothing lets it go. */
static void held_below_another_that_is_killed(void **state)
{
	char *command[] = {"sleep", "600", NULL};
	struct below b;

	(void)state;
	start_below(&b, command);
	kill(b.process, SIGKILL);
	waitpid(b.process, NULL, 0);
	assert_int_equal(status_below(&b), CHILD_STATUS_UNKNOWN);
	child_abandon(&b.child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_says_the_status),
		cmocka_unit_test(another_process_says_the_signal),
		cmocka_unit_test(below_another_it_cannot_be_executed),
		cmocka_unit_test(below_another_it_is_abandoned),
		cmocka_unit_test(another_process_is_killed),
		cmocka_unit_test(held_below_another_that_is_killed),
		cmocka_unit_test(runs_when_released),
		cmocka_unit_test(says_what_cannot_be_executed),
		cmocka_unit_test(killed_before_it_has_its_own_status),
	};

	signal(SIGPIPE, SIG_IGN); /* as in the program */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
