#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/channel.h"

struct message {
	uint32_t what;
	char text[60];
};

static int setup(void **state)
{
	static int pair[2];

	*state = pair;
	return channel_pair(pair);
}

static int teardown(void **state)
{
	int *pair = *state;

	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* Any number of descriptors, and any size: what no honest end sends. */
static void send_raw(int socket, const void *bytes, size_t size, const int *fds, size_t n)
{
	struct iovec io = {(void *)bytes, size};
	char control[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	struct cmsghdr *h;

	if (n) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	}
	assert_int_equal(sendmsg(socket, &m, 0), size);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void carries_a_message_and_a_descriptor(void **state)
{
	int *pair = *state, fd = -1;
	struct message m = {7, "seven"}, got;
	char byte;
	int pipe_ends[2];

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(channel_send(pair[0], &m, sizeof(m), pipe_ends[0]), 0);
	assert_int_equal(channel_receive(pair[1], &got, sizeof(got), &fd), 0);
	assert_memory_equal(&got, &m, sizeof(m));
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(channel_send(pair[0], &m, sizeof(m), -1), 0);
	close(fd);
	assert_int_equal(channel_receive(pair[1], &got, sizeof(got), &fd), 0);
	assert_int_equal(fd, -1);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

static void carries_many_descriptors(void **state)
{
	int *pair = *state, before = descriptors(), out[CHANNEL_FDS_MAX + 1], got[CHANNEL_FDS_MAX];
	struct message m = {7, "seven"};
	size_t n;

	for (size_t i = 0; i <= CHANNEL_FDS_MAX; i++)
		out[i] = (int)(i % 3);
	assert_int_equal(channel_send_fds(pair[0], &m, sizeof(m), out, CHANNEL_FDS_MAX + 1), -EINVAL);
	for (size_t max = CHANNEL_FDS_MAX; max > 0; max--) {
		assert_int_equal(channel_send_fds(pair[0], &m, sizeof(m), out, max), 0);
		assert_int_equal(channel_receive_fds(pair[1], &m, sizeof(m), got, max, &n), 0);
		assert_int_equal(n, max);
		close_all(got, n);
		assert_int_equal(channel_send_fds(pair[0], &m, sizeof(m), out, max), 0);
		assert_int_equal(channel_receive_fds(pair[1], &m, sizeof(m), got, max - 1, &n), -EPROTO);
		assert_int_equal(n, 0);
		assert_int_equal(descriptors(), before);
	}
}

static void tells_the_end(void **state)
{
	int *pair = *state;
	struct message m = {0};

	close(pair[0]);
	assert_int_equal(channel_receive(pair[1], &m, sizeof(m), NULL), -EPIPE);
	assert_int_equal(channel_send(pair[1], &m, sizeof(m), -1), -EPIPE);
	pair[0] = open("/dev/null", O_RDONLY);
}

/* What looks like the other end's end, and is none: its descriptor is closed all the same. */
static void closes_those_of_an_empty_message(void **state)
{
	const int out[1] = {0};
	int *pair = *state, before = descriptors(), fd = 99;
	struct message m;

	send_raw(pair[0], "", 0, out, 1);
	assert_int_equal(channel_receive(pair[1], &m, sizeof(m), &fd), -EPIPE);
	assert_int_equal(fd, -1);
	assert_int_equal(descriptors(), before);
}

/* A message of another size, one descriptor that was not asked for, several, more than there is room for. */
static void refuses_and_closes(void **state)
{
	static const struct {
		size_t size, fds;
		int asked;
	} wrong[] = {{1, 0, 1},  {63, 0, 1}, {65, 0, 1}, {63, 1, 1}, {65, 1, 1},
		     {64, 1, 0}, {64, 2, 1}, {64, 2, 0}, {64, 8, 1}, {64, 8, 0}};
	const int out[8] = {0, 1, 2, 0, 1, 2, 0, 1};
	const char bytes[65] = "";
	int *pair = *state, before = descriptors();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct message m;
		int fd = 99;

		send_raw(pair[0], bytes, wrong[i].size, out, wrong[i].fds);
		assert_int_equal(channel_receive(pair[1], &m, sizeof(m), wrong[i].asked ? &fd : NULL), -EPROTO);
		assert_int_equal(fd, wrong[i].asked ? -1 : 99);
		assert_int_equal(descriptors(), before);
	}
}

static void serve_until_closed(void *ctx, int socket)
{
	char c;

	(void)ctx;
	while (channel_receive(socket, &c, sizeof(c), NULL) == 0)
		;
}

/* One that was left behind, say, because it cannot be ended. */
static void ends_though_another_process_has_a_copy(void **state)
{
	int socket;
	pid_t child, other;

	(void)state;
	assert_int_equal(channel_start(serve_until_closed, NULL, &socket, &child), 0);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	alarm(30);
	channel_end(socket, child);
	alarm(0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carries_a_message_and_a_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(carries_many_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(closes_those_of_an_empty_message, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_and_closes, setup, teardown),
		cmocka_unit_test(ends_though_another_process_has_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
