#include "jvm-bridge/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jvm-bridge/attach/inside.h"
#include "jvm-bridge/attach/protocol.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

/* The longest that the child can take: start, listener, answer, connection. */
enum {
	PARENT_WAIT_MS = 2 * ATTACH_START_MS + 4 * ATTACH_WAIT_MS,
	MAX_PATH = 4096,
	MAX_COMMAND = 16,
	STOP_WAIT_MS = 500
};

struct attach {
	pid_t child;
	int fd; /* sends one request, receives one reply */
	unsigned patience_ms;
	uint64_t deadline_ns; /* of the current request */
};

enum { ASK, LOAD };

/* Both ends are the same program, so the struct is passed as it is. */
struct request {
	uint8_t what, wake;
	char command[MAX_COMMAND];
	char library[MAX_PATH], musl_library[MAX_PATH], loaded[MAX_PATH]; /* "": none */
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

static int ask(struct proc *proc, int parent, const struct request *q, struct buf *text, struct err *err)
{
	CLEANUP(close_at_exit) int jvm = -1;
	struct inside in;
	int r = inside_enter(proc, parent, &in, err);

	if (r == 0)
		r = jvm = listener_connect(&in, q->wake, err);
	if (r >= 0)
		r = listener_talk(&in, &jvm, q->command, NULL, 0, text, err);
	inside_leave(&in);
	return r < 0 ? r : take_answer(text, err);
}

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

static int load(struct proc *proc, int parent, const struct request *q, int *ret_fd, int *ret_code, struct err *err)
{
	const struct attach_load l = {q->wake, or_null(q->library), or_null(q->musl_library), or_null(q->loaded)};
	struct inside in = {.root = -1};
	struct library lib = {0};
	int r = l.loaded ? 0 : library_read(proc, &l, &lib, err);

	if (r == 0)
		r = inside_enter(proc, parent, &in, err);
	if (r == 0)
		r = inside_load(&in, &l, &lib, ret_fd, ret_code, err);
	inside_leave(&in);
	library_done(&lib);
	return r;
}

static void serve(struct proc *proc, int parent, const struct request *q)
{
	struct reply reply = {0};
	struct buf text = {0};
	struct err err = {0};
	int fd = -1, code = 0;
	int r = q->what == LOAD ? load(proc, parent, q, &fd, &code, &err) : ask(proc, parent, q, &text, &err);

	reply.result = r;
	reply.agent_code = code;
	if (r < 0)
		memcpy(reply.msg, err.msg, sizeof(reply.msg));
	send_reply(parent, &reply, fd, r == 0 ? &text : NULL);
	buf_done(&text);
}

static void child_main(struct proc *proc, int parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct request q;

	/* It may outlive its parent, whose output a reader may want to read to the end: do not hold it open. */
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);

	/* It ends by itself soon after its parent, after removing its files. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (transfer(parent, &q, sizeof(q), false) == 0)
		serve(proc, parent, &q);
	_exit(0);
}

/* --- in the parent --- */

int attach_start(struct proc *proc, struct attach **ret, struct err *err)
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
		child_main(proc, pair[1]);
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
	 * While the child waits for a request or an answer it notices the end at once. After it has sent SIGQUIT it
	 * must wait until the JVM has opened its listener, or the JVM would print its threads: that wait may exceed
	 * this one.
	 */
	for (int ms = 0; a->child > 0 && ms < STOP_WAIT_MS && waitpid(a->child, NULL, WNOHANG) == 0;
	     ms += ATTACH_POLL_MS)
		poll(NULL, 0, ATTACH_POLL_MS);
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

static int send_request(struct attach *a, const struct request *q, struct err *err)
{
	int r = transfer(a->fd, (struct request *)q, sizeof(*q), true);

	a->deadline_ns = clock_monotonic_ns() + a->patience_ms * UINT64_C(1000000);
	return r < 0 ? err_set(err, -EPIPE, "the attaching process ended early") : 0;
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
		return err_set(err, -EPIPE, "the attaching process ended early");
	take_descriptor(&m, ret_fd);
	reply->msg[sizeof(reply->msg) - 1] = '\0';
	return reply->result < 0 ? err_set(err, reply->result, "%s", reply->msg) : 0;
}

static int copy_path(char *dst, const char *src, struct err *err)
{
	if (src && strlen(src) >= MAX_PATH)
		return err_set(err, -ENAMETOOLONG, "the path %.80s... is too long", src);
	strcpy(dst, src ? src : "");
	return 0;
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

int attach_ask(struct attach *a, const char *command, bool wake, char **ret, size_t *ret_len, struct err *err)
{
	struct request q = {.what = ASK, .wake = wake};
	struct reply reply;
	struct buf b = {0};
	int fd = -1, r;

	strncpy(q.command, command, sizeof(q.command) - 1);
	r = send_request(a, &q, err);
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

int attach_load(struct attach *a, const struct attach_load *l, int *ret_fd, int *ret_code, struct err *err)
{
	struct request *q = calloc(1, sizeof(*q));
	struct reply reply = {0};
	int r;

	*ret_fd = -1;
	*ret_code = 0;
	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	q->what = LOAD;
	q->wake = l->wake;
	r = copy_path(q->library, l->library, err);
	if (r == 0)
		r = copy_path(q->musl_library, l->musl_library, err);
	if (r == 0)
		r = copy_path(q->loaded, l->loaded, err);
	if (r == 0)
		r = send_request(a, q, err);
	free(q);
	if (r == 0)
		r = receive_reply(a, &reply, ret_fd, err);
	*ret_code = reply.agent_code;
	if (r == 0 && *ret_fd < 0)
		r = err_set(err, -EPROTO, "the attaching process sent no connection");
	return r;
}
