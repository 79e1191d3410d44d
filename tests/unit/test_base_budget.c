#include "symbolizer/base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/base/clock.h"

#define MS UINT64_C(1000000)

static void work_ms(uint64_t ms)
{
	uint64_t end = clock_thread_cpu_ns() + ms * MS;

	while (clock_thread_cpu_ns() < end)
		;
}

static void bytes_are_taken_and_given_back(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 100, MS);
	assert_true(budget_take(&b, 60));
	assert_false(budget_take(&b, 41));
	assert_int_equal(budget_bytes_left(&b), 40);
	budget_give(&b, 1);
	assert_true(budget_take(&b, 41));
	assert_false(budget_take(&b, UINT64_MAX));
}

static void several_have_one_pool(void **state)
{
	struct budget_pool p;
	struct budget a, b;

	(void)state;
	budget_pool_init(&p, 800, 2);
	budget_init(&a, 1 << 20, MS);
	budget_join(&a, &p);
	budget_init(&b, 1 << 20, MS);
	budget_join(&b, &p);
	assert_int_equal(budget_bytes_left(&a), 700);
	assert_false(budget_take(&a, 701));
	assert_true(budget_take(&a, 50));
	assert_int_equal(budget_bytes_left(&b), 700); /* so far it is of a's share */
	assert_true(budget_take(&a, 650));
	assert_false(budget_take(&a, 1));
	assert_int_equal(budget_bytes_left(&b), 100); /* its share is left */
	assert_false(budget_take(&b, 101));
	assert_true(budget_take(&b, 100));
	budget_give(&a, 650);
	assert_int_equal(budget_bytes_left(&b), 600);
	assert_true(budget_take(&b, 600));
	assert_false(budget_take(&b, 1));
	assert_int_equal(budget_bytes_left(&a), 50);
	budget_give(&b, 700);
	budget_give(&a, 50);
	assert_int_equal(budget_bytes_left(&a), 700);
	assert_int_equal(budget_bytes_left(&b), 700);
}

static void one_alone_has_the_whole_pool(void **state)
{
	struct budget_pool p;
	struct budget b;

	(void)state;
	budget_pool_init(&p, 801, 1);
	budget_init(&b, 0, MS);
	budget_join(&b, &p);
	assert_true(budget_take(&b, 801));
	assert_false(budget_take(&b, 1));
	budget_give(&b, 300);
	budget_restart(&b, MS); /* a child's copy */
	assert_int_equal(budget_bytes_left(&b), 300);
	assert_false(budget_take(&b, 301));
}

static void what_is_held_grows_and_shrinks(void **state)
{
	enum { STEP = BUDGET_STEP };
	struct budget b;
	uint64_t taken = 0;

	(void)state;
	budget_init(&b, 10 * STEP, 0);
	assert_true(budget_hold(&b, &taken, 1));
	assert_int_equal(taken, STEP);
	assert_int_equal(budget_bytes_left(&b), 9 * STEP);
	assert_true(budget_hold(&b, &taken, STEP));
	assert_int_equal(budget_bytes_left(&b), 9 * STEP);
	assert_false(budget_hold(&b, &taken, 10 * STEP + 1));
	assert_false(budget_hold(&b, &taken, UINT64_MAX));
	assert_int_equal(taken, STEP);
	assert_true(budget_hold(&b, &taken, 10 * STEP));
	assert_int_equal(budget_bytes_left(&b), 0);
	assert_true(budget_hold(&b, &taken, 0));
	assert_int_equal(budget_bytes_left(&b), 10 * STEP);
	assert_true(budget_hold(NULL, &taken, UINT64_MAX));
}

static void time_runs_between_begin_and_end(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 0, 40 * MS);
	work_ms(50);
	assert_false(budget_expired(&b));
	budget_begin(&b);
	budget_begin(&b);
	work_ms(10);
	budget_end(&b);
	assert_false(budget_expired(&b));
	assert_in_range(budget_ns_left(&b), 1, 30 * MS);
	budget_end(&b);
	assert_in_range(budget_ns_left(&b), 1, 30 * MS);
	budget_begin(&b);
	work_ms(31);
	assert_true(budget_expired(&b));
	assert_int_equal(budget_ns_left(&b), 0);
	budget_end(&b);
	assert_true(budget_expired(&b));
	assert_true(budget_expired(&b));
	budget_init(&b, 0, MS);
	budget_spend(&b, MS - 1);
	assert_false(budget_expired(&b));
	budget_spend(&b, UINT64_MAX);
	assert_true(budget_expired(&b));
}

static void time_is_granted_up_to_a_limit(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 0, MS);
	budget_spend(&b, MS);
	assert_true(budget_expired(&b));
	budget_grant(&b, 0, MS);
	assert_true(budget_expired(&b));
	budget_grant(&b, MS / 2, MS);
	assert_false(budget_expired(&b));
	assert_int_equal(b.ns_left, MS / 2);
	budget_grant(&b, UINT64_MAX, MS);
	assert_int_equal(b.ns_left, MS);
	budget_grant(&b, 1, MS);
	assert_int_equal(b.ns_left, MS);
	budget_grant(NULL, 1, MS);
}

static void polls_notice_the_end_of_time(void **state)
{
	struct budget b;
	unsigned n = 0;

	(void)state;
	budget_init(&b, 0, MS);
	budget_begin(&b);
	while (!budget_poll(&b))
		assert_in_range(n++, 0, 100000000);
	budget_end(&b);
	assert_int_equal(b.ns_left, 0);
}

static void cancelling_ends_all_work_and_notes_nothing(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 100, UINT64_MAX);
	assert_false(budget_poll(&b));
	budget_cancel(&b);
	assert_true(budget_poll(&b));
	assert_true(budget_expired(&b));
	budget_refuse(&b, 1, "never said");
	assert_int_equal(b.refused, 0);
}

static void hurried_work_ends_and_the_next_does_not(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 100, 1000 * MS);
	budget_hurry(&b, true);
	assert_true(budget_expired(&b));
	assert_true(budget_poll(&b));
	assert_int_equal(budget_ns_left(&b), 0);
	budget_refuse(&b, 1, "not wanted now");
	assert_int_equal(b.refused, 0);
	budget_hurry(&b, false);
	assert_false(budget_expired(&b));
	assert_false(budget_poll(&b));
	assert_true(budget_ns_left(&b) > 0);
	budget_hurry(NULL, true);
}

static void notes_are_few_and_different(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 0, 0);
	for (int i = 0; i < 100; i++)
		budget_refuse(&b, 10, "lines of /lib/x%d.so", i / 10);
	assert_int_equal(b.refused, 100);
	assert_int_equal(b.refused_bytes, 1000);
	assert_int_equal(b.n_notes, BUDGET_NOTES);
	assert_string_equal(b.note[1], "lines of /lib/x1.so");
	budget_refuse(&b, UINT64_MAX, "%s", "");
	assert_true(b.refused_bytes == UINT64_MAX);
}

static void none_is_without_limits(void **state)
{
	(void)state;
	budget_begin(NULL);
	assert_true(budget_take(NULL, UINT64_MAX));
	assert_false(budget_poll(NULL));
	assert_false(budget_expired(NULL));
	assert_true(budget_bytes_left(NULL) == UINT64_MAX);
	assert_true(budget_ns_left(NULL) == UINT64_MAX);
	budget_refuse(NULL, 1, "x");
	budget_cancel(NULL);
	budget_end(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_taken_and_given_back),
		cmocka_unit_test(several_have_one_pool),
		cmocka_unit_test(one_alone_has_the_whole_pool),
		cmocka_unit_test(what_is_held_grows_and_shrinks),
		cmocka_unit_test(time_runs_between_begin_and_end),
		cmocka_unit_test(time_is_granted_up_to_a_limit),
		cmocka_unit_test(polls_notice_the_end_of_time),
		cmocka_unit_test(cancelling_ends_all_work_and_notes_nothing),
		cmocka_unit_test(hurried_work_ends_and_the_next_does_not),
		cmocka_unit_test(notes_are_few_and_different),
		cmocka_unit_test(none_is_without_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
