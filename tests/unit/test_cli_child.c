#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
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

/* A command that the suspend engine, a thread of the same process, holds. */
struct tracer {
	struct child child;
	sem_t holds, let_go;
};

static void *hold(void *arg)
{
	struct tracer *t = arg;
	siginfo_t info;

	assert_int_equal(ptrace(PTRACE_SEIZE, t->child.pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, t->child.pid, NULL, NULL), 0);
	assert_int_equal(waitid(P_PID, (id_t)t->child.pid, &info, WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD), 0);
	sem_post(&t->holds);
	sem_wait(&t->let_go);
	/* It is still reported: nobody has taken it. */
	info.si_pid = 0;
	waitid(P_PID, (id_t)t->child.pid, &info, WSTOPPED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD);
	ptrace(PTRACE_DETACH, t->child.pid, NULL, NULL);
	return (void *)(intptr_t)info.si_pid;
}

static void held_is_not_over(void **state)
{
	char *command[] = {"sleep", "600", NULL};
	struct tracer t;
	pthread_t thread;
	void *reported;
	bool over, ended;
	int status = 0;

	(void)state;
	assert_int_equal(child_start(command, &t.child, NULL), 0);
	assert_int_equal(child_release(&t.child, "sleep", NULL), 0);
	sem_init(&t.holds, 0, 0);
	sem_init(&t.let_go, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, hold, &t), 0);
	sem_wait(&t.holds);
	over = child_is_over(&t.child);
	ended = child_ended(&t.child, &status);
	sem_post(&t.let_go);
	pthread_join(thread, &reported);
	kill(t.child.pid, SIGTERM);
	assert_false(over || ended);
	assert_int_equal((pid_t)(intptr_t)reported, t.child.pid);
	while (!child_ended(&t.child, &status))
		usleep(1000);
	assert_int_equal(status, 128 + SIGTERM);
	assert_false(child_is_over(&t.child));
	assert_true(child_ended(&t.child, &status));
	assert_int_equal(status, 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_when_released),
		cmocka_unit_test(says_what_cannot_be_executed),
		cmocka_unit_test(killed_before_it_has_its_own_status),
		cmocka_unit_test(held_is_not_over),
	};

	signal(SIGPIPE, SIG_IGN); /* as in the program */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
