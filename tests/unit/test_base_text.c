#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"

static void check(const char *in, const char *want)
{
	char out[100];
	size_t n = text_sanitise(out, sizeof(out), in, strlen(in));

	assert_string_equal(out, want);
	assert_int_equal(n, strlen(want));
	assert_true(n <= strlen(in));
}

static void test_sanitise_keeps(void **state)
{
	(void)state;
	check("", "");
	check("java/util/HashMap.put_[j] ~", "java/util/HashMap.put_[j] ~");
	check("\u00a0 \u00e9\u20ac \U0001f600", "\u00a0 \u00e9\u20ac \U0001f600");
	check("\u2027\u202f\u2065\u206a\ufffd", "\u2027\u202f\u2065\u206a\ufffd");
}

static void test_sanitise_replaces(void **state)
{
	(void)state;
	check("a\tb\nc\rd\033[31me\177", "a?b?c?d?[31me?");
	check("\xc2\x9b"
	      "31m \xc2\x85", /* C1: CSI, NEL */
	      "?31m ?");
	check("\u061c\u200e\u200f", "???");
	check("\u2028\u2029\u202a\u202b\u202c\u202d\u202e", "???????");
	check("\u2066\u2067\u2068\u2069", "????");
}

static void test_sanitise_bad_utf8(void **state)
{
	(void)state;
	check("\x80\xbf", "??"); /* continuation without a start */
	check("\xc3", "?"); /* cut off */
	check("\xc3(", "?(");
	check("\xe2\x82", "??");
	check("\xe2\x82z", "??z");
	check("\xc0\x80 \xc1\xbf", "?? ??"); /* overlong */
	check("\xe0\x9f\xbf \xf0\x8f\xbf\xbf", "??? ????");
	check("\xed\xa0\x80", "???"); /* surrogate */
	check("\xf4\x90\x80\x80 \xf8\x88\x80\x80\x80 \xff", "???? ????? ?");
}

static void test_sanitise_nul_and_room(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(text_sanitise(out, sizeof(out), "a\0b", 3), 3);
	assert_memory_equal(out, "a?b", 4);
	assert_int_equal(text_sanitise(out, 4, "abcdef", 6), 3);
	assert_string_equal(out, "abc");
	assert_int_equal(text_sanitise(out, 4, "ab\u20ac", 5), 2); /* no half character */
	assert_string_equal(out, "ab");
	assert_int_equal(text_sanitise(out, 1, "abc", 3), 0);
	assert_string_equal(out, "");
	out[0] = 'x';
	assert_int_equal(text_sanitise(out, 0, "abc", 3), 0);
	assert_int_equal(out[0], 'x');
}

static void test_sanitise_in_place(void **state)
{
	char s[] = "\u202e\u20ac\033x";

	(void)state;
	text_sanitise(s, sizeof(s), s, strlen(s));
	assert_string_equal(s, "?\u20ac?x");
}

static void test_err(void **state)
{
	struct err e;
	char longer[1000];

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_set(&e, -ENOENT, "open '%s': %m", "f"), -ENOENT);
	assert_string_equal(e.msg, "open 'f': No such file or directory");
	assert_int_equal(err_wrap(&e, -EIO, "PID %d", 7), -EIO);
	assert_string_equal(e.msg, "PID 7: open 'f': No such file or directory");
	assert_int_equal(e.code, -EIO);
	assert_int_equal(err_set(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(err_wrap(NULL, -EPERM, "x"), -EPERM);

	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&e, -1, "%s", longer);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_wrap(&e, -1, "b");
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_memory_equal(e.msg, "b: aaa", 6);
}

/* What `log` writes to stderr. */
static void capture(void (*log)(void), char *out, size_t size)
{
	int fds[2], old = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	log();
	dup2(old, STDERR_FILENO);
	close(old);
	n = read(fds[0], out, size - 1);
	close(fds[0]);
	out[n > 0 ? n : 0] = '\0';
}

static void log_all(void)
{
	log_error("e\033[2J");
	log_warn("w\u202e\nx");
	log_info("i\n");
	log_debug("d");
}

static void log_long(void)
{
	char s[3000];

	memset(s, 'z', sizeof(s) - 1);
	s[sizeof(s) - 1] = '\0';
	log_error("%s", s);
}

static void test_log(void **state)
{
	char out[4096];

	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	capture(log_all, out, sizeof(out));
	assert_string_equal(out, "jsampler: e?[2J\njsampler: w??x\njsampler: i\njsampler: d\n");
	log_set_level(LOG_LEVEL_QUIET);
	capture(log_all, out, sizeof(out));
	assert_string_equal(out, "jsampler: e?[2J\n");
	assert_int_equal(log_get_level(), LOG_LEVEL_QUIET);
	capture(log_long, out, sizeof(out));
	assert_true(strlen(out) > 900 && strlen(out) < 1100);
	assert_string_equal(out + strlen(out) - 5, "z...\n");
}

static void test_lines(void **state)
{
	static const char *const want[] = {"a", "", "b c", ""};
	char text[] = "a\n\nb c\n\nlast", *p = text, *end = text + strlen(text), *copy;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(text_line(&p, end), want[i]);
	assert_string_equal(text_line(&p, end), "last");
	assert_null(text_line(&p, end));
	copy = text_copy("ab\ncd", 4);
	assert_string_equal(copy, "ab\nc");
	p = copy;
	assert_null(text_line(&p, copy));
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sanitise_keeps),
		cmocka_unit_test(test_sanitise_replaces),
		cmocka_unit_test(test_sanitise_bad_utf8),
		cmocka_unit_test(test_sanitise_nul_and_room),
		cmocka_unit_test(test_sanitise_in_place),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
