#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/engine/engine.h"
#include "sampler/session/parts/leftover.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static void ended(struct leftovers *l, pid_t tid, uint64_t counted, uint64_t tail, uint64_t time_ns)
{
	leftovers_ended(l, &(struct engine_ended){.tid = tid, .counted = counted, .tail = tail, .time_ns = time_ns});
}

/* A thread on two CPUs; its second sample comes after the news of its end. */
static void test_two_cpus(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	ended(l, 7, 13 * MS, 3 * MS, SECOND);
	leftovers_sample(l, 7, 10 * MS, 4, 200);
	ended(l, 7, 12 * MS, 2 * MS, SECOND);
	assert_false(leftovers_next(l, SECOND + 999 * MS, &o));
	assert_true(leftovers_next(l, 2 * SECOND, &o));
	assert_int_equal(o.tid, 7);
	assert_int_equal(o.sampled_ns, 5 * MS);
	assert_int_equal(o.kernel_ns, 0);
	assert_true((o.stack == 3 && o.time_ns == 100) || (o.stack == 4 && o.time_ns == 200));
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	leftovers_free(l);
}

/* Nothing is known of it. The next thread of that id is another one. */
static void test_without_a_sample(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	ended(l, 7, 3 * MS, 3 * MS, SECOND);
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	ended(l, 7, 14 * MS, 4 * MS, SECOND);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_int_equal(o.sampled_ns, 4 * MS);
	leftovers_free(l);
}

/* Counted from its second sample on: what is left over is not more, nor do others have less for it. */
static void test_counted_late(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	leftovers_sample(l, 7, 10 * MS, 3, 200);
	leftovers_ended(l, &(struct engine_ended){
				   .tid = 7, .counted = 13 * MS, .tail = 3 * MS, .time_ns = SECOND, .late = true});
	leftovers_sample(l, 8, 10 * MS, 4, 300);
	ended(l, 8, 14 * MS, 4 * MS, SECOND);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_true(o.tid == 7 && o.sampled_ns == 3 * MS && o.kernel_ns == 0);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_true(o.tid == 8 && o.sampled_ns == 4 * MS);
	leftovers_free(l);
}

/* The samples before are named: one of those that follow gets what is left, and no more than that. */
static void test_renewed(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	leftovers_sample(l, 8, 10 * MS, 3, 100);
	leftovers_renew(l);
	assert_false(leftovers_drawn(l, 7, &o));
	leftovers_sample(l, 7, 10 * MS, 4, 200);
	ended(l, 7, 25 * MS, 5 * MS, SECOND);
	ended(l, 8, 15 * MS, 5 * MS, SECOND);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_true(o.tid == 7 && o.stack == 4 && o.sampled_ns == 5 * MS);
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	leftovers_free(l);
}

/* Of four samples that were due, three were of the kernel: so is that part of what is left. */
static void test_kernel(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	ended(l, 7, 48 * MS, 8 * MS, SECOND);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_int_equal(o.sampled_ns, 2 * MS);
	assert_int_equal(o.kernel_ns, 6 * MS);
	leftovers_free(l);
}

/* Two samples of a thread that used one and a half periods: another one gets that much less. */
static void test_more_than_was_used(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	leftovers_sample(l, 7, 10 * MS, 3, 200);
	ended(l, 7, 15 * MS, 5 * MS, SECOND);
	leftovers_sample(l, 8, 10 * MS, 4, 300);
	ended(l, 8, 18 * MS, 8 * MS, SECOND);
	assert_true(leftovers_next(l, UINT64_MAX, &o));
	assert_int_equal(o.tid, 8);
	assert_int_equal(o.sampled_ns, 3 * MS);
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	leftovers_free(l);
}

/* Each of its samples is as likely. */
static void test_draw(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;
	int times[4] = {0};

	(void)state;
	for (int tid = 1; tid <= 4000; tid++) {
		for (uint32_t i = 0; i < 4; i++)
			leftovers_sample(l, tid, 10 * MS, i, 100);
		ended(l, tid, 44 * MS, 4 * MS, SECOND);
	}
	while (leftovers_next(l, UINT64_MAX, &o))
		times[o.stack]++;
	for (int i = 0; i < 4; i++)
		assert_in_range(times[i], 1000 - 140, 1000 + 140); /* five standard deviations */
	leftovers_free(l);
}

static void test_forget(void **state)
{
	struct leftovers *l = leftovers_new();
	struct leftover o;

	(void)state;
	leftovers_sample(l, 7, 10 * MS, 3, 100);
	ended(l, 7, 14 * MS, 4 * MS, SECOND);
	leftovers_forget(l);
	assert_false(leftovers_next(l, UINT64_MAX, &o));
	leftovers_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cpus),     cmocka_unit_test(test_without_a_sample),
		cmocka_unit_test(test_counted_late), cmocka_unit_test(test_renewed),
		cmocka_unit_test(test_kernel),       cmocka_unit_test(test_more_than_was_used),
		cmocka_unit_test(test_draw),         cmocka_unit_test(test_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
