#include "sampler/session/attach_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/path_in_root.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"

enum {
	LISTENER_MS = 5000, /* a JVM in a long safepoint is late */
	POLL_MS = 20,
	ANSWER_MS = 10000, /* for each piece of the answer */
	MAX_DUMP = 64 << 20,
	MAX_STAT = 4096,
};

struct attach_helper {
	pid_t child;
	int fd; /* requests out, answers in */
};

/* --- in the child: errors leave as text, it has nobody else to tell --- */

/* The socket, not what a link of its name leads to, and only if it is the target's. */
static int find_socket(int root, const struct proc_status *st)
{
	CLEANUP(close_at_exit) int fd = -1;
	struct stat s;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)st->ns_pid);
	fd = path_in_root_open(root, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &s) < 0 || !S_ISSOCK(s.st_mode) || s.st_uid != st->euid)
		return -EPERM;
	return take_fd(&fd);
}

/* An O_PATH descriptor of a socket can be named to connect(2) only by its link in /proc. */
static int connect_to(int socket_path, pid_t pid)
{
	CLEANUP(close_at_exit) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -errno;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", socket_path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid != pid)
		return -EPERM;
	return take_fd(&fd);
}

static int try_listener(struct proc *proc, int root, const struct proc_status *st)
{
	CLEANUP(close_at_exit) int path = find_socket(root, st);

	return path < 0 ? path : connect_to(path, proc_pid(proc));
}

/* The empty file that tells a JVM that SIGQUIT means "attach", not "print your threads". */
static int open_trigger_dir(struct proc *proc, int root)
{
	int dir = path_in_root_open(root, "/tmp");

	return dir >= 0 ? dir : openat(proc_dirfd(proc), "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int signal_process(struct proc *proc, int sig)
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

static int wait_for_listener(struct proc *proc, int root, const struct proc_status *st)
{
	int r = -ETIMEDOUT;

	for (int ms = 0; ms < LISTENER_MS; ms += POLL_MS) {
		poll(NULL, 0, POLL_MS);
		r = try_listener(proc, root, st);
		if (r >= 0)
			break;
	}
	return r;
}

/* Asked again in the last moment: uncaught the signal ends the JVM, and a stopped JVM would find it
 * only when the trigger is gone. */
static bool may_signal(struct proc *proc, const struct proc_status *st)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_stat stat;
	size_t len;

	return st->sig_caught >> (SIGQUIT - 1) & 1 &&
	       proc_read(proc, "stat", MAX_STAT, &text, &len) == 0 &&
	       proc_stat_parse(text, &stat) == 0 && stat.state != 'T' && stat.state != 't';
}

static int wake_listener(struct proc *proc, int root, const struct proc_status *st)
{
	CLEANUP(close_at_exit) int dir = -1;
	char name[64];
	int fd, r;

	if (!may_signal(proc, st))
		return -ENOENT;
	dir = open_trigger_dir(proc, root);
	snprintf(name, sizeof(name), ".attach_pid%d", (int)st->ns_pid);
	fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	r = signal_process(proc, SIGQUIT);
	if (r == 0)
		r = wait_for_listener(proc, root, st);
	unlinkat(dir, name, 0);
	return r;
}

/* The JVM asks the kernel who is at the other end: it must be its own user (some accept root too). */
static int become(const struct proc_status *st)
{
	if (st->euid == geteuid() && st->egid == getegid())
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(st->egid, st->egid, st->egid) < 0 ||
	    setresuid(st->euid, st->euid, st->euid) < 0)
		return -errno;
	return 0;
}

static int send_all(int fd, const void *bytes, size_t len)
{
	for (const char *p = bytes; len;) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy_answer(int from, int to)
{
	char block[16384];
	size_t total = 0;

	for (;;) {
		ssize_t n = recv(from, block, sizeof(block), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		total += (size_t)n;
		if (total > MAX_DUMP)
			return -EFBIG;
		if (send_all(to, block, (size_t)n) < 0)
			return -EPIPE;
	}
}

/* First byte to the parent: 'y' and the answer follows, or the negative errno as one byte. */
static int serve(struct proc *proc, int parent, bool wake)
{
	/* Version 1: always three arguments. */
	static const char request[] = "1\0threaddump\0\0\0";
	CLEANUP(close_at_exit) int root = -1, jvm = -1;
	struct proc_status st;
	int r = proc_status(proc, &st);

	if (r < 0)
		return r;
	root = openat(proc_dirfd(proc), "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	r = become(&st);
	if (r < 0)
		return r;
	jvm = try_listener(proc, root, &st);
	if (jvm < 0 && wake)
		jvm = wake_listener(proc, root, &st);
	if (jvm < 0)
		return jvm == -ECONNREFUSED ? -ENOENT : jvm;
	r = send_all(jvm, request, sizeof(request));
	if (r == 0)
		r = send_all(parent, "y", 1);
	return r < 0 ? r : copy_answer(jvm, parent);
}

static void helper_main(struct proc *proc, int parent)
{
	unsigned char byte;
	int r;

	/* It ends by itself soon after its parent did, and takes the trigger file away first. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (recv(parent, &byte, 1, 0) != 1)
		_exit(0);
	r = serve(proc, parent, byte == 'w');
	if (r < 0) {
		byte = (unsigned char)-r;
		send_all(parent, &byte, 1);
	}
	_exit(0);
}

/* --- in the parent --- */

int attach_helper_start(struct proc *proc, struct attach_helper **ret, struct err *err)
{
	struct attach_helper *h = calloc(1, sizeof(*h));
	int pair[2];

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(h);
		return err_set(err, -errno, "cannot make a pair of sockets: %m");
	}
	h->child = fork();
	if (h->child == 0) {
		close(pair[0]);
		helper_main(proc, pair[1]);
	}
	close(pair[1]);
	h->fd = pair[0];
	if (h->child < 0) {
		attach_helper_stop(h);
		return err_set(err, -errno, "cannot start a process: %m");
	}
	*ret = h;
	return 0;
}

static int wait_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r = poll(&p, 1, ms);

	return r > 0 ? 0 : r < 0 ? -errno : -ETIMEDOUT;
}

static int read_answer(int fd, struct buf *b)
{
	char block[16384];

	for (;;) {
		int r = wait_readable(fd, LISTENER_MS + 2 * ANSWER_MS);
		ssize_t n = r == 0 ? recv(fd, block, sizeof(block), 0) : -1;

		if (n <= 0)
			return r < 0 ? r : n < 0 ? -errno : 0;
		buf_add(b, block, (size_t)n);
		if (b->failed || b->len > MAX_DUMP + 1)
			return -EFBIG;
	}
}

static int explain(int r, struct err *err)
{
	switch (r) {
	case -ENOENT:
		return err_set(err, r, "the JVM has no attach listener yet");
	case -ETIMEDOUT:
	case -EAGAIN:
		return err_set(err, r, "the JVM did not answer in time");
	case -EPERM:
	case -EACCES:
		return err_set(err, r, "not allowed to connect to the JVM's attach socket");
	default:
		return err_set(err, r, "attach: %s", strerror(-r));
	}
}

/* "0\n" and the text; anything else is the JVM's own complaint. */
static int check_answer(struct buf *b, char **ret, size_t *ret_len, struct err *err)
{
	if (b->len < 3 || b->data[0] != 'y')
		return explain(b->len == 1 ? -(int)(unsigned char)b->data[0] : -EPROTO, err);
	if (strncmp(b->data + 1, "0\n", 2) != 0)
		return err_set(err, -EPROTO, "the JVM refused: %.60s", b->data + 1);
	*ret_len = b->len - 3;
	memmove(b->data, b->data + 3, *ret_len + 1);
	*ret = take_ptr(b->data);
	return 0;
}

int attach_helper_dump(struct attach_helper *h, bool wake, char **ret, size_t *ret_len,
		       struct err *err)
{
	struct buf b = {0};
	int r = send_all(h->fd, wake ? "w" : "-", 1);

	if (r == 0)
		r = read_answer(h->fd, &b);
	r = r < 0 ? explain(r, err) : check_answer(&b, ret, ret_len, err);
	buf_done(&b);
	return r;
}

void attach_helper_stop(struct attach_helper *h)
{
	if (!h)
		return;
	close(h->fd);
	if (h->child > 0) {
		kill(h->child, SIGKILL);
		waitpid(h->child, NULL, 0);
	}
	free(h);
}
