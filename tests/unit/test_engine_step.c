#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/engine/perf/perf_step.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

/* 10 s of a busy CPU at 1 kHz, of which the reader takes 50 us behind each sample. */
static void test_reader_behind_each_sample(void **state)
{
	struct perf_steps s = {0};
	uint64_t sum = 0;

	(void)state;
	perf_step_end(&s, 5 * MS);
	for (uint64_t i = 0; i < 10000; i++) {
		sum += perf_step_weight(&s, (i + 1) * MS, MS);
		perf_step_end(&s, 5 * MS + (i + 1) * 50 * US);
	}
	/* All but the first. */
	assert_int_equal(sum, 10000 * 950 * US + 50 * US);
}

/* A thread that each sample wakes as well, on the same CPU. */
static void test_another_thread_behind_each_sample(void **state)
{
	struct perf_steps s = {0};

	(void)state;
	perf_step_end(&s, MS);
	assert_int_equal(perf_step_weight(&s, 1 * MS, MS), MS);
	perf_step_end(&s, MS + 20 * US);
	perf_step_add(&s, 30 * US);
	assert_int_equal(perf_step_weight(&s, 2 * MS, MS), MS - 50 * US);
	perf_step_add(&s, 700 * US);
	assert_int_equal(perf_step_weight(&s, 3 * MS, MS), MS / 2);
	perf_step_add(&s, 30 * US); /* with another process's sample in between */
	assert_int_equal(perf_step_weight(&s, 5 * MS, MS), MS);
}

/* The sample between them was another process's: nobody read it. */
static void test_only_the_next_one(void **state)
{
	struct perf_steps s = {0};

	(void)state;
	perf_step_end(&s, MS);
	assert_int_equal(perf_step_weight(&s, 1 * MS, MS), MS);
	perf_step_end(&s, MS + 80 * US);
	assert_int_equal(perf_step_weight(&s, 3 * MS, MS), MS);
	perf_step_end(&s, MS + 90 * US);
	assert_int_equal(perf_step_weight(&s, 4 * MS, MS), MS - 10 * US);
}

/* What the reader does for events on threads is not in step with those on CPUs. */
static void test_other_work_of_the_reader(void **state)
{
	struct perf_steps s = {0};

	(void)state;
	perf_step_end(&s, MS);
	perf_step_weight(&s, 1 * MS, MS);
	perf_step_end(&s, MS + 20 * US);
	perf_step_end(&s, MS + 500 * US);
	assert_int_equal(perf_step_weight(&s, 2 * MS, MS), MS - 20 * US);
}

static void test_nonsense(void **state)
{
	struct perf_steps s = {0};

	(void)state;
	perf_step_weight(&s, 1 * MS, MS);
	perf_step_end(&s, 900 * MS); /* not begun before: says nothing */
	assert_int_equal(perf_step_weight(&s, 2 * MS, MS), MS);
	perf_step_end(&s, 10 * MS); /* another reader's clock */
	assert_int_equal(perf_step_weight(&s, 3 * MS, MS), MS);
	perf_step_end(&s, 20 * MS); /* longer than the period */
	assert_int_equal(perf_step_weight(&s, 4 * MS, MS), MS / 2);
	assert_int_equal(perf_step_weight(&s, 2 * MS, MS), MS); /* a clock that goes back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_behind_each_sample),
		cmocka_unit_test(test_another_thread_behind_each_sample),
		cmocka_unit_test(test_only_the_next_one),
		cmocka_unit_test(test_other_work_of_the_reader),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
