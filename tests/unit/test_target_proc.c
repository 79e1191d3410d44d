#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/access.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"

/* TSan starts one of its own beside the first of the program. */
#ifdef __SANITIZE_THREAD__
enum { TSAN_THREADS = 1 };
#else
enum { TSAN_THREADS = 0 };
#endif

static void test_stat_text(void **state)
{
	static const char good[] = "42 (a) R 1) b\n) S 1 42 42 0 -1 4194304 1 2 3 4 500 60 7 8 20 0 33 0 "
				   "987654321 1000 10 18446744073709551615 1 1\n";
	struct proc_stat s;

	(void)state;
	assert_int_equal(proc_stat_parse(good, &s), 0);
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.utime, 500);
	assert_int_equal(s.stime, 60);
	assert_int_equal(s.ppid, 1);
	assert_int_equal(s.cutime, 7);
	assert_int_equal(s.cstime, 8);
	assert_int_equal(s.n_threads, 33);
	assert_int_equal(s.start, 987654321);
	assert_int_equal(proc_stat_parse("", &s), -EINVAL);
	assert_int_equal(proc_stat_parse("42 (a", &s), -EINVAL);
	assert_int_equal(proc_stat_parse("42 (a)", &s), -EINVAL);
	assert_int_equal(proc_stat_parse("42 (a) S 1 42 42 0 -1 4194304 1 2 3 4 500 60 7 8 20 0 33 0", &s), -EINVAL);
}

static void test_stat_cpu(void **state)
{
	char text[400] = "42 (a) R 1) b\n) S";
	int cpu = -1;

	(void)state;
	for (int field = 4; field <= 39; field++) {
		assert_int_equal(proc_stat_cpu(text, &cpu), -EINVAL);
		sprintf(text + strlen(text), " %d", field == 39 ? 7 : 100 + field);
	}
	strcat(text, " 0 0\n");
	assert_int_equal(proc_stat_cpu(text, &cpu), 0);
	assert_int_equal(cpu, 7);
	assert_int_equal(proc_stat_cpu("", &cpu), -EINVAL);
}

static void test_status_text(void **state)
{
	static const char good[] = "Name:\tTgid:\\nTgid:\t9\nTgid:\t42\nPid:\t43\nTracerPid:\t7\n"
				   "Uid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\n"
				   "NSpid:\t43\t12\t3\nSigCgt:\t2000000181005ccf\nx\n";
	struct proc_status s;

	(void)state;
	assert_int_equal(proc_status_parse(good, &s), 0);
	assert_int_equal(s.tgid, 42);
	assert_int_equal(s.uid, 1000);
	assert_int_equal(s.euid, 1001);
	assert_int_equal(s.egid, 6);
	assert_int_equal(s.tracer, 7);
	assert_int_equal(s.ns_pid, 3);
	assert_int_equal(s.sig_caught, 0x2000000181005ccf);
	assert_int_equal(proc_status_parse("Tgid:\t4\nPid:\t5\nUid:\t1\n", &s), 0);
	assert_int_equal(s.ns_pid, 5); /* no NSpid */
	assert_int_equal(s.euid, 0); /* the second number is missing */
	assert_int_equal(proc_status_parse("Tgid:\t4\nPid:\t5\nUid:\t1\nNSpid:\tx\n", &s), 0);
	assert_int_equal(s.ns_pid, 5);
	assert_int_equal(proc_status_parse("", &s), -EINVAL);
	assert_int_equal(proc_status_parse("Pid:\t4\n", &s), -EINVAL);
}

static void test_self(void **state)
{
	struct proc *p = NULL;
	struct proc_status s;
	char buf[4096], *text = NULL;
	size_t len;
	pid_t tid;

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	assert_int_equal(proc_pid(p), getpid());
	assert_true(proc_alive(p));
	assert_true(proc_start_ticks(p) > 0);
	assert_int_equal(proc_status(p, &s), 0);
	assert_int_equal(s.tgid, getpid());
	assert_int_equal(s.euid, geteuid());
	assert_int_equal(proc_ns_tid(p, getpid(), &tid), 0);
	assert_int_equal(tid, s.ns_pid);
	assert_int_equal(proc_ns_tid(p, 1 << 30, &tid), -ESRCH);
	assert_int_equal(proc_exe(p, buf, sizeof(buf)), 0);
	assert_non_null(strstr(buf, "test_target_proc"));
	assert_int_equal(proc_exe(p, buf, 5), -ENAMETOOLONG);
	assert_string_equal(buf, "");
	assert_int_equal(proc_cmdline(p, &text, &len), 0);
	assert_non_null(strstr(text, "test_target_proc"));
	assert_true(len > strlen(text));
	free(text);
	assert_true(proc_same_ns(p, "pid"));
	assert_true(proc_same_ns(p, "mnt"));
	assert_true(proc_same_ns(p, "nonsense")); /* unknown counts as the same */
	assert_int_equal(proc_read(p, "nonsense", 100, &text, NULL), -ENOENT);
	assert_int_equal(proc_read(p, "maps", 10, &text, NULL), -EFBIG);
	proc_close(p);
	proc_close(NULL);
}

static void test_comm(void **state)
{
	struct proc *p = NULL;
	char buf[64];

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	prctl(PR_SET_NAME, "a\033[2J) R\n\n");
	assert_int_equal(proc_comm(p, getpid(), buf, sizeof(buf)), 0);
	assert_string_equal(buf, "a\033[2J) R\n\n"); /* as it is: who prints it makes it safe */
	assert_true(proc_alive(p));
	prctl(PR_SET_NAME, "");
	assert_int_equal(proc_comm(p, getpid(), buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	prctl(PR_SET_NAME, "abcdef");
	assert_int_equal(proc_comm(p, getpid(), buf, 4), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(proc_comm(p, 1 << 30, buf, sizeof(buf)), -ESRCH);
	proc_close(p);
}

static void assert_no_process(pid_t pid, const char *part)
{
	struct proc *p = NULL;
	struct err err = {0};

	assert_int_equal(proc_open(pid, &p, &err), -ESRCH);
	assert_null(p);
	if (!strstr(err.msg, part))
		fail_msg("'%s' is not about '%s'", err.msg, part);
}

static pid_t start_pausing(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void test_dead(void **state)
{
	struct proc *p = NULL;
	struct proc_status s;
	pid_t child = start_pausing(), *tids = NULL, tid;
	char buf[64], *text = NULL;
	uint64_t ns;
	size_t n;

	(void)state;
	assert_int_equal(proc_open(child, &p, NULL), 0);
	assert_true(proc_alive(p));
	kill(child, SIGKILL);
	while (waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0)
		;
	assert_false(proc_alive(p)); /* a zombie */
	assert_int_equal(proc_cpu_ns(p, &ns), 0); /* whose CPU time is still there */
	assert_int_equal(proc_waited_cpu_ns(p, &ns), 0);
	assert_no_process(child, "there is no process");
	waitpid(child, NULL, 0);
	assert_false(proc_alive(p)); /* gone */
	assert_no_process(child, "there is no process");
	assert_no_process(0, "there is no process 0");
	assert_no_process(-1, "there is no process -1");

	assert_int_equal(proc_status(p, &s), -ESRCH);
	assert_int_equal(proc_ns_tid(p, child, &tid), -ESRCH);
	assert_int_equal(proc_exe(p, buf, sizeof(buf)), -ESRCH);
	assert_int_equal(proc_comm(p, child, buf, sizeof(buf)), -ESRCH);
	assert_int_equal(proc_cmdline(p, &text, &n), -ESRCH);
	assert_int_equal(proc_cpu_ns(p, &ns), -ESRCH);
	assert_int_equal(proc_waited_cpu_ns(p, &ns), -ESRCH);
	assert_int_equal(proc_thread_cpu_ns(p, child, &ns), -ESRCH);
	assert_int_equal(proc_tasks(p, &tids, &n), -ESRCH);
	proc_close(p);
}

static atomic_int tid_of_thread;

static void on_signal(int signal)
{
	(void)signal;
}

struct storm {
	pthread_t target;
	atomic_bool stop;
};

static void *storm(void *arg)
{
	struct storm *s = arg;

	while (!atomic_load(&s->stop))
		pthread_kill(s->target, SIGUSR1);
	return NULL;
}

/* The suspend engine's thread has a signal each millisecond while a thread is slow to stop. */
static void test_alive_among_signals(void **state)
{
	struct storm s = {.target = pthread_self()};
	uint64_t until = clock_monotonic_ns() + 1000000000;
	struct err err = {0};
	bool alive = true;
	struct proc *p;
	pthread_t t;

	(void)state;
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
	assert_int_equal(proc_open(getpid(), &p, &err), 0);
	assert_int_equal(pthread_create(&t, NULL, storm, &s), 0);
	while (alive && clock_monotonic_ns() < until)
		alive = proc_alive(p);
	atomic_store(&s.stop, true);
	pthread_join(t, NULL);
	signal(SIGUSR1, SIG_DFL);
	assert_true(alive);
	proc_close(p);
}

static void *burn(void *arg)
{
	uint64_t until = clock_thread_cpu_ns() + 30000000;

	while (clock_thread_cpu_ns() < until)
		;
	tid_of_thread = (int)syscall(SYS_gettid);
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static void test_tasks_and_cpu(void **state)
{
	enum { N = 20 };
	pthread_t threads[N];
	pthread_barrier_t barrier;
	struct proc *p = NULL;
	pid_t *tids = NULL;
	uint64_t ns;
	int cpu;
	size_t n;
	char text[32];

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	assert_int_equal(proc_tasks(p, &tids, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(tids[0], getpid());
	free(tids);

	pthread_barrier_init(&barrier, NULL, N + 1);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, burn, &barrier);
	pthread_barrier_wait(&barrier);
	assert_int_equal(proc_tasks(p, &tids, &n), 0);
	assert_int_equal(n, N + 1 + TSAN_THREADS);
	for (size_t i = 1; i < n; i++)
		assert_true(tids[i] > tids[i - 1]);
	free(tids);
	assert_no_process(tid_of_thread, "is a thread of process");
	snprintf(text, sizeof(text), "use -p %d", (int)getpid());
	assert_no_process(tid_of_thread, text);

	assert_int_equal(proc_thread_cpu(p, tid_of_thread, &cpu), 0);
	assert_in_range(cpu, 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
	assert_int_equal(proc_thread_cpu_ns(p, tid_of_thread, &ns), 0);
	assert_true(ns >= 25000000 && ns < 1000000000);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);

	/* Threads that have ended are part of it. */
	assert_int_equal(proc_cpu_ns(p, &ns), 0);
	assert_true(ns >= N * 30000000ull);
	assert_true(ns <= clock_process_cpu_ns());
	assert_int_equal(proc_thread_cpu_ns(p, tid_of_thread, &ns), -ESRCH);
	pthread_barrier_destroy(&barrier);
	proc_close(p);
}

/* What is refused of a process that has ended is refused because of that. */
static void test_ended_is_said(void **state)
{
	struct err err = {0};
	struct proc *p = NULL;
	int gate[2];
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		(void)!read(gate[0], &c, 1);
		_exit(0);
	}
	close(gate[0]);
	assert_int_equal(proc_open(pid, &p, NULL), 0);
	assert_false(proc_gone(p) || proc_exiting(p));
	assert_int_equal(access_explain(p, -EACCES, &err), -EACCES);
	close(gate[1]);
	while (proc_alive(p))
		usleep(1000);
	assert_true(proc_gone(p) && proc_exiting(p));
	assert_int_equal(access_explain(p, -EACCES, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "has ended"));
	waitpid(pid, NULL, 0);
	assert_int_equal(access_explain(p, -EACCES, &err), -ESRCH);
	proc_close(p);
}

static void *pause_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *kill_soon(void *pid)
{
	usleep(20000);
	kill(*(pid_t *)pid, SIGKILL);
	return NULL;
}

/* A process whose first thread has ended, and another goes on. */
static pid_t start_without_first(struct proc **ret)
{
	pthread_t t;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, pause_for_ever, NULL);
		pthread_exit(NULL);
	}
	assert_int_equal(proc_open(pid, ret, NULL), 0);
	while (!proc_first_ended(*ret))
		usleep(1000);
	return pid;
}

/* A kill ends threads one by one: what is asked after the first one has ended waits for the others. */
static void test_gone_waits(void **state)
{
	struct proc *p = NULL;
	pthread_t t;
	pid_t pid = start_without_first(&p);

	(void)state;
	assert_true(proc_exiting(p) && !proc_gone(p));
	pthread_create(&t, NULL, kill_soon, &pid);
	assert_true(proc_gone(p));
	pthread_join(t, NULL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	proc_close(p);
}

/* An execve(2) by another thread makes it so for a moment, and then gives that thread the first one's id. */
static void test_first_ended(void **state)
{
	struct proc *p = NULL;
	struct mem *m = NULL;
	struct err err = {0};
	pid_t pid = start_without_first(&p);

	(void)state;
	assert_true(proc_alive(p));
	assert_int_equal(mem_live_open(p, &m, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "first thread has ended"));
	kill(pid, SIGKILL);
	while (proc_alive(p))
		usleep(1000);
	assert_false(proc_first_ended(p));
	assert_int_equal(mem_live_open(p, &m, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "has ended"));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	proc_close(p);
}

static void burn_ms(uint64_t ms)
{
	uint64_t until = clock_process_cpu_ns() + ms * 1000000;

	while (clock_process_cpu_ns() < until)
		;
}

static size_t place_of(pid_t pid, const pid_t *pids, size_t n)
{
	size_t i = 0;

	while (i < n && pids[i] != pid)
		i++;
	return i;
}

enum { GENERATIONS = 8 };

/* Each starts the next, and tells its own number. */
static void start_generations(int told, int left)
{
	pid_t self, child;

	do {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		self = getpid();
		(void)!write(told, &self, sizeof(self));
		child = --left ? fork() : 1;
	} while (child == 0);
	for (;;)
		pause();
}

static void test_generations(void **state)
{
	pid_t born[GENERATIONS], *pids, first;
	struct proc *p;
	int told[2];
	size_t n;

	(void)state;
	assert_int_equal(pipe(told), 0);
	first = fork();
	if (first == 0)
		start_generations(told[1], GENERATIONS);
	for (size_t i = 0; i < GENERATIONS; i++)
		assert_int_equal(read(told[0], &born[i], sizeof(born[i])), sizeof(born[i]));
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	assert_int_equal(proc_descendants(p, &pids, &n), 0);
	assert_int_equal(n, GENERATIONS);
	for (size_t i = 0; i < GENERATIONS; i++)
		assert_int_equal(place_of(born[i], pids, n), i);
	free(pids);
	proc_close(p);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	close(told[0]);
	close(told[1]);
}

/* Descendants, and the CPU time of those that were waited for. */
static void test_children(void **state)
{
	pid_t a = start_pausing(), b, *pids;
	uint64_t before, after;
	struct proc *p;
	bool found = false;
	size_t n;

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	assert_int_equal(proc_waited_cpu_ns(p, &before), 0);
	assert_int_equal(proc_descendants(p, &pids, &n), 0);
	for (size_t i = 0; i < n; i++)
		found |= pids[i] == a;
	free(pids);
	assert_true(found);
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	assert_int_equal(proc_descendants(p, &pids, &n), 0);
	assert_int_equal(n, 0);
	free(pids);
	b = fork();
	if (b == 0) {
		burn_ms(120);
		_exit(0);
	}
	waitpid(b, NULL, 0);
	assert_int_equal(proc_waited_cpu_ns(p, &after), 0);
	assert_in_range(after - before, 100000000, 1000000000);
	proc_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_text),     cmocka_unit_test(test_stat_cpu),
		cmocka_unit_test(test_status_text),   cmocka_unit_test(test_self),
		cmocka_unit_test(test_comm),          cmocka_unit_test(test_dead),
		cmocka_unit_test(test_generations),   cmocka_unit_test(test_children),
		cmocka_unit_test(test_ended_is_said), cmocka_unit_test(test_gone_waits),
		cmocka_unit_test(test_first_ended),   cmocka_unit_test(test_alive_among_signals),
		cmocka_unit_test(test_tasks_and_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
