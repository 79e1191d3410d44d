#include "symbolizer/base/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define DAY_NS UINT64_C(86400000000000)

static unsigned digit_value(char c)
{
	unsigned u = (unsigned char)c;

	return u - '0' < 10 ? u - '0' : (u | 32) - 'a' < 6 ? (u | 32) - 'a' + 10 : 16;
}

int parse_digits(const char **s, const char *end, unsigned base, uint64_t *ret)
{
	const char *start = *s;
	uint64_t v = 0;
	bool over = false;

	for (; *s < end && digit_value(**s) < base; ++*s)
		over |= __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit_value(**s), &v);
	if (*s == start || over)
		return over ? -ERANGE : -EINVAL;
	*ret = v;
	return 0;
}

static int digits(const char **s, uint64_t *ret)
{
	return parse_digits(s, *s + strlen(*s), 10, ret);
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	int r = digits(&s, &v);

	if (r == -EINVAL || *s != '\0')
		return -EINVAL;
	if (r < 0 || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static uint64_t unit_find(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (strcmp(units->name, name) == 0)
			return units->factor;
	return 0;
}

/* Parses a fraction (".25") after a number into billionths; further digits are dropped. No dot: 0. */
static int fraction(const char **s, uint64_t *ret_billionths)
{
	uint64_t v = 0, scale = 100000000;
	const char *p = *s;

	*ret_billionths = 0;
	if (*p != '.')
		return 0;
	for (p++; *p >= '0' && *p <= '9'; p++, scale /= 10)
		v += scale * (uint64_t)(*p - '0');
	if (p == *s + 1)
		return -EINVAL;
	*s = p;
	*ret_billionths = v;
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {{"", 1000000000},   {"s", 1000000000},    {"ms", 1000000}, {"us", 1000},
					    {"m", 60000000000}, {"h", 3600000000000}, {NULL, 0}};
	uint64_t whole = 0, part = 0, factor;
	int r = digits(&s, &whole);
	unsigned __int128 ns;

	if ((r == -EINVAL && *s != '.') || fraction(&s, &part) < 0)
		return -EINVAL;
	factor = unit_find(units, s);
	if (factor == 0)
		return -EINVAL;
	ns = (unsigned __int128)whole * factor + (unsigned __int128)part * factor / 1000000000;
	if (r == -ERANGE || ns == 0 || ns > UINT64_MAX)
		return -ERANGE;
	*ret_ns = (uint64_t)ns;
	return 0;
}

int parse_span(const char *s, uint64_t max_days, uint64_t *ret_ns)
{
	const char *rest = s;
	uint64_t days;

	if (digits(&rest, &days) < 0 || strcmp(rest, "d") != 0 || days > max_days)
		return parse_duration(s, ret_ns);
	*ret_ns = days * DAY_NS;
	return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {{"", 1},           {"k", 1 << 10}, {"K", 1 << 10}, {"m", 1 << 20},
					    {"M", 1 << 20},    {"g", 1 << 30}, {"G", 1 << 30}, {"t", 1ull << 40},
					    {"T", 1ull << 40}, {NULL, 0}};
	uint64_t v = 0, factor;
	int r = digits(&s, &v);

	factor = unit_find(units, s);
	if (r == -EINVAL || factor == 0)
		return -EINVAL;
	if (r < 0 || v == 0 || __builtin_mul_overflow(v, factor, &v))
		return -ERANGE;
	*ret_bytes = v;
	return 0;
}
