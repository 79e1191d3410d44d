#ifndef JS_DIFF_DIFF_H
#define JS_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct named_profile;
struct strtab;

/*
 * Compares two sides, each a set of profiles, method by method. A side's share is its samples of the method over all
 * its samples. The spread of the shares between the files of a side says how much chance moves them:
 *
 *  phi = sum over files of (samples - expected)^2 / (expected * (1 - share)) / (files - sides)
 *
 * is 1 for samples that fall independently and more if runs differ. A few files say little about it, so it is shrunk
 * towards what the whole profile shows: with the weight of PRIOR_FILES files, towards 1 + c^2 * expected * (1 -
 * share), c being the relative spread typical of the methods that have enough samples. It is never taken as less than
 * 1. With one file on each side there is no spread: phi is 1, and a change must also have min_effect.
 *
 *  t = (after - before) / sqrt(phi * (v(before) + v(after))),   v = p (1 - p) / samples
 *
 * (p there with one sample and one other more than there are, Agresti and Caffo 2000), judged by Student's
 * distribution with files - sides + PRIOR_FILES degrees of freedom (the normal one without spread). As there are many
 * methods, probabilities are multiplied by the number of those that have at least a thousandth of all samples
 * (Bonferroni); the others are not judged.
 */
enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

enum { DIFF_MAX_FILES = 256, DIFF_PRIOR_FILES = 4 };

/* Samples of a method on both sides, and by file. */
struct diff_count {
	uint64_t side[DIFF_SIDES];
	const uint64_t *file; /* by file of both sides, before first; borrowed */
};

/* How a share changed. */
struct diff_change {
	double share[DIFF_SIDES]; /* 0..1 */
	double delta; /* after - before */
	double t, p; /* two-sided p of this change alone */
	double error; /* half of the 95 % interval of delta */
};

struct diff_row {
	uint32_t name; /* string id of diff.strings */
	struct diff_change self, total;
	uint64_t self_count[DIFF_SIDES], total_count[DIFF_SIDES];
	double adjusted; /* p times n_judged, at most 1; 1 if not judged */
	bool changed; /* adjusted < 0.05, and at least min_effect */
};

struct diff_options {
	double min_effect; /* as a fraction; negative: 0.01 if each side has one file, otherwise 0 */
	bool by_total; /* rows are judged by total, not by self */
};

struct diff {
	struct strtab *strings;
	size_t n_files[DIFF_SIDES], n_all;
	uint64_t samples[DIFF_SIDES];
	uint64_t *file_samples; /* n_all */
	double min_effect;
	bool by_total;
	bool spread; /* a side has several files */
	double quantile; /* standard errors that make an error at 95 % */
	double c2_self, c2_total; /* typical relative spread, squared */
	struct diff_row *rows; /* changed ones first, then judged ones, by probability */
	size_t n;
	size_t n_judged, n_changed;
};

/* profiles: n_before, then n_after; not needed afterwards (names are copied). -EINVAL: a side has no samples. */
int diff_build(const struct named_profile *const *profiles, size_t n_before, size_t n_after,
	       const struct diff_options *o, struct diff *ret, struct err *err);
void diff_done(struct diff *d);

/* Likewise for any set of samples; c2: the typical relative spread, squared. */
struct diff_change diff_judge(const struct diff *d, const struct diff_count *count, double c2);

/* Are there enough samples to judge a method? */
bool diff_has_enough(const struct diff *d, const uint64_t count[DIFF_SIDES]);

/* Degrees of freedom of t; 0: normal. */
double diff_freedom(const struct diff *d);

#endif
