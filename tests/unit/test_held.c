#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sampler/model/raw_sample.h"
#include "sampler/session/parts/held_samples.h"
#include "symbolizer/base/budget.h"

static struct raw_sample make(pid_t tid, const void *stack, size_t stack_len)
{
	return (struct raw_sample){.pid = 1, .tid = tid, .stack = stack, .stack_len = stack_len};
}

static void test_a_copy_of_all(void **state)
{
	uint64_t kernel[] = {7, 8, 9};
	char stack[] = "of the stack", frozen[] = "frozen";
	struct raw_sample s = make(5, stack, sizeof(stack));
	struct held_samples *h = held_samples_new(NULL);
	const struct raw_sample *got;

	(void)state;
	s.kernel = kernel;
	s.n_kernel = 3;
	s.frozen = (const uint8_t *)frozen;
	s.frozen_len = sizeof(frozen);
	s.stack_addr = 0x1000;
	assert_true(held_samples_add(h, &s));
	memset(kernel, 0, sizeof(kernel));
	memset(stack, 0, sizeof(stack));
	memset(frozen, 0, sizeof(frozen));
	got = held_samples_next(h);
	assert_non_null(got);
	assert_int_equal(got->tid, 5);
	assert_int_equal(got->stack_addr, 0x1000);
	assert_int_equal(got->kernel[0] * 100 + got->kernel[1] * 10 + got->kernel[2], 789);
	assert_string_equal((const char *)got->stack, "of the stack");
	assert_string_equal((const char *)got->frozen, "frozen");
	assert_null(held_samples_next(h));
	held_samples_free(h);
	held_samples_free(NULL);
}

/* The oldest first, also when others come in between. */
static void test_in_order(void **state)
{
	struct held_samples *h = held_samples_new(NULL);
	struct raw_sample s;

	(void)state;
	assert_null(held_samples_next(h));
	for (pid_t i = 1; i <= 3; i++) {
		s = make(i, NULL, 0);
		assert_true(held_samples_add(h, &s));
	}
	assert_int_equal(held_samples_next(h)->tid, 1);
	s = make(4, NULL, 0);
	assert_true(held_samples_add(h, &s));
	for (pid_t i = 2; i <= 4; i++)
		assert_int_equal(held_samples_next(h)->tid, i);
	assert_null(held_samples_next(h));
	assert_true(held_samples_add(h, &s));
	assert_int_equal(held_samples_next(h)->tid, 4);
	held_samples_free(h);
}

static void test_limits(void **state)
{
	uint8_t *stack = calloc(1, HELD_BYTES);
	struct raw_sample large = make(1, stack, HELD_BYTES / 2), small = make(2, NULL, 0);
	struct held_samples *h = held_samples_new(NULL);

	(void)state;
	assert_true(held_samples_add(h, &large));
	assert_true(held_samples_add(h, &large));
	large.stack_len = 1;
	assert_false(held_samples_add(h, &large));
	for (int i = 2; i < HELD_MAX; i++)
		assert_true(held_samples_add(h, &small));
	assert_false(held_samples_add(h, &small));
	assert_int_equal(held_samples_next(h)->tid, 1);
	assert_true(held_samples_add(h, &large)); /* there is room again */
	held_samples_free(h);
	free(stack);
}

/* Of each of many processes that start at the same time. */
static void test_budget(void **state)
{
	uint8_t *stack = calloc(1, BUDGET_STEP);
	struct raw_sample s = make(1, stack, BUDGET_STEP);
	struct budget b;
	struct held_samples *one, *other;

	(void)state;
	budget_init(&b, 3 * BUDGET_STEP, UINT64_MAX);
	one = held_samples_new(&b);
	other = held_samples_new(&b);
	assert_true(held_samples_add(one, &s));
	assert_true(held_samples_add(one, &s));
	assert_true(held_samples_add(other, &s));
	assert_false(held_samples_add(other, &s));
	assert_non_null(held_samples_next(one));
	assert_true(held_samples_add(other, &s));
	held_samples_free(one);
	held_samples_free(other);
	assert_int_equal(budget_bytes_left(&b), 3 * BUDGET_STEP);
	free(stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_copy_of_all),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
