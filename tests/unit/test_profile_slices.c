#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/profile/profile.h"

#define SECOND UINT64_C(1000000000)

/* One sample of a stack of one frame at a time. */
static void add(struct profile *p, int64_t pc, uint64_t time_ns)
{
	struct frame_key key = {.kind = FRAME_NATIVE, .id = 1, .off = pc};
	struct walk w = {.frames = &key, .n = 1, .end = WALK_ROOT};

	profile_time(p, time_ns);
	profile_add(p, 1, 1, THREAD_RUNNING, &w, 10);
}

static uint64_t in_slice(const struct profile *p, uint32_t slice)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		if (profile_sample(p, i).slice == slice)
			n += profile_sample(p, i).count;
	return n;
}

static uint64_t all(const struct profile *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		n += profile_sample(p, i).count;
	return n;
}

static void samples_are_kept_by_slice(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	(void)state;

	profile_slices(p, SECOND, 100 * SECOND);
	add(p, 1, 99 * SECOND); /* taken before the start: the first slice */
	add(p, 1, 100 * SECOND);
	add(p, 1, 101 * SECOND - 1);
	add(p, 1, 101 * SECOND);
	add(p, 2, 101 * SECOND);
	add(p, 1, 109 * SECOND + 1);
	add(p, 1, 101 * SECOND + 5); /* late: rings are read one after the other */
	assert_int_equal(profile_sample_count(p), 4);
	assert_int_equal(in_slice(p, 1), 3);
	assert_int_equal(in_slice(p, 2), 3);
	assert_int_equal(in_slice(p, 10), 1);
	assert_int_equal(profile_slice_ns(p), SECOND);
	assert_int_equal(profile_totals(p).samples, 7);
	profile_free(p);
}

/* A machine that has just started: ten seconds ago there was no clock. */
static void the_first_slice_begins_before_the_clock(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	(void)state;

	profile_slices(p, SECOND, 4 * SECOND - 10 * SECOND);
	add(p, 1, 4 * SECOND);
	add(p, 1, 5 * SECOND);
	assert_int_equal(in_slice(p, 11), 1);
	assert_int_equal(in_slice(p, 12), 1);
	profile_free(p);
}

static void without_slices_nothing_changes(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	(void)state;

	add(p, 1, SECOND);
	add(p, 1, 50 * SECOND);
	assert_int_equal(profile_sample_count(p), 1);
	assert_int_equal(profile_sample(p, 0).slice, 0);
	assert_int_equal(profile_slice_ns(p), 0);
	profile_free(p);
}

/* 64 slices of two stacks where 40 samples have room: slices are four times as wide at the end. */
static void slices_get_wider(void **state)
{
	struct profile *p = profile_new((struct profile_options){.max_sliced = 40});
	(void)state;

	profile_slices(p, SECOND, 0);
	for (uint64_t s = 0; s < 64; s++) {
		add(p, 1, s * SECOND);
		add(p, 2, s * SECOND + 1);
	}
	assert_int_equal(profile_slice_ns(p), 4 * SECOND);
	assert_int_equal(profile_sample_count(p), 2 * 16);
	for (uint32_t i = 1; i <= 16; i++)
		assert_int_equal(in_slice(p, i), 8);
	assert_int_equal(all(p), 128);
	assert_int_equal(profile_totals(p).stacks, 2);
	profile_free(p);
}

/* As many stacks as samples: wider slices help nothing, and everything is kept all the same. */
static void stacks_have_precedence(void **state)
{
	struct profile *p = profile_new((struct profile_options){.max_sliced = 10});
	(void)state;

	profile_slices(p, SECOND, 0);
	for (int64_t i = 0; i < 500; i++)
		add(p, i, (uint64_t)i * SECOND);
	assert_int_equal(all(p), 500);
	assert_int_equal(profile_totals(p).stacks, 500);
	assert_int_equal(profile_totals(p).storage_limit, 0);
	profile_free(p);
}

/* Under --max-memory slices give way before stacks do. */
static void memory_is_for_stacks(void **state)
{
	struct profile *p = profile_new((struct profile_options){.max_bytes = 300000});
	(void)state;

	profile_slices(p, SECOND, 0);
	for (uint64_t s = 0; s < 100000; s++)
		add(p, 1, s * SECOND);
	assert_int_equal(all(p), 100000);
	assert_true(profile_totals(p).bytes <= 300000);
	assert_true(profile_slice_ns(p) > SECOND);
	assert_int_equal(profile_totals(p).storage_limit, 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_kept_by_slice),
		cmocka_unit_test(the_first_slice_begins_before_the_clock),
		cmocka_unit_test(without_slices_nothing_changes),
		cmocka_unit_test(slices_get_wider),
		cmocka_unit_test(stacks_have_precedence),
		cmocka_unit_test(memory_is_for_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
