#include "jvm-bridge/attach/attach.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jvm-bridge/attach/attach_child.h"
#include "jvm-bridge/attach/confine.h"
#include "jvm-bridge/attach/protocol.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

/* The longest that the child can take: start, listener, answer, connection. */
enum { PARENT_WAIT_MS = 2 * ATTACH_START_MS + 4 * ATTACH_WAIT_MS, STOP_WAIT_MS = 500 };

struct attach {
	pid_t child;
	int fd; /* sends one wish, receives one reply */
	unsigned patience_ms;
	uint64_t deadline_ns; /* of the wish */
};

/* All that the parent can still decide: it has parsed what the target says. */
struct wish {
	uint8_t wake; /* not bool, which has no value for every byte */
};

/* May carry a descriptor; text follows. */
struct reply {
	int32_t result; /* 0 or -errno */
	int32_t agent_code;
	char msg[400]; /* what failed */
};

static int transfer(int fd, void *bytes, size_t len, bool out)
{
	for (char *p = bytes; len;) {
		ssize_t n = out ? send(fd, p, len, MSG_NOSIGNAL) : recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* --- in the child --- */

union fd_message { /* aligned room for one descriptor, cmsg(3) */
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void send_reply(int parent, struct reply *reply, int fd, const struct buf *text)
{
	struct iovec v = {reply, sizeof(*reply)};
	union fd_message u = {{0}};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = u.room;
		m.msg_controllen = sizeof(u.room);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	/* The socket's buffer is empty, so a reply is sent in one piece. */
	if (sendmsg(parent, &m, MSG_NOSIGNAL) == sizeof(*reply) && text && text->len)
		transfer(parent, text->data, text->len, true);
}

/* Keeps the text after "0\n". */
static int take_answer(struct buf *text, struct err *err)
{
	const char *rest;
	int code;

	if (attach_answer_code(text->data, &code, &rest) < 0 || code != 0)
		return err_set(err, -EPROTO, "the JVM refused: %.60s", text->data);
	text->len -= (size_t)(rest - text->data);
	memmove(text->data, rest, text->len + 1);
	return 0;
}

/* What the child does, and for whom. */
struct work {
	struct proc *proc;
	const struct attach_task *task;
	int parent;
	bool wake;
};

static int ask(const struct work *w, struct buf *text, struct err *err)
{
	CLEANUP(close_at_exit) int jvm = -1;
	struct attach_child in;
	int r = attach_child_enter(w->proc, w->parent, &in, err);

	if (r == 0)
		r = jvm = listener_connect(&in, w->wake, err);
	if (r >= 0)
		r = listener_talk(&in, &jvm, w->task->command, NULL, 0, text, err);
	attach_child_leave(&in);
	return r < 0 ? r : take_answer(text, err);
}

/*
 * A mapping's path, as the target sees it: without the target's root directory, which /proc/PID/maps includes if that
 * root is below this program's. `path` must outlive the result.
 */
static const char *path_inside_root(struct proc *proc, const char *path)
{
	char root[PATH_MAX];
	ssize_t n = readlinkat(proc_dirfd(proc), "root", root, sizeof(root));

	return n > 1 && strncmp(path, root, (size_t)n) == 0 && path[n] == '/' ? path + n : path;
}

static int load(const struct work *w, int *ret_fd, int *ret_code, struct err *err)
{
	struct attach_child in = {.root = -1};
	struct library lib = {0};
	const char *loaded = w->task->loaded ? path_inside_root(w->proc, w->task->loaded) : NULL;
	int r = loaded ? 0 : library_read(w->proc, w->task, &lib, err);

	if (r == 0)
		r = attach_child_enter(w->proc, w->parent, &in, err);
	if (r == 0)
		r = attach_child_load(&in, w->wake, loaded, &lib, ret_fd, ret_code, err);
	attach_child_leave(&in);
	library_done(&lib);
	return r;
}

static void serve(const struct work *w, int confined, struct err *err)
{
	struct reply reply = {.result = confined};
	struct buf text = {0};
	int fd = -1, code = 0;

	if (confined == 0)
		reply.result = w->task->command ? ask(w, &text, err) : load(w, &fd, &code, err);
	reply.agent_code = code;
	if (reply.result < 0)
		memcpy(reply.msg, err->msg, sizeof(reply.msg));
	send_reply(w->parent, &reply, fd, reply.result == 0 ? &text : NULL);
	buf_done(&text);
}

static void child_main(struct proc *proc, const struct attach_task *task, int parent)
{
	struct work w = {.proc = proc, .task = task, .parent = parent};
	struct err err = {0};
	struct wish wish;
	int r;

	/* It ends by itself soon after its parent, after removing its files. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	r = confine_child(proc, parent, &err);
	if (transfer(parent, &wish, sizeof(wish), false) == 0) {
		w.wake = wish.wake != 0;
		serve(&w, r, &err);
	}
	_exit(0);
}

/* --- in the parent --- */

int attach_start(struct proc *proc, const struct attach_task *task, struct attach **ret, struct err *err)
{
	struct attach *a = calloc(1, sizeof(*a));
	int pair[2];

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->patience_ms = PARENT_WAIT_MS;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(a);
		return err_set(err, -errno, "cannot make a pair of sockets: %m");
	}
	a->child = fork();
	if (a->child == 0) {
		close(pair[0]);
		child_main(proc, task, pair[1]);
	}
	close(pair[1]);
	a->fd = pair[0];
	if (a->child < 0) {
		err_set(err, -errno, "cannot start a process: %m");
		attach_stop(a);
		return -EAGAIN;
	}
	*ret = a;
	return 0;
}

void attach_stop(struct attach *a)
{
	if (!a)
		return;
	close(a->fd);
	/*
	 * While the child waits for a wish or an answer it notices the end at once. After it has sent SIGQUIT it
	 * must wait until the JVM has opened its listener, or the JVM would print its threads: that wait may exceed
	 * this one.
	 */
	if (a->child > 0)
		channel_child_ends(a->child, STOP_WAIT_MS);
	free(a);
}

void attach_cancel(struct attach *a)
{
	if (a)
		shutdown(a->fd, SHUT_RDWR);
}

void attach_set_patience(struct attach *a, unsigned ms)
{
	a->patience_ms = ms;
}

/* A child that was taken over is ended when it tries more than it needs. */
static int ended_early(struct attach *a, struct err *err)
{
	int status = 0;

	for (int ms = 0; a->child > 0 && ms < STOP_WAIT_MS; ms += ATTACH_POLL_MS) {
		if (waitpid(a->child, &status, WNOHANG) == a->child)
			a->child = 0;
		else
			poll(NULL, 0, ATTACH_POLL_MS);
	}
	if (!a->child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return err_set(
			err, -EPIPE,
			"the attaching process tried a system call that is not allowed there, and was ended; the "
			"JVM may have taken it over");
	return err_set(err, -EPIPE, "the attaching process ended early");
}

static int send_wish(struct attach *a, bool wake, struct err *err)
{
	struct wish wish = {.wake = wake};
	int r = transfer(a->fd, &wish, sizeof(wish), true);

	a->deadline_ns = clock_monotonic_ns() + a->patience_ms * UINT64_C(1000000);
	return r < 0 ? ended_early(a, err) : 0;
}

static int wait_readable(struct attach *a, struct err *err)
{
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	int r;

	do {
		uint64_t now = clock_monotonic_ns();

		r = poll(&p, 1, now < a->deadline_ns ? (int)((a->deadline_ns - now) / 1000000) + 1 : 0);
	} while (r < 0 && errno == EINTR);
	return r > 0 ? 0 :
		       err_set(err, -ETIMEDOUT, "the JVM did not answer within %.1f s", (double)a->patience_ms / 1000);
}

static void take_descriptor(struct msghdr *m, int *ret_fd)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
}

static int receive_reply(struct attach *a, struct reply *reply, int *ret_fd, struct err *err)
{
	struct iovec v = {reply, sizeof(*reply)};
	union fd_message u = {{0}};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = u.room, .msg_controllen = sizeof(u.room)};
	int r = wait_readable(a, err);

	if (r < 0)
		return r;
	if (recvmsg(a->fd, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof(*reply))
		return ended_early(a, err);
	take_descriptor(&m, ret_fd);
	reply->msg[sizeof(reply->msg) - 1] = '\0';
	return reply->result < 0 ? err_set(err, reply->result, "%s", reply->msg) : 0;
}

static int read_text(struct attach *a, struct buf *b, struct err *err)
{
	char block[16384];

	for (;;) {
		int r = wait_readable(a, err);
		ssize_t n = r == 0 ? recv(a->fd, block, sizeof(block), 0) : 0;

		if (r < 0 || n <= 0)
			return r < 0 ? r : n < 0 ? err_set(err, -errno, "attach: %m") : 0;
		buf_add(b, block, (size_t)n);
		if (b->failed || b->len > ATTACH_MAX_ANSWER)
			return err_set(err, -EFBIG, "the JVM's answer is too long");
	}
}

int attach_ask(struct attach *a, bool wake, char **ret, size_t *ret_len, struct err *err)
{
	struct reply reply;
	struct buf b = {0};
	int fd = -1, r = send_wish(a, wake, err);

	if (r == 0)
		r = receive_reply(a, &reply, &fd, err);
	if (r == 0)
		r = read_text(a, &b, err);
	if (r == 0) {
		*ret_len = b.len;
		*ret = b.data ? take_ptr(b.data) : strdup(""); /* nothing after "0\n" */
		r = *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	buf_done(&b);
	return r;
}

int attach_load(struct attach *a, bool wake, int *ret_fd, int *ret_code, struct err *err)
{
	struct reply reply = {0};
	int r = send_wish(a, wake, err);

	*ret_fd = -1;
	if (r == 0)
		r = receive_reply(a, &reply, ret_fd, err);
	*ret_code = reply.agent_code;
	if (r == 0 && *ret_fd < 0)
		r = err_set(err, -EPROTO, "the attaching process sent no connection");
	return r;
}
