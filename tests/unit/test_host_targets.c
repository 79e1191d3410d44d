#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/capturing.h"
#include "sampler/daemon/host/keeping.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/rights/descriptors.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

static size_t starts, looks, looks_at_all, looks_told;

static void look_again(void *ctx, pid_t pid, bool told)
{
	(void)ctx;
	looks++;
	looks_at_all += !pid;
	looks_told += told;
}

/* So that no worker is started. */
static int no_keeper(void *ctx, uint64_t capture, int socket)
{
	(void)ctx, (void)capture, (void)socket;
	starts++;
	return -EPIPE;
}

/* How many of `n` found JVMs of that user are taken. */
static size_t take(struct targets *t, size_t n, uid_t uid, bool in_namespace)
{
	static pid_t pid = 1;
	size_t before = t->n;

	for (size_t i = 0; i < n; i++, pid++)
		targets_found(t,
			      &(struct scan_found){pid, UINT64_MAX, in_namespace ? uid + (uid_t)i : uid, in_namespace});
	return t->n - before;
}

/* Anybody can start processes that look like JVMs. */
static void one_user_leaves_room_for_others(void **state)
{
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper, .again = look_again};

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	assert_int_equal(take(&t, TARGETS_MAX, 1000, false), TARGETS_OF_USER);
	assert_int_equal(take(&t, 10, 1001, false), 10);
	assert_int_equal(take(&t, 1, 1000, false), 0);
	looks = 0;
	targets_turn(&t); /* there are no such processes */
	assert_int_equal(looks, TARGETS_OF_USER + 10);
	assert_int_equal(take(&t, TARGETS_MAX, 100000, true), TARGETS_OF_USER);
	targets_turn(&t);
	assert_int_equal(take(&t, TARGETS_MAX + 1, 0, false), TARGETS_MAX);
	targets_done(&t);
	rules_free(t.rules);
}

/* --- a worker that was taken over --- */

enum { WORKER = 4711 };

/* It has a worker of its own, which ends with that wish. */
static struct watch_how wish(struct targets *t, struct watch_how wanted)
{
	struct target *one = &t->list[0];

	one->cpu.pid = WORKER;
	own_worker_page(t->own, one->slot)->wanted = wanted;
	assert_true(targets_ended(t, WORKER, WATCH_AGAIN << 8));
	return one->how;
}

/* It is sampled together with others, and their worker reports that. */
static struct watch_how report(struct targets *t, struct watch_how wanted)
{
	const struct crowd_report r = {.what = CROWD_ALONE,
				       .slot = (uint32_t)t->list[0].slot,
				       .pid = t->list[0].who.pid,
				       .hz = wanted.hz,
				       .suspend = wanted.suspend};
	int pair[2];

	assert_int_equal(channel_pair(pair), 0);
	t->joint.report = pair[0];
	t->list[0].joined = true;
	assert_int_equal(channel_send(pair[1], &r, sizeof(r), -1), 0);
	targets_turn(t);
	assert_true((wanted.hz ? t->list[0].alone_by_rule : t->list[0].alone) && !t->list[0].joined);
	close(pair[0]);
	close(pair[1]);
	t->joint.report = -1;
	return t->list[0].how;
}

typedef struct watch_how say_fn(struct targets *t, struct watch_how wanted);

static void find_this_process(struct targets *t)
{
	uint64_t ticks;

	assert_int_equal(proc_started(getpid(), &ticks), 0);
	targets_found(t, &(struct scan_found){getpid(), ticks, getuid(), false});
	assert_int_equal(t->n, 1);
}

/* hz: CONFIG_RULE_HZ_MIN to CONFIG_HZ_MAX. To stop threads takes a tracer, which no worker gets unless a rule names that engine. */
static void believes_what_a_rule_can_say(say_fn *say)
{
	static const uint32_t wrong[] = {1001, 100000, UINT32_MAX};
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper, .again = look_again};
	struct watch_how how;

	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	t.joint.refused = true;
	find_this_process(&t);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(say(&t, (struct watch_how){.hz = wrong[i]}).hz, 49);
	how = say(&t, (struct watch_how){.hz = 99, .suspend = 1});
	assert_true(how.hz == 99 && !how.suspend);
	how = say(&t, (struct watch_how){.suspend = UINT32_MAX});
	assert_true(how.hz == 99 && !how.suspend);
	assert_int_equal(rules_add(t.rules, "slow", "a:1", NULL), 0);
	rules_last(t.rules)->suspend = true;
	how = say(&t, (struct watch_how){.suspend = UINT32_MAX});
	assert_true(how.hz == 99 && how.suspend == 1);
	how = say(&t, (struct watch_how){.hz = 5});
	assert_true(how.hz == 5 && !how.suspend);
	targets_done(&t);
	rules_free(t.rules);
}

/* --- memory --- */

#define MB (UINT64_C(1) << 20)

enum { OWN_BYTES_MB = 832, ONE_MB = OWN_BYTES_MB / 4 };

/* As much as it gets. */
static uint64_t take_memory(struct own_workers *w, size_t slot)
{
	struct budget b;
	uint64_t bytes;

	budget_init(&b, 0, 1);
	budget_join(&b, &own_worker_page(w, slot)->files);
	bytes = budget_bytes_left(&b);
	assert_true(budget_take(&b, bytes));
	return bytes;
}

/* However many targets want as much as they can get, each by a worker of its own. */
static void workers_of_their_own_share_memory(void **state)
{
	static const struct scan_found f = {1, UINT64_MAX, 1000, false};
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper, .again = look_again, .isolate = true};
	uint64_t all = 0;
	size_t n = 0;

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	for (; own_worker_reserve(t.own, n); n++)
		all += take_memory(t.own, n);
	assert_in_range(n, 2, 10);
	assert_in_range(all, (OWN_BYTES_MB - 16) * MB, OWN_BYTES_MB * MB);
	starts = 0;
	targets_found(&t, &f);
	assert_int_equal(starts, 0);
	own_worker_ended(t.own, 0);
	targets_turn(&t); /* it has ended */
	targets_found(&t, &f);
	assert_int_equal(starts, 1);
	targets_done(&t);
	rules_free(t.rules);
}

/* What it does not need, it gets back when it needs it. */
static void memory_goes_to_who_needs_it(void **state)
{
	struct own_workers *w = own_workers_new();
	uint64_t first;
	size_t n = 0;

	(void)state;
	while (n < 40)
		assert_true(own_worker_reserve(w, n++));
	assert_in_range(take_memory(w, 39), OWN_ROOM_BYTES, 2 * OWN_ROOM_BYTES);
	while (n > 1)
		own_worker_ended(w, --n);
	first = take_memory(w, 0);
	assert_in_range(first, OWN_ROOM_BYTES, 2 * OWN_ROOM_BYTES);
	own_workers_divide(w);
	assert_int_equal(first + take_memory(w, 0), ONE_MB * MB);
	own_workers_divide(w);
	assert_int_equal(take_memory(w, 0), 0);
	own_workers_free(w);
}

/* Whatever it writes into its page, others get what it cannot have. */
static void a_worker_takes_no_memory_from_others(void **state)
{
	static const uint64_t claims[] = {0, 1, ONE_MB * MB, OWN_BYTES_MB * MB, UINT64_MAX / 2, UINT64_MAX};
	uint64_t got;

	(void)state;
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct own_workers *w = own_workers_new();

		for (size_t k = 0; k < 3; k++)
			assert_true(own_worker_reserve(w, k));
		for (int turn = 0; turn < 100; turn++) {
			own_worker_page(w, 0)->files = (struct budget_pool){claims[i], claims[i], claims[i]};
			own_workers_divide(w);
		}
		for (size_t k = 1; k < 3; k++) {
			got = take_memory(w, k);
			own_workers_divide(w);
			assert_int_equal(got + take_memory(w, k), ONE_MB * MB);
		}
		own_worker_ended(w, 0);
		assert_true(own_worker_reserve(w, 0));
		assert_int_equal(take_memory(w, 0), ONE_MB * MB);
		own_workers_free(w);
	}
}

/* One that runs keeps what it needs at least, although all others take as much as they can get. */
static void room_is_kept(void **state)
{
	struct own_workers *w = own_workers_new();

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_true(own_worker_reserve(w, i));
	for (int turn = 0; turn < 10; turn++, own_workers_divide(w))
		for (size_t i = 1; i < 8; i++)
			take_memory(w, i);
	assert_in_range(take_memory(w, 0), OWN_ROOM_BYTES, ONE_MB * MB);
	own_workers_free(w);
}

/* --- waiting threads --- */

/* This process, which has a worker of its own and waits. */
static struct target *waits(struct targets *t, bool rule)
{
	*t = (struct targets){.rules = rules_new(), .hz = 49, .feed = no_keeper, .again = look_again};
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(t, NULL), 0);
	t->joint.refused = true;
	find_this_process(t);
	t->list[0].cpu.pid = WORKER;
	own_worker_page(t->own, t->list[0].slot)->wanted.wall = UINT32_MAX;
	if (rule) {
		assert_int_equal(rules_add(t->rules, "waits", "a:1", NULL), 0);
		rules_last(t->rules)->wall = true;
	}
	starts = 0;
	return &t->list[0];
}

static void done(struct targets *t)
{
	t->list[0].cpu.pid = t->list[0].wall.pid = 0;
	targets_done(t);
	rules_free(t->rules);
}

/* Its waiting threads are sampled only if some rule says so, whatever a worker wants. */
static void waiting_threads_take_a_rule(void **state)
{
	struct targets t;
	struct target *one = waits(&t, false);

	(void)state;
	targets_turn(&t);
	assert_true(!one->waits && starts == 0);
	assert_int_equal(rules_add(t.rules, "waits", "a:1", NULL), 0);
	rules_last(t.rules)->wall = true;
	targets_turn(&t);
	assert_true(one->waits && starts == 1);
	one->wall.pid = WORKER + 1;
	assert_true(targets_ended(&t, WORKER + 1, WATCH_LEFT_OUT << 8));
	one->wall.again_ns = 0;
	targets_turn(&t);
	assert_true(!one->waits && !one->wall.pid && starts == 1);
	done(&t);
}

/* It ends unexpectedly again and again: waiting threads are left out for a while, CPU time is not. */
static void waiting_threads_are_quarantined(void **state)
{
	struct targets t;
	struct target *one = waits(&t, true);
	const struct scan_found *found;

	(void)state;
	for (size_t i = 1; i <= QUARANTINE_TARGET; i++) {
		one->wall.again_ns = 0;
		targets_turn(&t);
		assert_int_equal(starts, i);
		one->wall.pid = WORKER + 1;
		assert_true(targets_ended(&t, WORKER + 1, SIGSEGV));
	}
	one->wall.again_ns = 0;
	targets_turn(&t);
	assert_int_equal(starts, QUARANTINE_TARGET);
	assert_int_equal(targets_find(&t, getpid(), 0, &found, NULL), 0);
	done(&t);
}

/* A process that does nothing; stubborn: not even on SIGTERM. */
static pid_t idle_child(bool stubborn)
{
	pid_t child;

	if (stubborn)
		signal(SIGTERM, SIG_IGN);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	signal(SIGTERM, SIG_DFL);
	assert_true(child > 0);
	return child;
}

static pid_t busy_child(void)
{
	pid_t child = fork();

	if (child == 0)
		for (volatile unsigned i = 0;; i++)
			;
	assert_true(child > 0);
	return child;
}

static void wait_until_it_sleeps(pid_t pid)
{
	struct proc *p;
	char state = 0;

	assert_int_equal(proc_open(pid, &p, NULL), 0);
	for (int i = 0; i < 10000 && state != 'S'; i++) {
		usleep(1000);
		assert_int_equal(proc_state(p, &state), 0);
	}
	proc_close(p);
}

static int signal_that_ended(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static bool runs(pid_t child)
{
	return waitpid(child, NULL, WNOHANG) == 0;
}

/* It has done nothing for long. Looked at again and again, since it takes a moment until it uses no CPU time any more. */
static bool is_killed(struct targets *t, struct own_child *c)
{
	for (int i = 0; i < 1000 && !c->kill_ns; i++) {
		c->stuck.idle_ns = 0;
		targets_tend(t);
		usleep(1000);
	}
	return c->kill_ns && signal_that_ended(c->pid) == SIGKILL;
}

/* What is seen of a process that has used so much CPU time so far. */
static bool judge(struct stuck *s, uint64_t now_s, uint64_t cpu_s, bool runnable, uint64_t done)
{
	const uint64_t ns = UINT64_C(1000000000);

	return stuck_judge(s, true, done,
			   &(struct stuck_seen){.cpu_ns = cpu_s * ns, .now_ns = now_s * ns, .runnable = runnable});
}

/* Time for which it could run, but had no CPU, does not count: neither the first such time, nor many of them. */
static void who_waits_for_a_cpu_is_not_stuck(void **state)
{
	struct stuck s;

	(void)state;
	stuck_begin(&s, 0);
	assert_false(judge(&s, 1, 7, true, 1)); /* done for the first time, after 7 s of CPU time */
	for (uint64_t now_s = 31; now_s < 300; now_s += 30)
		assert_false(judge(&s, now_s, 7, true, 1));
	assert_int_equal(s.idle_ns, UINT64_C(271000000000)); /* nothing of it counts */
	assert_false(judge(&s, 290, 7, false, 1)); /* now it waits for something else */
	assert_true(judge(&s, 291, 7, false, 1));
}

/* The CPU time that it used while it was at work, and at rest, is no part of what it runs afterwards. */
static void the_first_wait_does_not_count_either(void **state)
{
	struct stuck s;

	(void)state;
	stuck_begin(&s, 0);
	assert_false(judge(&s, 1, 1, true, 1));
	assert_false(judge(&s, 101, 90, true, 2));
	assert_false(judge(&s, 231, 90, true, 2)); /* 130 s without a CPU, all of which do not count */
	assert_int_equal(s.since_ns, s.looked_ns);
	assert_int_equal(s.idle_ns, s.looked_ns);
}

/* It got on less than a second after the last look, which is when its CPU time was read: a wait of before then is none of now. */
static void a_wait_ends_now_at_the_latest(void **state)
{
	struct stuck s;

	(void)state;
	stuck_begin(&s, 0);
	assert_false(judge(&s, 10, 1, true, 1));
	assert_false(stuck_look(&s, -1, true, 2, s.looked_ns + 1000));
	assert_true(s.idle_ns == s.looked_ns + 1000 && s.since_ns == s.idle_ns && s.cpu_ns == UINT64_C(1000000000));
	assert_false(judge(&s, 40, 1, true, 2));
	assert_true(s.idle_ns == s.looked_ns && s.since_ns == s.looked_ns);
}

/* It runs all the time, or half of it: only what it runs counts, as one piece of work that takes too long. */
static void who_runs_for_too_long_is_stuck(void **state)
{
	struct stuck s;

	(void)state;
	stuck_begin(&s, 0);
	for (uint64_t now_s = 10; now_s < 120; now_s += 10)
		assert_false(judge(&s, now_s, now_s, true, 0));
	assert_true(judge(&s, 120, 120, true, 0));
	stuck_begin(&s, 0);
	for (uint64_t now_s = 10; now_s < 240; now_s += 10)
		assert_false(judge(&s, now_s, now_s / 2, true, 0));
	assert_true(judge(&s, 240, 120, true, 0));
}

/*
 * A process without work is not read, for however long; when it has work then, neither that time nor the CPU time that
 * it used is part of it.
 */
static void who_has_no_work_is_not_looked_at(void **state)
{
	const uint64_t second_ns = UINT64_C(1000000000), idle_ns = 36000 * second_ns;
	pid_t sleeps = idle_child(false);
	struct stuck s, runs;

	(void)state;
	wait_until_it_sleeps(sleeps);
	stuck_begin(&s, 0);
	for (uint64_t now_ns = 0; now_ns <= idle_ns; now_ns += second_ns)
		assert_false(stuck_look(&s, getpid(), false, 7, now_ns));
	assert_true(!s.looked_ns && !s.cpu_ns && s.idle_ns == idle_ns && s.since_ns == idle_ns);
	runs = s;
	assert_false(judge(&runs, 36001, 300, true, 7));
	assert_false(judge(&runs, 36120, 419, true, 7));
	assert_true(judge(&runs, 36121, 420, true, 7));
	assert_false(stuck_look(&s, sleeps, true, 7, idle_ns + second_ns)); /* its CPU time is another one */
	assert_true(s.looked_ns == idle_ns + second_ns && s.cpu_ns);
	assert_false(stuck_look(&s, sleeps, true, 7, idle_ns + 20 * second_ns));
	assert_true(stuck_look(&s, sleeps, true, 7, idle_ns + 21 * second_ns));
	assert_int_equal(kill(sleeps, SIGKILL), 0);
	waitpid(sleeps, NULL, 0);
}

/* Real processes: half a minute passes between two looks, as it seems. */
static void runnable_and_sleeping_processes_are_told_apart(void **state)
{
	const uint64_t step_ns = UINT64_C(30000000000);
	pid_t spins = busy_child(), sleeps = idle_child(false);
	struct stuck a, b;

	(void)state;
	wait_until_it_sleeps(sleeps);
	stuck_begin(&a, 0);
	stuck_begin(&b, 0);
	assert_false(stuck_look(&b, sleeps, true, 0, 1)); /* what it has used so far */
	for (uint64_t now_ns = 1; now_ns < 10 * step_ns; now_ns += step_ns)
		assert_false(stuck_look(&a, spins, true, 0, now_ns));
	assert_false(stuck_look(&b, sleeps, true, 0, step_ns / 2));
	assert_true(stuck_look(&b, sleeps, true, 0, step_ns));
	assert_int_equal(kill(spins, SIGKILL) + kill(sleeps, SIGKILL), 0);
	waitpid(spins, NULL, 0);
	waitpid(sleeps, NULL, 0);
}

/* --- ends --- */

static void open_targets(struct targets *t)
{
	*t = (struct targets){.rules = rules_new(), .hz = 49, .feed = no_keeper, .again = look_again};
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(t, NULL), 0);
	t->joint.refused = true;
}

static pid_t found_child(struct targets *t)
{
	pid_t child = idle_child(false);
	uint64_t ticks;

	assert_int_equal(proc_started(child, &ticks), 0);
	assert_true(targets_found(t, &(struct scan_found){child, ticks, getuid(), false}));
	return child;
}

static int poll_targets(const struct targets *t, int ms)
{
	struct pollfd p[TARGETS_FDS];

	targets_poll(t, p);
	return poll(p, TARGETS_FDS, ms);
}

static void end(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(signal_that_ended(child), SIGKILL);
}

/* It wakes the daemon, but only once, although the target stays until the process that samples it has ended. */
static void an_end_is_noticed_at_once(void **state)
{
	struct targets t;
	pid_t child;

	(void)state;
	open_targets(&t);
	child = found_child(&t);
	targets_turn(&t);
	assert_true(t.n == 1 && poll_targets(&t, 0) == 0);
	t.list[0].cpu.pid = WORKER;
	end(child);
	assert_int_equal(poll_targets(&t, 10000), 1);
	targets_turn(&t);
	assert_true(t.n == 1 && poll_targets(&t, 0) == 0);
	assert_true(targets_ended(&t, WORKER, WATCH_ENDED << 8));
	targets_turn(&t);
	assert_int_equal(t.n, 0);
	/* What is found in its place is another one. */
	child = found_child(&t);
	targets_turn(&t);
	assert_int_equal(t.n, 1);
	end(child);
	done(&t);
}

/* Some descriptors stay free, so that processes can be started and looked at. Ends of targets without one are noticed, too. */
static void descriptors_are_left(void **state)
{
	struct rlimit before, few;
	pid_t children[20];
	struct targets t;
	size_t without = 0;
	int next;

	(void)state;
	open_targets(&t);
	next = dup(STDIN_FILENO);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){(rlim_t)next + 24, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (size_t i = 0; i < 20; i++)
		children[i] = found_child(&t);
	targets_turn(&t);
	assert_int_equal(t.n, 20);
	for (size_t i = 0; i < t.n; i++)
		without += t.list[i].pidfd < 0;
	assert_in_range(without, 1, 19);
	assert_int_equal(descriptors_check(NULL), 0);
	for (size_t i = 0; i < 20; i++)
		end(children[i]);
	targets_turn(&t);
	assert_int_equal(t.n, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	done(&t);
}

/* --- processes that are stuck --- */

/* Both kinds of process: the one for CPU time, and the one for waiting threads. */
static void a_stuck_process_is_killed(void **state)
{
	struct targets t;
	struct target *one = waits(&t, true);
	struct own_child *c[] = {&one->cpu, &one->wall};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		one->cpu.pid = one->wall.pid = 0;
		c[i]->pid = idle_child(false);
		stuck_begin(&c[i]->stuck, clock_monotonic_ns());
		targets_tend(&t);
		assert_true(runs(c[i]->pid));
		c[i]->stuck.idle_ns = 0;
		atomic_fetch_add(&own_worker_page(t.own, i * OWN_WALL + one->slot)->turns, 1); /* it does something */
		targets_tend(&t);
		assert_true(runs(c[i]->pid) && !c[i]->kill_ns);
		assert_true(is_killed(&t, c[i]));
	}
	done(&t);
}

/* The keeper gets the reason before the feed ends. */
static void a_stuck_capture_is_killed(void **state)
{
	struct capturing c = {.list[1] = {.pid = getpid(), .id = 7, .until_ns = UINT64_MAX}};
	struct keeping k = {0};
	struct targets t;
	struct keeper_message m;
	int pair[2];

	(void)state;
	waits(&t, false)->cpu.pid = 0;
	assert_int_equal(channel_pair(pair), 0);
	k.control = pair[0];
	c.list[1].child = idle_child(false);
	stuck_begin(&c.list[1].stuck, clock_monotonic_ns());
	for (int i = 0; i < 1000 && !c.list[1].killed; i++) {
		assert_true(runs(c.list[1].child));
		c.list[1].stuck.idle_ns = 0;
		capturing_tend(&c, &t, &k);
		usleep(1000);
	}
	assert_int_equal(channel_receive(pair[1], &m, sizeof(m), NULL), 0);
	assert_true(m.what == KEEPER_CAPTURE_REFUSED && m.capture == 7 && strstr(m.why, "stuck"));
	assert_int_equal(signal_that_ended(c.list[1].child), SIGKILL);
	assert_true(capturing_ended(&c, &t, c.list[1].child, SIGKILL) && !c.list[1].child);
	assert_false(quarantine_left_ns(t.quarantine,
					&(struct quarantine_who){getpid(), t.list[0].who.start_ticks, getuid()},
					clock_monotonic_ns()));
	/* One that does something, but never ends. */
	c.list[1].child = idle_child(false);
	c.list[1].killed = false;
	c.list[1].until_ns = 1;
	stuck_begin(&c.list[1].stuck, clock_monotonic_ns());
	capturing_tend(&c, &t, &k);
	assert_int_equal(signal_that_ended(c.list[1].child), SIGKILL);
	close(pair[0]);
	close(pair[1]);
	done(&t);
}

/* The rules may have changed: its process ends, even if it does not want to, and another one begins only if a rule says so. */
static void a_reload_ends_it(void **state)
{
	struct targets t;
	struct target *one = waits(&t, true);

	(void)state;
	targets_turn(&t);
	assert_true(one->waits && starts == 1);
	one->cpu.pid = idle_child(false);
	one->wall.pid = idle_child(true);
	targets_configured(&t);
	assert_int_equal(signal_that_ended(one->cpu.pid), SIGTERM);
	targets_tend(&t);
	targets_turn(&t);
	assert_true(!one->waits && one->wall.kill_ns && runs(one->wall.pid));
	one->wall.kill_ns = 1; /* it has had enough time */
	targets_tend(&t);
	assert_int_equal(signal_that_ended(one->wall.pid), SIGKILL);
	assert_true(targets_ended(&t, one->wall.pid, SIGKILL));
	assert_true(targets_ended(&t, one->cpu.pid, WATCH_LEFT_OUT << 8)); /* by the old rules */
	assert_false(one->left_out);
	one->cpu.again_ns = one->wall.again_ns = 0;
	targets_turn(&t); /* its worker is tried again; its waiting threads are not, as nobody has said so since */
	assert_true(!one->waits && starts == 2);
	done(&t);
}

/* What the worker that is about to end says of the old rules. */
static void an_ending_worker_knows_no_rule(void **state)
{
	const struct crowd_report r = {.what = CROWD_LEFT_OUT, .pid = getpid()};
	struct targets t;
	struct target *one = waits(&t, true);
	int pair[2];

	(void)state;
	one->cpu.pid = 0;
	one->cpu.again_ns = UINT64_MAX;
	assert_int_equal(channel_pair(pair), 0);
	t.joint.report = pair[0];
	one->joined = true;
	targets_configured(&t);
	assert_int_equal(channel_send(pair[1], &r, sizeof(r), -1), 0);
	targets_turn(&t);
	assert_true(one->joined && !one->left_out);
	t.joint.ending = false;
	assert_int_equal(channel_send(pair[1], &r, sizeof(r), -1), 0);
	targets_turn(&t);
	assert_true(!one->joined && one->left_out);
	close(pair[0]);
	close(pair[1]);
	t.joint.report = -1;
	done(&t);
}

/* --- frequencies --- */

/* A worker for many that is played by the test. */
struct played {
	struct targets t;
	int admit, report; /* its ends */
};

static struct target *join(struct played *p)
{
	int admit[2], report_[2];

	*p = (struct played){
		.t = {.rules = rules_new(), .hz = 49, .cpu_limit = 1000000, .feed = no_keeper, .again = look_again}};
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&p->t, NULL), 0);
	assert_int_equal(channel_pair(admit), 0);
	assert_int_equal(channel_pair(report_), 0);
	p->t.joint.admit = admit[0];
	p->t.joint.report = report_[0];
	p->t.joint.ready = true;
	p->t.joint.again_ns = UINT64_MAX;
	p->admit = admit[1];
	p->report = report_[1];
	find_this_process(&p->t);
	assert_true(p->t.list[0].joined);
	return &p->t.list[0];
}

static void part(struct played *p)
{
	targets_done(&p->t);
	rules_free(p->t.rules);
	close(p->admit);
	close(p->report);
}

static struct broker_admission told(const struct played *p)
{
	struct broker_admission m;

	assert_int_equal(channel_receive(p->admit, &m, sizeof(m), NULL), 0);
	return m;
}

static bool is_told(const struct played *p)
{
	struct pollfd f = {.fd = p->admit, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

static void says(struct played *p, struct crowd_report r)
{
	r.slot = (uint32_t)p->t.list[0].slot;
	r.pid = getpid();
	assert_int_equal(channel_send(p->report, &r, sizeof(r), -1), 0);
	targets_turn(&p->t);
	targets_announce(&p->t);
}

static void a_lower_frequency_is_a_divisor(void **state)
{
	static const uint32_t wrong[] = {0, 50, 1001, UINT32_MAX};
	struct daemon_numbers n;
	struct played p;
	struct target *one = join(&p);
	struct broker_admission m = told(&p);

	(void)state;
	assert_true(m.what == BROKER_ADMIT && m.divisor == 1);
	says(&p, (struct crowd_report){.what = CROWD_RULE, .hz = 49});
	assert_false(is_told(&p));
	says(&p, (struct crowd_report){.what = CROWD_RULE, .hz = 10});
	m = told(&p);
	assert_true(m.what == BROKER_ADMIT && m.divisor == 5 && m.why == BROKER_WHY_RULE &&
		    m.at_ns > clock_monotonic_ns());
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		says(&p, (struct crowd_report){.what = CROWD_RULE, .hz = wrong[i]});
	says(&p, (struct crowd_report){.what = CROWD_RULE, .hz = 10});
	assert_true(!is_told(&p) && one->how.hz == 10 && one->joined);
	targets_numbers(&p.t, &n);
	assert_true(n.jvms == 1 && n.slower == 1 && n.lowered == 0);
	says(&p, (struct crowd_report){.what = CROWD_RULE, .hz = 2}); /* below the governor's floor */
	assert_int_equal(told(&p).divisor, 25);
	part(&p);
}

/* A rule's higher frequency takes a process of its own until the rules change. */
static void a_higher_frequency_is_not_for_ever(void **state)
{
	struct played p;
	struct target *one = join(&p);

	(void)state;
	(void)told(&p);
	starts = 0;
	says(&p, (struct crowd_report){.what = CROWD_ALONE, .hz = 99});
	targets_turn(&p.t);
	assert_true(!one->joined && one->how.hz == 99 && starts);
	targets_configured(&p.t);
	p.t.joint.ending = false;
	one->cpu.again_ns = 0;
	targets_turn(&p.t);
	assert_true(one->joined && one->how.hz == 49);
	assert_int_equal(told(&p).divisor, 1);
	says(&p, (struct crowd_report){.what = CROWD_ALONE}); /* whatever the rules say */
	targets_configured(&p.t);
	p.t.joint.ending = false;
	one->cpu.again_ns = 0;
	targets_turn(&p.t);
	assert_false(one->joined);
	part(&p);
}

/* Counted, also of one worker after another; if records were lost, any process may have become a JVM. */
static void what_was_lost_is_counted(void **state)
{
	const struct crowd_report r[] = {{.what = CROWD_LOST, .lost = {3, 0, 1, 0}},
					 {.what = CROWD_LOST, .lost = {4, 5, 0, 6}}};
	struct daemon_numbers n;
	struct played p;

	(void)state;
	join(&p);
	looks_at_all = 0;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(channel_send(p.report, &r[i], sizeof(r[i]), -1), 0);
		targets_turn(&p.t);
		assert_int_equal(looks_at_all, i);
	}
	targets_numbers(&p.t, &n);
	assert_true(n.lost_samples == 7 && n.lost_records == 5 && n.ended_samples == 1 && n.late_samples == 6);
	part(&p);
}

/* What it said before it ended counts, however soon after that it ended. */
static void last_words_count(void **state)
{
	const struct crowd_report r[] = {{.what = CROWD_READY},
					 {.what = CROWD_MAPPED, .pid = 1},
					 {.what = CROWD_LOST, .lost = {.samples = 3}},
					 {.what = CROWD_EXEC, .pid = getpid()}};
	struct played p;
	struct target *one = join(&p);

	(void)state;
	(void)told(&p);
	p.t.joint.pid = WORKER;
	p.t.joint.ready = false;
	looks_told = 0;
	for (size_t i = 0; i < sizeof(r) / sizeof(r[0]); i++)
		assert_int_equal(channel_send(p.report, &r[i], sizeof(r[i]), -1), 0);
	assert_true(targets_ended(&p.t, WORKER, WATCH_FAILED << 8));
	assert_true(looks_told == 1 && p.t.lost.samples == 3 && one->replaced && !one->joined);
	assert_true(!p.t.joint.pid && !p.t.joint.refused); /* it had begun: this is no refusal */
	part(&p);
}

static void its_own_worker_lies(void **state)
{
	(void)state;
	believes_what_a_rule_can_say(wish);
}

static void the_joint_worker_lies(void **state)
{
	(void)state;
	believes_what_a_rule_can_say(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_leaves_room_for_others),
		cmocka_unit_test(its_own_worker_lies),
		cmocka_unit_test(the_joint_worker_lies),
		cmocka_unit_test(waiting_threads_take_a_rule),
		cmocka_unit_test(waiting_threads_are_quarantined),
		cmocka_unit_test(who_waits_for_a_cpu_is_not_stuck),
		cmocka_unit_test(the_first_wait_does_not_count_either),
		cmocka_unit_test(a_wait_ends_now_at_the_latest),
		cmocka_unit_test(who_runs_for_too_long_is_stuck),
		cmocka_unit_test(who_has_no_work_is_not_looked_at),
		cmocka_unit_test(runnable_and_sleeping_processes_are_told_apart),
		cmocka_unit_test(an_end_is_noticed_at_once),
		cmocka_unit_test(descriptors_are_left),
		cmocka_unit_test(a_stuck_process_is_killed),
		cmocka_unit_test(a_stuck_capture_is_killed),
		cmocka_unit_test(a_reload_ends_it),
		cmocka_unit_test(an_ending_worker_knows_no_rule),
		cmocka_unit_test(a_lower_frequency_is_a_divisor),
		cmocka_unit_test(a_higher_frequency_is_not_for_ever),
		cmocka_unit_test(what_was_lost_is_counted),
		cmocka_unit_test(last_words_count),
		cmocka_unit_test(workers_of_their_own_share_memory),
		cmocka_unit_test(memory_goes_to_who_needs_it),
		cmocka_unit_test(a_worker_takes_no_memory_from_others),
		cmocka_unit_test(room_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
