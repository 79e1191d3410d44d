#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/daemon/service/notify.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

static char got[1000];

/* A manager's socket; its name, as the environment has it, in `name`. */
static int manager(const char *form, char *name, size_t size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	size_t n = (size_t)snprintf(name, size, form, (int)getpid());

	memcpy(a.sun_path, name, n);
	if (*name == '@')
		a.sun_path[0] = '\0';
	else
		unlink(name);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)), 0);
	return fd;
}

static const char *received(int fd)
{
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

static void messages(void **state)
{
	static const char *const forms[] = {"/tmp/jsampler-test-notify-%d", "@jsampler-test-notify-%d"};
	unsigned long long us;
	struct notify n;
	char name[100];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd = manager(forms[i], name, sizeof(name));

		setenv("NOTIFY_SOCKET", name, 1);
		setenv("WATCHDOG_USEC", "60000000", 1);
		assert_int_equal(notify_open(&n, NULL), 0);
		assert_true(n.watchdog_ns == UINT64_C(30000000000));
		assert_null(getenv("NOTIFY_SOCKET"));
		assert_null(getenv("WATCHDOG_USEC"));
		notify_ready(&n, "samples 3 JVMs");
		assert_string_equal(received(fd), "READY=1\nSTATUS=samples 3 JVMs");
		notify_status(&n, "a\nREADY=0\x1b");
		assert_string_equal(received(fd), "STATUS=a?READY=0?");
		notify_watchdog(&n);
		assert_string_equal(received(fd), "WATCHDOG=1");
		notify_reloading(&n);
		assert_int_equal(sscanf(received(fd), "RELOADING=1\nMONOTONIC_USEC=%llu", &us), 1);
		assert_in_range(clock_monotonic_ns() / 1000 - us, 0, 5000000);
		notify_stopping(&n);
		assert_string_equal(received(fd), "STOPPING=1");
		/* A manager that does not read, and one that has gone, hold nobody up. */
		for (unsigned k = 0; k < 2000; k++)
			notify_watchdog(&n);
		close(fd);
		notify_watchdog(&n);
		notify_close(&n);
		if (*name == '/')
			unlink(name);
	}
}

static void nobody(void **state)
{
	struct notify n;

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "60000000", 1);
	assert_int_equal(notify_open(&n, NULL), 0);
	assert_true(n.fd == -1 && n.watchdog_ns == 0);
	notify_ready(&n, "x");
	notify_watchdog(&n);
	notify_close(&n);
}

static void wrong(void **state)
{
	static const char *const names[] = {"relative", "@", "/tmp/jsampler-no-such-socket", "vsock:2:1234"};
	char long_one[200];
	struct notify n;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		assert_true(notify_open(&n, &e) < 0);
		assert_int_equal(n.fd, -1);
		assert_non_null(strstr(e.msg, names[i]));
	}
	memset(long_one, 'x', sizeof(long_one));
	long_one[0] = '/';
	long_one[108] = '\0';
	setenv("NOTIFY_SOCKET", long_one, 1);
	assert_int_equal(notify_open(&n, &e), -EINVAL);
}

/* WATCHDOG_PID: the variables may have been meant for another process. */
static void watchdog_of_another(void **state)
{
	static const char *const rows[][2] = {
		{"60000000", "1"}, {"60000000", "x"}, {"0", NULL}, {"-1", NULL}, {"x", NULL}};
	struct notify n;
	char name[100];
	int fd = manager("@jsampler-test-notify-%d", name, sizeof(name));

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		setenv("NOTIFY_SOCKET", name, 1);
		setenv("WATCHDOG_USEC", rows[i][0], 1);
		if (rows[i][1])
			setenv("WATCHDOG_PID", rows[i][1], 1);
		assert_int_equal(notify_open(&n, NULL), 0);
		assert_null(getenv("WATCHDOG_PID"));
		assert_true(n.watchdog_ns == 0);
		notify_close(&n);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages),
		cmocka_unit_test(nobody),
		cmocka_unit_test(wrong),
		cmocka_unit_test(watchdog_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
