#include "jvm-bridge/stream/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(WIRE_PATH_MAX == sizeof(((struct sockaddr_un *)0)->sun_path) - 1, "wire.h says so");

int channel_connect(const char *path, int *ret_fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	int fd;

	if (path[0] != '/' || n > WIRE_PATH_MAX)
		return WIRE_ATTACH_PATH;
	memcpy(to.sun_path, path, n + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return WIRE_ATTACH_CONNECT;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return WIRE_ATTACH_CONNECT;
	}
	*ret_fd = fd;
	return WIRE_ATTACH_OK;
}

void channel_open(struct channel *c, int fd)
{
	*c = (struct channel){.fd = fd};
}

void channel_close(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void channel_flush(struct channel *c, struct ring *r)
{
	const char *record;
	uint32_t size;

	while (!c->broken && (record = ring_peek(r, &size))) {
		ssize_t n = send(c->fd, record + c->sent, size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			c->broken = errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS;
			return;
		}
		c->sent += (uint32_t)n;
		if (c->sent < size)
			continue;
		c->sent = 0;
		ring_drop(r, size);
	}
}

void channel_wait(struct channel *c, int wake, bool writing, int ms)
{
	struct pollfd p[2] = {{wake, POLLIN, 0}, {c->fd, (short)(POLLIN | (writing ? POLLOUT : 0)), 0}};
	uint64_t n;

	if (poll(p, c->fd >= 0 ? 2 : 1, ms) <= 0)
		return;
	if (p[0].revents && read(wake, &n, sizeof(n)) < 0)
		return; /* read by somebody else meanwhile: the count is 0 */
	if (c->fd >= 0 && (p[1].revents & (POLLHUP | POLLERR | POLLNVAL)))
		c->broken = true;
}

int channel_request(struct channel *c, struct request *ret)
{
	uint32_t size;
	uint16_t type, zero;
	ssize_t n;

	if (c->broken)
		return 0;
	n = recv(c->fd, c->ask + c->asked, sizeof(c->ask) - c->asked, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->broken = true;
	if (n <= 0)
		return 0;
	c->asked += (uint32_t)n;
	if (c->asked < sizeof(c->ask))
		return 0;
	c->asked = 0;
	memcpy(&size, c->ask, sizeof(size));
	memcpy(&type, c->ask + 4, sizeof(type));
	memcpy(&zero, c->ask + 6, sizeof(zero));
	memcpy(&ret->cookie, c->ask + 8, sizeof(ret->cookie));
	ret->type = type;
	if (size == WIRE_ASK_SIZE && !zero && (type == WIRE_ASK_SYNC || type == WIRE_ASK_BYE))
		return 1;
	c->broken = true;
	return 0;
}
