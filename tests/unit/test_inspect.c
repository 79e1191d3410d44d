#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sampler/session/inspect.h"
#include "sampler/session/java_main.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void containers(void **state)
{
	static const char *const cases[][2] = {
		{"0::/\n", ""},
		{"", ""},
		{"0::/user.slice/user-1000.slice/session-3.scope\n", ""},
		{"12:cpu:/docker/" ID "\n", "0123456789ab"},
		{"0::/system.slice/docker-" ID ".scope\n", "0123456789ab"},
		{"0::/../docker-" ID ".scope\n", "0123456789ab"},
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c.slice/"
		 "cri-containerd-" ID ".scope\n", "0123456789ab"},
		{"11:memory:/kubepods/burstable/pod7d8e/" ID "\n", "0123456789ab"},
		{"0::/machine.slice/libpod-" ID ".scope/container\n", "0123456789ab"},
		{"0::/lxc/web1/init.scope\n", "web1"},
		{"0::/lxc.payload.web1/init.scope\n", "web1"},
		{"0::/machine.slice/systemd-nspawn@build.service/payload\n", "build"},
		{"0::/docker/0123456789abcdef\n", ""}, /* too short for an id */
	};
	char got[80];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		inspect_container(cases[i][0], got, sizeof(got));
		assert_string_equal(got, cases[i][1]);
	}
	inspect_container("0::/lxc/abcdefghijkl/\n", got, 4);
	assert_string_equal(got, "abc");
}

static void mains(void **state)
{
	static const struct {
		const char *cmdline;
		size_t len;
		const char *main; /* NULL: none */
	} cases[] = {
#define CMD(text, main) {text, sizeof(text), main}
		CMD("java\0-cp\0x\0com.acme.Main\0a", "com.acme.Main"),
		CMD("java\0-jar\0/opt/app.jar\0-x", "/opt/app.jar"),
		CMD("java\0-Xmx1g\0-m\0mod/p.Main", "mod/p.Main"),
		CMD("java\0--module=mod/p.Main", "mod/p.Main"),
		CMD("java", NULL),
		CMD("java\0-cp", NULL),
		CMD("java\0-jar", NULL),
		CMD("", NULL),
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers),
		cmocka_unit_test(mains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
