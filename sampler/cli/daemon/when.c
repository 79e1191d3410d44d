#include "sampler/cli/daemon/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "symbolizer/base/parse.h"

#define SECOND UINT64_C(1000000000)

enum { DAYS_MAX = 36500 };

static int parse_ago(const char *text, uint64_t now_ns, uint64_t *ret)
{
	uint64_t ns;

	if (parse_span(text, DAYS_MAX, &ns) < 0)
		return -EINVAL;
	*ret = ns < now_ns ? now_ns - ns : 0;
	return 0;
}

/* strptime(3), for the whole text. */
static bool matches(const char *text, const char *format, struct tm *tm)
{
	const char *rest = strptime(text, format, tm);

	return rest && !*rest;
}

/* Of the last 24 hours. */
static int parse_clock(const char *text, uint64_t now_ns, uint64_t *ret)
{
	time_t now = (time_t)(now_ns / SECOND), at;
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_sec = 0;
	if (!matches(text, "%H:%M", &tm) && !matches(text, "%H:%M:%S", &tm))
		return -EINVAL;
	tm.tm_isdst = -1;
	at = mktime(&tm);
	if (at > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		at = mktime(&tm);
	}
	*ret = (uint64_t)at * SECOND;
	return 0;
}

static int parse_date(const char *text, uint64_t *ret)
{
	static const struct {
		const char *format;
		bool utc;
	} formats[] = {
		{"%Y-%m-%d", false},          {"%Y-%m-%d %H:%M", false},    {"%Y-%m-%d %H:%M:%S", false},
		{"%Y-%m-%dT%H:%M", false},    {"%Y-%m-%dT%H:%M:%S", false}, {"%Y-%m-%dT%H:%MZ", true},
		{"%Y-%m-%dT%H:%M:%SZ", true},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm tm = {.tm_isdst = -1};
		time_t at;
		int day;

		if (!matches(text, formats[i].format, &tm))
			continue;
		day = tm.tm_mday;
		at = formats[i].utc ? timegm(&tm) : mktime(&tm);
		if (at < 0 || tm.tm_mday != day /* 31 February */ || (uint64_t)at > INT64_MAX / SECOND)
			return -EINVAL;
		*ret = (uint64_t)at * SECOND;
		return 0;
	}
	return -EINVAL;
}

int when_parse(const char *text, uint64_t now_ns, uint64_t *ret)
{
	if (strchr(text, '-'))
		return parse_date(text, ret);
	return strchr(text, ':') ? parse_clock(text, now_ns, ret) : parse_ago(text, now_ns, ret);
}
