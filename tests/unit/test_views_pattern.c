#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sampler/views/name_pattern.h"
#include "symbolizer/base/err.h"

static void matching(void **state)
{
	static const char *const cases[][2] = {
		{"java/util/HashMap.put", "java/util/HashMap.put"},
		{"java.util.HashMap.put", "java/util/HashMap.put"},
		{"HashMap.put", "java/util/HashMap.put"},
		{"HashMap.*", "java/util/HashMap.put"},
		{"*.put", "java/util/HashMap.put"},
		{"java/util/*.put", "java/util/HashMap.put"},
		{"java/**", "java/util/HashMap.put"},
		{"java/" "**" ".put", "java/util/concurrent/Map.put"},
		{"com/acme/" "**", "com/acme/Shop.run"},
		{"**", "anything at all"},
		{"**", ""},
		{"*", ""},
		{"***", "a/b"},
		{"G1*::*", "G1Heap::collect"},
		{"a*b*c", "aXbYbZc"},
		{"[libfoo.so]", "[libfoo.so]"},
		{"*put*", "java/util/HashMap.putVal"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!name_pattern_matches(cases[i][0], cases[i][1]))
			fail_msg("'%s' does not match '%s'", cases[i][0], cases[i][1]);
}

static void not_matching(void **state)
{
	static const char *const cases[][2] = {
		{"java/util/HashMap.put", "java/util/HashMap.putVal"},
		{"java/util/HashMap.put", "java/util/HashMap.pu"},
		{"java/util/*", "java/util/concurrent/Map.put"},
		{"java/*.put", "java/util/Map.put"},
		{"Map.put", "java/util/HashMap.put"},
		{"util/HashMap.put", "java/util/HashMap.put"},
		{"com/acme/" "**", "com/acmeCorp/Shop.run"},
		{"a*b*c", "aXbYcZ"},
		{"*x", ""},
		{"java/util/HashMap.put", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (name_pattern_matches(cases[i][0], cases[i][1]))
			fail_msg("'%s' matches '%s'", cases[i][0], cases[i][1]);
}

/* What makes matchers that try again take for ever. */
static void hostile(void **state)
{
	char pattern[NAME_PATTERN_MAX + 2], name[4096];
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < NAME_PATTERN_MAX; i++)
		pattern[i] = i % 2 ? 'a' : '*';
	pattern[NAME_PATTERN_MAX] = '\0';
	pattern[NAME_PATTERN_MAX - 1] = 'b';
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(name_pattern_check(pattern, &err), 0);
	assert_false(name_pattern_matches(pattern, name));
	name[sizeof(name) - 2] = 'b';
	assert_true(name_pattern_matches(pattern, name));
	memset(pattern, '*', NAME_PATTERN_MAX + 1);
	pattern[NAME_PATTERN_MAX + 1] = '\0';
	assert_int_equal(name_pattern_check(pattern, &err), -EINVAL);
	assert_false(name_pattern_matches(pattern, "abc"));
	assert_int_equal(name_pattern_check("", &err), -EINVAL);
	assert_true(strlen(err.msg) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(not_matching),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
