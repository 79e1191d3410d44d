#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/views/name_pattern.h"
#include "sampler/views/nearest.h"
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
		{"java/"
		 "**"
		 ".put",
		 "java/util/concurrent/Map.put"},
		{"com/acme/"
		 "**",
		 "com/acme/Shop.run"},
		{"**", "anything at all"},
		{"**", ""},
		{"*", ""},
		{"***", "a/b"},
		{"G1*::*", "G1Heap::collect"},
		{"a*b*c", "aXbYbZc"},
		{"[libfoo.so]", "[libfoo.so]"},
		{"*put*", "java/util/HashMap.putVal"},
		{"HashMap#put", "java/util/HashMap.put"},
		{"HashMap::put", "java/util/HashMap.put"},
		{"java.util.HashMap#put*", "java/util/HashMap.putVal"},
		{"G1Heap::collect", "G1Heap::collect"},
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
		{"com/acme/"
		 "**",
		 "com/acmeCorp/Shop.run"},
		{"a*b*c", "aXbYcZ"},
		{"*x", ""},
		{"put", "java/util/HashMap.put"},
		{"HashMap#pu", "java/util/HashMap.put"},
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

static struct named_profile *methods(void)
{
	static const char *const names[] = {"java/util/HashMap.getNode",
					    "java/util/HashMap.get",
					    "com/acme/Shop.run",
					    "G1Heap::collect",
					    "memcpy",
					    "[unknown]"};
	struct named_builder *b = named_builder_new();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct named_line l = {.function = named_builder_function(b, names[i], "", ""), .bci = -1};
		uint32_t at = named_builder_location(b, 0, 0, &l, 1);
		struct named_sample s = {.stack = named_builder_stack(b, &at, 1),
					 .count = 1,
					 .weight = 1,
					 .thread = named_builder_string(b, i % 2 ? "main" : "http-nio-8080")};

		named_builder_sample(b, &s);
	}
	return named_builder_take(b);
}

/* What a person asks for, and what is found or said. */
static void asked_for(void **state)
{
	static const struct {
		const char *pattern;
		uint32_t matches;
		const char *near; /* in the message when there are none */
	} cases[] = {
		{"getNode", 1, NULL},
		{"get*", 2, NULL},
		{"collect", 1, NULL},
		{"HashMap::get", 1, NULL},
		{"Shop#run", 1, NULL},
		{"getnode", 0, "nearest: java/util/HashMap.getNode"},
		{"HashMap.getNodes", 0, "java/util/HashMap.getNode"},
		{"com.acme.Shop.rum", 0, "com/acme/Shop.run"},
		{"nothing like any of these", 0, "in the profile"},
	};
	struct named_profile *np = methods();
	char near[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		uint32_t matches, one;
		uint8_t *ids = NULL;
		int r = name_pattern_method(cases[i].pattern, np, &ids, &matches, &one, &err);

		assert_int_equal(r, cases[i].near ? -ENOENT : 0);
		assert_int_equal(matches, cases[i].matches);
		if (cases[i].near)
			assert_non_null(strstr(err.msg, cases[i].near));
		free(ids);
	}
	nearest_threads(np, "^htp-nio.*", near, sizeof(near));
	assert_string_equal(near, "");
	nearest_threads(np, "^htp-nio-8080$", near, sizeof(near));
	assert_string_equal(near, "nearest: http-nio-8080");
	nearest_methods(np, "Shop\\.ran", near, sizeof(near));
	assert_string_equal(near, "nearest: com/acme/Shop.run");
	nearest_methods(np, ".*", near, sizeof(near));
	assert_string_equal(near, "");
	named_profile_free(np);
	assert_int_equal(nearest_word("shpo", "Shop"), 2);
	assert_int_equal(nearest_word("com.acme.Shop", "com.acme.Shop"), 0);
	assert_int_equal(nearest_word("sh", "Shop"), -1);
	assert_int_equal(nearest_word("", "a"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(not_matching),
		cmocka_unit_test(hostile),
		cmocka_unit_test(asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
