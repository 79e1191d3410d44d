#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "tests/support/folded_files.h"
#include "tests/support/folded_text.h"

static struct named_profile *parse(const char *text, struct reader_report *report)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	if (reader_parse_profile(text, strlen(text), "test", &np, report, &err))
		fail_msg("%s", err.msg);
	return np;
}

static void check_same(const char *text)
{
	struct named_profile *np = parse(text, NULL);
	char *got = folded_text(np, np->meta.lines_shown);

	assert_string_equal(got, text);
	free(got);
	named_profile_free(np);
}

static void same_text_comes_back(void **state)
{
	(void)state;
	check_same("");
	check_same("a 1\n");
	check_same("[comm pid=7];[name tid=8];[blocked];a;b.c_[0];d/e.f:12_[j];g.h:3_[i] 5\n"
		   "[tid=9];a 1\n"
		   "[truncated];x y z;operator()<int, 3>;k_[k] 9223372036854775000\n");
	check_same("A.b:007_[j];c:9 1\n"
		   "A.b:99999999999_[j] 2\n"
		   "A.b_[w];_[j];[x]_[k];_[k]_[k] 3\n"
		   "p/A.b:12;p/A$1.<init>:3;p/A.c 4\n");
}

static void check_recorded(const char *text, size_t len)
{
	assert_int_equal(strlen(text), len);
	check_same(text);
}

static void recorded_text_comes_back(void **state)
{
	(void)state;
	each_folded_file(check_recorded);
}

static const struct named_line *line_of(const struct named_profile *np, uint32_t sample, uint32_t location,
					uint32_t line)
{
	const struct named_stack *s = &np->stacks[np->samples[sample].stack];
	const struct named_location *l;

	assert_true(location < s->n);
	l = &np->locations[np->stack_locations[s->first + location]];
	assert_true(line < l->n_lines);
	return &np->lines[l->first_line + line];
}

static const char *name_of(const struct named_profile *np, const struct named_line *l)
{
	return named_string(np, np->functions[l->function].name);
}

static void inlined_frames_share_a_location(void **state)
{
	struct named_profile *np = parse("r.r_[1];a.a:4_[j];b.b:5_[i];c.c_[i];d.d_[i]_[i] 2\n", NULL);
	const struct named_stack *s = &np->stacks[0];

	(void)state;
	assert_int_equal(s->n, 2);
	assert_string_equal(name_of(np, line_of(np, 0, 0, 0)), "d.d_[i]");
	assert_string_equal(name_of(np, line_of(np, 0, 0, 3)), "a.a");
	assert_int_equal(line_of(np, 0, 0, 3)->line, 4);
	assert_int_equal(line_of(np, 0, 0, 3)->kind, NAMED_C2);
	assert_int_equal(line_of(np, 0, 0, 1)->kind, NAMED_INLINED);
	assert_int_equal(line_of(np, 0, 0, 1)->tier, 4);
	assert_int_equal(line_of(np, 0, 1, 0)->kind, NAMED_C1);
	named_profile_free(np);
}

static void roots_become_labels(void **state)
{
	struct named_profile *np = parse("[java pid=7];[GC Thread#0 tid=8];[blocked];a 5\n"
					 "[blocked];[x tid=9];a 1\n"
					 "[tid=12];a 1\na;[x tid=3] 1\n",
					 NULL);

	(void)state;
	assert_int_equal(np->n_samples, 4);
	assert_int_equal(np->samples[0].pid, 7);
	assert_int_equal(np->samples[0].tid, 8);
	assert_string_equal(named_string(np, np->samples[0].thread), "GC Thread#0");
	assert_string_equal(named_string(np, np->samples[0].state), "blocked");
	assert_int_equal(np->samples[1].tid, 0);
	assert_int_equal(np->samples[2].tid, 12);
	assert_string_equal(named_string(np, np->samples[2].thread), "");
	assert_int_equal(np->samples[3].tid, 0);
	assert_int_equal(line_of(np, 0, 3, 0)->kind, NAMED_PROCESS);
	assert_int_equal(line_of(np, 0, 2, 0)->kind, NAMED_THREAD);
	assert_int_equal(line_of(np, 0, 1, 0)->kind, NAMED_STATE);
	named_profile_free(np);
}

static void kinds_are_guessed(void **state)
{
	static const struct {
		const char *text;
		enum named_kind kind;
		/* clang-format off */
	} cases[] = {
		{"java/lang/Object.wait", NAMED_UNKNOWN}, {"Main.run", NAMED_UNKNOWN},
		{"a.a_[0]", NAMED_INTERPRETED}, {"start_thread", NAMED_NATIVE},
		{"std::vector<a.b>::push", NAMED_NATIVE}, {"foo.isra.0", NAMED_NATIVE},
		{"do_syscall_64_[k]", NAMED_KERNEL}, {"[kernel]", NAMED_KERNEL},
		{"[incomplete]", NAMED_MARK}, {"[libjvm.so]", NAMED_NATIVE},
		{"[unknown]", NAMED_UNKNOWN}, {"/lib/x.so", NAMED_NATIVE},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[80];
		struct named_profile *np;

		snprintf(text, sizeof(text), "%s 1\n", cases[i].text);
		np = parse(text, NULL);
		if (line_of(np, 0, 0, 0)->kind != cases[i].kind)
			fail_msg("%s is %d", cases[i].text, line_of(np, 0, 0, 0)->kind);
		named_profile_free(np);
	}
}

static void foreign_texts(void **state)
{
	/* Line ends of Windows, a fraction of nothing, a tab, no line end at the end, equal lines. */
	struct named_profile *np = parse("a;b 1\r\na;b 2.0\n\nc\t3\nmain;std::f(int, char) 4", NULL);
	char *got = folded_text(np, false);

	(void)state;
	assert_string_equal(got, "a;b 3\nc 3\nmain;std::f(int, char) 4\n");
	free(got);
	named_profile_free(np);
}

static void unreadable_lines_are_reported(void **state)
{
	struct reader_report report;
	struct named_profile *np = parse("a;b 1\nnothing\na;b -3\n# text\na 99999999999999999999\n"
					 "a 1.5\n 5\na;b 9223372036854775000\nb 9223372036854775000\n"
					 "x y\n6\na;b 1\na;b 1\na;b 1\na;b 1\n"
					 "a;b 1\na;b 1\na;b 1\n",
					 &report);

	(void)state;
	assert_int_equal(np->n_samples, 1);
	assert_string_equal(report.format, "folded");
	assert_int_equal(report.unreadable, 9);
	assert_int_equal(report.lines, 18);
	assert_int_equal(report.first[0].line, 2);
	assert_string_equal(report.first[0].what, "not a stack with a count after it");
	assert_int_equal(report.first[1].line, 3);
	assert_int_equal(report.first[3].line, 5);
	assert_string_equal(report.first[3].what, "its count is too large");
	assert_int_equal(report.first[6].line, 9);
	assert_string_equal(report.first[6].what, "counts add up to more than 2^63");
	named_profile_free(np);
}

static void no_profile_at_all(void **state)
{
	struct named_profile *np = NULL;
	struct err err;
	static const char zeros[64] = {0};

	(void)state;
	assert_int_equal(reader_parse_profile("hello\nworld\n", 12, "f", &np, NULL, &err), -EINVAL);
	assert_string_equal(err.msg, "'f' is not a profile: neither pprof, folded stacks nor HPROF's text (line 1: "
				     "not a stack with a count after it; 2 of 2 lines are malformed)");
	assert_int_equal(reader_parse_profile("a 1\nb\nc\n", 8, "f", &np, NULL, &err), -EINVAL);
	assert_int_equal(reader_parse_profile(zeros, 64, "f", &np, NULL, &err), -EINVAL);
	assert_int_equal(reader_open_profile("/nonexistent/x", &np, NULL, &err), -ENOENT);
	assert_int_equal(reader_open_profile("/proc", &np, NULL, &err), -EISDIR);
	assert_null(np);
}

/* Files that people try, being at hand: they are told what those are. */
static void other_files_are_known(void **state)
{
	static const struct {
		const char *text, *said;
		size_t len;
	} files[] = {
		{"<!DOCTYPE html>\n<html lang=\"en\">\n", "'f' is an HTML page,", 0},
		{"{\"$schema\":\"https://www.speedscope.app/x\",\n\"a\":1}\n", "'f' is a speedscope file,", 0},
		{"{\"a\": 1}\n", "'f' is JSON;", 0},
		{"command    java Shop\nrecorded   8.0 s\n", "'f' is a text report,", 0},
		{"FLR\0\0\2", "'f' is a JFR recording;", 6},
		{"PERFILE2\150\0", "'f' is a perf.data file;", 10},
	};
	struct named_profile *np = NULL;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t len = files[i].len ? files[i].len : strlen(files[i].text);

		assert_int_equal(reader_parse_profile(files[i].text, len, "f", &np, NULL, &err), -EINVAL);
		assert_memory_equal(err.msg, files[i].said, strlen(files[i].said));
		assert_null(np);
	}
	/* What can be read is read, however it begins. */
	assert_int_equal(reader_parse_profile("{a};b 1\n", 8, "f", &np, NULL, &err), 0);
	named_profile_free(np);
}

/* Longer than the reader's buffer, and deep. */
static void long_lines(void **state)
{
	size_t n = READER_DEPTH, len = 0;
	char *text = malloc(n * 8 + 64);

	(void)state;
	for (size_t i = 0; i < n; i++)
		len += sprintf(text + len, i ? ";f%zu" : "f%zu", i % 1000);
	sprintf(text + len, " 12\n");
	check_same(text);
	free(text);
}

/* "[tid=9];a;a;...;a 1\n" with n frames `a`; the caller frees it. */
static char *deep_stack(size_t n)
{
	char *text = malloc(2 * n + sizeof("[tid=9]; 1\n")), *p = text + sprintf(text, "[tid=9]");

	for (size_t i = 0; i < n; i++)
		p = stpcpy(p, ";a");
	strcpy(p, " 1\n");
	return text;
}

static void deep_stack_loses_its_root(void **state)
{
	char *text = deep_stack(READER_DEPTH + 5000), *got, *want = deep_stack(READER_DEPTH);
	struct reader_report report;
	struct named_profile *np = parse(text, &report);

	(void)state;
	assert_int_equal(report.truncated, 1);
	assert_int_equal(np->samples[0].tid, 9);
	assert_int_equal(np->stacks[np->samples[0].stack].n, READER_DEPTH + 2);
	got = folded_text(np, false);
	assert_memory_equal(got, "[tid=9];[truncated];a;a", 23);
	assert_string_equal(got + 19, want + 7);
	free(got);
	free(text);
	free(want);
	named_profile_free(np);
}

/* n lines, each with one long frame that no other has. */
static char *long_names(size_t n, size_t len)
{
	char *text = malloc(n * (len + 20) + 1), *p = text;

	for (size_t i = 0; i < n; i++) {
		p += sprintf(p, "%08zu", i);
		memset(p, 'a', len);
		p = stpcpy(p + len, " 2\n");
	}
	return text;
}

static void memory_is_limited(void **state)
{
	enum { LEN = 1 << 20, LINES = (READER_MEMORY >> 20) + 20 };
	char *text = long_names(LINES, LEN);
	struct reader_report report;
	struct named_profile *np = parse(text, &report);
	const struct named_sample *last = &np->samples[np->n_samples - 1];

	(void)state;
	assert_true(report.storage_limit > 0 && report.storage_limit < 2 * LINES);
	assert_int_equal(last->count, report.storage_limit);
	assert_int_equal(last->count / 2 + np->n_samples - 1, LINES);
	assert_string_equal(named_string(np, np->functions[np->n_functions - 1].name), "[storage limit]");
	assert_true(strtab_bytes(np->strings) < READER_MEMORY);
	free(text);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_text_comes_back),
		cmocka_unit_test(recorded_text_comes_back),
		cmocka_unit_test(inlined_frames_share_a_location),
		cmocka_unit_test(roots_become_labels),
		cmocka_unit_test(kinds_are_guessed),
		cmocka_unit_test(foreign_texts),
		cmocka_unit_test(unreadable_lines_are_reported),
		cmocka_unit_test(no_profile_at_all),
		cmocka_unit_test(other_files_are_known),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(deep_stack_loses_its_root),
		cmocka_unit_test(memory_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
