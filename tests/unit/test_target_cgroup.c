#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolizer/target/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "d86d75589bf6cc254f3e2cc29debdf85dde404998aa128997a819ff991827356"
#define UID "90d81341-92de-11e7-8cf2-507b9d4141fa"
#define UID_ "90d81341_92de_11e7_8cf2_507b9d4141fa"
#define TASK "55091c13b8a14c4e84b5ef3a9f3e1fd0"
#define GARDEN "70eb4ce5-a065-4401-6990-88ed"

struct row {
	const char *text, *container, *pod, *unit;
};

static void check(const struct row *rows, size_t n)
{
	struct cgroup_names got;

	for (size_t i = 0; i < n; i++) {
		cgroup_parse(rows[i].text, strlen(rows[i].text), &got);
		if (strcmp(got.container, rows[i].container) || strcmp(got.pod_uid, rows[i].pod) ||
		    strcmp(got.unit, rows[i].unit))
			fail_msg("%s: container '%s', pod '%s', unit '%s'", rows[i].text, got.container, got.pod_uid,
				 got.unit);
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof(*(rows)))

/* The forms that OpenTelemetry's and Elastic's agents publish as test vectors. */
static void engines(void **state)
{
	static const struct row rows[] = {
		{"13:name=systemd:/docker/" ID, ID, "", ""},
		{"12:devices:/docker/" ID "\n", ID, "", ""},
		{"7:freezer:/path/" ID ".scope", ID, "", ""},
		{"1:name=systemd:/system.slice/docker-" ID ".scope\n", ID, "", ""},
		{"0::/system.slice/docker-" ID ".scope\n", ID, "", ""},
		{"0::/../docker-" ID ".scope\n", ID, "", ""},
		{"13:name=systemd:/podruntime/docker/kubepods/crio-" ID, ID, "", ""},
		{"13:name=systemd:/podruntime/docker/kubepods/" ID ".aaaa", ID, "", ""},
		{"13:name=systemd:/podruntime/docker/kubepods/crio-" ID ".stuff", ID, "", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/runc-" ID ".scope", ID, "", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container", ID, "",
		 ""},
		{"0::/machine.slice/libpod-" ID ".scope/container\n", ID, "", ""},
		{"9:perf_event:/ecs/task-arn/" ID, ID, "", ""},
		{"11:cpu:/ecs/" TASK "/" TASK "-2570125050", TASK "-2570125050", "", ""},
		{"9:net_cls,net_prio:/garden/" GARDEN, GARDEN, "", ""},
		{"5:blkio:/system.slice/garden.service/garden/" GARDEN "abcd1234", GARDEN "abcd1234", "", ""},
		{"0::/lxc/web1/init.scope\n", "web1", "", "init.scope"},
		{"0::/lxc.payload.web1/init.scope\n", "web1", "", "init.scope"},
		{"0::/machine.slice/systemd-nspawn@build.service/payload\n", "build", "", ""},
		{"0::/machine.slice/machine-build.scope/payload\n", "build", "", ""},
	};

	(void)state;
	CHECK(rows);
}

static void pods(void **state)
{
	static const struct row rows[] = {
		{"11:cpu:/kubepods/besteffort/pod" UID "/" ID, ID, UID, ""},
		{"1:name=systemd:/kubepods/besteffort/pod" UID "/15aa6e53-b09a-40c7-8558-c6c31e36c88a",
		 "15aa6e53-b09a-40c7-8558-c6c31e36c88a", UID, ""},
		{"12:pids:/kubepods/kubepods/besteffort/pod" UID "/" ID, ID, UID, ""},
		{"10:cpuset:/kubepods/pod" UID "/" ID, ID, UID, ""},
		{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID
		 ".scope",
		 ID, UID, ""},
		{"1:name=systemd:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
		 ".scope",
		 ID, UID, ""},
		{"9:freezer:/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", ID, UID, ""},
		{"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod" UID_
		 ".slice:cri-containerd:" ID,
		 ID, UID, ""},
		/* kind: a node that is a container itself */
		{"0::/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 ID, UID, ""},
		{"0::/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID, ID, UID, ""},
		/* a static pod's uid is a hash */
		{"0::/kubepods/pod" TASK "/" ID "\n", ID, TASK, ""},
		{"0::/system.slice/pod" UID "/x\n", "", "", ""},
		{"0::/kubepods/pod../" ID "\n", ID, "", ""},
	};

	(void)state;
	CHECK(rows);
}

static void units(void **state)
{
	static const struct row rows[] = {
		{"0::/system.slice/shop.service\n", "", "", "shop.service"},
		{"0::/system.slice/system-shop.slice/shop@1.service/workers\n", "", "", "shop@1.service"},
		{"0::/system.slice/a:b.service (deleted)\n", "", "", "a:b.service"},
		{"0::/system.slice/_cpu.service\n", "", "", "cpu.service"},
		{"0::/user.slice/user-1000.slice/session-3.scope\n", "", "", "session-3.scope"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service\n", "", "", "shop.service"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/"
		 "vte-spawn-75bc72bd-6642-4cf5-b62c-0674e11bfc84.scope",
		 "", "", "vte-spawn-75bc72bd-6642-4cf5-b62c-0674e11bfc84.scope"},
		/* a service that consists of a container, and a service within one */
		{"0::/system.slice/shop.service/libpod-payload-" ID, ID, "", "shop.service"},
		{"0::/docker/" ID "/system.slice/tomcat.service\n", ID, "", "tomcat.service"},
		{"0::/init.scope\n", "", "", "init.scope"},
		/* version 1, and both: the unit is in systemd's own hierarchy, wherever its line is */
		{"4:cpu:/other.service\n1:name=systemd:/system.slice/shop.service\n", "", "", "shop.service"},
		{"3:memory:/docker/" ID "\n1:name=systemd:/docker/" ID2 "\n0::/system.slice/x.service\n", ID2, "",
		 "x.service"},
		{"3:memory:/docker/" ID "\n0::/\n", ID, "", ""},
	};

	(void)state;
	CHECK(rows);
}

static void nothing(void **state)
{
	static const struct row rows[] = {
		{"", "", "", ""},
		{"0::/\n", "", "", ""},
		{"not a line", "", "", ""},
		{"::", "", "", ""},
		{"x:y:/docker/" ID, "", "", ""},
		{"0::docker/" ID, "", "", ""},
		{"5:rdma:/\n", "", "", ""},
		{"0::/system.slice/docker-" ID "z.scope", "", "", "docker-" ID "z.scope"},
		{"0::/docker/" ID "7\n", "", "", ""},
		{"0::/docker/0123456789abcdef\n", "", "", ""},
		{"13:name=systemd:/pod/abc." ID "-def", "", "", ""},
		{"7:x:/docker/g" ID "\n", "", "", ""},
		{"9:x:/garden/70eb4ce5-a065-4401-6990-88e", "", "", ""},
		{"9:x:/garden/70gb4ce5-a065-4401-6990-88ed", "", "", ""},
		{"4:cpu:/lxd/123\n", "", "", ""},
		{"0::/lxc/\n", "", "", ""},
		{"0::/machine.slice/machine-.scope\n", "", "", "machine-.scope"},
	};

	(void)state;
	CHECK(rows);
}

/* Who may make a group may call it anything, and make the text as long as the kernel lets him. */
static void hostile(void **state)
{
	enum { SIZE = 1 << 16 };
	static char text[SIZE];
	struct cgroup_names got;

	(void)state;
	cgroup_parse("0::/lxc/a\x1b[2J\xff/\n", 15, &got);
	assert_string_equal(got.container, "a?[2J?");
	cgroup_parse("0::/kubepods/pod\0x/", 19, &got);
	assert_string_equal(got.pod_uid, "");
	memset(text, 'a', SIZE);
	memcpy(text, "0::/lxc/", 8);
	cgroup_parse(text, SIZE, &got);
	assert_int_equal(strlen(got.container), sizeof(got.container) - 1);
	for (size_t i = 0; i < SIZE; i++)
		text[i] = ":/-."[i % 4];
	cgroup_parse(text, SIZE, &got);
	for (size_t i = 0; i + 4 <= SIZE; i += 4)
		memcpy(text + i, "-pod", 4);
	memcpy(text, "0::/kubepods/", 13);
	cgroup_parse(text, SIZE, &got);
	/* Nothing behind the end is read. */
	for (size_t n = 0; n < 80; n++) {
		char *exact = malloc(n ? n : 1);

		memcpy(exact, "0::/kubepods/podx/" ID, n);
		cgroup_parse(exact, n, &got);
		assert_int_equal(got.container[0] != '\0', n > 18);
		free(exact);
	}
}

static void shown(void **state)
{
	static const char docker[] = "0::/docker/" ID "\n", lxc[] = "0::/lxc/abcdefghijklmnop/\n";
	char got[80];

	(void)state;
	cgroup_container(docker, strlen(docker), got, sizeof(got));
	assert_string_equal(got, "0123456789ab");
	cgroup_container(lxc, strlen(lxc), got, sizeof(got));
	assert_string_equal(got, "abcdefghijklmnop");
	cgroup_container(lxc, strlen(lxc), got, 4);
	assert_string_equal(got, "abc");
	cgroup_container("", 0, got, sizeof(got));
	assert_string_equal(got, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines), cmocka_unit_test(pods),    cmocka_unit_test(units),
		cmocka_unit_test(nothing), cmocka_unit_test(hostile), cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
