#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "sampler/diff/t_distribution.h"

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.10g, not %.10g", got, wanted);
}

/* Quantiles as printed tables have them (two-sided). */
static void tables(void **state)
{
	static const struct {
		double df, p, t;
	} rows[] = {
		{1, 0.5, 1.000},   {1, 0.05, 12.706},  {1, 0.001, 636.619}, {2, 0.05, 4.303},
		{4, 0.05, 2.776},  {4, 0.01, 4.604},   {8, 0.05, 2.306},    {8, 0.001, 5.041},
		{30, 0.05, 2.042}, {120, 0.05, 1.980}, {0, 0.05, 1.960},    {0, 0.01, 2.576},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_near(t_distribution_quantile(rows[i].p, rows[i].df), rows[i].t, 0.0006 * rows[i].t);
		assert_near(t_distribution_p(rows[i].t, rows[i].df), rows[i].p, 0.002 * rows[i].p + 1e-6);
	}
}

static void shape(void **state)
{
	(void)state;
	for (double df = 0; df < 40; df += 1.5) {
		double before = 1.0000001;

		assert_near(t_distribution_p(0, df), 1, 1e-12);
		for (double t = 0; t < 60; t += 0.25) {
			double p = t_distribution_p(t, df);

			assert_true(p <= before && p >= 0);
			assert_near(t_distribution_p(-t, df), p, 1e-15);
			before = p;
		}
	}
	/* df 2 has a closed form. */
	for (double t = 0.1; t < 100; t *= 1.7)
		assert_near(t_distribution_p(t, 2), 1 - t / sqrt(2 + t * t), 1e-12);
	assert_true(t_distribution_p(1e8, 8) < 1e-40);
	assert_true(t_distribution_p(INFINITY, 8) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
