#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/output/columns.h"

static void counted(void **state)
{
	(void)state;
	assert_int_equal(columns_of(""), 0);
	assert_int_equal(columns_of("abc"), 3);
	assert_int_equal(columns_of("äö"), 2);
	assert_int_equal(columns_of("漢字"), 4);
	assert_int_equal(columns_of("a\xcc\x81"), 1); /* with a combining accent */
	/* Cut characters and stray bytes end somewhere. */
	assert_true(columns_of("\xe6\xbc") <= 2);
	assert_true(columns_of("\x80\x80") <= 2);
}

static void fitted(void **state)
{
	char dst[64], tiny[8];

	(void)state;
	columns_fit(dst, sizeof(dst), "com.acme.Main", 20, true);
	assert_string_equal(dst, "com.acme.Main");
	columns_fit(dst, sizeof(dst), "com.acme.Main", 8, true);
	assert_string_equal(dst, "..e.Main");
	columns_fit(dst, sizeof(dst), "com.acme.Main", 8, false);
	assert_string_equal(dst, "com.ac..");
	columns_fit(dst, sizeof(dst), "漢字漢字", 5, true);
	assert_string_equal(dst, "..字");
	columns_fit(tiny, sizeof(tiny), "漢字漢字漢字", 80, true);
	assert_true(strlen(tiny) < sizeof(tiny));
	columns_fit(tiny, sizeof(tiny), "漢字漢字漢字", 80, false);
	assert_true(strlen(tiny) < sizeof(tiny));
	columns_fit(tiny, 2, "abcdef", 80, false);
	assert_string_equal(tiny, "");
	columns_fit(dst, sizeof(dst), "abcdef", 0, true);
	assert_string_equal(dst, "..");
}

static char *wrapped(const char *text, size_t used, size_t indent, size_t width)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	columns_wrap(f, text, used, indent, width);
	fclose(f);
	return out;
}

static void broken(void **state)
{
	static const struct {
		const char *text;
		size_t used, indent, width;
		const char *want;
	} cases[] = {
		{"one two three", 0, 2, 10, "one two\n  three\n"},
		{"one two three", 0, 2, 0, "one two three\n"},
		{"one two", 8, 2, 14, "one\n  two\n"},
		{"", 0, 0, 10, "\n"},
		{"abcdefghij", 0, 0, 6, "abcde\nfghij\n"},
		{"a bcdefghij", 0, 2, 8, "a bcdef\n  ghij\n"},
		{"one about 92.3 %", 0, 2, 16, "one\n  about 92.3 %\n"}, /* a share and its name */
		{"one two 3 4", 0, 2, 10, "one two 3\n  4\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = wrapped(cases[i].text, cases[i].used, cases[i].indent, cases[i].width);

		assert_string_equal(got, cases[i].want);
		free(got);
	}
}

static void terminals(void **state)
{
	(void)state;
	setenv("TERM", "dumb", 1);
	assert_false(columns_live_terminal());
	unsetenv("TERM");
	assert_false(columns_live_terminal());
	assert_int_equal(columns_of_terminal(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted),
		cmocka_unit_test(fitted),
		cmocka_unit_test(broken),
		cmocka_unit_test(terminals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
