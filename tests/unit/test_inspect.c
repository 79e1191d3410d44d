#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "sampler/inspect/command_line.h"
#include "sampler/inspect/inspect.h"
#include "sampler/inspect/java_main.h"

static void mains(void **state)
{
	static const struct {
		const char *cmdline;
		size_t len;
		const char *main; /* NULL: none */
	} cases[] = {
/* clang-format off */
#define CMD(text, main) {text, sizeof(text), main}
		/* clang-format on */
		CMD("java\0-cp\0x\0com.acme.Main\0a", "com.acme.Main"),
		CMD("java\0-jar\0/opt/app.jar\0-x", "/opt/app.jar"),
		CMD("java\0-Xmx1g\0-m\0mod/p.Main", "mod/p.Main"),
		CMD("java\0--module=mod/p.Main", "mod/p.Main"),
		CMD("java", NULL),
		CMD("java\0-cp", NULL),
		CMD("java\0-jar", NULL),
		CMD("", NULL),
		CMD("/usr/bin/jsvc\0-user\0a\0-cp\0x\0com.acme.Daemon", "jsvc"),
		CMD("/usr/bin/python3\0-c\0import jpype; password = 'secret'", "python3"),
		CMD("/opt/app/launch\0--password\0secret", "launch"),
		CMD("python3", "python3"),
#undef CMD
	};
	char got[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = java_main(cases[i].cmdline, cases[i].len, got, sizeof(got));

		assert_int_equal(found, cases[i].main != NULL);
		if (found)
			assert_string_equal(got, cases[i].main);
	}
	assert_false(java_main("java", 0, got, sizeof(got)));
	assert_true(java_main_matches("com.acme.Main", "Main"));
	assert_true(java_main_matches("/opt/app.jar", "app"));
	assert_false(java_main_matches("com.acme.Main", "acme.Main"));
	assert_false(java_main_matches("/opt/app.jar", "ap"));
	assert_false(java_main_matches("/opt/app.jar", "jar"));
	java_main_short("mod/com.acme.Main", got, sizeof(got));
	assert_string_equal(got, "Main");
	java_main_short("/opt/shop-1.2.jar", got, sizeof(got));
	assert_string_equal(got, "shop-1.2");
}

/* What profiles keep of a command line: nothing that may be a secret. */
static void command_lines(void **state)
{
	static const struct {
		const char *cmdline;
		size_t len;
		const char *safe, *whole;
	} cases[] = {
/* clang-format off */
#define CMD(text, safe, whole) {text, sizeof(text), safe, whole}
		/* clang-format on */
		CMD("/usr/bin/java\0-Xmx1g\0-Dpassword=x\0-XX:+UseG1GC\0com.acme.Main\0--token\0y",
		    "/usr/bin/java -Xmx1g ... -XX:+UseG1GC com.acme.Main ...",
		    "/usr/bin/java -Xmx1g -Dpassword=x -XX:+UseG1GC com.acme.Main --token y"),
		CMD("java\0-XX:OnError=curl x\0-XX:MaxRAMPercentage=75.0\0-jar\0/opt/a.jar\0-Xmx2g",
		    "java ... -XX:MaxRAMPercentage=75.0 -jar /opt/a.jar ...",
		    "java -XX:OnError=curl x -XX:MaxRAMPercentage=75.0 -jar /opt/a.jar -Xmx2g"),
		CMD("java\0-cp\0secret\0-XX:Flags=1x\0-Xmxsecret\0-XX:+a=b\0M", "java ... M",
		    "java -cp secret -XX:Flags=1x -Xmxsecret -XX:+a=b M"),
		CMD("mysql\0-ppw\0-ea", "mysql ...", "mysql -ppw -ea"),
		CMD("java\0-ea\0-Dx=y", "java ...", "java -ea -Dx=y"),
		CMD("sleep", "sleep", "sleep"),
		CMD("a\033[2J\0b", "a?[2J ...", "a?[2J b"),
		CMD("", "", ""),
#undef CMD
	};
	char got[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		command_line_text(cases[i].cmdline, cases[i].len, false, got, sizeof(got));
		assert_string_equal(got, cases[i].safe);
		command_line_text(cases[i].cmdline, cases[i].len - 1, true, got, sizeof(got));
		assert_string_equal(got, cases[i].whole);
	}
	command_line_text("java\0Main", 9, false, got, 8);
	assert_string_equal(got, "java Ma");
}

/* A child that was taken over cannot say whose a process is. */
static void lies_are_not_believed(void **state)
{
	struct inspection told = {
		.pid = 1, .ns_pid = 7, .uid = 12345, .jvm = INSPECT_JVM, .uptime_s = 1ull << 40, .bridge = 9};
	struct inspection i, own;

	(void)state;
	memset(told.container, 'c', sizeof(told.container));
	memset(told.main, '\n', sizeof(told.main));
	strcpy(told.release, "17.0.1");
	assert_int_equal(inspect_outside(getpid(), &own), 0);
	assert_int_equal(inspect_confirm(getpid(), &told, &i), 0);
	assert_true(i.pid == getpid() && i.ns_pid == own.ns_pid && i.uid == geteuid() && i.uptime_s < told.uptime_s);
	assert_string_equal(i.container, own.container);
	assert_true(i.jvm == INSPECT_JVM && i.bridge == 1);
	assert_string_equal(i.release, "17.0.1");
	assert_null(memchr(i.main, '\n', sizeof(i.main)));
	assert_true(strnlen(i.main, sizeof(i.main)) < sizeof(i.main));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_lines),
		cmocka_unit_test(mains),
		cmocka_unit_test(lies_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
