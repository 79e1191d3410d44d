#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

static size_t starts;

/* So that no worker is started. */
static int no_keeper(void *ctx, int socket)
{
	(void)ctx, (void)socket;
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
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper};

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	assert_int_equal(take(&t, TARGETS_MAX, 1000, false), TARGETS_OF_USER);
	assert_int_equal(take(&t, 10, 1001, false), 10);
	assert_int_equal(take(&t, 1, 1000, false), 0);
	targets_turn(&t); /* there are no such processes */
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

	one->worker = WORKER;
	*own_worker_wanted(t->own, one->slot) = wanted;
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
	assert_true(t->list[0].alone && !t->list[0].joined);
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

/* hz: CONFIG_HZ_MIN to CONFIG_HZ_MAX. To stop threads takes a tracer, which no worker gets unless a rule names that engine. */
static void believes_what_a_rule_can_say(say_fn *say)
{
	static const uint32_t wrong[] = {1, 4, 1001, UINT32_MAX};
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper};
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

/* As much as it gets, and without giving it back, as one that is killed. */
static void take_memory(struct own_workers *w, size_t slot)
{
	struct budget b;

	budget_init(&b, 0, 1);
	budget_join(&b, &w->all->files);
	b.account = &w->all->accounts[slot];
	assert_true(budget_take(&b, budget_bytes_left(&b)));
}

/* However many targets want as much as they can get, each by a worker of its own. */
static void workers_of_their_own_share_memory(void **state)
{
	static const struct scan_found f = {1, UINT64_MAX, 1000, false};
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper, .isolate = true};
	size_t n = 0;

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	while (own_workers_room(t.own) && n < 100)
		take_memory(t.own, n++);
	assert_in_range(n, 2, 10);
	starts = 0;
	targets_found(&t, &f);
	assert_int_equal(starts, 0);
	own_worker_ended(t.own, 0);
	assert_true(own_workers_room(t.own));
	targets_turn(&t); /* it has ended */
	targets_found(&t, &f);
	assert_int_equal(starts, 1);
	targets_done(&t);
	rules_free(t.rules);
}

/* Its waiting threads are sampled only if some rule says so, whatever a worker wants. */
static void waiting_threads_take_a_rule(void **state)
{
	struct targets t = {.rules = rules_new(), .hz = 49, .feed = no_keeper};
	struct target *one;

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_int_equal(targets_init(&t, NULL), 0);
	t.joint.refused = true;
	find_this_process(&t);
	one = &t.list[0];
	one->worker = WORKER;
	own_worker_wanted(t.own, one->slot)->wall = UINT32_MAX;
	starts = 0;
	targets_turn(&t);
	assert_true(!one->wall && starts == 0);
	assert_int_equal(rules_add(t.rules, "waits", "a:1", NULL), 0);
	rules_last(t.rules)->wall = true;
	targets_turn(&t);
	assert_true(one->wall && starts == 1);
	one->waller = WORKER + 1;
	assert_true(targets_ended(&t, WORKER + 1, WATCH_LEFT_OUT << 8));
	one->wall_again_ns = 0;
	targets_turn(&t);
	assert_true(!one->wall && !one->waller && starts == 1);
	targets_done(&t);
	rules_free(t.rules);
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
		cmocka_unit_test(workers_of_their_own_share_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
