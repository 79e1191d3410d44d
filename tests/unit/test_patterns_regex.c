#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

#include "symbolizer/base/err.h"
#include "symbolizer/patterns/regex.h"

static int matches(const char *pattern, const char *text)
{
	struct regex *re = NULL;
	uint64_t work = 0;
	int r;

	assert_int_equal(regex_new(pattern, &re, NULL), 0);
	r = regex_matches(re, text, &work);
	regex_free(re);
	return r;
}

static void rows(void **state)
{
	static const struct {
		const char *pattern, *text;
		int matches;
	} rows[] = {
		{"HashMap", "java/util/HashMap.put", 1},
		{"^HashMap", "java/util/HashMap.put", 0},
		{"put$", "java/util/HashMap.put", 1},
		{"put$", "java/util/HashMap.putVal", 0},
		{"Map\\.(put|get)$", "java/util/HashMap.get", 1},
		{"[A-Z][a-z]*Map", "java/util/HashMap", 1},
		{"[^/]*Map$", "java/util/HashMap", 1},
		{"[]a]b", "]b", 1},
		{"[a-]b", "-b", 1},
		{"\\$Lambda", "a/B$Lambda", 1},
		{"a\\{", "a{", 1},
		{"^$", "", 1},
		{"^$", "a", 0},
		{"a|", "b", 1},
		{"\xc3\xa4", "x\xc3\xa4", 1},
		{"^.$", "\xc3\xa4", 0},
		{"(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (matches(rows[i].pattern, rows[i].text) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
}

static unsigned compared;

/* A pattern that libc takes means the same there. */
static bool agrees(const char *pattern, const char *text)
{
	struct regex *ours = NULL;
	uint64_t work = 0;
	regex_t libc;
	bool same = true;

	if (regex_new(pattern, &ours, NULL) < 0)
		return true;
	if (regcomp(&libc, pattern, REG_EXTENDED | REG_NOSUB) == 0) {
		same = regex_matches(ours, text, &work) == !regexec(&libc, text, 0, NULL, 0);
		regfree(&libc);
		compared++;
	}
	regex_free(ours);
	return same;
}

static void random_text(char *dst, size_t max, const char *letters)
{
	size_t n = (size_t)rand() % max;

	for (size_t i = 0; i < n; i++)
		dst[i] = letters[(size_t)rand() % strlen(letters)];
	dst[n] = '\0';
}

static void as_libc(void **state)
{
	(void)state;
	srand(4711);
	for (int i = 0; i < 60000; i++) {
		char pattern[12], text[8];

		random_text(pattern, sizeof(pattern), "aabb()|*+?.^$[]-");
		random_text(text, sizeof(text), "ab");
		if (!agrees(pattern, text))
			fail_msg("'%s' and '%s'", pattern, text);
	}
	assert_true(compared > 10000);
}

static void wrong_ones_are_said(void **state)
{
	static const char *const wrong[] = {
		"",   "(",   ")",  "a)", "(a",   "[",   "[]",    "[a",          "[b-a]",  "*",       "a|*b",    "a{2}",
		"\\", "\\1", "^*", "$+", "(*a)", "[[:", "[[:x:", "[[:alpha:]]", "a{1,9}", "((a)(b)", "(a|b)|c)"};
	char deep[REGEX_MAX] = "", longest[REGEX_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct regex *re = NULL;
		struct err e = {0};

		if (regex_new(wrong[i], &re, &e) != -EINVAL || !*e.msg)
			fail_msg("'%s'", wrong[i]);
	}
	memset(deep, '(', 100);
	memset(deep + 100, ')', 100);
	assert_int_equal(regex_new(deep, &(struct regex *){NULL}, NULL), -EINVAL);
	memset(longest, 'a', REGEX_MAX);
	longest[REGEX_MAX] = '\0';
	assert_int_equal(regex_new(longest, &(struct regex *){NULL}, NULL), -EINVAL);
}

/* What takes libc, or a backtracking matcher, for ever: work is at most the product of both lengths, twice. */
static void evil_ones_take_little(void **state)
{
	static const char *const evil[] = {
		"((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+$",
		"(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*b", "(a|a|a|a|a|a)*(a|a|a|a|a|a)*(a|a|a|a|a|a)*c",
		"a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaaaaaaaaaaaaaaaaac",
		"(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)c"};
	char text[10001];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[10000] = '\0';
	for (size_t i = 0; i < sizeof(evil) / sizeof(*evil); i++) {
		struct regex *re = NULL;
		uint64_t work = 0;

		assert_int_equal(regex_new(evil[i], &re, NULL), 0);
		regex_matches(re, text, &work);
		assert_true(work <= sizeof(text) * 2 * (strlen(evil[i]) + 1));
		regex_free(re);
	}
}

/* Everything that is as large as it may be. */
static void largest(void **state)
{
	static const char *const parts[] = {"a", "|", "a*", "a+", "a?", "[a]", "(a|b)", "^", "$", ".*", "()", "()*"};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char pattern[REGEX_MAX] = "";

		while (strlen(pattern) + strlen(parts[i]) < sizeof(pattern))
			strcat(pattern, parts[i]);
		matches(pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaab");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(as_libc),
		cmocka_unit_test(wrong_ones_are_said),
		cmocka_unit_test(evil_ones_take_little),
		cmocka_unit_test(largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
