#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/methods/line_table.h"
#include "symbolizer/hotspot/reader/unsigned5.h"
#include "symbolizer/hotspot/reader/utf8.h"

static uint32_t decode(const uint8_t *p, size_t n, uint32_t x, bool *bad)
{
	struct cursor c = cursor_make(p, n);
	uint32_t v = unsigned5_read(&c, x);

	*bad = c.bad;
	return v;
}

static void unsigned5_vectors(void **state)
{
	static const struct {
		uint8_t bytes[5];
		size_t n;
		uint32_t x, value;
		/* clang-format off */
	} v[] = {
		{{0}, 1, 0, 0}, {{1}, 1, 1, 0}, {{191}, 1, 0, 191}, {{191}, 1, 1, 190},
		{{192, 0}, 2, 0, 192}, {{192, 1}, 2, 1, 191}, {{255, 1}, 2, 0, 255 + 64},
		{{255, 2}, 2, 1, 254 + 64}, {{192, 192, 3}, 3, 0, 192 + (192 << 6) + (3 << 12)},
		{{255, 255, 255, 255, 251}, 5, 0, 255u + (255u << 6) + (255u << 12) + (255u << 18) + (251u << 24)},
		/* Five bytes at most, however large the last. */
		{{255, 255, 255, 255, 255}, 5, 1, 254u * (1 + 64 + 4096 + 262144) + (254u << 24)},
	};
	/* clang-format on */
	bool bad;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		assert_int_equal(decode(v[i].bytes, v[i].n, v[i].x, &bad), v[i].value);
		assert_false(bad);
	}
	decode((const uint8_t[]){0}, 1, 1, &bad);
	assert_true(bad);
	decode((const uint8_t[]){200}, 1, 0, &bad);
	assert_true(bad);
	decode((const uint8_t[]){200, 0}, 2, 1, &bad);
	assert_true(bad);
}

static void line_tables(void **state)
{
	/* bci 0 line 3; bci 2 line 4; escape: bci +100, line -1 (unsorted: then bci -90). */
	static const uint8_t x0[] = {3, 2 << 3 | 1, 0xff, 192 + 8, 0, 1, 0xff, 179, 4, 0};
	/* With X = 1 the escaped numbers are one larger a byte: +100 is 200, -1 is 1. */
	static const uint8_t x1[] = {3, 2 << 3 | 1, 0xff, 192 + 9, 1, 2, 0};

	(void)state;
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 0), 3);
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 1), 3);
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 2), 4);
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 102), 3);
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 12), 5);
	assert_int_equal(line_table_find(x0, sizeof(x0), 17, 50), 5);
	assert_int_equal(line_table_find(x1, sizeof(x1), 21, 102), 3);
	assert_int_equal(line_table_find(x1, sizeof(x1), 21, 101), 4);
	assert_int_equal(line_table_find(x0, 0, 17, 0), -1);
	assert_int_equal(line_table_find((const uint8_t[]){0xff, 0xff}, 2, 17, 0), -1);
	assert_int_equal(line_table_find((const uint8_t[]){5 << 3 | 1, 0}, 2, 17, 4), -1);
}

static size_t chain(const uint8_t *scopes, uint32_t len, int32_t offset, struct code_scope *ret, size_t max)
{
	uint32_t methods[] = {11, 12};
	struct code c = {.scopes = scopes, .scopes_len = len, .methods = methods, .n_methods = 2};

	return code_scopes_at(&c, 17, offset, ret, max);
}

static void scope_chains(void **state)
{
	/* 1: outer, bci 6; 4: called by 1, no method, entry; 7: itself; 10: by 200; 13: method 3 of 2. */
	static const uint8_t s[] = {9, 0, 1, 7, 1, 0, 0, 7, 1, 1, 200, 1, 1, 0, 3, 1, 9};
	struct code_scope ret[4];

	(void)state;
	assert_int_equal(chain(s, sizeof(s), 4, ret, 4), 2);
	assert_int_equal(ret[0].method_id, 0);
	assert_int_equal(ret[0].bci, -1);
	assert_int_equal(ret[1].method_id, 11);
	assert_int_equal(ret[1].bci, 6);
	assert_int_equal(chain(s, sizeof(s), 4, ret, 1), 1);
	assert_int_equal(chain(s, sizeof(s), 0, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), -5, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), 7, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), 10, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), 13, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), 15, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), 17, ret, 4), 0);
	assert_int_equal(chain(s, sizeof(s), INT32_MAX, ret, 4), 0);
	assert_int_equal(chain(NULL, 0, 1, ret, 4), 0);
}

static void modified(const char *in, const char *out)
{
	char buf[64];
	long n = utf8_from_modified(buf, sizeof(buf), (const uint8_t *)in, strlen(in));

	if (!out) {
		assert_int_equal(n, -1);
		return;
	}
	assert_int_equal(n, strlen(out));
	assert_string_equal(buf, out);
}

static void modified_utf8(void **state)
{
	char small[4];

	(void)state;
	modified("a/b;c", "a/b;c");
	modified("\xc3\xbc\xe4\xbd\xa0", "\xc3\xbc\xe4\xbd\xa0");
	modified("\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80"); /* a pair of surrogates */
	modified("\xed\xa0\xbd", "\xef\xbf\xbd");
	modified("\xed\xb8\x80x", "\xef\xbf\xbdx");
	modified("\xc0\x80", "\xef\xbf\xbd");
	modified("\xf0\x9f\x98\x80", NULL);
	modified("\xc3", NULL);
	modified("\xe4\xbd", NULL);
	modified("\x80", NULL);
	assert_int_equal(utf8_from_modified(small, sizeof(small), (const uint8_t *)"abcdef", 6), 3);
	assert_string_equal(small, "abc");
	assert_int_equal(utf8_from_modified(small, sizeof(small), (const uint8_t *)"a\0b", 3), -1);
	assert_int_equal(utf8_from_latin1(small, sizeof(small), (const uint8_t *)"\xfc!", 2), 3);
	assert_string_equal(small, "\xc3\xbc!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsigned5_vectors),
		cmocka_unit_test(line_tables),
		cmocka_unit_test(scope_chains),
		cmocka_unit_test(modified_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
