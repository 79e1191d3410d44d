#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "symbolizer/base/parse.h"

enum { UNTOUCHED = 77 };

struct row {
	const char *text;
	int result;
	uint64_t value;
};

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static void check(int (*parse)(const char *, uint64_t *), const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int r = parse(rows[i].text, &v);

		if (r != rows[i].result || v != (r ? UNTOUCHED : rows[i].value))
			fail_msg("'%s': %d, %llu", rows[i].text, r, (unsigned long long)v);
	}
}

static int parse_any(const char *s, uint64_t *ret)
{
	return parse_u64(s, 0, UINT64_MAX, ret);
}

static int parse_small(const char *s, uint64_t *ret)
{
	return parse_u64(s, 5, 10, ret);
}

static void test_u64(void **state)
{
	static const struct row any[] = {
		{"0", 0, 0},
		{"5", 0, 5},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"99999999999999999999999999x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
	};
	static const struct row small[] = {
		{"4", -ERANGE, 0}, {"5", 0, 5}, {"10", 0, 10}, {"11", -ERANGE, 0}, {"", -EINVAL, 0}};

	(void)state;
	check(parse_any, any, N(any));
	check(parse_small, small, N(small));
}

static void test_duration(void **state)
{
	static const struct row rows[] = {
		{"30", 0, 30000000000},
		{"30s", 0, 30000000000},
		{"5m", 0, 300000000000},
		{"1h", 0, 3600000000000},
		{"10ms", 0, 10000000},
		{"500us", 0, 500000},
		{"2.5s", 0, 2500000000},
		{"0.5", 0, 500000000},
		{".5", 0, 500000000},
		{".25ms", 0, 250000},
		{"1.5m", 0, 90000000000},
		{"0.000000001s", 0, 1},
		{"1.0000000009s", 0, 1000000000},
		{"0", -ERANGE, 0},
		{"0.0", -ERANGE, 0},
		{"0.0000000001", -ERANGE, 0},
		{"18446744074s", -ERANGE, 0},
		{"18446744073709551615h", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"ms", -EINVAL, 0},
		{"-5", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"5 s", -EINVAL, 0},
		{"5S", -EINVAL, 0},
		{"5.", -EINVAL, 0},
		{"5.s", -EINVAL, 0},
		{".", -EINVAL, 0},
		{".s", -EINVAL, 0},
		{"..5", -EINVAL, 0},
		{".5.5", -EINVAL, 0},
		{".0", -ERANGE, 0},
		{"1.2.3", -EINVAL, 0},
		{"5msec", -EINVAL, 0},
	};

	(void)state;
	check(parse_duration, rows, N(rows));
}

static int parse_days(const char *s, uint64_t *ret)
{
	return parse_span(s, 30, ret);
}

static void test_span(void **state)
{
	static const struct row rows[] = {
		{"0d", 0, 0},
		{"3d", 0, 3 * UINT64_C(86400000000000)},
		{"30d", 0, 30 * UINT64_C(86400000000000)},
		{"31d", -EINVAL, 0},
		{"99999999999999999999d", -EINVAL, 0},
		{"1.5d", -EINVAL, 0},
		{"d", -EINVAL, 0},
		{"-1d", -EINVAL, 0},
		{"3dd", -EINVAL, 0},
		{"2h", 0, UINT64_C(7200000000000)},
		{"0", -ERANGE, 0},
	};

	(void)state;
	check(parse_days, rows, N(rows));
}

static void test_size(void **state)
{
	static const struct row rows[] = {
		{"4096", 0, 4096},
		{"64k", 0, 65536},
		{"64K", 0, 65536},
		{"512M", 0, 512ull << 20},
		{"1G", 0, 1ull << 30},
		{"2T", 0, 2ull << 40},
		{"16777215T", 0, 16777215ull << 40},
		{"16777216T", -ERANGE, 0},
		{"0", -ERANGE, 0},
		{"0k", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"k", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"1.5G", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"5kk", -EINVAL, 0},
	};

	(void)state;
	check(parse_size, rows, N(rows));
}

/* Stops at `limit`, at the first character that is no digit, and never at the NUL of a longer text. */
static void check_digits(const char *text, size_t limit, unsigned base, int result, uint64_t value, size_t used)
{
	const char *p = text;
	uint64_t v = UNTOUCHED;

	assert_int_equal(parse_digits(&p, text + limit, base, &v), result);
	assert_true(v == (result ? UNTOUCHED : value));
	assert_int_equal(p - text, used);
}

static void test_digits(void **state)
{
	(void)state;
	check_digits("7fAb-8", 6, 16, 0, 0x7fab, 4);
	check_digits("1234", 2, 10, 0, 12, 2);
	check_digits("12f", 3, 10, 0, 12, 2);
	check_digits("x", 1, 16, -EINVAL, 0, 0);
	check_digits("1", 0, 10, -EINVAL, 0, 0);
	check_digits("0000000000000000000ffffffffffffffff", 35, 16, 0, UINT64_MAX, 35);
	check_digits("10000000000000000 ", 18, 16, -ERANGE, 0, 17);
	check_digits("\xff", 1, 16, -EINVAL, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),  cmocka_unit_test(test_duration), cmocka_unit_test(test_span),
		cmocka_unit_test(test_size), cmocka_unit_test(test_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
