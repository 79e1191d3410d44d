#ifndef JS_DIFF_JUDGE_H
#define JS_DIFF_JUDGE_H

struct diff;
struct diff_count;

/* The parts of diff_judge() that are also needed to find the typical spread; diff.h has the formulas. */
double judge_spread_freedom(const struct diff *d); /* files minus sides */
double judge_phi(const struct diff *d, const struct diff_count *count); /* of this method alone */
/* Samples expected in a file of average size, times 1 - share. */
double judge_room(const struct diff *d, const struct diff_count *count);

#endif
