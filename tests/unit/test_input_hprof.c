/* HPROF's text as input: its tables, its traces, and what lies about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "tests/support/folded_text.h"

#define HEAD "JAVA PROFILE 1.0.1, created Tue Nov 24 11:00:00 1998\n\nHeader with CPU SAMPLES in it\n\n--------\n"
#define TRACES                                                                                                         \
	"THREAD START (obj=50000128, id = 200001, name=\"main\", group=\"main\")\n"                                    \
	"TRACE 300001:\n\tp.A.leaf(A.java:7)\n\tp.A.main(A.java:3)\n"                                                  \
	"TRACE 300002:\n\tp.A.nat(A.java:Native method)\n\tX.<init>(Unknown Source)\n"                                 \
	"TRACE 300003: (thread=200001)\n\tp.A.main(A.java:3)\n"                                                        \
	"TRACE 300004:\n\t<empty>\n"

static int read_text(const char *text, struct named_profile **ret, struct reader_report *report, struct err *err)
{
	return reader_parse_profile(text, strlen(text), "java.hprof.txt", ret, report, err);
}

static void check(const char *text, const char *want, uint64_t unreadable)
{
	struct named_profile *np = NULL;
	struct reader_report report;
	struct err err = {0};
	char *got;

	if (read_text(text, &np, &report, &err))
		fail_msg("%s", err.msg);
	got = folded_text(np, true);
	assert_string_equal(got, want);
	assert_string_equal(report.format, "HPROF");
	assert_int_equal(report.unreadable, unreadable);
	free(got);
	named_profile_free(np);
}

static void samples_are_read(void **state)
{
	(void)state;
	check(HEAD TRACES "CPU SAMPLES BEGIN (total = 10) Tue Nov 24 11:00:01 1998\n"
			  "rank   self  accum   count trace method\n"
			  "   1 60.00% 60.00%       6 300001 p.A.leaf\n"
			  "   2 30.00% 90.00%       3 300002 p.A.nat\n"
			  "   3 10.00% 100.00%       1 300003 p.A.main\n"
			  "CPU SAMPLES END\n",
	      "X.<init>;p/A.nat 3\np/A.main:3 1\np/A.main:3;p/A.leaf:7 6\n", 0);
}

static void threads_are_labels(void **state)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(read_text(HEAD TRACES "CPU SAMPLES BEGIN (total = 1) x\n"
					       "   1 100.00% 100.00%       1 300003 p.A.main\nCPU SAMPLES END\n",
				   &np, NULL, &err),
			 0);
	assert_int_equal(np->samples[0].tid, 200001);
	assert_string_equal(named_string(np, np->samples[0].thread), "main");
	named_profile_free(np);
}

static void dumps_are_added(void **state)
{
	(void)state;
	check(HEAD TRACES "CPU SAMPLES BEGIN (total = 6) x\nrank   self  accum   count trace method\n"
			  "   1 100.00% 100.00%       6 300001 p.A.leaf\nCPU SAMPLES END\n"
			  "CPU SAMPLES BEGIN (total = 2) x\nrank   self  accum   count trace method\n"
			  "   1 100.00% 100.00%       2 300001 p.A.leaf\nCPU SAMPLES END\n",
	      "p/A.main:3;p/A.leaf:7 8\n", 0);
}

static void time_is_a_share_of_the_total(void **state)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(read_text(HEAD TRACES "CPU TIME (ms) BEGIN (total = 2000) x\n"
					       "rank   self  accum   count trace method\n"
					       "   1 75.00% 75.00%   123 300001 p.A.leaf\nCPU TIME (ms) END\n",
				   &np, NULL, &err),
			 0);
	assert_int_equal(np->n_samples, 1);
	assert_int_equal(np->samples[0].weight, 1500000000);
	assert_int_equal(np->samples[0].count, 123);
	assert_string_equal(np->meta.unit, "nanoseconds");
	named_profile_free(np);
}

/* 98.5 % of 1,000 ms, and 1.05 %. */
static void shares_have_one_or_two_decimals(void **state)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(read_text(HEAD TRACES "CPU TIME (ms) BEGIN (total = 1000) x\n"
					       "   1 98.5% 98.5%   1 300001 p.A.leaf\n"
					       "   2 1.05% 99.55%   1 300002 p.A.nat\n"
					       "   3 1.005% 99.555%   1 300003 p.A.main\nCPU TIME (ms) END\n",
				   &np, NULL, &err),
			 0);
	assert_int_equal(np->n_samples, 2);
	assert_int_equal(np->samples[0].weight + np->samples[1].weight, 985000000 + 10500000);
	named_profile_free(np);
}

static void bad_rows_are_reported(void **state)
{
	(void)state;
	check(HEAD TRACES "CPU SAMPLES BEGIN (total = 9) x\nrank   self  accum   count trace method\n"
			  "   1 60.00% 60.00%       6 300001 p.A.leaf\n"
			  "   2 60.00% 60.00%       6 399999 p.A.gone\n"
			  "   3 60.00 60.00%       6 300001 p.A.leaf\n"
			  "   4 60.00% 60.00%   99999999999999999999 300001 p.A.leaf\n"
			  "CPU SAMPLES END\nCPU TIME (ms) BEGIN (total = 9) x\n",
	      "p/A.main:3;p/A.leaf:7 6\n", 4);
}

/* 1,024 rows are 2^63, which a signed number of 64 bits cannot hold. */
static void counts_do_not_overflow(void **state)
{
	enum { ROWS = 1025 };
	static const char row[] = "   1 0.01% 0.01% 9007199254740992 300001 p.A.leaf\n";
	struct named_profile *np = NULL;
	struct reader_report report;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	fputs(HEAD TRACES "CPU TIME (ms) BEGIN (total = 10) Tue Nov 24 11:00:01 1998\n", f);
	for (int i = 0; i < ROWS; i++)
		fputs(row, f);
	fputs("CPU TIME (ms) END\n", f);
	fclose(f);
	assert_int_equal(read_text(text, &np, &report, NULL), 0);
	assert_int_equal(report.unreadable, ROWS - 1023);
	assert_int_equal(np->n_samples, 1);
	assert_int_equal(np->samples[0].count, UINT64_C(1023) << 53);
	named_profile_free(np);
	free(text);
}

static void no_table_is_an_error(void **state)
{
	static const char binary[] = "JAVA PROFILE 1.0.2\0\0\0\0\x08";
	struct named_profile *np = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(read_text(HEAD TRACES, &np, NULL, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "cpu=samples"));
	assert_int_equal(reader_parse_profile(binary, sizeof(binary), "x", &np, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "binary HPROF dump"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_labels),    cmocka_unit_test(samples_are_read),
		cmocka_unit_test(dumps_are_added),       cmocka_unit_test(time_is_a_share_of_the_total),
		cmocka_unit_test(bad_rows_are_reported), cmocka_unit_test(counts_do_not_overflow),
		cmocka_unit_test(no_table_is_an_error),  cmocka_unit_test(shares_have_one_or_two_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
