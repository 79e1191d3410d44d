#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/ptrace_stop.h"
#include "sampler/engine/suspend/suspend_alarm.h"
#include "sampler/engine/suspend/suspend_tick.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

/*
 * execve(2) of a process with two threads, of which one is traced: the kernel holds it in de_thread() until that thread's
 * tracer has taken note of its end, and PTRACE_SEIZE of the other waits for the execve().
 */
enum { WATCHDOG_S = 30, SOON_MS = 1000 /* where nothing ends the wait it takes for ever */ };

struct program {
	pid_t pid, tid; /* its first thread, which calls execve(), and the other */
	int go, gone; /* written: call it; readable: it was called */
};

static void *spin(void *fd)
{
	pid_t tid = gettid();
	volatile unsigned x = 1;

	(void)!write(*(int *)fd, &tid, sizeof(tid));
	for (;;)
		x = x * 5 + 1;
	return NULL;
}

static void run_program(int go, int told)
{
	pthread_t t;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&t, NULL, spin, &told) == 0 && read(go, &c, 1) == 1)
		execl("/bin/sleep", "sleep", "600", (char *)NULL); /* told is O_CLOEXEC */
	_exit(1);
}

static struct program start(void)
{
	struct program p = {0};
	int go[2], told[2];

	assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(told, O_CLOEXEC), 0);
	p.pid = fork();
	if (p.pid == 0) {
		close(go[1]);
		run_program(go[0], told[1]);
	}
	assert_true(p.pid > 0);
	close(go[0]);
	close(told[1]);
	p.go = go[1];
	p.gone = told[0];
	assert_int_equal(read(p.gone, &p.tid, sizeof(p.tid)), sizeof(p.tid));
	return p;
}

static void end(struct program *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->go);
	close(p->gone);
}

static char state_of_other(const struct program *p)
{
	char path[64], text[512] = "", *paren;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)p->pid, (int)p->tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	(void)!fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	paren = strrchr(text, ')');
	return paren ? paren[2] : 0;
}

/* Its other thread has ended, and its tracer has not noticed. */
static void call_exec(const struct program *p)
{
	assert_int_equal(write(p->go, "", 1), 1);
	while (state_of_other(p) != 'Z')
		poll(NULL, 0, 1);
}

static bool was_called(const struct program *p, int ms)
{
	struct pollfd f = {.fd = p->gone, .events = POLLIN};

	return poll(&f, 1, ms) > 0;
}

static uint64_t ms_since(uint64_t ns)
{
	return (clock_monotonic_ns() - ns) / 1000000;
}

/* --- Of another tracer, which takes its time */

struct holder {
	pid_t tid;
	sem_t holds, let_go;
};

static void *hold(void *arg)
{
	struct holder *h = arg;

	assert_int_equal(ptrace(PTRACE_SEIZE, h->tid, NULL, NULL), 0);
	sem_post(&h->holds);
	sem_wait(&h->let_go);
	assert_int_equal(waitpid(h->tid, NULL, __WALL | __WNOTHREAD), h->tid);
	return NULL;
}

static void sem_wait_through_alarms(sem_t *s)
{
	while (sem_wait(s) < 0)
		assert_int_equal(errno, EINTR);
}

static void asking_ends_though_the_execve_does_not(void **state)
{
	struct program p = start();
	struct holder h = {.tid = p.tid};
	struct suspend_alarm alarm;
	pthread_t holder;
	uint64_t began;

	(void)state;
	sem_init(&h.holds, 0, 0);
	sem_init(&h.let_go, 0, 0);
	assert_int_equal(pthread_create(&holder, NULL, hold, &h), 0);
	sem_wait_through_alarms(&h.holds);
	call_exec(&p);
	suspend_alarm_open(&alarm);
	began = clock_monotonic_ns();
	assert_int_equal(ptrace_stop_ask(p.pid), -EINTR);
	assert_in_range(ms_since(began), 0, SOON_MS);
	suspend_alarm_close(&alarm);
	assert_false(was_called(&p, 0));
	sem_post(&h.let_go);
	assert_int_equal(pthread_join(holder, NULL), 0);
	assert_true(was_called(&p, -1));
	end(&p);
}

/* --- Of our own */

static void what_the_execve_waits_for_is_noticed(void **state)
{
	struct program p = start();
	struct ptrace_stop_event e;
	struct suspend_alarm alarm;

	(void)state;
	assert_int_equal(ptrace(PTRACE_SEIZE, p.tid, NULL, NULL), 0);
	call_exec(&p);
	suspend_alarm_open(&alarm);
	assert_int_equal(ptrace_stop_ask(p.pid), -EINTR);
	while (!suspend_alarm_wait(&alarm, clock_monotonic_ns() + UINT64_C(1000000), true, &e))
		;
	suspend_alarm_close(&alarm);
	assert_true(e.ended);
	assert_int_equal(e.tid, p.tid);
	assert_true(was_called(&p, -1));
	end(&p);
}

/* --- The id of a thread that was asked, and ended by another's execve(), is that other thread's */

enum { TICKS = 64, QUEUE_BYTES = 8 << 20 };

static void tick_and_answer(struct suspend_tick *t)
{
	uint64_t now = clock_monotonic_ns(), until = now + UINT64_C(5000000);
	struct ptrace_stop_event e;

	suspend_tick_begin(t, now);
	while (t->asked && clock_monotonic_ns() < until)
		if (ptrace_stop_next(&e))
			suspend_tick_answer(t, &e);
}

static void begin_ticks(struct suspend_tick *t, const struct program *p)
{
	*t = (struct suspend_tick){.period_ns = 1000000, .max_pause_ns = 1000000};
	assert_int_equal(proc_open(p->pid, &t->proc, NULL), 0);
	t->out.queue = sample_queue_new(QUEUE_BYTES);
	t->requests.queue = sample_queue_new(QUEUE_BYTES);
	assert_int_equal(suspend_tick_init(t, NULL), 0);
}

static void end_ticks(struct suspend_tick *t)
{
	suspend_tick_done(t);
	sample_queue_free(t->out.queue);
	sample_queue_free(t->requests.queue);
	proc_close(t->proc);
}

static void who_has_the_id_now_is_sampled(void **state)
{
	struct program p = start();
	struct suspend_tick t;
	struct suspend_thread *th;
	uint64_t stops;

	(void)state;
	begin_ticks(&t, &p);
	tick_and_answer(&t);
	th = suspend_threads_find(&t.threads, p.tid);
	assert_non_null(th);
	for (int i = 0; i < TICKS && th->tracing; i++)
		tick_and_answer(&t);
	assert_false(th->tracing);
	th->tracing = true; /* as if it was asked under its old id */
	t.asked++;
	stops = t.stats.stops;
	for (int i = 0; i < TICKS && t.stats.stops == stops; i++)
		tick_and_answer(&t);
	assert_true(t.stats.stops > stops);
	end_ticks(&t);
	end(&p);
}

/* --- A thread that was killed between its stop and its release */

/* The stop of the other thread, not released yet; true: it is there. */
static bool stop_other(struct suspend_tick *t, const struct program *p, struct ptrace_stop_event *ret)
{
	suspend_tick_begin(t, clock_monotonic_ns());
	while (t->asked)
		if (ptrace_stop_next(ret)) {
			if (ret->tid == p->tid)
				return true;
			suspend_tick_answer(t, ret);
		}
	return false;
}

static void who_is_killed_while_stopped_is_waited_for(void **state)
{
	struct program p = start();
	struct suspend_tick t;
	struct suspend_alarm alarm;
	struct ptrace_stop_event e;

	(void)state;
	begin_ticks(&t, &p);
	while (!stop_other(&t, &p, &e))
		;
	call_exec(&p);
	assert_false(suspend_tick_answer(&t, &e));
	assert_int_equal(t.asked, 1);
	suspend_alarm_open(&alarm);
	while (!suspend_alarm_wait(&alarm, clock_monotonic_ns() + UINT64_C(1000000), t.asked, &e))
		;
	suspend_alarm_close(&alarm);
	assert_true(e.ended);
	assert_true(suspend_tick_answer(&t, &e));
	assert_int_equal(t.asked, 0);
	assert_true(was_called(&p, -1));
	end_ticks(&t);
	end(&p);
}

/* --- A program with more rights */

enum { STRANGER = 65534 };

/* As a user; sleeps, and then executes a program, with root's ids if it is to have more rights. */
static void run_user(bool more, int go, int told)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresuid(STRANGER, STRANGER, 0) == 0 && write(told, "x", 1) == 1 && read(go, &c, 1) == 1 &&
	    (!more || setresuid(0, 0, 0) == 0))
		execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
	_exit(1);
}

static struct program start_user(bool more)
{
	struct program p = {0};
	int go[2], told[2];
	char c;

	assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(told, O_CLOEXEC), 0);
	p.pid = p.tid = fork();
	if (p.pid == 0) {
		close(go[1]);
		run_user(more, go[0], told[1]);
	}
	assert_true(p.pid > 0);
	close(go[0]);
	close(told[1]);
	p.go = go[1];
	p.gone = told[0];
	assert_int_equal(read(p.gone, &c, 1), 1);
	return p;
}

/* Samples with a stack, in some ticks. */
static unsigned samples_of(struct suspend_tick *t)
{
	struct suspend_msg_sample m;
	unsigned n = 0;
	const void *msg;
	size_t len;

	for (int i = 0; i < TICKS; i++) {
		tick_and_answer(t);
		poll(NULL, 0, 1);
		for (; (msg = sample_queue_peek(t->out.queue, &len)); sample_queue_release(t->out.queue)) {
			if (len < sizeof(m))
				continue;
			memcpy(&m, msg, sizeof(m));
			n += m.head.kind == SUSPEND_MSG_SAMPLE && m.stack_len > 0;
		}
	}
	return n;
}

static unsigned samples_after_exec(bool more)
{
	struct program p = start_user(more);
	struct suspend_tick t;
	unsigned n;

	begin_ticks(&t, &p);
	(void)samples_of(&t);
	assert_int_equal(write(p.go, "", 1), 1);
	assert_true(was_called(&p, -1));
	n = samples_of(&t);
	end_ticks(&t);
	end(&p);
	return n;
}

/* A set-user-ID program, as it were. */
static void what_gets_more_rights_is_not_copied(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_true(samples_after_exec(false) > 0);
	assert_int_equal(samples_after_exec(true), 0);
}

/* --- Nothing of it where nobody waits */

static void others_are_asked_beside_a_flood_of_alarms(void **state)
{
	struct program p = start();
	struct ptrace_stop_event e;
	struct suspend_alarm alarm;
	uint64_t until;
	int r, asked = 0;

	(void)state;
	suspend_alarm_open(&alarm);
	until = clock_monotonic_ns() + UINT64_C(300000000);
	while (clock_monotonic_ns() < until) {
		r = ptrace_stop_ask(p.tid);
		assert_true(r == 0 || r == -EINTR);
		if (r < 0)
			continue;
		asked++;
		while (!suspend_alarm_wait(&alarm, clock_monotonic_ns(), true, &e))
			;
		assert_int_equal(e.tid, p.tid);
		assert_int_equal(ptrace_stop_release(e.tid, e.signal), 0);
	}
	suspend_alarm_close(&alarm);
	assert_true(asked > 10);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asking_ends_though_the_execve_does_not),
		cmocka_unit_test(what_the_execve_waits_for_is_noticed),
		cmocka_unit_test(who_has_the_id_now_is_sampled),
		cmocka_unit_test(who_is_killed_while_stopped_is_waited_for),
		cmocka_unit_test(what_gets_more_rights_is_not_copied),
		cmocka_unit_test(others_are_asked_beside_a_flood_of_alarms),
	};

	alarm(WATCHDOG_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
