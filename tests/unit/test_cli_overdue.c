#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/cli/targets/overdue.h"
#include "symbolizer/base/clock.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static void what_has_no_end_is_never_overdue(void **state)
{
	struct overdue s = {0};

	(void)state;
	assert_false(overdue_check(&s, 1000 * S, 0));
	assert_int_equal(overdue_pause_ms(&s, -1), -1);
	assert_int_equal(overdue_pause_ms(&s, 250), 250);
}

static void who_does_nothing_is(void **state)
{
	struct overdue s = {0};

	(void)state;
	overdue_expect(&s, 50 * S);
	overdue_expect(&s, 10 * S); /* Ctrl-C */
	assert_false(overdue_check(&s, 9 * S, 5 * S));
	assert_false(overdue_check(&s, 10 * S, 5 * S));
	assert_false(overdue_check(&s, 17 * S, 5 * S + 10 * MS));
	assert_true(overdue_check(&s, 19 * S, 5 * S + 10 * MS));
}

static void who_works_is_not(void **state)
{
	struct overdue s = {0};

	(void)state;
	overdue_expect(&s, 10 * S);
	for (uint64_t t = 10; t < 100; t++)
		assert_false(overdue_check(&s, t * S, t * 10 * MS));
}

static void it_is_looked_at_in_time(void **state)
{
	struct overdue s = {0};

	(void)state;
	overdue_expect(&s, clock_monotonic_ns() + 100 * S);
	assert_in_range(overdue_pause_ms(&s, -1), 90000, 100001);
	assert_int_equal(overdue_pause_ms(&s, 250), 250);
	s.end_ns = 1;
	assert_in_range(overdue_pause_ms(&s, -1), 1, 1000);
	s.end_ns = UINT64_MAX;
	assert_true(overdue_pause_ms(&s, -1) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_end_is_never_overdue),
		cmocka_unit_test(who_does_nothing_is),
		cmocka_unit_test(who_works_is_not),
		cmocka_unit_test(it_is_looked_at_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
