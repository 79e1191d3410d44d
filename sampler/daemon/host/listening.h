#ifndef JS_HOST_LISTENING_H
#define JS_HOST_LISTENING_H

struct err;

/*
 * TCP, for scrapers and browsers on this host. Every local user can connect to such a socket, so each request needs a
 * token. The token is in a file of its own, because more people can read configurations, and only the process that
 * answers requests keeps it in memory.
 */
enum { LISTENING_TOKEN_MIN = 16, LISTENING_TOKEN_MAX = 512 };

/* A listening, non-blocking socket on "127.0.0.1:7117" or "[::1]:7117". -EOPNOTSUPP: another host could reach it. */
int listening_tcp(const char *address, int *ret, struct err *err);

/* The file's first line. -EPERM: others may read or write it; -EINVAL: it has no token. */
int listening_token(const char *path, char dst[LISTENING_TOKEN_MAX + 1], struct err *err);

#endif
