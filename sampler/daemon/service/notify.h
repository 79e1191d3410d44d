#ifndef JS_SERVICE_NOTIFY_H
#define JS_SERVICE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * Tells the service manager how the daemon is: the protocol of sd_notify(3), one datagram for each message. Without NOTIFY_SOCKET
 * everything succeeds and nothing is sent, so the daemon runs without systemd, too.
 */
struct notify {
	int fd; /* -1: nobody wants to know */
	uint64_t watchdog_ns; /* how often notify_watchdog() has to be called; 0: nobody waits for it */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, which children would inherit.
 * -errno: there is a socket that cannot be reached, and err says so; *ret is as without one then.
 */
int notify_open(struct notify *ret, struct err *err);
void notify_close(struct notify *n);

/* What they say is lost if the manager does not read: the daemon never waits for it. */
void notify_ready(const struct notify *n,
		  const char *status); /* also after notify_reloading(). status: one line, for people */
void notify_reloading(const struct notify *n);
void notify_stopping(const struct notify *n);
void notify_status(const struct notify *n, const char *status);
void notify_watchdog(const struct notify *n);

#endif
