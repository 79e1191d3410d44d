#include "sampler/cli/daemon/daemon_get.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

enum {
	HEAD_MAX = 16 << 10,
	BODY_MAX = 1 << 30,
	WAIT_MS = 60000,
	SOON_MS = 2000,
	POST_MS = 5000,
	READ_BYTES = 64 << 10
};

static int cannot_reach(const char *socket, int code, struct err *err)
{
	const char *advice = code == EACCES ? "; ask for membership in the group jsampler, or use sudo" :
					      "; is jsampler daemon running? --store DIR reads its files without it";

	return err_set(err, -code, "cannot reach the daemon at '%.150s': %s%s", socket, strerror(code), advice);
}

static int send_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int start(const char *method, const char *path, const char *target, struct err *err)
{
	CLEANUP(close_at_exit) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLEANUP(buf_done) struct buf request = {0};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int r;

	if (fd < 0)
		return err_set(err, -errno, "cannot make a socket: %m");
	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s", path) >= (int)sizeof(to.sun_path))
		return err_set(err, -ENAMETOOLONG, "%.80s...: the name is too long for a socket", path);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return cannot_reach(path, errno, err);
	buf_printf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", method, target);
	if (request.failed)
		return err_set(err, -ENOMEM, "out of memory");
	r = send_all(fd, request.data, request.len);
	return r < 0 ? cannot_reach(path, -r, err) : take_fd(&fd);
}

int daemon_get_start(const char *path, const char *target, struct err *err)
{
	return start("GET", path, target, err);
}

/* --- the answer --- */

static int no_answer(struct err *err, const char *what)
{
	return err_set(err, -EPROTO, "malformed answer from the daemon: %s", what);
}

/* 1: more has come, 0: the end. */
static int read_more(int fd, int wait_ms, struct buf *b, struct err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[READ_BYTES];
	ssize_t n;

	if (poll(&p, 1, wait_ms) <= 0)
		return errno == EINTR && !p.revents ? 1 : no_answer(err, "it takes too long");
	n = read(fd, bytes, sizeof(bytes));
	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0)
		return err_set(err, -errno, "cannot read the daemon's answer: %m");
	buf_add(b, bytes, (size_t)n);
	return b->failed ? err_set(err, -ENOMEM, "out of memory") : n > 0;
}

/* Where the body begins; 0: the head is not complete. */
static size_t head_length(const struct buf *b)
{
	const char *end = b->len ? memmem(b->data, b->len, "\r\n\r\n", 4) : NULL;

	return end ? (size_t)(end - b->data) + 4 : 0;
}

/* The value of a line of the head, up to the line's end; NULL: there is none. */
static const char *head_value(const char *head, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = head, *end = head + len; (p = memchr(p, '\n', (size_t)(end - p)));) {
		p++;
		if ((size_t)(end - p) > n + 1 && strncasecmp(p, name, n) == 0 && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " ");
	}
	return NULL;
}

static int parse_head(const struct buf *b, size_t head, unsigned *ret_status, uint64_t *ret_len, struct err *err)
{
	const char *length = head_value(b->data, head, "Content-Length"), *end = b->data + head;

	if (sscanf(b->data, "HTTP/1.%*1u %3u ", ret_status) != 1)
		return no_answer(err, "not HTTP");
	if (!length || parse_digits(&length, end, 10, ret_len) < 0 || *length != '\r')
		return no_answer(err, "no length");
	return *ret_len > BODY_MAX ? no_answer(err, "too long") : 0;
}

/* At a backslash: json_text() writes \u00xx only. */
static char unescape(const char **p, const char *end)
{
	const char *digits = *p + 2;
	uint64_t c;

	if (end - *p < 6 || (*p)[1] != 'u' || parse_digits(&digits, *p + 6, 16, &c) < 0 || c > 0x7f)
		return '?';
	*p += 5;
	return (char)c;
}

/* The text of {"error":"..."}, or what there is in its place. */
static int refused(unsigned status, const char *body, size_t len, struct err *err)
{
	static const char key[] = "\"error\":\"";
	const char *p = memmem(body, len, key, sizeof(key) - 1), *end = body + len;
	char text[300];
	size_t n = 0;

	for (p = p ? p + sizeof(key) - 1 : end; p < end && *p != '"' && n + 1 < sizeof(text); p++)
		text[n++] = *p == '\\' ? unescape(&p, end) : *p;
	text[n] = '\0';
	return err_set(err, -ENODATA, "%s (the daemon's answer, status %u)", n ? text : "no reason given", status);
}

static int read_answer(int fd, int wait_ms, struct buf *b, size_t *ret_head, unsigned *ret_status, struct err *err)
{
	uint64_t length = 0;
	int r;

	while (!(*ret_head = head_length(b))) {
		if (b->len > HEAD_MAX)
			return no_answer(err, "header too long");
		if ((r = read_more(fd, wait_ms, b, err)) <= 0)
			return r < 0 ? r : no_answer(err, "header incomplete");
	}
	r = parse_head(b, *ret_head, ret_status, &length, err);
	while (r == 0 && b->len - *ret_head < length)
		if ((r = read_more(fd, wait_ms, b, err)) >= 0)
			r = r ? 0 : no_answer(err, "it ends too early");
	if (r == 0 && b->len - *ret_head > length)
		r = no_answer(err, "there is more after its end");
	return r;
}

static int finish(int fd, int wait_ms, char **ret, size_t *ret_len, struct err *err)
{
	CLEANUP(buf_done) struct buf b = {0};
	unsigned status = 0;
	size_t head = 0;
	int r = read_answer(fd, wait_ms, &b, &head, &status, err);

	close(fd);
	if (r < 0)
		return r;
	*ret_len = b.len - head;
	if (status / 100 != 2)
		return refused(status, b.data + head, *ret_len, err);
	memmove(b.data, b.data + head, *ret_len + 1);
	*ret = take_ptr(b.data);
	return 0;
}

int daemon_get_finish(int fd, char **ret, size_t *ret_len, struct err *err)
{
	return finish(fd, WAIT_MS, ret, ret_len, err);
}

int daemon_ask(const char *path, const char *target, char **ret, size_t *ret_len, struct err *err)
{
	int fd = daemon_get_start(path ? path : DAEMON_SOCKET, target, err);

	return fd < 0 ? fd : finish(fd, SOON_MS, ret, ret_len, err);
}

int daemon_post(const char *path, const char *target, char **ret, size_t *ret_len, struct err *err)
{
	int fd = start("POST", path ? path : DAEMON_SOCKET, target, err);

	return fd < 0 ? fd : finish(fd, POST_MS, ret, ret_len, err);
}
