#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_filter.h"
#include "sampler/profile/named_slices.h"

/* One sample of A.run in slice `slice`, with a note about its compilation. */
static struct named_profile *make(const char *why, struct named_compile c, uint32_t slice, uint64_t slice_ns)
{
	struct named_builder *b = named_builder_new();
	struct named_line l = {.function = named_builder_function(b, "A.run", "A.run()V", "A.java"),
			       .kind = NAMED_INTERPRETED};
	uint32_t at = named_builder_location(b, 0, 0, &l, 1);
	struct named_sample s = {.stack = named_builder_stack(b, &at, 1), .count = 1, .slice = slice};

	c.why_interpreted = named_builder_string(b, why);
	named_builder_compile(b, l.function, &c);
	named_builder_compile(b, 0, &c);
	named_builder_compile(b, 99, &c);
	named_builder_sample(b, &s);
	named_builder_meta(b)->slice_ns = slice_ns;
	return named_builder_take(b);
}

static void a_note_is_no_part_of_identity(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t f = named_builder_function(b, "f", "", "");
	struct named_compile c = {
		.why_interpreted = named_builder_string(b, "too large"), .c1_ms = 40, .not_entrant = 2};
	struct named_profile *np;
	(void)state;

	named_builder_compile(b, f, &c);
	assert_int_equal(named_builder_function(b, "f", "", ""), f);
	c = (struct named_compile){.why_interpreted = 9999, .c1_ms = 1};
	named_builder_compile(b, f, &c); /* a string that is not there: not taken */
	np = named_builder_take(b);
	assert_int_equal(np->n_functions, 2);
	assert_string_equal(named_string(np, np->functions[f].compile.why_interpreted), "too large");
	assert_int_equal(np->functions[f].compile.c1_ms, 40);
	assert_int_equal(np->functions[f].compile.not_entrant, 2);
	assert_int_equal(np->functions[0].compile.not_entrant, 0);
	named_profile_free(np);
}

static void notes_merge(void **state)
{
	struct named_profile *one = make("", (struct named_compile){.c1_ms = 900, .not_entrant = 3}, 1, 1000);
	struct named_profile *two =
		make("huge", (struct named_compile){.c1_ms = 300, .c2_ms = 700, .not_entrant = 1}, 2, 1000);
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	const struct named_compile *c;
	(void)state;

	named_builder_meta(b)->slice_ns = 1000;
	assert_int_equal(named_builder_add(b, one), 0);
	assert_int_equal(named_builder_add(b, two), 0);
	np = named_builder_take(b);
	c = &np->functions[1].compile;
	assert_int_equal(np->n_functions, 2);
	assert_string_equal(named_string(np, c->why_interpreted), "huge");
	assert_int_equal(c->c1_ms, 300);
	assert_int_equal(c->c2_ms, 700);
	assert_int_equal(c->not_entrant, 3);
	assert_int_equal(np->n_samples, 2);
	assert_int_equal(np->samples[1].slice, 2);
	named_profile_free(np);
	named_profile_free(one);
	named_profile_free(two);
}

static void slices_of_other_width_are_not_mixed(void **state)
{
	struct named_profile *one = make("", (struct named_compile){0}, 7, 1000);
	struct named_profile *two = make("", (struct named_compile){0}, 8, 2000);
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	(void)state;

	named_builder_meta(b)->slice_ns = 2000;
	assert_int_equal(named_builder_add(b, one), 0);
	assert_int_equal(named_builder_add(b, two), 0);
	np = named_builder_take(b);
	assert_int_equal(np->n_samples, 2);
	assert_int_equal(np->samples[0].slice, 0);
	assert_int_equal(np->samples[1].slice, 8);
	named_profile_free(np);
	named_profile_free(one);
	named_profile_free(two);
}

static void slices_get_wider(void **state)
{
	struct named_profile *np = make("", (struct named_compile){0}, 7, 1000);
	(void)state;

	named_slices_widen(np, 1000);
	assert_int_equal(np->samples[0].slice, 7);
	named_slices_widen(np, 4000);
	assert_int_equal(np->samples[0].slice, 2);
	assert_int_equal(np->meta.slice_ns, 4000);
	named_slices_widen(np, 6000); /* no multiple: they are gone */
	assert_int_equal(np->samples[0].slice, 0);
	assert_int_equal(np->meta.slice_ns, 0);
	named_profile_free(np);
}

static void a_filter_keeps_notes_and_slices(void **state)
{
	struct named_profile *np = make("huge", (struct named_compile){.c2_ms = 5}, 3, 1000), *kept;
	const char *include[] = {"A"};
	struct named_filter f = {.include = include, .n_include = 1};
	(void)state;

	assert_int_equal(named_filter_apply(np, &f, &kept, NULL, NULL), 0);
	named_profile_free(np);
	assert_string_equal(named_string(kept, kept->functions[1].compile.why_interpreted), "huge");
	assert_int_equal(kept->functions[1].compile.c2_ms, 5);
	assert_int_equal(kept->samples[0].slice, 3);
	assert_int_equal(kept->meta.slice_ns, 1000);
	named_profile_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_is_no_part_of_identity),       cmocka_unit_test(notes_merge),
		cmocka_unit_test(slices_of_other_width_are_not_mixed), cmocka_unit_test(slices_get_wider),
		cmocka_unit_test(a_filter_keeps_notes_and_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
