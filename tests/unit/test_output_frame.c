#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sampler/output/frame_text.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/buf.h"

/* The text of one frame; the caller's to free. */
static char *text_of(const char *name, struct named_line line, bool annotate, bool lines)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	struct buf out = {0};

	line.function = name ? named_builder_function(b, name, "", "") : 0;
	np = named_builder_take(b);
	buf_add_z(&out, "<");
	frame_text_add(&out, np, &line, annotate, lines);
	buf_add_z(&out, ">");
	named_profile_free(np);
	assert_false(out.failed);
	return out.data;
}

static void check(const char *name, struct named_line line, bool annotate, bool lines, const char *want)
{
	char *text = text_of(name, line, annotate, lines);

	assert_string_equal(text, want);
	free(text);
}

static void suffixes_by_kind(void **state)
{
	static const struct {
		uint8_t kind;
		const char *suffix, *with_line;
		/* clang-format off */
	} cases[] = {
		{NAMED_UNKNOWN, "", ":607"},	   {NAMED_KERNEL, "_[k]", ""},
		{NAMED_NATIVE, "", ""},		   {NAMED_INTERPRETED, "_[0]", ":607"},
		{NAMED_C1, "_[1]", ":607"},	   {NAMED_C2, "_[j]", ":607"},
		{NAMED_INLINED, "_[i]", ":607"},   {NAMED_JAVA_NATIVE, "", ""},
		{NAMED_STUB, "", ""},		   {NAMED_MARK, "", ""},
		{NAMED_THREAD, "", ""},		   {NAMED_PROCESS, "", ""},
		{NAMED_STATE, "", ""},		   {NAMED_KINDS, "", ""},
		{255, "", ""},
	};
	/* clang-format on */
	char want[64];
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct named_line l = {.kind = cases[i].kind, .line = 607};

		assert_string_equal(frame_text_suffix(&l), cases[i].suffix);
		snprintf(want, sizeof(want), "<p/M.put%s>", cases[i].suffix);
		check("p/M.put", l, true, false, want);
		snprintf(want, sizeof(want), "<p/M.put%s%s>", cases[i].with_line, cases[i].suffix);
		check("p/M.put", l, true, true, want);
		check("p/M.put", l, false, false, "<p/M.put>");
	}
	/* No line known: none shown. */
	check("p/M.put", (struct named_line){.kind = NAMED_C2}, false, true, "<p/M.put>");
	check("p/M.put", (struct named_line){.kind = NAMED_C2, .line = -1}, true, true, "<p/M.put_[j]>");
}

static void names_in_brackets_have_no_tier(void **state)
{
	(void)state;
	check("[kernel]", (struct named_line){.kind = NAMED_KERNEL}, true, true, "<[kernel]>");
	check("[unknown]", (struct named_line){.kind = NAMED_C2, .line = -1}, true, true, "<[unknown]>");
	check("", (struct named_line){.kind = NAMED_C2}, true, true, "<[unknown]>");
	check(NULL, (struct named_line){.kind = NAMED_C2}, true, true, "<[unknown]>");
}

static void hostile_names_become_harmless(void **state)
{
	struct named_line l = {.kind = NAMED_C1};
	(void)state;

	check("a;b", l, true, false, "<a:b_[1]>");
	check(";", l, false, false, "<:>");
	check("a\nb 12\n", l, false, false, "<a?b 12?>");
	check("\033[31mred", l, false, false, "<?[31mred>");
	check("a\u202eb\u2066c", l, false, false, "<a?b?c>");
	check("gr\u00fc\u00df\u4e16\U0001F600", l, true, false, "<gr\u00fc\u00df\u4e16\U0001F600_[1]>");
	check("bad\xff\xc3", l, false, false,
	      "<bad?"
	      "?>");
	check("\x01", l, true, false, "<?_[1]>");
}

static void long_names_are_whole(void **state)
{
	enum { LEN = 65535 };
	char *name = malloc(LEN + 1), *text;
	(void)state;

	memset(name, 'x', LEN);
	name[LEN] = '\0';
	name[LEN / 2] = ';';
	text = text_of(name, (struct named_line){.kind = NAMED_C2}, true, false);
	assert_int_equal(strlen(text), LEN + 2 + 4);
	assert_int_equal(text[1 + LEN / 2], ':');
	assert_string_equal(text + 1 + LEN, "_[j]>");
	free(text);
	free(name);
}

static void writers_by_name_and_ending(void **state)
{
	char names[64] = "junk";
	(void)state;

	assert_ptr_equal(writer_find("folded"), &writer_folded);
	assert_ptr_equal(writer_find("null"), &writer_null);
	assert_ptr_equal(writer_find("digest"), &writer_digest);
	assert_null(writer_find("fold"));
	assert_null(writer_find(""));
	assert_ptr_equal(writer_for_path("out/x.folded"), &writer_folded);
	assert_ptr_equal(writer_for_path("a.b.collapsed"), &writer_folded);
	assert_ptr_equal(writer_for_path("x.folded.gz"), &writer_folded_gz);
	assert_ptr_equal(writer_for_path("x.pb"), &writer_pprof_plain);
	assert_ptr_equal(writer_find("pprof"), &writer_pprof);
	assert_null(writer_for_path("x.folded.bak"));
	assert_null(writer_for_path("xfolded"));
	assert_null(writer_for_path("folded"));
	assert_null(writer_for_path(""));
	writer_names(names, sizeof(names));
	assert_ptr_equal(strstr(names, "folded"), names);
	assert_null(strstr(names, "digest"));
	writer_names(names, 4);
	assert_string_equal(names, "");
	writer_names(names, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suffixes_by_kind),
		cmocka_unit_test(names_in_brackets_have_no_tier),
		cmocka_unit_test(hostile_names_become_harmless),
		cmocka_unit_test(long_names_are_whole),
		cmocka_unit_test(writers_by_name_and_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
