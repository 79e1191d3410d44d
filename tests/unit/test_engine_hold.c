#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/engine/perf/perf_hold.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

enum { FEW = 1000, MANY = 8 << 20 };

/* On a calm host, records wait for a second in all. */
static void test_calm(void **state)
{
	struct perf_hold h = {0};

	(void)state;
	perf_hold_taken(&h, 100 * S, 100 * S);
	assert_true(perf_hold_calm(&h, 100 * S));
	assert_true(perf_hold_may_wait(&h, FEW, 100 * S + 999 * MS));
	assert_false(perf_hold_may_wait(&h, FEW, 101 * S));
	assert_false(perf_hold_may_wait(&h, MANY, 100 * S + 1));
	assert_true(perf_hold_left_ns(&h, 100 * S + 1) == S - 1);
	assert_true(perf_hold_left_ns(&h, 101 * S) == 0);
}

/* Records of a new process do not wait, nor do others then, also if it was added after the time was read. */
static void test_new_process(void **state)
{
	struct perf_hold h = {0};

	(void)state;
	perf_hold_taken(&h, 100 * S, 100 * S);
	perf_hold_new(&h, 100 * S + 5);
	assert_false(perf_hold_may_wait(&h, FEW, 100 * S));
	assert_false(perf_hold_may_wait(&h, FEW, 100 * S + 500 * MS));
	assert_false(perf_hold_calm(&h, 130 * S));
	perf_hold_taken(&h, 130 * S, 130 * S);
	assert_false(perf_hold_may_wait(&h, FEW, 130 * S));
	assert_true(perf_hold_may_wait(&h, FEW, 130 * S + 10));
}

/* Rings are read most often while a process is very new. */
static void test_pause(void **state)
{
	struct perf_hold h = {0};

	(void)state;
	assert_true(perf_hold_new(&h, 98 * S)); /* a longer pause may have begun */
	assert_false(perf_hold_new(&h, 100 * S - 1));
	assert_false(perf_hold_new(&h, 100 * S));
	assert_int_equal(perf_hold_pause_ms(&h, 100 * S), 100);
	assert_int_equal(perf_hold_pause_ms(&h, 102 * S - 1), 100);
	assert_int_equal(perf_hold_pause_ms(&h, 102 * S), 250);
	assert_true(perf_hold_new(&h, 102 * S));
	assert_int_equal(perf_hold_pause_ms(&h, 103 * S), 100);
}

/* An urgent record that is younger than what was taken still waits, and stays urgent. */
static void test_urgent(void **state)
{
	struct perf_hold h = {0};

	(void)state;
	perf_hold_taken(&h, 100 * S, 100 * S);
	perf_hold_urgent(&h, 100 * S + 20);
	perf_hold_urgent(&h, 100 * S + 10);
	assert_false(perf_hold_may_wait(&h, FEW, 100 * S + 30));
	perf_hold_taken(&h, 100 * S + 15, 100 * S + 15);
	assert_false(perf_hold_may_wait(&h, FEW, 100 * S + 30));
	perf_hold_taken(&h, 100 * S + 30, 100 * S + 30);
	assert_true(perf_hold_may_wait(&h, FEW, 100 * S + 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calm),
		cmocka_unit_test(test_new_process),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_urgent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
