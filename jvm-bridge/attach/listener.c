#include "jvm-bridge/attach/attach_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "jvm-bridge/attach/protocol.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/path_in_root.h"

/* Opens the socket itself, not the target of a link, and only if the JVM's user owns it. */
static int find_socket(const struct attach_child *in, struct err *err)
{
	CLEANUP(close_at_exit) int fd = -1, tmp = path_in_root_open(in->root, "/tmp");
	struct stat s;
	char path[64];

	if (tmp < 0)
		return tmp;
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)in->st.ns_pid);
	fd = openat(tmp, strrchr(path, '/') + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &s) < 0 || !S_ISSOCK(s.st_mode))
		return err_set(err, -EPERM, "%s in the JVM's root is not a socket: remove it", path);
	/* The JVM removes what an earlier process with its PID left there, if it may. */
	if (s.st_uid != in->st.euid)
		return err_set(
			err, -EPERM,
			"%s in the JVM's root belongs to user %u, not to the JVM's (left by an earlier process with "
			"that PID?): remove it",
			path, (unsigned)s.st_uid);
	return take_fd(&fd);
}

/*
 * connect(2) can reach a socket by its O_PATH descriptor only through the link in /proc. -EAGAIN: the queue of
 * connections not yet accepted is full.
 */
static int connect_to(int socket_path)
{
	CLEANUP(close_at_exit) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", socket_path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return take_fd(&fd);
}

static int check_peer(const struct attach_child *in, int fd, struct err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.pid == proc_pid(in->proc))
		return 0;
	return err_set(
		err, -EPERM,
		"another process (PID %d) listens at the JVM's /tmp/.java_pid%d: do two containers share a /tmp?",
		(int)peer.pid, (int)in->st.ns_pid);
}

static uint64_t wait_end_ns(void)
{
	return clock_monotonic_ns() + ATTACH_WAIT_MS * UINT64_C(1000000);
}

/* -ENOENT: nobody listens; the socket of a dead process refuses connections. `err` may or may not be set. */
static int try_listener(struct attach_child *in, struct err *err)
{
	CLEANUP(close_at_exit) int path = find_socket(in, err), fd = -1;
	uint64_t end = wait_end_ns();
	int r = path;

	if (path < 0)
		return path;
	while ((r = fd = connect_to(path)) == -EAGAIN && clock_monotonic_ns() < end) {
		r = attach_child_wait(in, -1, 0, ATTACH_POLL_MS);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	r = check_peer(in, fd, err);
	return r < 0 ? r : take_fd(&fd);
}

static int send_signal(struct proc *proc, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, proc_pid(proc), 0), r;

	if (!proc_alive(proc)) {
		r = -ESRCH;
	} else if (fd >= 0) {
		r = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 ? -errno : 0;
	} else {
		r = kill(proc_pid(proc), sig) < 0 ? -errno : 0; /* kernels before 5.3 */
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* Continues even if the answer is no longer wanted: the trigger file must stay until the JVM has looked for it. */
static int wait_for_listener(struct attach_child *in, struct err *err)
{
	uint64_t end = wait_end_ns();
	int r = -ETIMEDOUT;

	while (clock_monotonic_ns() < end && proc_alive(in->proc)) {
		poll(NULL, 0, ATTACH_POLL_MS);
		r = try_listener(in, err);
		if (r >= 0 || r == -ECANCELED)
			return r;
	}
	if (!proc_alive(in->proc))
		return -ESRCH;
	return r == -ENOENT ? -ETIMEDOUT : r;
}

static int trigger_make(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST) {
		/* From another process that is attaching or was killed; the JVM does not care whose it is. */
		unlinkat(dir, name, 0);
		fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* The directory for the JVM's socket. Checked before signalling: without it there can be no socket. */
static int open_tmp(struct attach_child *in, struct err *err)
{
	CLEANUP(close_at_exit) int dir = path_in_root_open(in->root, "/tmp");
	char link[40];

	if (dir < 0)
		return err_set(err, dir, "the JVM has no /tmp in its root, where its attach socket must be");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	if (faccessat(AT_FDCWD, link, W_OK | X_OK, AT_EACCESS) < 0)
		return err_set(err, -errno, "the JVM cannot write to its /tmp, where its attach socket must be: %m");
	return take_fd(&dir);
}

/* Creates the empty file that makes the JVM take SIGQUIT as "attach", not as "print your threads". */
static int wake_listener(struct attach_child *in, struct err *err)
{
	CLEANUP(close_at_exit) int dir = open_tmp(in, err);
	char name[64];
	int r;

	if (dir < 0)
		return dir;
	/* If not caught, the signal ends the JVM; a stopped JVM would look for the trigger when it is gone. */
	r = attach_child_wait_started(in, err);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), ".attach_pid%d", (int)in->st.ns_pid);
	r = trigger_make(dir, name);
	if (r < 0)
		return err_set(err, r, "cannot make /tmp/%s: %s", name, strerror(-r));
	r = send_signal(in->proc, SIGQUIT);
	if (r == 0)
		r = wait_for_listener(in, err);
	/* Stopped meanwhile: the signal is pending, and without the file the JVM would print its threads later. */
	if (r != -ETIMEDOUT || attach_child_check_running(in, err) != -EAGAIN)
		unlinkat(dir, name, 0);
	else
		return r;
	if (r == -ETIMEDOUT)
		return err_set(err, r, "the JVM did not open its attach socket in %d s", ATTACH_WAIT_MS / 1000);
	return r == -ESRCH ? err_set(err, r, "the JVM ended") : r;
}

int listener_connect(struct attach_child *in, bool wake, struct err *err)
{
	int r;

	err->msg[0] = '\0';
	r = try_listener(in, err);
	/* A stopped JVM accepts the connection but never answers. */
	if (r >= 0 && attach_child_check_running(in, err) < 0) {
		close(r);
		return err->code;
	}
	if (r == -ENOENT && wake)
		r = wake_listener(in, err);
	if (r >= 0 || err->msg[0])
		return r;
	if (r == -ENOENT)
		return err_set(err, r, "the JVM has no attach listener yet");
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r, "not allowed to connect to the JVM's attach socket");
	return err_set(err, r, "cannot connect to the JVM's attach socket: %s", strerror(-r));
}

static int send_all(struct attach_child *in, int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 &&
		    (errno == EINTR || (errno == EAGAIN && attach_child_wait(in, fd, POLLOUT, ATTACH_WAIT_MS) > 0)))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Limits the time for the whole answer: a JVM that sends a byte now and then would never finish. */
static int wait_for_answer(struct attach_child *in, int fd, uint64_t end_ns, struct err *err)
{
	uint64_t now = clock_monotonic_ns();
	int r = now < end_ns ? attach_child_wait(in, fd, POLLIN, (int)((end_ns - now) / 1000000) + 1) : -ETIMEDOUT;

	if (r == -ETIMEDOUT)
		return err_set(err, r, "the JVM did not answer in time");
	return r < 0 ? err_set(err, r, "no one waits for the JVM's answer any more") : r;
}

static int read_answer(struct attach_child *in, int fd, struct buf *b, struct err *err)
{
	uint64_t end = wait_end_ns();
	char block[16384];

	for (;;) {
		int r = wait_for_answer(in, fd, end, err);
		ssize_t n;

		if (r < 0)
			return r;
		n = recv(fd, block, sizeof(block), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0 && errno != ECONNRESET)
			return err_set(err, -errno, "cannot read from the JVM's attach listener: %m");
		if (n <= 0)
			break;
		buf_add(b, block, (size_t)n);
		if (b->failed || b->len > ATTACH_MAX_ANSWER)
			return err_set(err, -EFBIG, "the JVM's answer is too long");
	}
	return b->len ? 0 : err_set(err, -EPIPE, "the JVM closed the connection without an answer: is it ending?");
}

static int ask_version(struct attach_child *in, struct err *err)
{
	CLEANUP(close_at_exit) int fd = listener_connect(in, false, err);
	static const char request[] = "1\0getversion\0\0\0";
	struct buf answer = {0};
	int r = fd;

	if (fd < 0)
		return r;
	r = send_all(in, fd, request, sizeof(request));
	r = r < 0 ? err_set(err, r, "cannot send to the JVM's attach listener: %s", strerror(-r)) :
		    read_answer(in, fd, &answer, err);
	if (r == 0)
		r = attach_answer_version(answer.data);
	buf_done(&answer);
	return r;
}

/* Arguments too long for version 1 need version 2, if the JVM knows it (24 and later). */
static int make_long_request(struct attach_child *in, int *fd, struct buf *b, const char *command,
			     const char *const *args, size_t n, struct err *err)
{
	int version;

	/* The JVM serves one connection at a time, and waits for a command on this one. */
	close(*fd);
	*fd = -1;
	version = ask_version(in, err);
	if (version < 0)
		return version;
	if (version < 2)
		return err_set(err, -E2BIG, "a path is longer than this JVM's attach protocol takes");
	*fd = listener_connect(in, false, err);
	if (*fd < 0)
		return *fd;
	return attach_request_v2(b, command, args, n) < 0 ? err_set(err, -E2BIG, "a path is too long") : 0;
}

int listener_talk(struct attach_child *in, int *fd, const char *command, const char *const *args, size_t n,
		  struct buf *answer, struct err *err)
{
	struct buf b = {0};
	int r = attach_request_v1(&b, command, args, n);

	if (r == -E2BIG)
		r = make_long_request(in, fd, &b, command, args, n, err);
	else if (r < 0)
		err_set(err, r, "out of memory");
	if (r == 0) {
		r = send_all(in, *fd, b.data, b.len);
		/* If the JVM ends meanwhile, its answer, or the lack of one, will show that. */
		r = r < 0 && r != -EPIPE ?
			    err_set(err, r, "cannot send to the JVM's attach listener: %s", strerror(-r)) :
			    read_answer(in, *fd, answer, err);
	}
	buf_done(&b);
	return r;
}
