#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/named_builder.h"
#include "sampler/views/timeline.h"
#include "sampler/views/view.h"
#include "symbolizer/base/err.h"

#define MS UINT64_C(1000000)

static void add(struct named_builder *b, const char *name, enum named_kind kind, uint8_t tier, uint32_t slice,
		uint64_t count)
{
	struct named_line l = {
		.function = named_builder_function(b, name, "", ""), .kind = kind, .tier = tier, .bci = -1};
	uint32_t at = named_builder_location(b, 0, 0, &l, 1);
	struct named_sample s = {
		.stack = named_builder_stack(b, &at, 1), .count = count, .weight = count, .slice = slice};

	named_builder_sample(b, &s);
}

/* A.run: interpreted, C1 and C2 code, inlined into C1 code; 3 samples of no slice; native code. */
static struct named_profile *make(uint64_t slice_ns, uint32_t last)
{
	struct named_builder *b = named_builder_new();
	struct named_compile c = {.c1_ms = 250, .not_entrant = 7};

	add(b, "A.run", NAMED_INTERPRETED, 0, 1, 10);
	add(b, "A.run", NAMED_C1, 3, 2, 6);
	add(b, "A.run", NAMED_INLINED, 3, 2, 2);
	add(b, "A.run", NAMED_C2, 4, last, 20);
	add(b, "A.run", NAMED_INTERPRETED, 0, 0, 3);
	add(b, "memcpy", NAMED_NATIVE, 0, last, 5);
	named_builder_compile(b, named_builder_function(b, "A.run", "", ""), &c);
	named_builder_meta(b)->slice_ns = slice_ns;
	return named_builder_take(b);
}

static void counts(void **state)
{
	struct named_profile *np = make(500 * MS, 4);
	struct timeline t;
	(void)state;

	assert_int_equal(timeline_build(np, &t), 0);
	assert_int_equal(t.n_slices, 4);
	assert_int_equal(t.slices_per_column, 1);
	assert_int_equal(t.unsliced, 3);
	assert_int_equal(t.slices[0].part[PART_INTERPRETED], 10);
	assert_int_equal(t.slices[1].part[PART_C1], 8);
	assert_int_equal(t.slices[2].samples, 0);
	assert_int_equal(t.slices[3].part[PART_C2], 20);
	assert_int_equal(t.slices[3].part[PART_NATIVE], 5);
	assert_int_equal(t.n_methods, 1);
	assert_int_equal(t.methods[0].self, 41);
	assert_int_equal(t.methods[0].first[PART_C2], 4);
	assert_int_equal(t.methods[0].compile.not_entrant, 7);
	timeline_done(&t);
	named_profile_free(np);
}

static char *text_of(const struct named_profile *np, enum table_format format)
{
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);
	struct err err = {0};

	assert_int_equal(view_timeline(np, &(struct view_options){.format = format}, f, &err), 0);
	fclose(f);
	return got;
}

static void texts(void **state)
{
	struct named_profile *np = make(500 * MS, 4);
	char *got = text_of(np, TABLE_TEXT);
	(void)state;

	assert_non_null(strstr(got, "1.5        25       -       -    80.0    20.0"));
	/* C1 as the JVM was seen to have it, C2 by the slice of the first sample. */
	assert_non_null(strstr(got, " 0.25      1.50           7  01.j       A.run\n"));
	free(got);
	got = text_of(np, TABLE_JSON);
	assert_non_null(strstr(got, "\"first_c1_ms\":250,\"first_c2_ms\":1501,\"not_entrant\":7,"
				    "\"strip\":\"01.j\",\"method\":\"A.run\""));
	free(got);
	got = text_of(np, TABLE_CSV);
	assert_non_null(strstr(got, "\r\n4,1.5,25,0,0,20,5,0,0\r\n"));
	free(got);
	named_profile_free(np);
}

static void many_slices_share_columns(void **state)
{
	struct named_profile *np = make(MS, 100000);
	struct timeline t;
	(void)state;

	assert_int_equal(timeline_build(np, &t), 0);
	assert_int_equal(t.slices_per_column, 1667);
	assert_true(t.n_columns <= TIMELINE_COLUMNS);
	assert_int_equal(t.methods[0].column[t.n_columns - 1][PART_C2], 20);
	timeline_done(&t);
	named_profile_free(np);
}

static void no_slices(void **state)
{
	static const struct {
		uint64_t ns;
		uint32_t last;
	} cases[] = {{0, 4}, {MS, 4000000000u}};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct named_profile *np = make(cases[i].ns, cases[i].last);
		struct err err = {0};

		assert_int_equal(view_timeline(np, &(struct view_options){0}, stderr, &err), -ENODATA);
		assert_non_null(strstr(err.msg, "--slices"));
		named_profile_free(np);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(texts),
		cmocka_unit_test(many_slices_share_columns),
		cmocka_unit_test(no_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
