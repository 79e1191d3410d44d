#include "symbolizer/base/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/small_thread.h"

enum { SPARE_FDS = 4 };

/* LOOK_MS: how often to look for the parent without a pidfd. GRACE_MS: for this process to end by itself. */
enum { LOOK_MS = 500, GRACE_MS = 5000, TICK_MS = 5 };

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE((CHANNEL_FDS_MAX + SPARE_FDS) * sizeof(int))];
};

int channel_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int channel_start(void (*run)(void *ctx, int socket), void *ctx, int *ret_socket, pid_t *ret_child)
{
	int pair[2], r = channel_pair(pair);

	*ret_socket = -1;
	if (r < 0)
		return r;
	*ret_child = fork();
	if (*ret_child == 0) {
		close(pair[0]);
		run(ctx, pair[1]);
		_exit(0);
	}
	r = *ret_child < 0 ? -errno : 0;
	close(pair[1]);
	if (r == 0)
		*ret_socket = pair[0];
	else
		close(pair[0]);
	return r;
}

void channel_close_others(bool (*own)(const void *ctx, int fd), const void *ctx)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int fd = atoi(e->d_name); /* 0 (stdin) for "." and ".." */

		if (fd > STDERR_FILENO && fd != dirfd(dir) && !own(ctx, fd))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

void channel_stay_behind(bool (*own)(const void *ctx, int fd), const void *ctx)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(null);
	}
	if (own)
		channel_close_others(own, ctx);
}

struct watch {
	int socket;
	pid_t other;
};

/* PR_SET_PDEATHSIG does not work, since the parent has given up the privilege to signal this process. */
static void *watch(void *arg)
{
	struct watch w = *(struct watch *)arg;
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, w.other, 0), .events = POLLIN};

	free(arg);
	while (getppid() == w.other && poll(&p, 1, p.fd < 0 ? LOOK_MS : -1) <= 0)
		;
	shutdown(w.socket, SHUT_RDWR);
	poll(NULL, 0, GRACE_MS);
	_exit(1);
}

int channel_end_with(int socket, pid_t other)
{
	struct watch *w = malloc(sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct watch){socket, other};
	r = small_thread_start(watch, w);
	if (r < 0)
		free(w);
	return r;
}

void channel_close(int socket)
{
	if (socket < 0)
		return;
	shutdown(socket, SHUT_RDWR);
	close(socket);
}

void channel_end(int socket, pid_t child)
{
	channel_close(socket);
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
}

void channel_end_soon(int socket, pid_t child, int limit_ms)
{
	channel_close(socket);
	if (child > 0)
		channel_child_ends(child, limit_ms);
}

bool channel_child_ends(pid_t child, int limit_ms)
{
	uint64_t start_ns = clock_monotonic_ns();

	while (waitpid(child, NULL, WNOHANG) == 0) {
		uint64_t ms = (clock_monotonic_ns() - start_ns) / 1000000;

		if (ms >= (uint64_t)limit_ms)
			return false;
		poll(NULL, 0, ms < TICK_MS ? 1 : TICK_MS);
	}
	return true;
}

static void attach(struct msghdr *m, union control *c, const int *fds, size_t n)
{
	struct cmsghdr *h;

	m->msg_control = c->bytes;
	m->msg_controllen = CMSG_SPACE(n * sizeof(*fds));
	h = CMSG_FIRSTHDR(m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(n * sizeof(*fds));
	memcpy(CMSG_DATA(h), fds, n * sizeof(*fds));
}

int channel_send_fds(int socket, const void *message, size_t size, const int *fds, size_t count)
{
	struct iovec io = {(void *)message, size};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	union control control;
	ssize_t n;

	if (count > CHANNEL_FDS_MAX)
		return -EINVAL;
	if (count) {
		memset(&control, 0, CMSG_SPACE(count * sizeof(*fds)));
		attach(&m, &control, fds, count);
	}
	do
		n = sendmsg(socket, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return (size_t)n == size ? 0 : -EPROTO;
}

int channel_send(int socket, const void *message, size_t size, int fd)
{
	return channel_send_fds(socket, message, size, &fd, fd >= 0);
}

/* Stores the first `max` descriptors, and closes the others. Returns the number of all. */
static size_t take_descriptors(struct msghdr *m, int *fds, size_t max)
{
	size_t count = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = h->cmsg_len < CMSG_LEN(0) ? 0 : (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (count < max)
				fds[count] = fd;
			else
				close(fd);
		}
	}
	return count;
}

int channel_receive_fds(int socket, void *ret, size_t size, int *fds, size_t max, size_t *ret_n)
{
	struct iovec io = {ret, size};
	union control control;
	/* Room for more than what is allowed, so that unwanted descriptors are received, and can be closed. */
	struct msghdr m = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE((max + SPARE_FDS) * sizeof(int)),
	};
	size_t count;
	ssize_t n;

	*ret_n = 0;
	if (max > CHANNEL_FDS_MAX)
		return -EINVAL;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	/* An empty message, which looks like the end, may also carry descriptors. */
	count = take_descriptors(&m, fds, max);
	if ((size_t)n != size || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || count > max) {
		close_all(fds, count < max ? count : max);
		return n == 0 ? -EPIPE : -EPROTO;
	}
	*ret_n = count;
	return 0;
}

int channel_receive(int socket, void *ret, size_t size, int *ret_fd)
{
	int fd = -1, r;
	size_t n;

	r = channel_receive_fds(socket, ret, size, &fd, ret_fd ? 1 : 0, &n);
	if (ret_fd)
		*ret_fd = n ? fd : -1;
	return r;
}
