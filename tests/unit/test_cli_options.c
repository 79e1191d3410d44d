#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sampler/cli/options/hints.h"
#include "sampler/cli/options/options.h"
#include "sampler/cli/options/record_values.h"
#include "symbolizer/base/err.h"

/* Words separated by blanks, as argv, which the options point into; the command's name is put in front. */
static int parse(const char *words, struct record_options *o, struct err *err)
{
	static char text[512], *argv[32];
	char *save = NULL;
	int argc = 1;

	*err = (struct err){0};
	memset(argv, 0, sizeof(argv));
	argv[0] = "record";
	strcpy(text, words);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	return record_options_parse(argc, argv, o, err);
}

static void good(void **state)
{
	struct record_options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-p 1,2 -p 3 -d 5m -F 999 -o a.folded -o b.folded -t", &o, &err), 0);
	assert_int_equal(o.n_pids, 3);
	assert_int_equal(o.pids[2], 3);
	assert_int_equal(o.duration_ns, UINT64_C(300000000000));
	assert_int_equal(o.period_ns, 1000000000 / 999);
	assert_int_equal(o.n_outputs, 2);
	assert_true(o.session.show.thread_root);
	assert_int_equal(parse("-p 7,7 -p 7", &o, &err), 0);
	assert_int_equal(o.n_pids, 1);
	assert_int_equal(parse("-r 100 4711", &o, &err), 0);
	assert_int_equal(o.pids[0], 4711);
	assert_int_equal(o.session.slice_ns, 0);
	assert_int_equal(parse("-vv Main --slices 2.5s", &o, &err), 0);
	assert_int_equal(o.session.slice_ns, UINT64_C(2500000000));
	assert_string_equal(o.target_name, "Main");
	assert_int_equal(o.verbose, 2);
	assert_int_equal(parse("-q -- java -p 1 --bogus", &o, &err), 0);
	assert_string_equal(o.command[0], "java");
	assert_string_equal(o.command[3], "--bogus");
	assert_true(o.quiet);
	assert_false(o.children || o.no_children);
	assert_int_equal(parse("-p 1 --children", &o, &err), 0);
	assert_true(o.children);
	assert_int_equal(parse("--no-children -- sh --children", &o, &err), 0);
	assert_true(o.no_children && !o.children);
	assert_int_equal(parse("-p 1 -e cpu-clock -F 9", &o, &err), 0);
	assert_string_equal(o.session.engine_options.event, "cpu");
	assert_int_equal(parse("sh -d 1", &o, &err), 0); /* a main class may be called like a program */
	assert_string_equal(o.target_name, "sh");
}

/* What was typed, and what the answer must hold. */
static void advice(void **state)
{
	static const char *const cases[][2] = {
		{"-p", "-p needs"},
		{"-p 1x", "not a PID"},
		{"-p ,", "which process"},
		{"-p 1 -F 0", "from 1 to"},
		{"-p 1 -F max", "-F max"},
		{"-p 1 -i 5000000", "without a unit is seconds"},
		{"-p 1 -i 1ms -F 9", "same thing"},
		{"-p 1 -d", "-d needs"},
		{"-p 1 -d 5x", "30s"},
		{"-p 1 -f x.html", "-o x.html"},
		{"-p 1 -f flamegraph", "html"},
		{"-p 1 -o collapsed", "-o out.folded"},
		{"-p 1 -o f.svg", "exports SVG"},
		{"-p 1 -o f.jfr", ".pb.gz"},
		{"-p 1 -e alloc", "not sampled"},
		{"-p 1 -e itimer", "-e cpu"},
		{"-p 1 -e wall --engine perf", "--engine suspend"},
		{"-p 1 -e cycles --engine suspend", "--engine perf"},
		{"-p 1 --states", "-e wall"},
		{"-p 1 --engine fast", "suspend"},
		{"-p 1 --max-pause 1us", "50us"},
		{"-p 1 --max-pause 1ms --engine perf", "--engine suspend"},
		{"-p 1 --max-pause 1ms -e cycles", "--engine suspend"},
		{"-p 1 -e cycles -F 9", "-c"},
		{"-p 1 --wall=10ms", "-e wall"},
		{"-p 1 --gil", "Python"},
		{"-p 1 --subprocesses", "--children"},
		{"-p 1 -tg", "-g: stacks are always recorded"},
		{"-p 1 -j 100", "--depth"},
		{"-p 1 --frequency 99", "-F HZ"},
		{"-p 1 --json", "-f json"},
		{"-p 1 --bogus", "--bogus"},
		{"-p 1 -tZ", "no option -Z"},
		{"-p 1 -I (", "include"},
		{"-p 1 --depth 0", "from 1"},
		{"-p 1 --max-memory x", "256M"},
		{"-p 1 --slices 1ms", "10ms or more"},
		{"-p 1 --slices x", "500ms"},
		{"-p 1 -c 0", "at least 1"},
		{"-p 1 -- x", "not both"},
		{"--", "command must follow"},
		{"-p 1 Main", "not both"},
		{"A B", "only one process can be given by name"},
		{"-p 1 2", "-d 2"},
		{"1 2", "-p 1,2"},
		{"sh -jar x.jar", "jsampler -- sh"},
		{"-d 1 sh x y", "-- sh"},
		{"-d 1 /bin/sh -c true", "-- /bin/sh"},
		{"-p 1 -e cpu:u", "--no-kernel"},
		{"-p 1 --bridge no", "auto, on or off"},
		{"-p 1 --children --no-children", "not both"},
		{"-p 1 --children --engine suspend", "suspend follows no"},
		{"-p 1 --children -e wall", "suspend follows no"},
		{"-p 1 --symbols dwarf", "vm or bridge"},
		{"-p 1 --symbols bridge --bridge off", "needs the bridge"},
	};
	struct record_options o;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = parse(cases[i][0], &o, &err);

		if (r != -EINVAL || !strstr(err.msg, cases[i][1]) || strlen(err.msg) > 200 || strchr(err.msg, '\n'))
			fail_msg("'%s' -> %d '%s', wanted '%s'", cases[i][0], r, err.msg, cases[i][1]);
	}
}

static void long_arguments(void **state)
{
	char pid[600], *argv[] = {"record", "-p", pid, NULL};
	struct record_options o;
	struct err err = {0};

	(void)state;
	memset(pid, '9', sizeof(pid) - 1);
	pid[sizeof(pid) - 1] = '\0';
	assert_int_equal(record_options_parse(3, argv, &o, &err), -EINVAL);
	for (size_t i = 0; i < 100; i++)
		sprintf(pid + 4 * i, "%03zu,", i + 100);
	assert_int_equal(record_options_parse(3, argv, &o, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "PIDs"));
}

static void commands(void **state)
{
	static const char *const known[] = {"start", "stop", "status", "top", "dump", "version", "check"};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(hints_check_command(known[i], &err), -EINVAL);
	assert_int_equal(hints_check_command("com.acme.Main", &err), 0);
	assert_int_equal(hints_check_command("4711", &err), 0);
}

/* No letter and no name twice, and getopt's tables have room. */
static void tables(void **state)
{
	const struct option_spec *all[] = {record_option_specs, list_option_specs,   doctor_option_specs,
					   help_option_specs,   daemon_option_specs, capture_option_specs};

	(void)state;
	for (size_t t = 0; t < sizeof(all) / sizeof(all[0]); t++) {
		size_t n = 0;

		for (const struct option_spec *a = all[t]; a->name; a++, n++)
			for (const struct option_spec *b = a + 1; b->name; b++) {
				assert_string_not_equal(a->name, b->name);
				assert_false(a->letter && a->letter == b->letter);
			}
		assert_true(n <= OPTION_SPECS_MAX);
	}
}

static bool is_own_of_convert(const char *name)
{
	static const char *const own[] = {"kind", "since", "until", "service", "label", "store", "socket"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

/* Whatever is in the table is parsed, if only to be refused: nothing is accepted and then ignored. */
static void all_parsed(void **state)
{
	static const struct option_spec forgotten[] = {{0, "forgotten", NULL, "", NULL},
						       {0, "forgotten", "X", "", NULL}};
	struct record_options o = {0};
	struct err err = {0};

	(void)state;
	optarg = (char[]){"?"};
	for (const struct option_spec *s = record_option_specs; s->name; s++)
		assert_int_not_equal(record_option_take(s, &o, &err), -ENOSYS);
	for (const struct option_spec *s = convert_option_specs; s->name; s++)
		if (!is_own_of_convert(s->name))
			assert_int_not_equal(record_option_take(s, &o, &err), -ENOSYS);
	assert_int_equal(record_option_take(&forgotten[0], &o, &err), -ENOSYS);
	assert_int_equal(record_option_take(&forgotten[1], &o, &err), -ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),     cmocka_unit_test(advice), cmocka_unit_test(long_arguments),
		cmocka_unit_test(commands), cmocka_unit_test(tables), cmocka_unit_test(all_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
