#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/engine/perf/events/perf_rest.h"

static struct perf_rests rests;

static void test_once(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	perf_rests_add(&rests, 7, 100);
	perf_rests_add(&rests, 7, 23);
	assert_int_equal(perf_rests_take(&rests, 8), 0);
	assert_int_equal(perf_rests_take(&rests, 7), 123);
	assert_int_equal(perf_rests_take(&rests, 7), 0);
}

/* Threads that want the same place; one in between that goes does not hide those behind it. */
static void test_same_place(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	for (int i = 0; i < 8; i++)
		perf_rests_add(&rests, 5 + i * RESTS, 10 + (uint64_t)i);
	assert_int_equal(perf_rests_take(&rests, 5), 10);
	perf_rests_add(&rests, 5 + 7 * RESTS, 1);
	for (int i = 1; i < 8; i++)
		assert_int_equal(perf_rests_take(&rests, 5 + i * RESTS), 10 + i + (i == 7));
}

static void test_no_room(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	for (int i = 0; i < 9; i++)
		perf_rests_add(&rests, RESTS - 1 + i * RESTS, 1);
	for (int i = 0; i < 9; i++)
		assert_int_equal(perf_rests_take(&rests, RESTS - 1 + i * RESTS), i < 8);
}

static void test_forked(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	perf_rests_fork(&rests, 7);
	assert_true(perf_rests_forked(&rests, 7));
	assert_false(perf_rests_forked(&rests, 8));
	perf_rests_replacing(&rests);
	assert_true(perf_rests_forked(&rests, 7));
	perf_rests_replaced(&rests);
	assert_false(perf_rests_forked(&rests, 7));
}

/* A thread that is started while events are replaced inherits both. */
static void test_forked_meanwhile(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	perf_rests_replacing(&rests);
	perf_rests_fork(&rests, 7);
	assert_true(perf_rests_forked(&rests, 7));
	perf_rests_replaced(&rests);
	assert_true(perf_rests_forked(&rests, 7));
	perf_rests_replacing(&rests);
	perf_rests_replaced(&rests);
	assert_false(perf_rests_forked(&rests, 7));
}

/* New events that could not be opened replace nothing. */
static void test_not_replaced(void **state)
{
	(void)state;
	rests = (struct perf_rests){0};
	perf_rests_replacing(&rests);
	perf_rests_fork(&rests, 7);
	perf_rests_replacing(&rests);
	assert_true(perf_rests_forked(&rests, 7));
	perf_rests_replaced(&rests);
	assert_false(perf_rests_forked(&rests, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_same_place),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_forked),
		cmocka_unit_test(test_forked_meanwhile),
		cmocka_unit_test(test_not_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
