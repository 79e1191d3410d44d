#include "sampler/daemon/http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/query.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

/*
 * HEAD_BYTES: for the header lines of a request, and of an answer. THREADS: that answer requests; further requests
 * wait. CONNECTIONS: for each socket. IDLE_S: until a client that sends nothing is disconnected.
 */
enum { HEAD_BYTES = 16 << 10, THREADS = 2, CONNECTIONS = 128, IDLE_S = 20, ARGUMENTS = 32, TOKEN_MIN = 16 };

/* For all answers together that clients have not read yet. */
#define BODIES_MAX (UINT64_C(64) << 20)

struct http {
	struct answer_context context;
	const char *token; /* for the one below */
	struct MHD_Daemon *unix_socket, *tcp_socket;
	_Atomic uint64_t bodies; /* bytes of answers being sent */
};

/* One request, from its header on. */
struct request {
	uint64_t body; /* its share of http.bodies */
};

static const struct path {
	const char *path;
	answer_fn *answer, *post; /* NULL: the method is not allowed */
	enum query_recent recent; /* what of the last hour in memory can be asked for */
} paths[] = {
	{"/api/v1/targets", answer_targets, NULL, QUERY_STORED},
	{"/api/v1/events", answer_events, NULL, QUERY_STORED},
	{"/api/v1/status", answer_status, NULL, QUERY_STORED},
	{"/api/v1/profile", answer_profile, NULL, QUERY_RECENT_PROFILE},
	{"/api/v1/diff", answer_diff, NULL, QUERY_STORED},
	{"/debug/pprof/profile", answer_pprof, NULL, QUERY_STORED},
	{"/api/v1/series", answer_series, NULL, QUERY_STORED},
	{"/api/v1/heatmap", answer_heatmap, NULL, QUERY_RECENT_CELLS},
	{"/api/v1/captures", answer_captures, answer_capture_new, QUERY_STORED},
	{"/api/v1/captures/", answer_capture, NULL, QUERY_STORED}, /* and its number */
	{"/metrics", answer_metrics, NULL, QUERY_STORED},
	{"/healthz", answer_health, NULL, QUERY_STORED},
	{"/readyz", answer_health, NULL, QUERY_STORED},
};

/* --- who asks --- */

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Takes the same time wherever the first difference is. */
static bool is_token(const char *given, const char *token)
{
	size_t n = strlen(token), len = strlen(given);
	unsigned differ = n != len;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)given[i % (len + 1)];
	return !differ;
}

/* A page from another site can make a browser send a request (DNS rebinding), but with that site's name as the host. */
static bool is_this_host(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':'))
			return true;
	}
	return false;
}

static int check_rights(const struct http *h, struct MHD_Connection *c, struct err *err)
{
	static const char bearer[] = "Bearer ";
	const char *given = header(c, MHD_HTTP_HEADER_AUTHORIZATION);

	if (!is_this_host(header(c, MHD_HTTP_HEADER_HOST)) || header(c, MHD_HTTP_HEADER_ORIGIN))
		return err_set(err, -EPERM,
			       "the Host header must be localhost, 127.0.0.1 or [::1], and requests with an Origin "
			       "header are refused");
	if (!given || strncmp(given, bearer, sizeof(bearer) - 1) != 0 ||
	    !is_token(given + sizeof(bearer) - 1, h->token))
		return err_set(err, -EACCES, "a token is needed: Authorization: Bearer TOKEN");
	return 0;
}

/* --- what is asked --- */

struct reading {
	struct query *q;
	uint64_t now_ns;
	int r;
	unsigned n;
	struct err *err;
};

static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct reading *rd = ctx;

	(void)kind;
	if (rd->n++ == ARGUMENTS)
		rd->r = err_set(rd->err, -EINVAL, "too many arguments");
	else
		rd->r = query_add(rd->q, key, value ? value : "", rd->now_ns, rd->err);
	return rd->r == 0 ? MHD_YES : MHD_NO;
}

static int read_query(struct MHD_Connection *c, struct query *q, struct err *err)
{
	struct reading rd = {.q = q, .now_ns = clock_realtime_ns(), .err = err};

	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, add_argument, &rd);
	return rd.r < 0 ? rd.r : query_end(q, rd.now_ns, err);
}

/* A path in the table that ends with a slash is followed by a number. */
static bool is_path(const char *given, const char *path, uint64_t *ret_number)
{
	size_t n = strlen(path);

	if (path[n - 1] != '/')
		return strcmp(given, path) == 0;
	return strncmp(given, path, n) == 0 && parse_u64(given + n, 1, INT64_MAX, ret_number) == 0;
}

static const struct path *find_path(const char *given, uint64_t *ret_number, struct err *err)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (is_path(given, paths[i].path, ret_number))
			return &paths[i];
	err_set(err, -ENOENT, "there is no %.100s; docs/api.yaml lists what there is", given);
	return NULL;
}

static answer_fn *find_method(const struct path *p, const char *method, struct err *err)
{
	bool get = strcmp(method, MHD_HTTP_METHOD_GET) == 0, post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
	answer_fn *fn = get ? p->answer : post ? p->post : NULL;

	if (!fn)
		err_set(err, -EOPNOTSUPP, "%.20s: only GET is answered%s", method, p->post ? ", and POST" : "");
	return fn;
}

/* On the local socket, the kernel knows the client's user. */
static uint32_t who_asks(struct MHD_Connection *c, bool tcp)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred who;
	socklen_t len = sizeof(who);

	if (tcp || !info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return CAPTURE_BY_NOBODY;
	return who.uid;
}

static int answer(const struct http *h, struct MHD_Connection *c, bool tcp, const char *path, const char *method,
		  struct answer *a, struct err *err)
{
	struct answer_context context = h->context;
	const struct path *p;
	answer_fn *fn;
	struct query q = {0};
	int r = tcp ? check_rights(h, c, err) : 0;

	if (r < 0)
		return r;
	if (!(p = find_path(path, &q.capture, err)))
		return -ENOENT;
	if (!(fn = find_method(p, method, err)))
		return -EOPNOTSUPP;
	r = read_query(c, &q, err);
	if (r == 0)
		r = query_check_recent(&q, p->recent, err);
	context.by = who_asks(c, tcp);
	return r < 0 ? r : fn(&context, &q, a, err);
}

/* --- sending --- */

/* A page has a policy of its own, which allows its script. */
static enum MHD_Result send_answer(struct MHD_Connection *c, struct answer *a, bool last)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result sent;

	if (!r) {
		free(a->body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (strncmp(a->type, "text/html", 9) != 0)
		MHD_add_response_header(r, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
	if (last)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
	sent = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return sent;
}

/* MHD_lookup_connection_value() finds only one of several headers with the same name. */
static enum MHD_Result announces_body(void *found, enum MHD_ValueKind kind, const char *key, const char *value)
{
	bool length = strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;

	(void)kind;
	if ((length && (!value || strcmp(value, "0") != 0)) || strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
		*(bool *)found = true;
	return MHD_YES;
}

static bool has_body(struct MHD_Connection *c)
{
	bool found = false;

	MHD_get_connection_values(c, MHD_HEADER_KIND, announces_body, &found);
	return found;
}

/* Clients that take their answers slowly must not fill the memory. */
static int account(struct http *h, struct request *q, const struct answer *a, struct err *err)
{
	q->body = a->len;
	if (atomic_fetch_add(&h->bodies, q->body) <= BODIES_MAX)
		return 0;
	return err_set(err, -EBUSY, "too much is being answered at the moment: try again");
}

/*
 * No request may have a body: if one is announced, the request is refused before it is read, and the connection is
 * closed.
 */
static enum MHD_Result handle(struct http *h, bool tcp, struct MHD_Connection *c, const char *path, const char *method,
			      void **seen)
{
	bool body = has_body(c), first = !*seen;
	struct answer a = {0};
	struct err e = {0};
	int r;

	if (first && !(*seen = calloc(1, sizeof(struct request))))
		return MHD_NO;
	if (first && !body)
		return MHD_YES;
	r = body ? err_set(&e, -E2BIG, "a request has no body") : answer(h, c, tcp, path, method, &a, &e);
	if (r == 0)
		r = account(h, *seen, &a, &e);
	if (r < 0)
		answer_error(&a, r, &e);
	return send_answer(c, &a, body);
}

static void finished(void *ctx, struct MHD_Connection *c, void **seen, enum MHD_RequestTerminationCode why)
{
	struct http *h = ctx;
	struct request *q = take_ptr(*seen);

	(void)c;
	(void)why;
	if (q)
		atomic_fetch_sub(&h->bodies, q->body);
	free(q);
}

static enum MHD_Result handle_unix(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
				   const char *version, const char *body, size_t *body_len, void **seen)
{
	(void)version;
	(void)body;
	(void)body_len;
	return handle(ctx, false, c, path, method, seen);
}

static enum MHD_Result handle_tcp(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *body, size_t *body_len, void **seen)
{
	(void)version;
	(void)body;
	(void)body_len;
	return handle(ctx, true, c, path, method, seen);
}

/* --- beginning and end --- */

static struct MHD_Daemon *start(int socket, MHD_AccessHandlerCallback handler, struct http *h)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handler, h, MHD_OPTION_LISTEN_SOCKET, socket,
		MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_NOTIFY_COMPLETED, finished, (void *)h, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

int http_start(const struct http_options *o, struct http **ret, struct err *err)
{
	struct http *h;

	if (o->tcp_socket >= 0 && (!o->token || strlen(o->token) < TOKEN_MIN))
		return err_set(err, -EINVAL, "the token has less than %d characters", TOKEN_MIN);
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->context.store = o->store;
	h->context.captures = o->captures;
	h->context.ring = o->ring;
	h->context.state = o->state;
	h->token = o->token;
	if (o->unix_socket >= 0)
		h->unix_socket = start(o->unix_socket, handle_unix, h);
	if (o->tcp_socket >= 0)
		h->tcp_socket = start(o->tcp_socket, handle_tcp, h);
	if ((o->unix_socket >= 0 && !h->unix_socket) || (o->tcp_socket >= 0 && !h->tcp_socket)) {
		http_stop(h);
		return err_set(err, -EIO, "libmicrohttpd does not start: %m");
	}
	*ret = h;
	return 0;
}

/* The sockets are the caller's, so they are quiesced, not closed. */
static void stop(struct MHD_Daemon *d)
{
	if (!d)
		return;
	MHD_quiesce_daemon(d);
	MHD_stop_daemon(d);
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	stop(h->unix_socket);
	stop(h->tcp_socket);
	free(h);
}
