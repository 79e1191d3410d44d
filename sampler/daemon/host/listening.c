#include "sampler/daemon/host/listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

enum { BACKLOG = 64, HOST_MAX = INET6_ADDRSTRLEN + 2 };

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* --- the socket --- */

static int parse_host(char *host, uint16_t port, union address *ret, socklen_t *ret_len)
{
	size_t n = strlen(host);

	if (inet_pton(AF_INET, host, &ret->four.sin_addr) == 1) {
		ret->four.sin_family = AF_INET;
		ret->four.sin_port = htons(port);
		*ret_len = sizeof(ret->four);
		return ntohl(ret->four.sin_addr.s_addr) >> 24 == 127 ? 0 : -EOPNOTSUPP;
	}
	if (n < 2 || host[0] != '[' || host[n - 1] != ']')
		return -EINVAL;
	host[n - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &ret->six.sin6_addr) != 1)
		return -EINVAL;
	ret->six.sin6_family = AF_INET6;
	ret->six.sin6_port = htons(port);
	*ret_len = sizeof(ret->six);
	return IN6_IS_ADDR_LOOPBACK(&ret->six.sin6_addr) ? 0 : -EOPNOTSUPP;
}

static int parse(const char *text, union address *ret, socklen_t *ret_len)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[HOST_MAX];
	uint64_t port;

	if (!n || n >= sizeof(host) || parse_u64(colon + 1, 1, 65535, &port) < 0)
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	return parse_host(host, (uint16_t)port, ret, ret_len);
}

int listening_tcp(const char *text, int *ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = -1;
	union address a = {0};
	socklen_t len = 0;
	int r = parse(text, &a, &len), yes = 1;

	if (r == -EOPNOTSUPP)
		return err_set(err, r,
			       "listen = %.60s: other hosts could reach it, and there is no TLS yet: use 127.0.0.1 or "
			       "[::1], with a proxy or a tunnel for other hosts",
			       text);
	if (r < 0)
		return err_set(err, r, "listen = %.60s: must be an address and a port, such as 127.0.0.1:7117", text);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 || bind(fd, &a.any, len) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_set(err, -errno, "cannot listen on %.60s: %m", text);
	*ret = take_fd(&fd);
	return 0;
}

/* --- the token --- */

/* A FIFO in its place must not make this process wait, and a link to someone else's file must not be followed. */
static int open_token(const char *path, struct err *err)
{
	CLEANUP(close_at_exit) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "token_file = %.200s: %m", path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    st.st_mode & (S_IWGRP | S_IROTH | S_IWOTH))
		return err_set(err, -EPERM,
			       "token_file = %.200s: it has to be a file of root or of this user, which others can "
			       "neither read "
			       "nor write (chmod 600)",
			       path);
	return take_fd(&fd);
}

/* As allowed in a header: visible characters only. */
static int check_token(char *text, const char *path, struct err *err)
{
	size_t n = strcspn(text, "\r\n");

	text[n] = '\0';
	if (n >= LISTENING_TOKEN_MIN && n <= LISTENING_TOKEN_MAX) {
		for (const char *p = text; *p; p++)
			if (*p <= ' ' || *p > '~')
				n = 0;
		if (n)
			return 0;
	}
	return err_set(
		err, -EINVAL,
		"token_file = %.200s: its first line has to be %d to %d visible ASCII characters, such as those of "
		"openssl rand -hex 24",
		path, LISTENING_TOKEN_MIN, LISTENING_TOKEN_MAX);
}

int listening_token(const char *path, char dst[LISTENING_TOKEN_MAX + 1], struct err *err)
{
	CLEANUP(close_at_exit) int fd = open_token(path, err);
	char text[LISTENING_TOKEN_MAX + 3] = "";
	ssize_t n;
	int r;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_set(err, -errno, "token_file = %.200s: %m", path);
	text[n] = '\0';
	r = check_token(text, path, err);
	if (r == 0)
		strcpy(dst, text);
	explicit_bzero(text, sizeof(text));
	return r;
}
