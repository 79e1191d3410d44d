#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/daemon/supervise/quarantine.h"
#include "sampler/daemon/supervise/restart.h"

#define S UINT64_C(1000000000)
#define DAY (86400 * S)

static void restarts(void **state)
{
	struct restart r = {0};
	uint64_t now = 1000 * S, delay, before = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		restart_began(&r, now);
		now += S;
		delay = restart_delay(&r, now);
		assert_true(delay == (i ? (before * 2 < 30 * S ? before * 2 : 30 * S) : S / 10));
		before = delay;
		now += delay;
	}
	assert_true(before == 30 * S);
	restart_began(&r, now);
	assert_true(restart_delay(&r, now + 60 * S) == S / 10);
}

static void targets(void **state)
{
	struct quarantine *q = quarantine_new();
	const struct quarantine_who a = {100, 1, 1000}, later = {100, 2, 1000}, other = {101, 1, 1000};
	uint64_t now = 5 * DAY;

	(void)state;
	assert_non_null(q);
	assert_true(quarantine_blame(q, &a, now) == 0);
	assert_true(quarantine_left_ns(q, &a, now) == 0);
	assert_true(quarantine_blame(q, &a, now + S) == 60 * S);
	assert_true(quarantine_left_ns(q, &a, now + 2 * S) == 59 * S);
	assert_true(quarantine_left_ns(q, &a, now + 61 * S) == 0);
	assert_true(quarantine_blame(q, &a, now + 62 * S) == 120 * S);
	/* The PID was given again; another process of that user. */
	assert_true(quarantine_left_ns(q, &later, now + 63 * S) == 0);
	assert_true(quarantine_left_ns(q, &other, now + 63 * S) == 0);
	/* After a day without, it begins anew. */
	now += 2 * DAY;
	assert_true(quarantine_blame(q, &a, now) == 0);
	assert_true(quarantine_blame(q, &a, now + S) == 60 * S);
	quarantine_free(q);
}

static void up_to_a_day(void **state)
{
	struct quarantine *q = quarantine_new();
	const struct quarantine_who a = {100, 1, 1000};
	uint64_t now = DAY, delay = 0;

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		delay = quarantine_blame(q, &a, now);
		now += delay < DAY ? delay : DAY - 1;
	}
	assert_true(delay == DAY);
	quarantine_free(q);
}

/* Each of a user's processes is to blame once only, and still the user does not get away with it. Others are not concerned. */
static void users(void **state)
{
	struct quarantine *q = quarantine_new();
	struct quarantine_who who = {0, 1, 1000};
	const struct quarantine_who new_one = {5000, 1, 1000}, of_another = {5000, 1, 1001};
	uint64_t now = DAY;

	(void)state;
	for (int i = 1; i <= QUARANTINE_USER; i++) {
		who.pid = i;
		assert_true(quarantine_blame(q, &who, now) == (i < QUARANTINE_USER ? 0 : 60 * S));
	}
	assert_true(quarantine_left_ns(q, &new_one, now) == 60 * S);
	assert_true(quarantine_left_ns(q, &of_another, now) == 0);
	quarantine_free(q);
}

/* More processes than there is room for: users are remembered, and so is whoever else was to blame of late. */
static void room(void **state)
{
	struct quarantine *q = quarantine_new();
	struct quarantine_who who = {0, 1, 1000};
	const struct quarantine_who new_one = {999999, 1, 1000}, of_another = {7, 1, 1001}, of_old = {8, 1, 999};
	uint64_t now = DAY;

	(void)state;
	for (int i = 1; i <= QUARANTINE_USER; i++)
		quarantine_blame(q, &(struct quarantine_who){i, 2, 999}, now);
	for (int i = 1; i <= 10 * QUARANTINE_MAX; i++) {
		who.pid = 10 + i;
		quarantine_blame(q, &who, now += S / 1000);
	}
	assert_true(quarantine_left_ns(q, &of_old, now) > 0);
	quarantine_blame(q, &of_another, now);
	for (int i = 1; i <= QUARANTINE_MAX / 2; i++) {
		who.pid++;
		quarantine_blame(q, &who, now += S / 1000);
	}
	assert_true(quarantine_blame(q, &of_another, now) == 60 * S);
	assert_true(quarantine_left_ns(q, &new_one, now) > 0);
	quarantine_free(q);
}

/* What is a day old makes room first, users too. */
static void old_ones(void **state)
{
	struct quarantine *q = quarantine_new();
	const struct quarantine_who a = {1, 1, 1}, b = {2, 1, 1};
	uint64_t now = DAY;

	(void)state;
	for (unsigned i = 0; i < 2 * QUARANTINE_MAX; i++)
		quarantine_blame(q, &(struct quarantine_who){100, 1, 1000 + i}, now);
	now += 2 * DAY;
	assert_true(quarantine_blame(q, &a, now) == 0);
	assert_true(quarantine_blame(q, &b, now) == 0);
	assert_true(quarantine_blame(q, &a, now) == 60 * S);
	quarantine_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts), cmocka_unit_test(targets), cmocka_unit_test(up_to_a_day),
		cmocka_unit_test(users),    cmocka_unit_test(room),    cmocka_unit_test(old_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
