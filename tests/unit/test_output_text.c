#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"

static uint32_t loc(struct named_builder *b, const char *name, enum named_kind kind)
{
	struct named_line l = {.function = named_builder_function(b, name, "", ""), .kind = kind};

	return named_builder_location(b, 0, 0, &l, 1);
}

static void add(struct named_builder *b, uint64_t count, uint32_t leaf, uint32_t root)
{
	uint32_t at[] = {leaf, root};
	struct named_sample s = {.count = count, .weight = count * 1000000};

	s.stack = named_builder_stack(b, at, 2);
	assert_int_not_equal(named_builder_sample(b, &s), UINT32_MAX);
}

static void set_meta(struct named_builder *b)
{
	struct named_meta *m = named_builder_meta(b);

	m->event = named_builder_keep(b, "cpu");
	m->unit = "nanoseconds";
	m->period = 1000000;
	m->duration_ns = 2500000000;
	m->command = named_builder_keep(b, "java -cp \033[31m Main");
	m->jdk = named_builder_keep(b, "17.0.15");
	m->complete = 9990;
	m->incomplete = 10;
	m->lost = 3;
	m->exactness[0] = 1;
	m->exactness[3] = 3;
}

static char *text_of(struct named_builder *b)
{
	struct named_profile *np = named_builder_take(b);
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	assert_int_equal(writer_text.write(np, &(struct writer_options){0}, f, NULL), 0);
	fclose(f);
	named_profile_free(np);
	return got;
}

static size_t columns(const char *line, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)line[i] & 0xc0) != 0x80;
	return n;
}

static void check_lines(const char *text)
{
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		assert_non_null(end);
		assert_true(columns(text, (size_t)(end - text)) <= 80);
		for (const char *c = text; c < end; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

static void assert_line(const char *text, const char *line)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(text, wanted))
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void methods_and_totals(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t main_frame = loc(b, "Main.main", NAMED_INTERPRETED);
	char *text;
	(void)state;

	add(b, 6000, loc(b, "java/util/HashMap.put", NAMED_C2), main_frame);
	add(b, 2000, loc(b, "java/util/HashMap.put", NAMED_INLINED), main_frame);
	add(b, 1993, loc(b, "read", NAMED_KERNEL), main_frame);
	add(b, 5, loc(b, "just.Enough", NAMED_C1), main_frame);
	add(b, 2, loc(b, "too.Little", NAMED_C1), main_frame);
	set_meta(b);
	text = text_of(b);
	check_lines(text);
	assert_line(text, "samples    10000, 10.00 s; lost 3");
	assert_line(text, "event      cpu, every 1 ms");
	assert_line(text, "stacks     complete 99.90 %, incomplete 10");
	assert_line(text, "recorded   2.5 s");
	assert_line(text, "jdk        17.0.15");
	assert_line(text, " 60.00  C2");
	assert_line(text, " 19.93  kernel");
	assert_line(text, " 25.00  sure");
	assert_line(text, " 75.00  likely");
	assert_line(text, " 80.00 ± 0.78   80.00  java/util/HashMap.put                  C2 75, inlined 25");
	assert_line(text, "  0.00 ± 0.00  100.00  Main.main");
	assert_line(text, "  0.05 ± 0.04    0.05  just.Enough                            C1 100");
	assert_line(text, "  0.02 ± 0.03          (1 methods under 0.05 %)");
	assert_null(strstr(text, "too.Little"));
	assert_int_equal(strncmp(text, "command    java -cp ?[31m Main\n", 30), 0);
	free(text);
}

/* As the history's, where the governor has changed the frequency, and other tools'. */
static void various_periods(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t main_frame = loc(b, "Main.main", NAMED_INTERPRETED);
	char *text;
	(void)state;

	add(b, 10, main_frame, main_frame);
	set_meta(b);
	named_builder_meta(b)->period = 0;
	text = text_of(b);
	assert_line(text, "event      cpu");
	free(text);
}

static void add_state(struct named_builder *b, uint64_t count, const char *state)
{
	uint32_t at[] = {loc(b, "leaf", NAMED_C2), loc(b, "root", NAMED_C2)};
	struct named_sample s = {.count = count,
				 .weight = count,
				 .stack = named_builder_stack(b, at, 2),
				 .state = state ? named_builder_string(b, state) : 0};

	assert_int_not_equal(named_builder_sample(b, &s), UINT32_MAX);
}

static void states(void **state)
{
	struct named_builder *b = named_builder_new();
	const char *title, *parked;
	char *text, name[300];
	(void)state;

	add_state(b, 20, "running");
	add_state(b, 30, "parked");
	add_state(b, 5, "running");
	add_state(b, 5, NULL);
	add_state(b, 40, "\033[31m");
	text = text_of(b);
	check_lines(text);
	title = strstr(text, "\n     %  threads by state\n 40.00  ?[31m\n");
	parked = strstr(text, "\n 30.00  parked\n 25.00  running\n\n");
	assert_non_null(title);
	assert_non_null(parked);
	assert_true(parked - text > title - text);
	free(text);
	/* Another's file: any number of them, of any length. */
	b = named_builder_new();
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (char c = 'A'; c <= 'Z'; c++) {
		name[0] = c;
		add_state(b, 1, name);
	}
	text = text_of(b);
	check_lines(text);
	assert_non_null(strstr(text, "Pxxxx"));
	assert_null(strstr(text, "Qxxxx"));
	free(text);
	/* Without states there is no such table. */
	b = named_builder_new();
	add_state(b, 1, NULL);
	text = text_of(b);
	assert_null(strstr(text, "by state"));
	free(text);
}

static void hostile_names(void **state)
{
	enum { LEN = 65536 };
	struct named_builder *b = named_builder_new();
	uint32_t root = loc(b, "r", NAMED_NATIVE);
	char *name = malloc(LEN + 1), *text;
	(void)state;

	memset(name, 'n', LEN);
	memcpy(name + LEN - 4, "\xe2\x82\xac!", 4);
	name[LEN] = '\0';
	add(b, 10, loc(b, name, NAMED_C2), root);
	memset(name, 0x80, LEN); /* bytes that begin no character */
	add(b, 10, loc(b, name, NAMED_C2), root);
	add(b, 10, loc(b, "\033]0;title\007\n\u202e", NAMED_C1), root);
	add(b, 10, loc(b, "", NAMED_C1), root);
	named_builder_meta(b)->command = named_builder_keep(b, name);
	text = text_of(b);
	check_lines(text);
	assert_non_null(strstr(text, "nnn€!  C2 100\n"));
	assert_non_null(strstr(text, "..?????"));
	assert_non_null(strstr(text, "  ?]0;title???"));
	assert_non_null(strstr(text, "[unknown]"));
	free(name);
	free(text);
}

static void nothing_sampled(void **state)
{
	struct named_builder *b = named_builder_new();
	char *text;
	(void)state;

	set_meta(b);
	text = text_of(b);
	check_lines(text);
	assert_line(text, "samples    0, 0.00 s; lost 3");
	assert_null(strstr(text, "method"));
	free(text);
}

static void a_full_disk_is_told(void **state)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	struct err err = {0};
	FILE *full = fopen("/dev/full", "w");
	(void)state;

	assert_non_null(full);
	add(b, 1, loc(b, "a", NAMED_C2), loc(b, "b", NAMED_C2));
	np = named_builder_take(b);
	assert_int_equal(writer_text.write(np, &(struct writer_options){0}, full, &err), -28);
	assert_non_null(strstr(err.msg, "No space"));
	fclose(full);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_and_totals),
		cmocka_unit_test(various_periods),
		cmocka_unit_test(states),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(nothing_sampled),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
