#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sampler/engine/perf/perf_thin.h"

#define MS UINT64_C(1000000)

static struct perf_thin thin;

/* A thread that lasts: one in k, to a sample. */
static void test_one_of_k(void **state)
{
	int kept = 0;

	(void)state;
	thin = (struct perf_thin){.random = 1};
	for (int i = 0; i < 1000; i++)
		kept += perf_thin_keep(&thin, 7, 10);
	assert_int_equal(kept, 100);
}

/* Threads of three samples each: their first, second and third are kept alike. */
static void test_brief_threads(void **state)
{
	int kept[3] = {0}, all = 0;

	(void)state;
	thin = (struct perf_thin){.random = 5};
	for (int tid = 1; tid <= 40000; tid++)
		for (int i = 0; i < 3; i++)
			kept[i] += perf_thin_keep(&thin, tid, 8);
	for (int i = 0; i < 3; i++) {
		all += kept[i];
		assert_in_range(kept[i], 5000 - 350, 5000 + 350); /* five standard deviations */
	}
	assert_in_range(all, 15000 - 600, 15000 + 600);
}

/* Two threads in turn, at the same place of the table: neither hides the other. */
static void test_same_place(void **state)
{
	int kept[2] = {0};

	(void)state;
	thin = (struct perf_thin){.random = 9};
	for (int i = 0; i < 40000; i++)
		kept[i % 2] += perf_thin_keep(&thin, 3 + i % 2 * THIN_THREADS, 4);
	assert_in_range(kept[0], 5000 - 350, 5000 + 350);
	assert_in_range(kept[1], 5000 - 350, 5000 + 350);
}

static struct perf_tails tails;

/* The sample of another CPU comes later than the news of the end: it counts all the same. */
static void test_tails_of_unseen_threads(void **state)
{
	uint64_t now = 1000 * MS, unseen = 0;

	(void)state;
	tails = (struct perf_tails){.n = 0};
	perf_tails_sample(&tails, 5);
	assert_int_equal(perf_tails_ended(&tails, 5, 3 * MS, now), 0);
	assert_int_equal(perf_tails_ended(&tails, 6, 4 * MS, now), 0);
	assert_int_equal(perf_tails_ended(&tails, 7, 5 * MS, now), 0);
	perf_tails_sample(&tails, 6);
	assert_int_equal(perf_tails_ended(&tails, 8, 6 * MS, now + TAIL_WAIT_NS), 5 * MS);
	/* There is room for some: with more, the first are decided at once. */
	for (int i = 0; i < TAILS - 1; i++)
		unseen += perf_tails_ended(&tails, 10 + i, MS, now + TAIL_WAIT_NS);
	assert_int_equal(unseen, 0);
	assert_int_equal(perf_tails_ended(&tails, 9, MS, now + TAIL_WAIT_NS), 6 * MS);
}

static void test_divisor(void **state)
{
	(void)state;
	assert_int_equal(perf_thin_divisor(10 * MS, 1, 0, 1000 * MS), 1);
	assert_int_equal(perf_thin_divisor(10 * MS, 1, 19 * MS, 100 * MS), 1); /* too little to tell */
	assert_int_equal(perf_thin_divisor(10 * MS, 1, 20 * MS, 1000 * MS), 1); /* 2 % */
	assert_int_equal(perf_thin_divisor(10 * MS, 1, 21 * MS, 1000 * MS), 2);
	assert_int_equal(perf_thin_divisor(10 * MS, 1, 100 * MS, 1000 * MS), 2); /* no more interrupts than that */
	assert_int_equal(perf_thin_divisor(50 * MS, 1, 100 * MS, 1000 * MS), 5);
	assert_int_equal(perf_thin_divisor(50 * MS, 5, 30 * MS, 1000 * MS), 10); /* not enough */
	assert_int_equal(perf_thin_divisor(50 * MS, 5, 10 * MS, 1000 * MS), 5);
	assert_int_equal(perf_thin_divisor(50 * MS, 10, 500 * MS, 1000 * MS), 10);
	assert_int_equal(perf_thin_divisor(500 * MS, 1, 500 * MS, 1000 * MS), 16);
	assert_int_equal(perf_thin_divisor(MS, 1, 500 * MS, 1000 * MS), 1);
	assert_int_equal(perf_thin_divisor(MS / 2, 1, 500 * MS, 1000 * MS), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_k),   cmocka_unit_test(test_brief_threads),
		cmocka_unit_test(test_same_place), cmocka_unit_test(test_tails_of_unseen_threads),
		cmocka_unit_test(test_divisor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
