#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/views/table.h"

static const struct table_column columns[] = {
	{"count", "count", 10, 0}, {"part", "part %", 8, 2}, {NULL, " kind", -12, 0},
	{"hidden", NULL, 0, 0},    {NULL, " method", 0, 0},
};

enum { N = sizeof(columns) / sizeof(columns[0]) };

static void put_row(struct table *t, uint64_t count, const char *kind, const char *name)
{
	table_count(t, count);
	if (kind)
		table_number(t, 12.345);
	else
		table_null(t);
	table_text(t, kind ? kind : "");
	table_count(t, 99);
	table_text(t, name);
}

/* What a table of two rows and a note looks like; the caller frees it. */
static char *print(size_t width, enum table_format format, const char *kind, const char *name, const char *note)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct json json = {.out = out};
	struct table t;

	table_begin(&t, &json, format, width, columns, N);
	put_row(&t, 7, kind, "short");
	if (note)
		table_note(&t, note);
	put_row(&t, 12, NULL, name);
	table_end(&t);
	fclose(out);
	return text;
}

static void check(size_t width, const char *kind, const char *name, const char *note, const char *wanted)
{
	char *got = print(width, TABLE_TEXT, kind, name, note);

	assert_string_equal(got, wanted);
	free(got);
}

static void not_for_a_terminal(void **state)
{
	(void)state;
	check(0, "C2", "com/acme/a/very/long/package/Name.method", "why: so",
	      "     count   part %  kind        "
	      " method\n         7    12.35  C2           short\n          why: so\n        12        -"
	      "               com/acme/a/very/long/package/Name.method\n");
}

static void columns_are_as_wide_as_needed(void **state)
{
	(void)state;
	check(80, "C2", "com/acme/Name.method", NULL,
	      "count part %  kind  method\n    7  12.35  C2    short\n   12      -        com/acme/Name.method\n");
	/* Nothing in a column: it is not there. */
	check(80, NULL, "b", NULL, "count  method\n    7  short\n   12  b\n");
}

static void long_names_lose_their_package(void **state)
{
	(void)state;
	check(40, "C2", "com/acme/a/very/long/package/Name.method", NULL,
	      "count part %  kind  method\n    7  12.35  C2    short\n"
	      "   12      -        ..ackage/Name.method\n");
	/* A wide character takes two columns. */
	check(40, "C2",
	      "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
	      "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2.m",
	      NULL,
	      "count part %  kind  method\n    7  12.35  C2    short\n"
	      "   12      -        ..\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
	      "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2.m\n");
}

static void lines_of_a_tree_stay(void **state)
{
	(void)state;
	check(45, "C2", "\xe2\x94\x82 \xe2\x94\x9c com/acme/long/package/Name.method", NULL,
	      "count part %  kind  method\n    7  12.35  C2    short\n"
	      "   12      -        \xe2\x94\x82 \xe2\x94\x9c ..package/Name.method\n");
}

static void notes_stand_below_their_row(void **state)
{
	(void)state;
	check(40, NULL, "b", "interpreted: below its thresholds, called seven times only",
	      "count  method\n    7  short\n          interpreted: below its\n"
	      "            thresholds, called seven\n            times only\n   12  b\n");
}

static void data_has_no_notes(void **state)
{
	char *got = print(80, TABLE_CSV, "C2", "n", "why");

	(void)state;
	assert_string_equal(got, "count,part,hidden\r\n7,12.345,99\r\n12,,99\r\n");
	free(got);
}

/* Deeper than a line is wide, and longer than what is kept of a name. */
static void hostile(void **state)
{
	char *name = malloc(200001), *got;

	(void)state;
	memset(name, ' ', 100000);
	memset(name + 100000, 'x', 100000);
	name[200000] = '\0';
	got = print(80, TABLE_TEXT, "C2", name, NULL);
	for (const char *line = got, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_true(end - line <= 80);
	}
	free(got);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_for_a_terminal),
		cmocka_unit_test(columns_are_as_wide_as_needed),
		cmocka_unit_test(long_names_lose_their_package),
		cmocka_unit_test(lines_of_a_tree_stay),
		cmocka_unit_test(notes_stand_below_their_row),
		cmocka_unit_test(data_has_no_notes),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
