/* The calls that a thread is in: exits that are missing are made up for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jvm-bridge/host/calls.h"

/* How many are dropped to there. */
static unsigned dropped(struct calls *c, uint32_t to, uint32_t last)
{
	uint32_t number = 0;
	unsigned n = 0;

	while (calls_drop(c, to, &number))
		n++;
	if (n)
		assert_int_equal(number, last);
	return n;
}

static void pairs(void **state)
{
	struct calls *c = calloc(1, sizeof(*c));
	uint32_t to;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(calls_entered(c, i));
	for (uint32_t i = 1000; i--;) {
		assert_true(calls_left(c, i, &to));
		assert_int_equal(dropped(c, to, i), 1);
	}
	assert_false(calls_left(c, 5, &to)); /* was entered before anybody asked */
	calls_done(c);
	calls_done(NULL);
	calls_forget(NULL);
}

static void missing(void **state)
{
	struct calls *c = calloc(1, sizeof(*c));
	uint32_t to;

	(void)state;
	for (uint32_t i = 1; i <= 5; i++)
		calls_entered(c, i);
	assert_true(calls_caught(c, 3, &to));
	assert_int_equal(dropped(c, to, 4), 2);
	assert_true(calls_caught(c, 3, &to));
	assert_int_equal(dropped(c, to, 0), 0);
	assert_false(calls_caught(c, 4, &to));
	assert_true(calls_left(c, 1, &to));
	assert_int_equal(dropped(c, to, 1), 3);
	/* Of a recursion the innermost one leaves. */
	calls_entered(c, 7);
	calls_entered(c, 7);
	assert_true(calls_left(c, 7, &to));
	assert_int_equal(dropped(c, to, 7), 1);
	calls_forget(c);
	assert_false(calls_left(c, 7, &to));
	calls_done(c);
}

static void too_many(void **state)
{
	struct calls *c = calloc(1, sizeof(*c));
	uint32_t to;

	(void)state;
	for (uint32_t i = 0; i < CALLS_MAX; i++)
		assert_true(calls_entered(c, 1));
	assert_false(calls_entered(c, 1));
	assert_false(calls_entered(c, 2));
	assert_false(calls_caught(c, 1, &to));
	assert_false(calls_left(c, 2, &to));
	assert_false(calls_left(c, 1, &to));
	assert_true(calls_left(c, 1, &to));
	assert_int_equal(to, CALLS_MAX - 1);
	calls_done(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pairs), cmocka_unit_test(missing),
					   cmocka_unit_test(too_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
