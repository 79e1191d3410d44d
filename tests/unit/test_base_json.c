#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/base/json.h"

struct written {
	char *text;
	size_t len;
	struct json json;
};

static struct json *begin(struct written *w)
{
	memset(w, 0, sizeof(*w));
	w->json.out = open_memstream(&w->text, &w->len);
	assert_non_null(w->json.out);
	return &w->json;
}

static void expect(struct written *w, const char *want)
{
	fclose(w->json.out);
	assert_string_equal(w->text, want);
	free(w->text);
}

static void commas_and_lines(void **state)
{
	struct written w;
	struct json *j = begin(&w);
	(void)state;

	json_open(j, '{');
	json_member_uint(j, "n", 0);
	json_line(j);
	json_key(j, "empty");
	json_open(j, '[');
	json_close(j, ']');
	json_key(j, "list");
	json_open(j, '[');
	json_line(j);
	json_open(j, '[');
	json_uint(j, 1);
	json_int(j, -2);
	json_close(j, ']');
	json_line(j);
	json_open(j, '{');
	json_close(j, '}');
	json_line(j);
	json_close(j, ']');
	json_key(j, "packed");
	json_open(j, '"');
	fputs("AQID", j->out);
	json_close(j, '"');
	json_member_text(j, "last", NULL);
	json_close(j, '}');
	expect(&w, "{\"n\":0,\n\"empty\":[],\"list\":[\n[1,-2],\n{}\n],\"packed\":\"AQID\",\"last\":\"\"}");
}

static void numbers(void **state)
{
	struct written w;
	struct json *j = begin(&w);
	(void)state;

	json_open(j, '[');
	json_uint(j, UINT64_MAX);
	json_int(j, INT64_MIN);
	json_int(j, INT64_MAX);
	json_int(j, 0);
	json_uint(j, 10);
	json_close(j, ']');
	expect(&w, "[18446744073709551615,-9223372036854775808,9223372036854775807,0,10]");
}

static void texts(void **state)
{
	struct written w;
	struct json *j = begin(&w);
	(void)state;

	json_open(j, '[');
	json_text(j, "a\"b\\c</script>&\n\x1b[0m\xff");
	json_text(j, "\xe2\x82\xac");
	json_close(j, ']');
	expect(&w, "[\"a\\u0022b\\u005cc\\u003c/script\\u003e\\u0026??[0m?\",\"\xe2\x82\xac\"]");
}

static void indented(void **state)
{
	struct written w;
	struct json *j = begin(&w);
	(void)state;

	j->indent = 2;
	json_open(j, '{');
	json_member_bool(j, "works", true);
	json_key(j, "empty");
	json_open(j, '[');
	json_close(j, ']');
	json_key(j, "list");
	json_open(j, '[');
	json_open(j, '{');
	json_member_text(j, "a", "b");
	json_member_uint(j, "n", 1);
	json_close(j, '}');
	json_raw(j, "null");
	json_close(j, ']');
	json_close(j, '}');
	expect(&w, "{\n  \"works\": true,\n  \"empty\": [],\n  \"list\": [\n    {\n      \"a\": \"b\",\n"
		   "      \"n\": 1\n    },\n    null\n  ]\n}");
}

/* Errors stick to the stream. */
static void full(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct json j = {.out = f};
	(void)state;

	assert_non_null(f);
	json_open(&j, '[');
	for (int i = 0; i < 100000; i++)
		json_uint(&j, i);
	json_close(&j, ']');
	assert_true(ferror(f) || fflush(f) == EOF);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_lines), cmocka_unit_test(numbers), cmocka_unit_test(texts),
		cmocka_unit_test(indented),         cmocka_unit_test(full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
