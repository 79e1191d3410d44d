#ifndef JS_SERVICE_NOTIFY_H
#define JS_SERVICE_NOTIFY_H

#include <stdint.h>

struct err;

/*
 * Reports the daemon's state to the service manager with the protocol of sd_notify(3), one datagram per message.
 * Without NOTIFY_SOCKET, everything succeeds and nothing is sent, so the daemon also runs without systemd.
 */
struct notify {
	int fd; /* -1: there is no service manager */
	uint64_t watchdog_ns; /* how often notify_watchdog() has to be called; 0: not at all */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, which children would
 * inherit. -errno: the socket cannot be reached, and err says so; *ret is then as without a socket.
 */
int notify_open(struct notify *ret, struct err *err);
void notify_close(struct notify *n);

/* Messages are lost if the manager does not read them: the daemon never waits for it. */
void notify_ready(const struct notify *n,
		  const char *status); /* also after notify_reloading(). status: one line of text */
void notify_reloading(const struct notify *n);
void notify_stopping(const struct notify *n);
void notify_status(const struct notify *n, const char *status);
void notify_watchdog(const struct notify *n);

#endif
