#ifndef JS_HTTP_HTTP_H
#define JS_HTTP_HTTP_H

struct captures;
struct daemon_state;
struct err;
struct ring;

/*
 * Answers requests about the history (docs/api.yaml) with libmicrohttpd. Requests and answers are limited in size, time
 * and number. Two threads per socket handle them, so that the thread that stores samples never waits for a request.
 */
struct http;

struct http_options {
	int unix_socket; /* listening, non-blocking; everyone who can connect may ask. -1: none */
	int tcp_socket; /* the same, but each request needs the token, of 16 characters or more, and the name of this host. -1: none */
	const char *token; /* borrowed */
	const char *store; /* directory of the store; borrowed, as is the next */
	struct captures *captures;
	struct ring *ring;
	const struct daemon_state *state;
};

/* The sockets still belong to the caller. 0 or -errno. */
int http_start(const struct http_options *o, struct http **ret, struct err *err);
void http_stop(struct http *h); /* NULL is allowed; waits for requests that are being handled */

#endif
