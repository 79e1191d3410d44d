#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_filter.h"
#include "symbolizer/base/err.h"

static uint32_t frame(struct named_builder *b, const char *name, int line)
{
	struct named_line l = {.function = named_builder_function(b, name, name, "F.java"),
			       .line = line,
			       .bci = -1,
			       .kind = NAMED_C2,
			       .tier = 4};

	return named_builder_location(b, named_builder_mapping(b, "[jit]", ""), 0, &l, 1);
}

static void equal_things_are_one(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t a = frame(b, "a", 1), c = frame(b, "c", 1), a2 = frame(b, "a", 2), s, t;
	struct named_sample sample = {.count = 2, .weight = 20, .pid = 1};
	struct named_profile *np;
	(void)state;

	assert_int_equal(a, frame(b, "a", 1));
	assert_int_not_equal(a, a2);
	assert_int_not_equal(a, 0);
	s = named_builder_stack(b, (uint32_t[]){a, c}, 2);
	t = named_builder_stack(b, (uint32_t[]){c, a}, 2);
	assert_int_not_equal(s, t);
	assert_int_equal(s, named_builder_stack(b, (uint32_t[]){a, c}, 2));
	assert_int_not_equal(s, named_builder_stack(b, (uint32_t[]){a, c, a2}, 3));
	assert_int_equal(named_builder_stack(b, NULL, 0), named_builder_stack(b, &a, 0));
	sample.stack = s;
	named_builder_sample(b, &sample);
	assert_int_equal(named_builder_sample(b, &sample), 0);
	sample.tid = 5;
	assert_int_equal(named_builder_sample(b, &sample), 1);
	sample.state = named_builder_string(b, "blocked");
	assert_int_equal(named_builder_sample(b, &sample), 2);
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	np = named_builder_take(b);
	assert_non_null(np);
	assert_int_equal(np->n_functions, 1 + 2);
	assert_int_equal(np->n_locations, 1 + 3);
	assert_int_equal(np->n_mappings, 1 + 1);
	assert_int_equal(np->n_lines, 3);
	assert_int_equal(np->n_stacks, 4);
	assert_int_equal(np->n_samples, 3);
	assert_int_equal(np->samples[0].count, 4);
	assert_int_equal(np->samples[0].weight, 40);
	assert_string_equal(np->meta.event, "cpu");
	assert_string_equal(np->meta.jdk, "");
	assert_string_equal(named_string(np, np->functions[1].name), "a");
	named_profile_free(np);
	named_profile_free(NULL);
	named_builder_free(NULL);
}

/* Each part of a location, a line or a sample tells things apart. */
static void every_field_counts(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t f = named_builder_function(b, "f", "", ""), m = named_builder_mapping(b, "m", "1");
	/* clang-format off */
	struct named_line v[] = {
		{.function = f},	   {.function = f, .line = 1}, {.function = f, .bci = 1},
		{.function = f, .kind = 1}, {.function = f, .tier = 1},
		{.function = f, .exactness = 1}, {.function = f, .osr = true}, {.function = 0},
	};
	/* clang-format on */
	enum { N = sizeof(v) / sizeof(v[0]) };
	uint32_t before = 1;
	(void)state;

	for (int i = 0; i < N; i++)
		assert_int_equal(named_builder_location(b, 0, 0, &v[i], 1), before++);
	assert_int_equal(named_builder_location(b, m, 0, &v[0], 1), before++);
	assert_int_equal(named_builder_location(b, 0, 1, &v[0], 1), before++);
	assert_int_equal(named_builder_location(b, 0, 0, &v[0], 2), before++);
	assert_int_equal(named_builder_location(b, 0, 0, &v[0], 0), before++);
	assert_int_not_equal(m, named_builder_mapping(b, "m", "2"));
	assert_int_not_equal(f, named_builder_function(b, "f", "x", ""));
	assert_int_not_equal(f, named_builder_function(b, "f", "", "x"));
	named_builder_free(b);
}

static void foreign_ids_are_refused(void **state)
{
	struct named_builder *b = named_builder_new();
	struct named_line l = {.function = 99};
	struct named_sample s = {.stack = 0};
	struct named_profile *np;
	(void)state;

	assert_int_equal(named_builder_location(b, 0, 0, &l, 1), UINT32_MAX);
	assert_int_equal(named_builder_location(b, 99, 0, &l, 0), UINT32_MAX);
	assert_int_equal(named_builder_stack(b, (uint32_t[]){99}, 1), UINT32_MAX);
	assert_int_equal(named_builder_sample(b, &s), UINT32_MAX);
	s.stack = named_builder_stack(b, NULL, 0);
	s.thread = 99;
	assert_int_equal(named_builder_sample(b, &s), UINT32_MAX);
	np = named_builder_take(b);
	assert_non_null(np);
	assert_int_equal(np->n_samples, 0);
	named_profile_free(np);
}

/* Stacks a;c (10 samples, thread main), b;c (5, worker), b (1, worker); leaf first inside. */
static struct named_profile *make(void)
{
	struct named_builder *b = named_builder_new();
	uint32_t a = frame(b, "p/A.run", 1), bb = frame(b, "p/B.run", 2), c = frame(b, "x;y", 3);
	uint32_t stacks[] = {named_builder_stack(b, (uint32_t[]){c, a}, 2),
			     named_builder_stack(b, (uint32_t[]){c, bb}, 2),
			     named_builder_stack(b, (uint32_t[]){bb}, 1)};
	uint32_t main_ = named_builder_string(b, "main"), worker = named_builder_string(b, "worker");
	struct named_sample s[] = {{.stack = stacks[0], .count = 10, .thread = main_},
				   {.stack = stacks[1], .count = 5, .thread = worker},
				   {.stack = stacks[2], .count = 1, .thread = worker}};

	for (int i = 0; i < 3; i++)
		named_builder_sample(b, &s[i]);
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
	named_builder_meta(b)->lost = 17;
	return named_builder_take(b);
}

static struct named_filter_result apply(const struct named_filter *f, struct named_profile **ret)
{
	struct named_profile *np = make(), *kept = NULL;
	struct named_filter_result r = {0};
	uint64_t count = 0;

	assert_int_equal(named_filter_apply(np, f, &kept, &r, NULL), 0);
	assert_int_equal(r.kept + r.dropped, 16);
	for (uint32_t i = 0; i < kept->n_samples; i++)
		count += kept->samples[i].count;
	assert_int_equal(count, r.kept);
	assert_string_equal(kept->meta.event, "cpu");
	assert_int_equal(kept->meta.lost, 17);
	named_profile_free(np); /* the result may share nothing with it */
	if (ret)
		*ret = kept;
	else
		named_profile_free(kept);
	return r;
}

static void filters_keep_and_drop(void **state)
{
	static const char *const a[] = {"^p/A"}, *const b_or_a[] = {"B\\.run$", "A\\.run$"}, *const c[] = {"^x;y$"},
				 *const suffix[] = {"_\\[j\\]"}, *const none[] = {"nothing"};
	(void)state;

	assert_int_equal(apply(&(struct named_filter){0}, NULL).kept, 16);
	assert_int_equal(apply(&(struct named_filter){.include = a, .n_include = 1}, NULL).kept, 10);
	assert_int_equal(apply(&(struct named_filter){.include = b_or_a, .n_include = 2}, NULL).kept, 16);
	assert_int_equal(apply(&(struct named_filter){.exclude = a, .n_exclude = 1}, NULL).kept, 6);
	assert_int_equal(apply(&(struct named_filter){.exclude = c, .n_exclude = 1}, NULL).kept, 1);
	assert_int_equal(
		apply(&(struct named_filter){.include = c, .n_include = 1, .exclude = a, .n_exclude = 1}, NULL).kept,
		5);
	assert_int_equal(apply(&(struct named_filter){.include_threads = "^work"}, NULL).kept, 6);
	/* Names are matched without suffix. */
	assert_int_equal(apply(&(struct named_filter){.include = suffix, .n_include = 1}, NULL).kept, 0);
	assert_int_equal(apply(&(struct named_filter){.include = none, .n_include = 1}, NULL).kept, 0);
	/* No expression of an empty list matches, so nothing is dropped. */
	assert_int_equal(apply(&(struct named_filter){.exclude = none, .n_exclude = 1}, NULL).kept, 16);
}

static void filtering_keeps_the_shape(void **state)
{
	static const char *const a[] = {"^p/A"};
	struct named_profile *np;
	const struct named_location *l;
	(void)state;

	apply(&(struct named_filter){.exclude = a, .n_exclude = 1}, &np);
	assert_int_equal(np->n_samples, 2);
	assert_string_equal(named_string(np, np->samples[0].thread), "worker");
	assert_int_equal(np->stacks[np->samples[0].stack].n, 2);
	l = &np->locations[np->stack_locations[np->stacks[np->samples[0].stack].first]];
	assert_string_equal(named_string(np, np->functions[np->lines[l->first_line].function].name), "x;y");
	assert_int_equal(np->lines[l->first_line].line, 3);
	assert_string_equal(named_string(np, np->mappings[l->mapping].file), "[jit]");
	for (uint32_t i = 0; i < np->n_functions; i++)
		assert_string_not_equal(named_string(np, np->functions[i].name), "p/A.run");
	named_profile_free(np);
}

static void bad_expressions_are_told(void **state)
{
	static const char *const good[] = {"x"}, *const bad[] = {"x", "a(b"};
	struct named_profile *np = make(), *kept = NULL;
	struct err err = {0};
	(void)state;

	assert_int_equal(
		named_filter_apply(
			np, &(struct named_filter){.include = good, .n_include = 1, .exclude = bad, .n_exclude = 2},
			&kept, NULL, &err),
		-EINVAL);
	assert_non_null(strstr(err.msg, "a(b"));
	assert_null(kept);
	assert_int_equal(named_filter_apply(np, &(struct named_filter){.include_threads = "["}, &kept, NULL, &err),
			 -EINVAL);
	named_profile_free(np);
}

static uint32_t root(struct named_builder *b, const char *name)
{
	struct named_line l = {.function = named_builder_function(b, name, name, ""), .kind = NAMED_PROCESS, .bci = -1};

	return named_builder_location(b, 0, 0, &l, 1);
}

/* Of one process: its name says nothing at the root. Other frames stay, and stacks without a root. */
static void process_roots_are_dropped(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t a = frame(b, "a", 1), c = frame(b, "c", 1), p = root(b, "[java pid=1]");
	uint32_t with = named_builder_stack(b, (uint32_t[]){a, c, p}, 3), without = named_builder_stack(b, &c, 1);
	uint32_t alone = named_builder_stack(b, &p, 1);
	struct named_profile *np;

	(void)state;
	np = named_builder_take(b);
	assert_non_null(np);
	named_profile_drop_process_root(np);
	assert_int_equal(np->stacks[with].n, 2);
	assert_int_equal(np->stack_locations[np->stacks[with].first + 1], c);
	assert_int_equal(np->stacks[without].n, 1);
	assert_int_equal(np->stacks[alone].n, 0);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_things_are_one),      cmocka_unit_test(every_field_counts),
		cmocka_unit_test(foreign_ids_are_refused),   cmocka_unit_test(filters_keep_and_drop),
		cmocka_unit_test(filtering_keeps_the_shape), cmocka_unit_test(bad_expressions_are_told),
		cmocka_unit_test(process_roots_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
