#include "sampler/diff/t_distribution.h"

#include <math.h>

enum { MAX_TERMS = 500 };

/* x of a quotient must not become 0. */
static double not_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/*
 * The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), from its
 * front (Lentz's method): d and c are quotients of neighbouring denominators and numerators.
 */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m < MAX_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double before = f;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		f *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		f *= d * c;
		if (fabs(f - before) <= 1e-15 * fabs(f))
			break;
	}
	return f;
}

/* The regularised incomplete beta function. The fraction is quick on one side of the mean only. */
static double beta(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double t_distribution_p(double t, double df)
{
	if (df <= 0)
		return erfc(fabs(t) / sqrt(2));
	return beta(df / (df + t * t), df / 2, 0.5);
}

double t_distribution_quantile(double p, double df)
{
	double low = 0, high = 1;

	while (t_distribution_p(high, df) > p && high < 1e15)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double mid = (low + high) / 2;

		if (t_distribution_p(mid, df) > p)
			low = mid;
		else
			high = mid;
	}
	return high;
}
