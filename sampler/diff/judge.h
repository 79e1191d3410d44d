#ifndef JS_DIFF_JUDGE_H
#define JS_DIFF_JUDGE_H

struct diff;
struct diff_count;

/* The pieces of diff_judge() that finding the typical spread needs; diff.h has the formulas. */
double judge_spread_freedom(const struct diff *d); /* files less sides */
double judge_phi(const struct diff *d, const struct diff_count *count); /* of this one alone */
/* Samples of it expected in a file of average size, times what share is left. */
double judge_room(const struct diff *d, const struct diff_count *count);

#endif
