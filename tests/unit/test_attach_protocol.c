/* The bytes of the attach protocol: requests, and the answers of JDK 8 to 27. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvm-bridge/attach/protocol.h"
#include "symbolizer/base/buf.h"

static void test_request_v1(void **state)
{
	static const char expected[] = "1\0load\0/a.so\0true\0";
	const char *args[] = {"/a.so", "true"};
	char longest[ATTACH_ARG_V1 + 2];
	const char *too_long[] = {longest};
	struct buf b = {0};

	(void)state;
	assert_int_equal(attach_request_v1(&b, "load", args, 2), 0);
	/* Always three arguments. */
	assert_int_equal(b.len, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
	buf_reset(&b);
	memset(longest, 'x', sizeof(longest));
	longest[ATTACH_ARG_V1 + 1] = '\0';
	assert_int_equal(attach_request_v1(&b, "load", too_long, 1), -E2BIG);
	longest[ATTACH_ARG_V1] = '\0';
	assert_int_equal(attach_request_v1(&b, "load", too_long, 1), 0);
	assert_int_equal(attach_request_v1(&b, "load", args, 4), -E2BIG);
	buf_done(&b);
}

static void test_request_v2(void **state)
{
	static const char expected[] = "2\0"
				       "16\0"
				       "load\0/a.so\0true";
	const char *args[] = {"/a.so", "true"};
	struct buf b = {0};

	(void)state;
	assert_int_equal(attach_request_v2(&b, "load", args, 2), 0);
	assert_int_equal(b.len, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
	assert_int_equal(attach_request_v2(&b, "load", args, ATTACH_ARGS + 1), -E2BIG);
	buf_done(&b);
}

static void test_version(void **state)
{
	(void)state;
	assert_int_equal(attach_answer_version("0\n2 streaming"), 2);
	assert_int_equal(attach_answer_version("0\n2"), 2);
	assert_int_equal(attach_answer_version("-1\nOperation getversion not recognized!\n"), 1);
	assert_int_equal(attach_answer_version("101\n"), 1);
	assert_int_equal(attach_answer_version(""), 1);
	assert_int_equal(attach_answer_version(NULL), 1);
	assert_int_equal(attach_answer_version("0\nx"), 1);
}

static void test_load_answers(void **state)
{
	static const struct {
		const char *answer;
		int result, code;
		const char *why; /* begins with */
	} cases[] = {
		{"0\n0\n", 0, 0, ""}, /* 8 */
		{"0\n3\n", 0, 3, ""},
		{"0\n-1\n", 0, -1, ""},
		{"-1\n", -ENOEXEC, 0, ""},
		{"0\nreturn code: 0\n", 0, 0, ""}, /* 9 and later */
		{"0\nreturn code: 0", 0, 0, ""},
		{"0\nreturn code: -7\n", 0, -7, ""},
		{"0\nWARNING: a thing\nreturn code: 4\n", 0, 4, ""},
		{"0\nreturn code: 0\nWARNING: a thing\n", 0, 0, ""},
		{"-1\n/x.so was not loaded.\n/x.so: cannot open\n", -ENOEXEC, 0, "/x.so was not loaded: /x.so: cannot"},
		{"0\n/x.so was not loaded.\n/x.so: cannot open\n", -ENOEXEC, 0,
		 "/x.so was not loaded: /x.so: cannot open"}, /* 21 on */
		{"-1\nDynamic agent loading is not enabled. Use", -ENOEXEC, 0, "Dynamic agent loading"},
		{"0\nDynamic agent loading is not enabled. Use", -ENOEXEC, 0, "Dynamic agent loading"},
		{"101\n", -ENOEXEC, 0, ""},
		{"0\n", -ENOEXEC, 0, ""},
		{"0", -ENOEXEC, 0, ""},
		{"0\nreturn code: \n", -ENOEXEC, 0, "return code: "},
		{"0\nreturn code: 99999999999999999999\n", -ENOEXEC, 0, "return code: "},
		{"0\nno return code: 0\n", -ENOEXEC, 0, "no return code"},
		{"", -EPIPE, 0, ""},
		{"\n", -EPROTO, 0, ""},
		{"hello\n", -EPROTO, 0, ""},
		{" 0\n0\n", -EPROTO, 0, ""},
		{"0x\n", -EPROTO, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[60];
		int code = 0;

		assert_int_equal(attach_answer_load(cases[i].answer, &code, why, sizeof(why)), cases[i].result);
		if (cases[i].result == 0)
			assert_int_equal(code, cases[i].code);
		assert_int_equal(strncmp(why, cases[i].why, strlen(cases[i].why)), 0);
	}
}

/* A long reason is cut, on one line. */
static void test_long_reason(void **state)
{
	char answer[2000] = "0\n", why[100];
	int code;

	(void)state;
	for (size_t i = 2; i + 1 < sizeof(answer); i++)
		answer[i] = i % 7 ? 'x' : '\n';
	for (size_t size = 1; size <= sizeof(why); size++) {
		assert_int_equal(attach_answer_load(answer, &code, why, size), -ENOEXEC);
		assert_true(strlen(why) < size);
		assert_null(strchr(why, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_v1),   cmocka_unit_test(test_request_v2),  cmocka_unit_test(test_version),
		cmocka_unit_test(test_load_answers), cmocka_unit_test(test_long_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
