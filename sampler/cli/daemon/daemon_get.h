#ifndef JS_CLI_DAEMON_GET_H
#define JS_CLI_DAEMON_GET_H

#include <stddef.h>

#define DAEMON_SOCKET "/run/jsampler/jsampler.sock" /* the default */

struct err;

/* A request to the daemon over its socket: HTTP/1.1, one answer for each connection. */

/* Connects and sends a GET request; `target` begins with a slash and contains no blanks. A descriptor, or -errno. */
int daemon_get_start(const char *socket, const char *target, struct err *err);

/*
 * Waits for the answer, and closes fd. The caller frees *ret. -EPROTO: the answer is malformed or too long. -ENODATA:
 * the status is not 200, and err contains the daemon's message.
 */
int daemon_get_finish(int fd, char **ret, size_t *ret_len, struct err *err);
/*
 * Does both, for a small answer that comes soon: waits at most two seconds for each part of it. socket NULL:
 * DAEMON_SOCKET. Returns 0, or an error of either.
 */
int daemon_ask(const char *socket, const char *target, char **ret, size_t *ret_len, struct err *err);
int daemon_post(const char *socket, const char *target, char **ret, size_t *ret_len,
		struct err *err); /* likewise, with POST */

#endif
