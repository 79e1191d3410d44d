#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/suspend/ptrace_stop.h"

enum { WATCHDOG_S = 30 };

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

struct traced {
	pid_t pid;
	bool stopped, ended, more;
};

/* Its end while it is stopped, which none but its tracer and its parent see. */
static void *trace_to_the_end(void *arg)
{
	struct traced *t = arg;
	struct ptrace_stop_event e;

	ptrace_stop_begin(t->pid);
	if (ptrace_stop_ask(t->pid) < 0)
		return NULL;
	t->stopped = ptrace_stop_wait(&e) == 1 && e.tid == t->pid && !e.ended;
	kill(t->pid, SIGKILL);
	t->ended = ptrace_stop_wait(&e) == 1 && e.tid == t->pid && e.ended;
	t->more = ptrace_stop_wait(&e) != 0 || ptrace_stop_next(&e);
	return NULL;
}

static void leaves_a_childs_status_to_its_parent(void **state)
{
	struct traced t = {.pid = start_child()};
	pthread_t tracer;
	int status = 0;

	(void)state;
	assert_int_equal(pthread_create(&tracer, NULL, trace_to_the_end, &t), 0);
	pthread_join(tracer, NULL);
	assert_true(t.stopped);
	assert_true(t.ended);
	assert_false(t.more);
	assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Nobody else waits for a thread: execve(2) of its process would never return. */
static void takes_the_end_of_others(void **state)
{
	struct ptrace_stop_event e;
	pid_t pid = start_child(), other = start_child();

	(void)state;
	ptrace_stop_begin(other);
	assert_int_equal(ptrace_stop_ask(pid), 0);
	assert_int_equal(ptrace_stop_wait(&e), 1);
	kill(pid, SIGKILL);
	assert_int_equal(ptrace_stop_wait(&e), 1);
	assert_true(e.ended);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_a_childs_status_to_its_parent),
		cmocka_unit_test(takes_the_end_of_others),
	};

	alarm(WATCHDOG_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
