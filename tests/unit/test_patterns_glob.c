#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <fnmatch.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/patterns/glob.h"

static void rows(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{"shop", "shop", true},
		{"shop", "shops", false},
		{"shop", "sho", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"?", "", false},
		{"?", "ab", false},
		{"a?c", "abc", true},
		{"?", "\xc3\xa4", true},
		{"?b",
		 "\xc3\xa4"
		 "b",
		 true},
		{"??", "\xc3\xa4", false},
		{"shop-*", "shop-eu", true},
		{"shop-*", "shop", false},
		{"*.jar", "/a/b.jar", true},
		{"*a*b*c", "xaxbxc", true},
		{"*a*b*c", "xaxcxb", false},
		{"a**b", "ab", true},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\?", "a?", true},
		{"\\a", "a", true},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"*ab", "aab", true},
		{"*\\\\", "a\\", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (glob_matches(rows[i].pattern, rows[i].text) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
}

/* Every pattern and text of up to 5 letters agrees with libc's. */
static void as_libc(void **state)
{
	static const char letters[] = "\0ab*?";
	char pattern[6] = "", text[6] = "";

	(void)state;
	for (unsigned i = 0; i < 3125; i++) {
		for (unsigned at = 0, rest = i; at < 5; at++, rest /= 5)
			pattern[at] = letters[rest % 5];
		for (unsigned j = 0; j < 243; j++) {
			for (unsigned at = 0, rest = j; at < 5; at++, rest /= 3)
				text[at] = letters[rest % 3];
			if (glob_matches(pattern, text) != (fnmatch(pattern, text, FNM_NOESCAPE) == 0))
				fail_msg("'%s' and '%s'", pattern, text);
		}
	}
}

/* What makes matchers that try again take for ever. */
static void hostile(void **state)
{
	static char pattern[GLOB_MAX + 1], text[65537];
	uint64_t start = clock_monotonic_ns();

	(void)state;
	for (size_t i = 0; i < GLOB_MAX; i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 2] = 'b';
	assert_false(glob_matches(pattern, text));
	memset(pattern, 'a', GLOB_MAX);
	pattern[0] = '*';
	pattern[GLOB_MAX - 1] = 'b';
	text[sizeof(text) - 2] = 'a';
	assert_false(glob_matches(pattern, text));
	assert_true(clock_monotonic_ns() - start < UINT64_C(5000000000));
}

static void checks(void **state)
{
	char long_one[GLOB_MAX + 2];
	struct err e;

	(void)state;
	memset(long_one, 'a', sizeof(long_one));
	long_one[GLOB_MAX + 1] = '\0';
	assert_true(glob_check("", &e) < 0);
	assert_true(glob_check(long_one, &e) < 0);
	assert_int_equal(glob_check(long_one + 1, &e), 0);
	assert_true(glob_check("a\\", &e) < 0);
	assert_non_null(strstr(e.msg, "backslash"));
	assert_int_equal(glob_check("a\\\\", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(as_libc),
		cmocka_unit_test(hostile),
		cmocka_unit_test(checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
