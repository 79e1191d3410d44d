/* Samples over time, against what profiles of the same times have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "sampler/store/store_series.h"
#include "tests/support/store_fill.h"

/* What is asked for; neither begins a step of ten minutes. */
#define FROM (MIDNIGHT + 610)
#define TO (MIDNIGHT + 7210)

enum { HOURS = 3, PIDS = 4, METHODS = 5 };

static char dir[64];

static int set_up(void **state)
{
	struct store *s = NULL;
	uint32_t random = 4711;

	(void)state;
	store_test_dir(dir);
	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	for (uint64_t at = MIDNIGHT; at < MIDNIGHT + HOURS * 3600; at += STORE_STEP_S) {
		random = random * 1103515245 + 12345;
		assert_int_equal(store_test_add(s, 1 + (pid_t)((random >> 16) % PIDS), at,
						(random >> 20 & 0xff) % METHODS, 1 + (random >> 24) % 9),
				 0);
	}
	for (int i = 0; i < 2; i++) /* from one step to the next */
		assert_int_equal(store_tend(s, (MIDNIGHT + HOURS * 3600 + 700) * SECOND, NULL), 0);
	store_close(s);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_test_remove(dir);
	return 0;
}

static int is_wanted(void *ctx, const char *function, struct err *err)
{
	(void)err;
	return strcmp(function, ctx) == 0;
}

static struct store_series *read_series(uint64_t from_s, uint64_t to_s, const struct store_series_query *sq)
{
	struct store_query q = {.from_ns = from_s * SECOND, .to_ns = to_s * SECOND, .event = "cpu"};
	struct store_series *s = NULL;
	struct store_view *v = NULL;

	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_series(v, sq, &s, NULL), 0);
	store_view_close(v);
	return s;
}

static bool has_function(const struct named_profile *np, const struct named_sample *s, const char *name, bool self)
{
	const struct named_stack *st = &np->stacks[s->stack];

	for (uint32_t i = 0; i < st->n; i++) {
		const struct named_location *l = &np->locations[np->stack_locations[st->first + i]];

		for (uint32_t j = 0; j < l->n_lines; j++) {
			if (strcmp(named_string(np, np->functions[np->lines[l->first_line + j].function].name), name) ==
			    0)
				return true;
			if (self)
				return false;
		}
	}
	return false;
}

/* The same from the profile of that time. function NULL: any. */
static struct store_cell count(uint64_t from_s, uint64_t to_s, const char *service, const char *function, bool self)
{
	struct named_profile *np = NULL;
	struct store_cell c = {0};

	if (store_test_read(dir, from_s, to_s, service, &np) < 0)
		return c;
	for (uint32_t i = 0; i < np->n_samples; i++)
		if (!function || has_function(np, &np->samples[i], function, self)) {
			c.samples += np->samples[i].count;
			c.weight += np->samples[i].weight;
		}
	named_profile_free(np);
	return c;
}

static void check_cells(const struct store_series *s, const struct store_cell *cells, const char *service,
			const char *function, bool self)
{
	for (uint32_t i = 0; i < s->n_cells; i++) {
		uint64_t at = s->from_s + (uint64_t)i * s->step_s, end = at + s->step_s;
		struct store_cell c = count(at > FROM ? at : FROM, end < TO ? end : TO, service, function, self);

		assert_int_equal(cells[i].samples, c.samples);
		assert_int_equal(cells[i].weight, c.weight);
	}
}

static void check_services(uint32_t step_s, uint32_t expected_s, const char *function, bool self)
{
	struct store_series_query q = {.step_s = step_s,
				       .split = STORE_BY_LABEL,
				       .key = "service",
				       .wants = function ? is_wanted : NULL,
				       .ctx = (void *)function,
				       .self = self,
				       .max = 10};
	struct store_series *s = read_series(FROM, TO, &q);

	assert_int_equal(s->step_s, expected_s);
	assert_int_equal(s->from_s, FROM - FROM % expected_s);
	assert_int_equal(s->n_cells, (TO - s->from_s + expected_s - 1) / expected_s);
	assert_int_equal(s->n_rows, 2);
	assert_null(s->rest);
	check_cells(s, s->all, NULL, NULL, false);
	for (size_t i = 0; i < s->n_rows; i++)
		check_cells(s, s->rows[i].cells, s->rows[i].name, function, self);
	store_series_free(s);
}

static void cells_are_those_of_profiles(void **state)
{
	(void)state;
	check_services(10, 10, "c/C.m1", false);
	check_services(10, 10, "b/B.hash", false);
	check_services(60, 60, "c/C.m1", true);
	check_services(600, 600, "a/A.run", false);
	check_services(600, 600, NULL, false);
	check_services(3600, 3600, "c/C.m2", false);
}

static void remove_day(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static void cells_are_no_finer_than_the_store(void **state)
{
	(void)state;
	remove_day("2026-11-24-10s.db");
	check_services(10, 60, "c/C.m1", false);
	remove_day("2026-11-24-1m.db");
	check_services(10, 600, "c/C.m1", false);
	check_services(60, 600, NULL, false);
	check_services(1200, 1200, "c/C.m3", false);
}

/* What rows have together is what all have: nothing is left out, and nothing twice. */
static void check_sum(enum store_split split, size_t max, size_t n_rows, bool rest)
{
	struct store_series_query q = {.step_s = 600, .split = split, .key = "main", .max = max};
	struct store_series *s = read_series(MIDNIGHT, MIDNIGHT + HOURS * 3600, &q);

	assert_int_equal(s->n_rows, n_rows);
	assert_int_equal(s->rest != NULL, rest);
	for (uint32_t i = 0; i < s->n_cells; i++) {
		struct store_cell sum = s->rest ? s->rest[i] : (struct store_cell){0};

		for (size_t k = 0; k < s->n_rows; k++) {
			sum.samples += s->rows[k].cells[i].samples;
			sum.weight += s->rows[k].cells[i].weight;
		}
		assert_int_equal(sum.samples, s->all[i].samples);
		assert_int_equal(sum.weight, s->all[i].weight);
		assert_true(sum.samples > 0);
	}
	store_series_free(s);
}

static void rows_add_up(void **state)
{
	(void)state;
	check_sum(STORE_WHOLE, 10, 1, false);
	check_sum(STORE_BY_KIND, 10, 1, false);
	check_sum(STORE_BY_LABEL, 10, 2, false);
	check_sum(STORE_BY_LABEL, 1, 1, true);
	check_sum(STORE_BY_TARGET, 10, PIDS, false);
	check_sum(STORE_BY_TARGET, 3, 3, true);
}

static int is_too_much(void *ctx, const char *function, struct err *err)
{
	(void)ctx;
	(void)function;
	return err_set(err, -ETIME, "too much");
}

static void limits(void **state)
{
	struct store_query q = {.from_ns = MIDNIGHT * SECOND, .to_ns = (MIDNIGHT + 7200) * SECOND, .event = "cpu"};
	struct store_series_query sq = {.step_s = 10, .max = 1, .wants = is_too_much};
	struct store_series *s = NULL;
	struct store_view *v = NULL;

	(void)state;
	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_series(v, &sq, &s, NULL), -ETIME);
	store_view_close(v);
	q.to_ns = (MIDNIGHT + 10 * (STORE_CELLS_MAX + 100)) * SECOND;
	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	assert_int_equal(store_view_series(v, &sq, &s, NULL), -EINVAL);
	store_view_close(v);
}

static void no_samples_no_rows(void **state)
{
	struct store_series_query q = {.step_s = 600, .max = 10};
	struct store_series *s = read_series(MIDNIGHT + 80000, MIDNIGHT + 86400, &q);

	(void)state;
	assert_int_equal(s->n_rows, 0);
	assert_int_equal(s->n_cells, 11);
	store_series_free(s);
	s = read_series(1, 86400, &q);
	assert_int_equal(s->n_rows, 0);
	store_series_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cells_are_those_of_profiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cells_are_no_finer_than_the_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_add_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_samples_no_rows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
