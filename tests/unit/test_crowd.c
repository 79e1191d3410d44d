#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/broker/broker.h"
#include "sampler/closing/closing.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/watch/crowd.h"
#include "sampler/daemon/watch/crowd_members.h"
#include "sampler/daemon/watch/watch.h"
#include "sampler/engine/perf/events/perf_members.h"
#include "sampler/engine/perf/perf_host.h"
#include "sampler/model/raw_sample.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

/*
 * The worker, without the kernel's events and without a broker: the test says what comes from both, and is the first
 * process. Targets are children of the test.
 */
static struct {
	void (*body)(const struct perf_host_sink *sink);
	struct perf_host_stats stats;
	struct perf_members members;
	pid_t watched; /* the last one */
	int broker; /* sends what the broker would */
	int reports;
} fake;

int perf_host_open(const struct perf_host_options *o, struct perf_host **ret, struct err *err)
{
	(void)o, (void)err;
	*ret = (void *)&fake;
	return 0;
}

void perf_host_close(struct perf_host *h)
{
	(void)h;
}

struct perf_members *perf_host_members(struct perf_host *h)
{
	(void)h;
	return &fake.members;
}

void perf_host_watch(struct perf_host *h, pid_t pid, bool on)
{
	(void)h;
	if (on)
		fake.watched = pid;
	else if (pid == fake.watched)
		fake.watched = 0;
}

int perf_host_start(struct perf_host *h, struct err *err)
{
	(void)h, (void)err;
	return 0;
}

void perf_host_run(struct perf_host *h, const struct perf_host_sink *sink)
{
	(void)h;
	sink->turn(sink->ctx);
	fake.body(sink);
}

void perf_host_stop(struct perf_host *h)
{
	(void)h;
}

struct perf_host_stats perf_host_stats(const struct perf_host *h)
{
	(void)h;
	return fake.stats;
}

int closing_fork(struct closing *c, const struct closing_targets *t, struct err *err)
{
	(void)c, (void)err;
	fake.broker = fcntl(t->admissions->to, F_DUPFD_CLOEXEC, 0);
	return fake.broker < 0 ? -1 : 0;
}

int closing_close(struct closing *c, struct err *err)
{
	(void)c, (void)err;
	return 0;
}

void closing_done(struct closing *c)
{
	(void)c;
}

static void run(void (*body)(const struct perf_host_sink *sink))
{
	struct crowd_page page = {0};
	struct crowd_options o = {.hz = 49, .rules = rules_new(), .boot_id = "boot", .host = "host", .page = &page};
	int report[2], feed[2];

	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(channel_pair(report), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed), 0);
	o.admit = open("/dev/null", O_RDONLY | O_CLOEXEC);
	o.report = report[0];
	o.feed = feed[0];
	memset(&fake, 0, sizeof(fake));
	fake.body = body;
	fake.members.exec_fd = -1;
	fake.reports = report[1];
	assert_int_equal(crowd_run(&o), WATCH_ENDED);
	assert_int_equal(page.slot, 0);
	for (int i = 0; i < 2; i++) {
		close(report[i]);
		close(feed[i]);
	}
	close(fake.broker);
	rules_free(o.rules);
}

/* --- what comes, and what is reported --- */

static void admit(const struct perf_host_sink *sink, uint32_t what, uint32_t slot, pid_t pid)
{
	const struct broker_admission a = {.what = what, .slot = slot, .pid = pid, .divisor = 1};

	assert_int_equal(channel_send(fake.broker, &a, sizeof(a), -1), 0);
	sink->turn(sink->ctx);
}

static void give_sample(const struct perf_host_sink *sink, pid_t pid)
{
	const struct raw_sample s = {.pid = pid, .tid = pid, .weight = 1, .time_ns = clock_monotonic_ns()};

	sink->sample(sink->ctx, &s);
}

/* What is looked at once a second is looked at now. */
static void next_second(const struct perf_host_sink *sink)
{
	struct crowd *c = sink->ctx;

	c->look_ns = 0;
	sink->turn(c);
}

/* The next report of that kind; others in front of it are left out. false: there is none. */
static bool reported(enum crowd_report_what what, struct crowd_report *ret)
{
	struct pollfd p = {.fd = fake.reports, .events = POLLIN};

	while (poll(&p, 1, 0) == 1) {
		assert_int_equal(channel_receive(fake.reports, ret, sizeof(*ret), NULL), 0);
		if (ret->what == (uint32_t)what)
			return true;
	}
	return false;
}

/* The slots of all reports of that kind, none of which came twice: one bit each. */
static uint64_t slots_of(enum crowd_report_what what)
{
	struct crowd_report r;
	uint64_t slots = 0;

	while (reported(what, &r)) {
		assert_true(r.slot < 64 && !(slots >> r.slot & 1));
		slots |= UINT64_C(1) << r.slot;
	}
	return slots;
}

static pid_t idle_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* --- new JVMs --- */

enum { TOLD_MAX = 16, FIRST_PID = 1001 }; /* MAPPED_MAX in crowd.c */

static void map_libjvm(const struct perf_host_sink *sink, int n)
{
	for (int i = 0; i < n; i++)
		sink->mapped(sink->ctx, FIRST_PID + i);
}

/* One by one, at once, and none beyond. */
static void are_told(int n)
{
	struct crowd_report r;

	for (int i = 0; i < n; i++) {
		assert_true(reported(CROWD_MAPPED, &r));
		assert_int_equal(r.pid, FIRST_PID + i);
	}
	assert_false(reported(CROWD_MAPPED, &r));
}

static void map_too_many(const struct perf_host_sink *sink)
{
	struct crowd_report r;

	map_libjvm(sink, TOLD_MAX);
	are_told(TOLD_MAX);
	next_second(sink);
	assert_false(reported(CROWD_MAPPED, &r)); /* nobody was missed */
	map_libjvm(sink, TOLD_MAX + 1);
	are_told(TOLD_MAX);
	next_second(sink);
	assert_true(reported(CROWD_MAPPED, &r));
	assert_int_equal(r.pid, 0);
	assert_false(reported(CROWD_MAPPED, &r));
	map_libjvm(sink, 1); /* each second has its own number */
	are_told(1);
	next_second(sink);
	assert_false(reported(CROWD_MAPPED, &r));
}

static void who_is_not_told_is_looked_for(void **state)
{
	(void)state;
	run(map_too_many);
}

/* --- ends --- */

enum { TARGETS = 6 };

static void dismiss_several(const struct perf_host_sink *sink)
{
	struct crowd *c = sink->ctx;
	pid_t pids[TARGETS];
	struct crowd_report r;

	for (uint32_t i = 0; i < TARGETS; i++)
		admit(sink, BROKER_ADMIT, i, pids[i] = idle_child());
	for (uint32_t i = 0; i < TARGETS; i++) {
		if (i == 1 || i == 4)
			continue;
		end_process(pids[i]);
		admit(sink, BROKER_DISMISS, i, pids[i]);
	}
	give_sample(sink, pids[1]);
	give_sample(sink, pids[4]);
	next_second(sink);
	assert_int_equal(c->n, 2);
	assert_true(member_find(c, pids[1]) && member_find(c, pids[4]));
	assert_false(reported(CROWD_LOST, &r)); /* these two are still sampled */
	end_process(pids[1]);
	end_process(pids[4]);
	next_second(sink);
	assert_int_equal(c->n, 2); /* their ends are the first process's business */
	admit(sink, BROKER_DISMISS, 0, pids[0]); /* nobody is there any more */
	admit(sink, BROKER_DISMISS, 4, pids[4]);
	admit(sink, BROKER_DISMISS, 1, pids[1]);
	assert_int_equal(c->n, 0);
}

static void several_are_dismissed(void **state)
{
	(void)state;
	run(dismiss_several);
}

/* It had the PID before the end of the other one was known. */
static void dismiss_the_other_one(const struct perf_host_sink *sink)
{
	struct crowd *c = sink->ctx;
	pid_t pid = idle_child();

	admit(sink, BROKER_ADMIT, 1, pid);
	admit(sink, BROKER_ADMIT, 2, pid);
	admit(sink, BROKER_DISMISS, 1, pid);
	assert_int_equal(c->n, 1);
	assert_int_equal(fake.watched, pid);
	admit(sink, BROKER_DISMISS, 2, pid);
	assert_int_equal(fake.watched, 0);
	end_process(pid);
}

static void who_has_its_pid_stays(void **state)
{
	(void)state;
	run(dismiss_the_other_one);
}

static uint64_t late_samples(void)
{
	struct crowd_report r;
	uint64_t n = 0;

	while (reported(CROWD_LOST, &r)) {
		n += r.lost.late;
		assert_true(!r.lost.samples && !r.lost.records && !r.lost.ended);
	}
	return n;
}

static void come_late(const struct perf_host_sink *sink)
{
	pid_t ended = idle_child(), dismissed = idle_child();

	admit(sink, BROKER_ADMIT, 1, ended);
	admit(sink, BROKER_ADMIT, 2, dismissed);
	give_sample(sink, ended);
	give_sample(sink, dismissed);
	next_second(sink);
	assert_int_equal(late_samples(), 0);
	end_process(ended);
	give_sample(sink, ended);
	give_sample(sink, ended);
	admit(sink, BROKER_DISMISS, 2, dismissed);
	give_sample(sink, dismissed);
	next_second(sink);
	assert_int_equal(late_samples(), 3);
	give_sample(sink, ended);
	fake.stats.foreign = 10;
	next_second(sink);
	assert_int_equal(late_samples(), 11);
	end_process(dismissed);
}

/* Samples are read a second after they were taken: the process has ended, or is not sampled any more. */
static void late_samples_are_counted(void **state)
{
	(void)state;
	run(come_late);
}

/* --- records that were lost --- */

static void *pause_for_ever(void *tid)
{
	pid_t own = gettid();

	if (write(*(int *)tid, &own, sizeof(own)) != sizeof(own))
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

/* *ret: its second thread. */
static pid_t child_with_two_threads(pid_t *ret)
{
	pthread_t t;
	int tid[2];
	pid_t pid;

	assert_int_equal(pipe2(tid, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, pause_for_ever, &tid[1]);
		for (;;)
			pause();
	}
	assert_int_equal(read(tid[0], ret, sizeof(*ret)), sizeof(*ret));
	close(tid[0]);
	close(tid[1]);
	return pid;
}

/*
 * As one whose memory is being freed: a thread that has ended is there until its tracer waits for it, and the process
 * with it, but no memory.
 */
static void be_killed_slowly(const struct perf_host_sink *sink)
{
	pid_t second, pid = child_with_two_threads(&second);
	siginfo_t info;
	struct proc *p;

	assert_int_equal(proc_open(pid, &p, NULL), 0);
	admit(sink, BROKER_ADMIT, 3, pid);
	assert_int_equal(ptrace(PTRACE_SEIZE, second, NULL, NULL), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)second, &info, WEXITED | WNOWAIT | __WALL), 0);
	while (!proc_first_ended(p))
		usleep(1000);
	assert_true(proc_alive(p));
	fake.stats.lost_records = 1;
	next_second(sink);
	assert_int_equal(slots_of(CROWD_EXEC), 0);
	assert_int_equal(waitpid(second, NULL, __WALL), second);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	proc_close(p);
}

static void who_is_about_to_end_has_executed_nothing(void **state)
{
	(void)state;
	run(be_killed_slowly);
}

static pid_t child_that_executes(int *ret_gate)
{
	int gate[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(gate[0], &c, 1) == 1)
			execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(gate[0]);
	*ret_gate = gate[1];
	return pid;
}

static void execute(const struct perf_host_sink *sink)
{
	int gate;
	pid_t stays = idle_child(), pid = child_that_executes(&gate);
	char name[16] = "";
	struct proc *p;

	admit(sink, BROKER_ADMIT, 4, pid);
	admit(sink, BROKER_ADMIT, 5, stays);
	assert_int_equal(proc_open(pid, &p, NULL), 0);
	assert_int_equal(write(gate, "x", 1), 1);
	while (strcmp(name, "sleep") != 0)
		assert_int_equal(proc_comm(p, pid, name, sizeof(name)), 0);
	next_second(sink);
	assert_int_equal(slots_of(CROWD_EXEC), 0); /* nobody has told of it */
	fake.stats.lost_records = 1;
	next_second(sink);
	assert_int_equal(slots_of(CROWD_EXEC), 1 << 4);
	proc_close(p);
	close(gate);
	end_process(pid);
	end_process(stays);
}

static void an_execve_whose_record_was_lost_is_noticed(void **state)
{
	(void)state;
	run(execute);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_not_told_is_looked_for),
		cmocka_unit_test(several_are_dismissed),
		cmocka_unit_test(who_has_its_pid_stays),
		cmocka_unit_test(late_samples_are_counted),
		cmocka_unit_test(who_is_about_to_end_has_executed_nothing),
		cmocka_unit_test(an_execve_whose_record_was_lost_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
