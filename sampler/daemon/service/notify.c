#include "sampler/daemon/service/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/text.h"

/* Its length; 0: no address. '@' stands for the NUL that an abstract name begins with. */
static socklen_t address(const char *name, struct sockaddr_un *ret)
{
	size_t n = strlen(name);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((*name != '/' && *name != '@') || n < 2 || n >= sizeof(ret->sun_path))
		return 0;
	memcpy(ret->sun_path, name, n);
	if (*name == '@')
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int connect_to(const char *name)
{
	struct sockaddr_un a;
	socklen_t len = address(name, &a);
	int fd, r;

	if (!len)
		return -EINVAL;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&a, len) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

/* Half of the manager's watchdog timeout; 0: there is none, or it is for another process. */
static uint64_t watchdog_ns(const char *usec, const char *pid)
{
	uint64_t us, of;

	if (!usec || parse_u64(usec, 1, UINT64_MAX / 1000, &us) < 0)
		return 0;
	if (pid && (parse_u64(pid, 1, INT32_MAX, &of) < 0 || of != (uint64_t)getpid()))
		return 0;
	return us * 1000 / 2;
}

int notify_open(struct notify *ret, struct err *err)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int fd = name && *name ? connect_to(name) : -1, r = 0;

	*ret = (struct notify){.fd = fd < 0 ? -1 : fd};
	if (name && *name && fd < 0)
		r = err_set(err, fd, "NOTIFY_SOCKET=%.100s: cannot reach the service manager: %s", name, strerror(-fd));
	if (fd >= 0)
		ret->watchdog_ns = watchdog_ns(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return r;
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static void tell(const struct notify *n, const char *text)
{
	if (n->fd >= 0)
		send(n->fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Lines are assignments, so a status must not contain line ends. */
static void tell_status(const struct notify *n, const char *before, const char *status)
{
	char clean[300], text[400];

	text_sanitise(clean, sizeof(clean), status, strlen(status));
	snprintf(text, sizeof(text), "%sSTATUS=%s", before, clean);
	tell(n, text);
}

void notify_ready(const struct notify *n, const char *status)
{
	tell_status(n, "READY=1\n", status);
}

/* systemd uses the time to tell this message from one of an earlier reload. */
void notify_reloading(const struct notify *n)
{
	char text[80];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic_ns() / 1000);
	tell(n, text);
}

void notify_stopping(const struct notify *n)
{
	tell(n, "STOPPING=1");
}

void notify_status(const struct notify *n, const char *status)
{
	tell_status(n, "", status);
}

void notify_watchdog(const struct notify *n)
{
	tell(n, "WATCHDOG=1");
}
