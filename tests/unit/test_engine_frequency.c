/* Frequencies that are in step with the kernel's tick are not used as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/engine/frequency.h"

#define SECOND_NS UINT64_C(1000000000)

static const unsigned ticks[] = {100, 250, 300, 1000};

static void test_out_of_step(void **state)
{
	static const unsigned hz[] = {49, 97, 99, 199, 499, 997, 999, 1999, 4999, 9999};

	(void)state;
	for (size_t i = 0; i < sizeof(hz) / sizeof(*hz); i++)
		assert_int_equal(frequency_period_ns(hz[i]), SECOND_NS / hz[i]);
}

static void test_in_step(void **state)
{
	static const unsigned hz[] = {5,   8,   10,  25,  50,   75,   100,  150,  200,  250,
				      300, 400, 500, 750, 1000, 1500, 2000, 5000, 10000};

	(void)state;
	for (size_t i = 0; i < sizeof(hz) / sizeof(*hz); i++)
		assert_int_equal(frequency_period_ns(hz[i]), SECOND_NS / hz[i] + SECOND_NS / hz[i] / 907);
	assert_int_equal(frequency_period_ns(1000), 1001102);
}

static void test_near_what_was_asked_for(void **state)
{
	(void)state;
	for (uint64_t hz = 1; hz <= 10000; hz++) {
		uint64_t exact = SECOND_NS / hz, used = frequency_period_ns(hz);

		assert_true(used >= exact && used - exact <= exact / 900);
	}
}

/* None of ten parts of a tick has half or twice its share of the samples. */
static void check_spread(uint64_t hz, uint64_t tick)
{
	uint64_t period = frequency_period_ns(hz), n = hz < 20 ? 400 : 20 * hz, seen[10] = {0};

	for (uint64_t i = 0; i < n; i++)
		seen[i * period % tick * 10 / tick]++;
	for (size_t i = 0; i < 10; i++)
		assert_in_range(seen[i], n / 20, n / 5);
}

static void test_all_of_a_tick(void **state)
{
	(void)state;
	for (uint64_t hz = 5; hz <= 10000; hz += hz < 300 ? 1 : 350)
		for (size_t t = 0; t < sizeof(ticks) / sizeof(*ticks); t++)
			check_spread(hz, SECOND_NS / ticks[t]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_step),
		cmocka_unit_test(test_in_step),
		cmocka_unit_test(test_near_what_was_asked_for),
		cmocka_unit_test(test_all_of_a_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
