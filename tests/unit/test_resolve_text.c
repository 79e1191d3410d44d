#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "sampler/resolve/namer_text.h"
#include "symbolizer/base/buf.h"

enum { MAX = 100, LONG = 70000 };

static char text[LONG + 1];

/* Of one letter or one character of several bytes, with that end. */
static void fill(const char *unit, const char *end)
{
	size_t n = strlen(unit), at;

	for (at = 0; at + n + strlen(end) <= LONG; at += n)
		memcpy(text + at, unit, n);
	strcpy(text + at, end);
}

static void short_names_stay(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_string_equal(namer_bounded(&b, "java/lang/String.length", MAX), "java/lang/String.length");
	assert_string_equal(namer_bounded(&b, "", MAX), "");
	assert_string_equal(namer_bounded(&b, NULL, MAX), "");
	memset(text, 'a', MAX);
	text[MAX] = '\0';
	assert_ptr_equal(namer_bounded(&b, text, MAX), text);
	assert_null(b.data);
}

static void long_names_keep_both_ends(void **state)
{
	struct buf b = {0}, other = {0};
	const char *s, *t;

	(void)state;
	fill("E", ".method");
	s = namer_bounded(&b, text, MAX);
	assert_int_equal(strlen(s), MAX);
	assert_memory_equal(s, "EEEE", 4);
	assert_string_equal(s + MAX - 7, ".method");
	assert_int_equal(strchr(strchr(s, '~') + 1, '~') - strchr(s, '~'), 17);
	/* The same again is the same; what differs in the middle alone is another. */
	assert_string_equal(namer_bounded(&other, text, MAX), s);
	text[LONG / 2] = 'F';
	t = namer_bounded(&other, text, MAX);
	assert_int_equal(strlen(t), MAX);
	assert_string_not_equal(t, s);
	buf_done(&b);
	buf_done(&other);
}

static void characters_stay_whole(void **state)
{
	static const char *const units[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	struct buf b = {0};

	(void)state;
	for (size_t u = 0; u < 3; u++)
		for (size_t max = 60; max < 80; max++) {
			size_t n = strlen(units[u]), begin, end;
			const char *s;

			fill(units[u], "");
			s = namer_bounded(&b, text, max);
			begin = (size_t)(strchr(s, '~') - s);
			end = strlen(strrchr(s, '~') + 1);
			assert_in_range(strlen(s), max - 2 * n, max);
			assert_int_equal(begin % n, 0);
			assert_int_equal(end % n, 0);
		}
	buf_done(&b);
}

/* Bytes that continue a character that never began. */
static void nonsense_is_bounded(void **state)
{
	struct buf b = {0};

	(void)state;
	fill("\x80", "");
	assert_in_range(strlen(namer_bounded(&b, text, MAX)), 1, MAX);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_stay),
		cmocka_unit_test(long_names_keep_both_ends),
		cmocka_unit_test(characters_stay_whole),
		cmocka_unit_test(nonsense_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
