/*
 * keeper_fill DIR SOCKET TARGETS STEPS [TOKEN]: a keeper of the history in DIR that answers on SOCKET ("-": on none), fed with STEPS
 * steps up to now of each target; step n has its samples n % 5 * 20 ms after its start. A capture of PID 1 brings two samples, one of 2 none, one of 3 does not end, others are refused. Prints "ready", its PID and the port where it asks for the token (0: none) when all is stored, and
 * stops it at the end of stdin. Its status is the keeper's.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/un.h>
#include <time.h>

#include "tests/support/keeper_child.h"

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || chmod(path, 0660) < 0 || listen(fd, 64) < 0)
		abort();
	return fd;
}

static int listen_tcp(unsigned *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		abort();
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void fill(int feed, uint32_t targets, uint32_t steps)
{
	uint64_t now = (uint64_t)time(NULL);

	for (uint32_t i = 0; i < targets; i++)
		feed_target(feed, i, (pid_t)i + 1);
	for (uint32_t n = 0; n < steps; n++)
		for (uint32_t i = 0; i < targets; i++)
			feed_profile(feed, i, now - (uint64_t)n * STORE_STEP_S, n % 5, 1 + i);
	feed_message(feed, &(struct feed_message){.kind = FEED_EVENT,
						  .target = 0,
						  .event = FEED_THROTTLE,
						  .time_ns = now * SECOND,
						  .text = "sampled at 24 Hz: <b>\"cost\"</b>"});
}

/* As the daemon's first process. */
static void answer_capture(const struct keeper_child *k)
{
	struct keeper_message m, answer = {.what = KEEPER_FEED};
	int feed[2];

	if (channel_receive(k->control, &m, sizeof(m), NULL) < 0 || m.what != KEEPER_CAPTURE)
		return;
	answer.capture = m.capture;
	if (m.request.pid > 3) {
		answer.what = KEEPER_CAPTURE_REFUSED;
		snprintf(answer.why, sizeof(answer.why), "PID %d is not for you", m.request.pid);
		channel_send(k->control, &answer, sizeof(answer), -1);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed) < 0)
		abort();
	channel_send(k->control, &answer, sizeof(answer), feed[1]);
	close(feed[1]);
	feed_target(feed[0], 0, m.request.pid);
	for (uint32_t i = 0; m.request.pid == 1 && i < 2; i++)
		feed_profile(feed[0], 0, (uint64_t)time(NULL), i, 1);
	if (m.request.pid != 3)
		close(feed[0]);
}

static void wait_for_end(const struct keeper_child *k)
{
	struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = k->control, .events = POLLIN}};

	while (poll(p, 2, -1) > 0 && !p[0].revents)
		answer_capture(k);
}

static void copy_out(int said)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(said, bytes, sizeof(bytes))) > 0)
		if (write(STDERR_FILENO, bytes, (size_t)n) != n)
			return;
}

int main(int argc, char **argv)
{
	struct keeper_options o = {.listener = -1, .tcp = -1, .flush_ns = SECOND / 20, .ring_bytes = 32 << 20};
	struct keeper_child k;
	unsigned port = 0;
	int status;

	if (argc != 5 && argc != 6)
		return 2;
	if (geteuid() == 0 && chown(argv[1], KEEPER_TEST_UID, KEEPER_TEST_UID) < 0)
		return 2;
	if (strcmp(argv[2], "-") != 0)
		o.listener = listen_at(argv[2]);
	if (argc == 6) {
		o.tcp = listen_tcp(&port);
		o.token = argv[5];
	}
	k = keeper_start(argv[1], o);
	if (o.listener >= 0)
		close(o.listener);
	if (keeper_hear(&k) == KEEPER_READY) {
		fill(k.feed, (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
		usleep(300000);
		printf("ready %d %u\n", k.pid, port);
		fflush(stdout);
		wait_for_end(&k);
	}
	keeper_tell(&k, KEEPER_STOP, -1);
	shutdown(k.feed, SHUT_WR);
	copy_out(k.said);
	return waitpid(k.pid, &status, 0) == k.pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
