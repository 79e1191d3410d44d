#ifndef JS_CLI_DAEMON_GET_H
#define JS_CLI_DAEMON_GET_H

#include <stddef.h>

#define DAEMON_SOCKET "/run/jsampler/jsampler.sock" /* if no other is named */

struct err;

/* A request to the daemon over its socket: HTTP/1.1, one answer for each connection. */

/* Connects and sends a request with GET; `target` begins with a slash and has no blanks. A descriptor, or -errno. */
int daemon_get_start(const char *socket, const char *target, struct err *err);

/*
 * Waits for the answer, and closes fd. The caller frees *ret. -EPROTO: no such answer, or too long a one. For any status but 200,
 * -ENODATA, and err has what the daemon says.
 */
int daemon_get_finish(int fd, char **ret, size_t *ret_len, struct err *err);
/* Both, for a small answer that comes soon: waits for two seconds at most for each part of it. socket NULL: DAEMON_SOCKET. 0, or the errors of both. */
int daemon_ask(const char *socket, const char *target, char **ret, size_t *ret_len, struct err *err);
int daemon_post(const char *socket, const char *target, char **ret, size_t *ret_len,
		struct err *err); /* likewise, with POST */

#endif
