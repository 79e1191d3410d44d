/* What reading the history of one target costs must not depend on what else ran on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_list.h"
#include "sampler/store/day/day_read.h"
#include "sampler/store/day/series.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/samples.h"
#include "tests/support/store_fill.h"

/* Segments of the dictionary are shared by targets, so one of many costs a few times what it costs alone. */
enum { MANY = 15, METHODS = 5000, STEPS = 2, TIMES_ALONE = 3 };

struct cost {
	uint64_t unpacked; /* bytes */
	uint32_t nodes, strings; /* rows in memory */
};

/* Each of the target's methods was sampled once; no other target has them. */
static struct named_profile *all_methods(pid_t pid, uint64_t at_s)
{
	struct named_profile *np = store_test_profile(at_s, 0, 1);
	struct named_builder *b = named_builder_new();
	uint32_t jit = named_builder_mapping(b, "[jit]", "");
	char name[40];

	for (uint32_t i = 0; i < METHODS; i++) {
		struct named_line line = {.line = 1, .bci = -1, .kind = NAMED_C2, .tier = 4};
		struct named_sample s = {.count = 1, .weight = STORE_TEST_PERIOD};
		uint32_t at;

		snprintf(name, sizeof(name), "app%d/C.m%u", pid, i);
		line.function = named_builder_function(b, name, "m()V", "C.java");
		at = named_builder_location(b, jit, 0, &line, 1);
		s.stack = named_builder_stack(b, &at, 1);
		named_builder_sample(b, &s);
	}
	*named_builder_meta(b) = np->meta;
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	named_builder_meta(b)->unit = named_builder_keep(b, "nanoseconds");
	named_builder_meta(b)->jdk = named_builder_meta(b)->command = named_builder_meta(b)->jsampler = "";
	named_profile_free(np);
	return named_builder_take(b);
}

static void fill(const char *dir, pid_t targets)
{
	struct store *s = NULL;

	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	for (uint64_t at = MIDNIGHT; at < MIDNIGHT + STEPS * STORE_STEP_S; at += STORE_STEP_S) {
		for (pid_t pid = 1; pid <= targets; pid++) {
			struct store_target t = store_test_target(pid);
			struct named_profile *np = all_methods(pid, at);

			assert_int_equal(store_add(s, &t, np, NULL), 0);
			named_profile_free(np);
		}
		assert_int_equal(store_flush(s, NULL), 0);
	}
	store_close(s);
}

typedef void reader_fn(struct day *d, const struct store_query *q, struct cost *ret);

static void read_profile(struct day *d, const struct store_query *q, struct cost *ret)
{
	struct samples s;

	assert_int_equal(samples_begin(&s, 0), 0);
	assert_int_equal(day_read(d, q, MIDNIGHT, MIDNIGHT + 3600, &s, NULL), 0);
	assert_int_equal(s.sum.n, METHODS);
	ret->nodes = dictionary_count(s.names, DICT_NODES);
	ret->strings = dictionary_count(s.names, DICT_STRINGS);
	samples_done(&s);
}

static void read_list(struct day *d, const struct store_query *q, struct cost *ret)
{
	struct store_list l = {.max = 10};

	(void)ret;
	assert_int_equal(day_list(d, q, MIDNIGHT, MIDNIGHT + 3600, &l, NULL), 0);
	assert_int_equal(l.rows.n, 1);
	assert_int_equal(l.rows.v[0].samples, METHODS * STEPS);
	assert_int_equal(l.rows.v[0].by_kind[NAMED_C2], (uint64_t)METHODS * STEPS * STORE_TEST_PERIOD);
	store_list_done(&l);
}

static int wants_all(void *ctx, const char *function, struct err *err)
{
	(void)ctx;
	(void)function;
	(void)err;
	return 1;
}

static void read_series(struct day *d, const struct store_query *q, const struct store_series_query *sq)
{
	struct series *s = NULL;

	assert_int_equal(series_begin(q, sq, &s, NULL), 0);
	assert_int_equal(series_add_day(s, d, MIDNIGHT, MIDNIGHT + 3600, NULL), 0);
	assert_int_equal(s->pub.n_rows, 1);
	assert_int_equal(s->pub.rows[0].cells[0].samples, METHODS * STEPS);
	store_series_free(&s->pub);
}

static void read_kinds(struct day *d, const struct store_query *q, struct cost *ret)
{
	struct store_series_query sq = {.step_s = 60, .max = 10, .split = STORE_BY_KIND};

	(void)ret;
	read_series(d, q, &sq);
}

static void read_method(struct day *d, const struct store_query *q, struct cost *ret)
{
	struct store_series_query sq = {.step_s = 60, .max = 10, .split = STORE_BY_TARGET, .wants = wants_all};

	(void)ret;
	read_series(d, q, &sq);
}

static char alone_dir[64], many_dir[64];

static int set_up(void **state)
{
	(void)state;
	store_test_dir(alone_dir);
	store_test_dir(many_dir);
	fill(alone_dir, 1);
	fill(many_dir, MANY);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_test_remove(alone_dir);
	store_test_remove(many_dir);
	return 0;
}

/* Of the first target. */
static struct cost measure(const char *dir, reader_fn *reader)
{
	struct store_query q = {.from_ns = MIDNIGHT * SECOND,
				.to_ns = (MIDNIGHT + 3600) * SECOND,
				.event = "cpu",
				.boot_id = "7c1f",
				.pid = 1,
				.start_ticks = 4711};
	struct cost ret = {0};
	struct day *d = NULL;

	assert_int_equal(day_open(dir, day_of(MIDNIGHT, 0), DAY_READS, &d, NULL), 0);
	reader(d, &q, &ret);
	ret.unpacked = d->unpacked;
	day_close(d);
	return ret;
}

static void assert_cost_follows_the_target(reader_fn *reader)
{
	struct cost alone = measure(alone_dir, reader), among_many = measure(many_dir, reader);

	assert_true(alone.unpacked > METHODS);
	assert_true(among_many.unpacked <= TIMES_ALONE * alone.unpacked);
	assert_int_equal(among_many.nodes, alone.nodes);
	assert_int_equal(among_many.strings, alone.strings);
}

static void a_profile_costs_what_its_target_has(void **state)
{
	(void)state;
	assert_cost_follows_the_target(read_profile);
}

static void a_list_costs_what_its_target_has(void **state)
{
	(void)state;
	assert_cost_follows_the_target(read_list);
}

static void a_series_costs_what_its_target_has(void **state)
{
	(void)state;
	assert_cost_follows_the_target(read_kinds);
	assert_cost_follows_the_target(read_method);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_costs_what_its_target_has),
		cmocka_unit_test(a_list_costs_what_its_target_has),
		cmocka_unit_test(a_series_costs_what_its_target_has),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
