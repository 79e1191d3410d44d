#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "sampler/cli/daemon/when.h"

#define SECOND UINT64_C(1000000000)

/* 2026-11-24 12:00:00 UTC, 17:45 in Nepal */
static const uint64_t now = UINT64_C(1795521600) * SECOND;

static int set_up(void **state)
{
	(void)state;
	setenv("TZ", "<+0545>-5:45", 1);
	tzset();
	return 0;
}

/* Seconds before now. */
static int64_t ago(const char *text)
{
	uint64_t at = 0;

	assert_int_equal(when_parse(text, now, &at), 0);
	return (int64_t)(now - at) / (int64_t)SECOND;
}

static void moments(void **state)
{
	(void)state;
	assert_int_equal(ago("30"), 30);
	assert_int_equal(ago("30m"), 1800);
	assert_int_equal(ago("3d"), 3 * 86400);
	assert_int_equal(ago("30000d"), now / SECOND); /* 1970 */
	assert_int_equal(ago("17:45"), 0);
	assert_int_equal(ago("3:07"), 52680);
	assert_int_equal(ago("17:46"), 86340); /* yesterday */
	assert_int_equal(ago("17:44:30"), 30);
	assert_int_equal(ago("2026-11-24"), 63900);
	assert_int_equal(ago("2026-11-24 17:00"), 2700);
	assert_int_equal(ago("2026-11-24T17:44:59"), 1);
	assert_int_equal(ago("2026-11-24T11:00Z"), 3600);
	assert_int_equal(ago("2026-11-24T12:00:01Z"), -1);
}

static void nothing_else(void **state)
{
	static const char *const texts[] = {
		"",           "0",           "x",     "3:99",       "24:00:00:00", "-5m",   "99999999999d", "3d4",
		"2026-13-01", "2026-11-24X", "1m 2m", "1969-01-01", "2026-02-31",  "3:07x", "2026-11-24T3Z"};
	uint64_t at = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(when_parse(texts[i], now, &at), -EINVAL);
	assert_int_equal(at, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments),
		cmocka_unit_test(nothing_else),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
