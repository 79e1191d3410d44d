#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sampler/diff/diff.h"
#include "sampler/diff/gate.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/strtab.h"

enum { METHODS = 40, FILES = 6 };

/* One leaf "m0", "m1", ... below "main" for each count. */
static struct named_profile *profile_of(const uint64_t *counts, size_t n)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	char name[24];

	for (size_t i = 0; i < n; i++) {
		struct named_line leaf = {.kind = NAMED_C2}, root = {.kind = NAMED_NATIVE};
		struct named_sample s = {.count = counts[i], .weight = counts[i]};
		uint32_t at[2];

		if (!counts[i])
			continue;
		snprintf(name, sizeof(name), "m%zu", i);
		leaf.function = named_builder_function(b, name, "", "");
		root.function = named_builder_function(b, "main", "", "");
		at[0] = named_builder_location(b, 0, 0, &leaf, 1);
		at[1] = named_builder_location(b, 0, 0, &root, 1);
		s.stack = named_builder_stack(b, at, 2);
		named_builder_sample(b, &s);
	}
	np = named_builder_take(b);
	assert_non_null(np);
	return np;
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(strtab_get(d->strings, d->rows[i].name), name) == 0)
			return &d->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.10g, not %.10g", got, wanted);
}

/* One file a side: shares, the normal distribution, at least a point. */
static void counts(void **state)
{
	const uint64_t before[] = {500, 400, 100, 0, 0}, after[] = {600, 300, 0, 92, 8};
	struct named_profile *np[2] = {profile_of(before, 5), profile_of(after, 5)};
	const struct diff_options o = {.min_effect = -1};
	struct diff d;
	const struct diff_row *r;

	(void)state;
	assert_int_equal(diff_build((const struct named_profile *const *)np, 1, 1, &o, &d, NULL), 0);
	assert_false(d.spread);
	assert_near(d.min_effect, 0.01, 0);
	assert_int_equal(d.n, 6);
	r = row_of(&d, "m0");
	assert_near(r->self.share[0], 0.5, 1e-12);
	assert_near(r->self.delta, 0.1, 1e-12);
	assert_near(r->self.error, 1.96 * sqrt(0.25 / 1002 + 0.24 / 1002), 1e-4);
	assert_near(r->self.t, 0.1 / sqrt(0.25 / 1002 + 0.24 / 1002), 1e-2);
	assert_true(r->changed);
	/* Vanished and new ones are the surest; 8 samples of 1,000 are under a point. */
	assert_string_equal(strtab_get(d.strings, d.rows[0].name), "m2");
	assert_string_equal(strtab_get(d.strings, d.rows[1].name), "m3");
	assert_false(row_of(&d, "m4")->changed);
	r = row_of(&d, "main");
	assert_int_equal(r->self_count[0], 0);
	assert_int_equal(r->total_count[1], 1000);
	assert_false(r->changed);
	assert_int_equal(d.n_changed, 4);
	diff_done(&d);
	named_profile_free(np[0]);
	named_profile_free(np[1]);
}

/* The formula of the man page by hand: 2 files a side, one method of 1,000 samples. */
static void spread(void **state)
{
	static const uint64_t files[4][2] = {{480, 520}, {520, 480}, {600, 400}, {640, 360}};
	struct named_profile *np[4];
	const struct diff_options o = {.min_effect = -1};
	struct diff d;
	const struct diff_row *r;
	double chi2 = 0, phi, c2;

	(void)state;
	for (int i = 0; i < 4; i++)
		np[i] = profile_of(files[i], 2);
	assert_int_equal(diff_build((const struct named_profile *const *)np, 2, 2, &o, &d, NULL), 0);
	assert_true(d.spread);
	assert_near(diff_freedom(&d), 6, 0);
	r = row_of(&d, "m0");
	assert_near(r->self.share[0], 0.5, 1e-12);
	assert_near(r->self.share[1], 0.62, 1e-12);
	chi2 += 2 * 20 * 20 / (500 * 0.5) + 2 * 20 * 20 / (620 * 0.38);
	/* m0 and m1 have the same phi and too few samples (247 of 400) to say what is typical. */
	phi = (chi2 + 4 * 1) / 6;
	c2 = d.c2_self;
	assert_near(c2, 0, 0);
	assert_near(r->self.t,
		    0.12 / sqrt(phi * (1001.0 / 2002 * 1001 / 2002 / 2002 + 1241.0 / 2002 * 761 / 2002 / 2002)), 1e-9);
	diff_done(&d);
	for (int i = 0; i < 4; i++)
		named_profile_free(np[i]);
}

static uint64_t seed = 12345;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Runs of one program: shares of methods from a tenth to a thousandth, each run's moved by 3 %. */
static struct named_profile *run_of(double spread, size_t slow, double by)
{
	uint64_t n[METHODS];
	double share[METHODS], all = 0;

	for (size_t i = 0; i < METHODS; i++) {
		share[i] = 0.1 * pow(0.88, (double)i) * exp(spread * normal()) * (i == slow ? by : 1);
		all += share[i];
	}
	for (size_t i = 0; i < METHODS; i++) {
		double mean = 20000 * share[i] / all, got = mean + sqrt(mean) * normal();

		n[i] = got > 0 ? (uint64_t)(got + 0.5) : 0;
	}
	return profile_of(n, METHODS);
}

static void simulate(double spread, size_t slow, double by, struct named_profile **np, struct diff *d)
{
	const struct diff_options o = {.min_effect = -1};

	for (size_t i = 0; i < FILES; i++)
		np[i] = run_of(spread, i < FILES / 2 ? SIZE_MAX : slow, by);
	assert_int_equal(diff_build((const struct named_profile *const *)np, FILES / 2, FILES / 2, &o, d, NULL), 0);
}

static void simulation_done(struct named_profile **np, struct diff *d)
{
	diff_done(d);
	for (size_t i = 0; i < FILES; i++)
		named_profile_free(np[i]);
}

/* 300 pairs of equal sides: a method shows as changed in fewer than 5 % (and 3 sigma) of them, and a
 * gate of 1 point over every method holds in none. */
static void equal_sides(void **state)
{
	struct named_profile *np[FILES];
	int shown = 0, failed = 0;
	struct gate any;

	(void)state;
	assert_int_equal(gate_parse("any self("
				    "**) > +1pt",
				    &any, NULL),
			 0);
	for (int i = 0; i < 300; i++) {
		struct gate_result res;
		struct diff d;

		simulate(0.03, SIZE_MAX, 1, np, &d);
		shown += d.n_changed > 0;
		assert_int_equal(gate_judge(&any, &d, (const struct named_profile *const *)np, &res), 0);
		assert_int_equal(res.matches, METHODS + 1);
		failed += res.failed;
		simulation_done(np, &d);
	}
	gate_done(&any);
	print_message("%d of 300 equal pairs show a change, %d fail the gate\n", shown, failed);
	assert_true(shown <= 15 + 12);
	assert_int_equal(failed, 0);
}

/* One method made 30 % slower, each in turn down to 1 point of share: always the first row. */
static void slow_method(void **state)
{
	struct named_profile *np[FILES];
	struct gate g;

	(void)state;
	assert_int_equal(gate_parse("self(m*) > +0.1pt", &g, NULL), 0);
	for (size_t slow = 0; slow < 18; slow++) {
		struct gate_result res;
		char name[24];
		struct diff d;

		snprintf(name, sizeof(name), "m%zu", slow);
		simulate(0.02, slow, 1.3, np, &d);
		assert_true(d.n_changed > 0);
		if (strcmp(strtab_get(d.strings, d.rows[0].name), name) != 0)
			fail_msg("%s is first, not %s", strtab_get(d.strings, d.rows[0].name), name);
		assert_int_equal(gate_judge(&g, &d, (const struct named_profile *const *)np, &res), 0);
		assert_false(res.failed); /* all methods together are all of the time */
		simulation_done(np, &d);
	}
	gate_done(&g);
}

static void nothing_to_compare(void **state)
{
	const uint64_t some[] = {5};
	struct named_profile *np[2] = {profile_of(some, 1), profile_of(some, 0)};
	const struct diff_options o = {.min_effect = -1};
	struct err err = {0};
	struct diff d;

	(void)state;
	assert_int_equal(diff_build((const struct named_profile *const *)np, 1, 1, &o, &d, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "after"));
	named_profile_free(np[0]);
	named_profile_free(np[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(spread),
		cmocka_unit_test(equal_sides),
		cmocka_unit_test(slow_method),
		cmocka_unit_test(nothing_to_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
