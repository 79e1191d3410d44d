#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/daemon/host/listening.h"
#include "symbolizer/base/err.h"

static char dir[64], path[80];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/jsampler-token-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/token", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void write_token(const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static int read_token(char dst[LISTENING_TOKEN_MAX + 1])
{
	struct err e = {0};
	int r = listening_token(path, dst, &e);

	if (r < 0)
		assert_non_null(strstr(e.msg, "token_file"));
	return r;
}

static void tokens(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{"0123456789abcdef", 0},         {"0123456789abcdef\n", 0},
		{"0123456789abcdef\r\nmore", 0}, {"0123456789abcde", -EINVAL},
		{"0123456789abcde\nf", -EINVAL}, {"", -EINVAL},
		{"\n0123456789abcdef", -EINVAL}, {"0123456789 abcdef", -EINVAL},
		{"0123456789\tabcdef", -EINVAL}, {"0123456789abcd\xc3\xa4", -EINVAL},
	};
	char dst[LISTENING_TOKEN_MAX + 1], longest[LISTENING_TOKEN_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_token(rows[i].text, strlen(rows[i].text), 0600);
		if (read_token(dst) != rows[i].r)
			fail_msg("'%s'", rows[i].text);
		if (!rows[i].r)
			assert_string_equal(dst, "0123456789abcdef");
	}
	memset(longest, 'x', sizeof(longest));
	write_token(longest, LISTENING_TOKEN_MAX, 0600);
	assert_int_equal(read_token(dst), 0);
	assert_int_equal(strlen(dst), LISTENING_TOKEN_MAX);
	write_token(longest, LISTENING_TOKEN_MAX + 1, 0600);
	assert_int_equal(read_token(dst), -EINVAL);
	write_token("0123456789abcdef\0x", 18, 0600);
	assert_int_equal(read_token(dst), 0);
}

static void files_of_others(void **state)
{
	static const mode_t wrong[] = {0644, 0604, 0620, 0602, 0666};
	char dst[LISTENING_TOKEN_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_token("0123456789abcdef", 16, wrong[i]);
		assert_int_equal(read_token(dst), -EPERM);
	}
	write_token("0123456789abcdef", 16, 0440); /* as systemd passes credentials */
	assert_int_equal(read_token(dst), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, 0), 0);
		assert_int_equal(read_token(dst), -EPERM);
	}
	unlink(path);
	assert_int_equal(read_token(dst), -ENOENT);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(read_token(dst), -ELOOP);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_token(dst), -EPERM);
}

static void addresses(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{"0.0.0.0:7117", -EOPNOTSUPP},
		{"192.168.1.1:80", -EOPNOTSUPP},
		{"[::]:80", -EOPNOTSUPP},
		{"[2001:db8::1]:80", -EOPNOTSUPP},
		{"[::ffff:127.0.0.1]:80", -EOPNOTSUPP},
		{"localhost:80", -EINVAL},
		{"127.0.0.1", -EINVAL},
		{"127.0.0.1:0", -EINVAL},
		{"127.0.0.1:65536", -EINVAL},
		{"::1:80", -EINVAL},
		{"[::1:80", -EINVAL},
		{"", -EINVAL},
		{":80", -EINVAL},
		{"[]:80", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};
		int fd = -1;

		if (listening_tcp(rows[i].text, &fd, &e) != rows[i].r || fd != -1 || !strstr(e.msg, "listen"))
			fail_msg("'%s'", rows[i].text);
	}
}

/* Takes the first port that is free, and none twice. */
static void listens(void **state)
{
	int fd = -1, other = -1, is = 0;
	socklen_t len = sizeof(is);
	char text[32];

	(void)state;
	for (int port = 27117; fd < 0 && port < 27217; port++) {
		snprintf(text, sizeof(text), "127.0.0.1:%d", port);
		listening_tcp(text, &fd, NULL);
	}
	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &len), 0);
	assert_true(is);
	assert_int_equal(listening_tcp(text, &other, NULL), -EADDRINUSE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tokens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_of_others, set_up, tear_down),
		cmocka_unit_test(addresses),
		cmocka_unit_test(listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
