#ifndef JS_DIFF_T_DISTRIBUTION_H
#define JS_DIFF_T_DISTRIBUTION_H

/* Student's t distribution; df <= 0 means the normal one, its limit for large df. */

/* Probability of |T| >= |t|. */
double t_distribution_p(double t, double df);

/* The t with t_distribution_p(t, df) = p, 0 < p < 1. */
double t_distribution_quantile(double p, double df);

#endif
