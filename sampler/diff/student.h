#ifndef JS_DIFF_STUDENT_H
#define JS_DIFF_STUDENT_H

/* Student's t distribution; df <= 0 stands for the normal one, which it becomes for many. */

/* Probability of |T| >= |t|. */
double student_p(double t, double df);

/* The t with student_p(t, df) = p, 0 < p < 1. */
double student_quantile(double p, double df);

#endif
