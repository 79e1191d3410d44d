#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvm-bridge/hprof/base/options.h"

static void defaults(void **state)
{
	struct hprof_options o;
	char why[256];

	(void)state;
	assert_int_equal(hprof_options_parse(NULL, NULL, &o, why, sizeof(why)), 0);
	assert_int_equal(o.heap, HEAP_DUMP | HEAP_SITES);
	assert_int_equal(o.depth, 4);
	assert_int_equal(o.interval, 10);
	assert_string_equal(o.file, "java.hprof.txt");
	assert_true(o.lineno && o.doe && o.force && o.verbose && !o.thread && !o.monitor && !o.help && !o.port);
	assert_int_equal(hprof_options_parse("help", NULL, &o, why, sizeof(why)), 0);
	assert_true(o.help);
}

static void all_of_them(void **state)
{
	struct hprof_options o;
	char why[256];

	(void)state;
	assert_int_equal(hprof_options_parse("cpu=times,depth=0,interval=1,cutoff=.5,lineno=n,thread=y,doe=n,msa=y,"
					     "force=n,verbose=n,gc_okay=y,primfields=n,primarrays=n,file=/x y",
					     NULL, &o, why, sizeof(why)),
			 0);
	assert_int_equal(o.cpu, CPU_TIMES);
	assert_int_equal(o.heap, 0);
	assert_int_equal(o.depth, 0);
	assert_true(o.cutoff == 0.5 && o.thread && !o.lineno && !o.doe && !o.force && !o.verbose && !o.primfields);
	assert_string_equal(o.file, "/x y");
	assert_int_equal(hprof_options_parse("heap=sites,format=b,net=::1:65535", NULL, &o, why, sizeof(why)), 0);
	assert_string_equal(o.net, "::1");
	assert_int_equal(o.port, 65535);
	assert_int_equal(o.heap, HEAP_SITES);
	assert_string_equal(o.file, "java.hprof");
	/* What the environment has wins, and cpu=y is samples. */
	assert_int_equal(hprof_options_parse("cpu=old,depth=1", "depth=2,cpu=y", &o, why, sizeof(why)), 0);
	assert_int_equal(o.cpu, CPU_SAMPLES);
	assert_int_equal(o.depth, 2);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"cpu", "option has no value: cpu"},
		{"cpx=samples", "unknown option: cpx"},
		{"cpu=sample", "must be samples|times|old: cpu=sample"},
		{"cpu=", "must be samples|times|old: cpu="},
		{"heap=y", "must be dump|sites|all: heap=y"},
		{"monitor=yes", "must be y or n: monitor=yes"},
		{"depth=-1", "must be a number from 0 to 2048: depth=-1"},
		{"depth=2049", "must be a number from 0 to 2048: depth=2049"},
		{"depth=99999999999999999999", "must be a number from 0 to 2048"},
		{"depth=", "must be a number"},
		{"depth= 4", "must be a number"},
		{"interval=0", "must be a number from 1 to 3600000: interval=0"},
		{"cutoff=x", "must be a ratio"},
		{"cutoff=.", "must be a ratio"},
		{"cutoff=1.2.3", "must be a ratio"},
		{"cutoff=-1", "must be a ratio"},
		{"file=", "must be a name of 1 to 1023 bytes: file="},
		{"net=host", "must be host:port"},
		{"net=:80", "must be host:port"},
		{"net=host:0", "must be host:port"},
		{"net=host:65536", "must be host:port"},
		{"depth=4,depth=4", "option is given twice: depth=4"},
		{"cpu=samples,", "no option after the last comma"},
		{"cpu=samples,,depth=4", "unknown option"},
		{"cpu=samples,help", "unknown option: help"},
		{"cpu=times,format=b", "cpu=times|old is not supported with format=b"},
		{"format=b,cpu=old", "cpu=times|old is not supported with format=b"},
		{"monitor=y,format=b", "monitor=y is not supported with format=b"},
		{"file=x,net=a:1", "file and net cannot both be given"},
	};
	struct hprof_options o;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		*why = 0;
		assert_int_not_equal(hprof_options_parse(bad[i].text, NULL, &o, why, sizeof(why)), 0);
		if (!strstr(why, bad[i].why))
			fail_msg("%s: %s", bad[i].text, why);
		/* The same from the environment. */
		assert_int_not_equal(hprof_options_parse("heap=dump", bad[i].text, &o, why, sizeof(why)), 0);
	}
}

static void endless(void **state)
{
	static char text[100001];
	struct hprof_options o;
	char why[256];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_not_equal(hprof_options_parse(text, NULL, &o, why, sizeof(why)), 0);
	memcpy(text, "file=", 5);
	assert_int_not_equal(hprof_options_parse(text, NULL, &o, why, sizeof(why)), 0);
	assert_non_null(strstr(why, "must be a name of 1 to 1023 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(refused),
		cmocka_unit_test(endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
